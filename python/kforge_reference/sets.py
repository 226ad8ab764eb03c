"""The kinds of data on which a candidate is judged (docs/bundles.md)."""

import torch

from . import device

KINDS = ("declared", "changed", "zero_mean", "wide", "tail", "small",
         "large", "tiny", "outliers", "infinite", "nan", "weights")
# Powers of two: no two numbers become the same, none is rounded.
LARGE = 1024
TINY = 2.0**-102
# What is far below all other numbers, as a mask would be.
FAR = 2.0**100
# Of so many rows one has outliers, or a NaN.
ODD_ONE_IN = 8
# Of so many elements of the first set one is changed; where no output follows
# that, one of fewer.
CHANGED_ONE_IN = (4096, 512, 64)


def generator(seed):
    return device.generator(seed)


def _zero_mean(x, _):
    return x - x.mean()


def _wide(x, gen):
    octaves = torch.rand(x.shape, generator=gen, dtype=torch.float64)
    return x * torch.exp2(8 * octaves - 4)


def _tail(x, _):
    """The last eighth of the last axis, at least one element, times 8."""
    x = x.clone()
    if x.dim():
        x[..., -max(1, x.shape[-1] // 8):] *= 8
    return x


def _small(x, _):
    return x * 1e-3


def _large(x, _):
    return x * LARGE


def _tiny(x, _):
    return x * TINY


CHANGE = {"zero_mean": _zero_mean, "wide": _wide, "tail": _tail,
          "small": _small, "large": _large, "tiny": _tiny}


def is_floating(leaf):
    return isinstance(leaf, torch.Tensor) and leaf.is_floating_point() \
        and leaf.numel() > 0


def apply(kind, leaves, seed):
    """The leaves of another kind: floating-point tensors are changed in
    float64 and rounded to their own type; all else is kept."""
    change = CHANGE.get(kind)
    if change is None:
        return leaves
    gen = generator(seed)
    places = [i for i, leaf in enumerate(leaves) if is_floating(leaf)]
    if kind == "tiny":  # what all are divided by is among the last
        places = places[-1:]
    return [change(leaf.double(), gen).to(leaf.dtype)
            if i in places else leaf for i, leaf in enumerate(leaves)]


def apply_to_tables(kind, tables, weights, seed):
    """The weights with those at these places changed as inputs are."""
    changed = apply(kind, [weights[i] for i in tables], seed)
    weights = list(weights)
    for i, value in zip(tables, changed):
        weights[i] = value
    return weights


def leaves_type(declared, leaves):
    """Does a number no longer fit into its type, or become zero in it?"""
    return any(bool(((a.isfinite() & ~b.isfinite()) |
                     ((a != 0) & (b == 0))).any())
               for a, b in zip(declared, leaves) if is_floating(a))


def _odd_rows(leaf, gen):
    """(the leaf as rows, a copy; which of them are odd); None: it has none."""
    if not leaf.dim() or leaf.shape[-1] < 3:
        return None
    rows = leaf.clone().reshape(-1, leaf.shape[-1])
    count = max(1, rows.shape[0] // ODD_ONE_IN)
    # The last one is always among them: what is one too many goes beyond it.
    odd = torch.randperm(rows.shape[0] - 1, generator=gen)[:count - 1]
    odd = torch.cat([odd, torch.tensor([rows.shape[0] - 1])])
    return rows, odd[torch.randperm(count, generator=gen)]


def _in_odd_rows(leaves, seed, change):
    """The leaves with change(rows, odd, gen, leaf) made to each of them."""
    gen = generator(seed)

    def changed(leaf):
        found = _odd_rows(leaf, gen) if is_floating(leaf) else None
        if found is None:
            return leaf
        change(*found, gen, leaf)
        return found[0].reshape(leaf.shape)

    return [changed(leaf) for leaf in leaves]


def outliers(leaves, seed):
    """The second half of all rows, along the last axis, is large. In some rows
    one number is far below all others and one is the largest by far, every
    third time the first of its row, every third time the last: there loops
    begin and end."""
    return _in_odd_rows(leaves, seed, _outliers)


def _outliers(rows, odd, gen, leaf):
    last = rows.shape[1] - 1
    high = _places(odd.shape, last, gen)
    low = (high + torch.randint(1, last + 1, odd.shape, generator=gen)) % \
        (last + 1)
    top = torch.finfo(leaf.dtype).max / 4
    rows[rows.shape[0] // 2:] *= LARGE
    rows[odd, high] = min(LARGE**2 * float(leaf.abs().max()), top)
    # No power of two: their products are exact, and hide what they do.
    rows[odd, low] = -min(FAR, top) * \
        (1 + torch.rand(odd.shape, generator=gen)).to(leaf.dtype)


def _places(shape, last, gen):
    places = torch.randint(0, last + 1, shape, generator=gen)
    end = torch.randint(0, 3, shape, generator=gen)
    places[end == 0] = 0
    places[end == 1] = last
    return places


def infinite(leaves, seed):
    """Some rows have one infinity, as many have negative ones only."""
    return _in_odd_rows(leaves, seed, _infinite)


def _infinite(rows, odd, gen, _):
    high = _places(odd.shape, rows.shape[1] - 1, gen)
    rows[odd[0::2], high[0::2]] = float("inf")
    rows[odd[1::2]] = float("-inf")


def with_holes(leaves, seed, value):
    """In some rows one number is value, at the same places for one seed."""
    def change(rows, odd, gen, _):
        rows[odd, torch.randint(0, rows.shape[1], odd.shape,
                                generator=gen)] = value
    return _in_odd_rows(leaves, seed, change)


def change_few(leaves, others, seed, one_in):
    """The leaves with one in so many elements of each floating-point tensor,
    secretly chosen, from others, which are leaves of another seed."""
    gen = generator(seed)
    return [_change_few(leaf, other, gen, one_in) if is_floating(leaf)
            else leaf for leaf, other in zip(leaves, others)]


def _change_few(leaf, other, gen, one_in):
    flat = leaf.clone().reshape(-1)
    at = torch.randint(0, flat.numel(), (max(1, flat.numel() // one_in),),
                       generator=gen)
    new = other.reshape(-1)[at]
    # The same number for every seed is made a little larger.
    flat[at] = torch.where(new == flat[at],
                           (1.25 * new.double()).to(new.dtype), new)
    return flat.reshape(leaf.shape)


def constant_places(leaves, others):
    """Where get_inputs() gives the same numbers for two seeds."""
    return [i for i, (a, b) in enumerate(zip(leaves, others))
            if is_floating(a) and torch.equal(a, b)]


def vary(leaves, places, seed):
    """Constant inputs as fresh ones: everywhere times [0.75, 1.25), so that
    zeros, signs and infinities stay where they are. A call whose inputs were
    seen before could be answered from memory."""
    gen = generator(seed)
    leaves = list(leaves)
    for i in places:
        factor = 0.75 + 0.5 * torch.rand(leaves[i].shape, generator=gen,
                                         dtype=torch.float64)
        leaves[i] = (leaves[i].double() * factor).to(leaves[i].dtype)
    return leaves


def why_not(kind, leaves, slots, tables=()):
    """Why a kind of set does not apply to a problem, or None."""
    inputs = any(is_floating(leaf) for leaf in leaves)
    if kind in CHANGE and not inputs and not tables:
        return "there is no floating-point input"
    if kind in ("outliers", "infinite", "nan") and not inputs:
        return "there is no floating-point input"
    if kind == "weights" and all(slot.structural for slot in slots):
        return "there is no parameter"
    return None


def random_weights(slots, weights, seed):
    """Other values for all weights but the structural ones.

    Signs that all declared values share are kept, for a weight may be under
    a root or a logarithm; a variance stays positive."""
    gen = generator(seed)
    changed = []
    for slot, value in zip(slots, weights):
        if slot.structural or not value.numel():
            changed.append(value)
        else:
            changed.append(random_like(slot.name, value, gen))
    return changed


def random_like(name, value, gen):
    """Random values of the type and the manner of a weight's own."""
    return _random_like(name, value.double(), gen).to(value.dtype)


def _random_like(name, value, gen):
    normal = torch.randn(value.shape, generator=gen, dtype=torch.float64)
    low, high = float(value.min()), float(value.max())
    if name.rsplit(".", 1)[-1] == "running_var":
        value = torch.rand(value.shape, generator=gen,
                           dtype=torch.float64) * 1.5 + 0.5
        # Where a variance is small it shows whether eps is where it belongs.
        value.view(-1)[3::4] *= 1e-3
        return value
    if low == high:     # ones of a gamma, zeros of a bias
        if low == 0:
            return 0.5 * normal
        return low * (0.5 + torch.rand(value.shape, generator=gen,
                                       dtype=torch.float64))
    spread = float(value.std()) if value.numel() > 1 else abs(low)
    value = float(value.mean()) + spread * normal
    if low >= 0:
        return value.abs()
    return -value.abs() if high <= 0 else value


def perturb(leaf, gen, step):
    """x (1 + step xi), xi = +-1, rounded to x's own type."""
    if not is_floating(leaf):
        return leaf
    sign = torch.randint(0, 2, leaf.shape, generator=gen).double() * 2 - 1
    return (leaf.double() * (1 + step * sign)).to(leaf.dtype)
