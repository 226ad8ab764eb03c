"""The kinds of data on which a candidate is judged (docs/bundles.md)."""

import torch

from . import device

KINDS = ("declared", "changed", "zero_mean", "wide", "tail", "small",
         "large", "weights")
# A power of two: no two numbers become the same, none is rounded.
LARGE = 1024
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


CHANGE = {"zero_mean": _zero_mean, "wide": _wide, "tail": _tail,
          "small": _small, "large": _large}


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
    return [change(leaf.double(), gen).to(leaf.dtype)
            if is_floating(leaf) else leaf for leaf in leaves]


def overflows(declared, leaves):
    """Does a number no longer fit into its type?"""
    return any(bool((a.isfinite() & ~b.isfinite()).any())
               for a, b in zip(declared, leaves) if is_floating(a))


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


def why_not(kind, leaves, slots):
    """Why a kind of set does not apply to a problem, or None."""
    if kind in CHANGE and not any(is_floating(leaf) for leaf in leaves):
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
