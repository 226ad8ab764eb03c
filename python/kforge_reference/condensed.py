"""Condensed bundles, of problems whose data are too large to be kept.

Inputs are kept once. Every other set and every fresh input is made of them
again by whoever wants it, as x * column * row: column repeats after CHUNK
elements, row is one number for each CHUNK. Both have few digits, so that the
products are exact in float64 and everybody gets the same bits.

Of an output are kept: sums of +-1 times its elements for each CHUNK of them,
which reach every element, and windows with all that the judge needs to look at
each element (docs/bundles.md, "Condensed bundles").
"""

import math

import torch

from . import matters, oracle, sets, tensors
from .failure import Refused

CHUNK = 4096
SUMS = 4                    # of each chunk, with other signs
WINDOWS = 16
WINDOW = 1 << 16            # elements
KINDS = ("declared", "changed", "declared", "zero_mean", "tail", "large",
         "weights")
RUNS = 4                    # perturbed ones, at most
STOCK_MAX = 12
STOCK_LEAST = 6            # blocks of one call, all in one process
STOCK_BYTES = 12 << 30     # of inputs and outputs, though none are kept
ROWS_BYTES = 512 << 20      # of the rows that run in float64
NUMBER_MAX = 1 << 40        # so many of these add up exactly
BLOCK = 1 << 20             # elements that are worked on at once, in caches
# column and row are each (base + j) / 4096, 0 <= j < 512. First a little
# smaller: that stays in most domains; where it does not, a little larger.
SHRINK, GROW = 3584, 4096


class NotByRows(Exception):
    """Rows of the output hang on more than the same rows of the input."""


def estimate(inputs, outputs, weights, kinds, stock):
    """Bytes that a condensed bundle takes at most."""
    sums = sum(8 * (SUMS + 1) * (out.numel() // CHUNK + 1) for out in outputs)
    windows = sum(min(out.numel(), WINDOWS * WINDOW) * 24 for out in outputs)
    factors = sum(4 * (leaf.numel() // CHUNK + CHUNK) for leaf in inputs)
    kept = sum(tensors.nbytes(leaf) for leaf in inputs
               if not sets.is_floating(leaf))
    return sum(tensors.nbytes(leaf) for leaf in inputs) + 2 * weights + \
        (kinds + stock) * (sums + windows + factors + kept)


def stock_count(each):
    return max(STOCK_LEAST, min(STOCK_MAX, STOCK_BYTES // max(each, 1)))


# --- fresh data of declared data ------------------------------------------

def _times(part, column, row):
    """part (float64, from a chunk's beginning) times its factors, in place."""
    whole = part.numel() // CHUNK
    chunks = part[:whole * CHUNK].view(whole, CHUNK)
    chunks.mul_(column)
    chunks.mul_(row[:whole, None])
    rest = part[whole * CHUNK:]
    if rest.numel():
        rest.mul_(column[:rest.numel()]).mul_(row[whole])
    return part


def scaled(leaf, column, row, shift=0.0):
    """leaf * column * row - shift, rounded to its type."""
    result = torch.empty_like(leaf)
    flat, to = leaf.view(-1), result.view(-1)
    column, row = column.double(), row.double()
    for at in range(0, flat.numel(), BLOCK):
        part = flat[at:at + BLOCK].double()
        _times(part, column, row[at // CHUNK:])
        to[at:at + BLOCK] = part.sub_(shift)
    return result


def _mean(leaf):
    flat = leaf.view(-1)
    return sum(float(flat[at:at + BLOCK].double().sum())
               for at in range(0, flat.numel(), BLOCK)) / flat.numel()


def _chunks(numel):
    return (numel + CHUNK - 1) // CHUNK


class Fresh:
    """How one set's inputs are made of the kept ones."""

    def __init__(self, kind, leaves, seed, base):
        gen = sets.generator(seed)
        self.kind = kind
        self.factors = {}       # place: (column, row, shift)
        for place, leaf in enumerate(leaves):
            if sets.is_floating(leaf) and kind == "changed":
                self.factors[place] = self._one_in_a_chunk(leaf, gen, base)
            elif sets.is_floating(leaf):
                column, row = [
                    (torch.randint(0, 512, (n,), generator=gen) + base).float()
                    / 4096 for n in (CHUNK, _chunks(leaf.numel()))]
                if kind == "large":
                    row = row * sets.LARGE
                shift = 0.0
                if kind == "zero_mean":
                    shift = _mean(scaled(leaf, column, row))
                self.factors[place] = column, row, shift

    @staticmethod
    def _one_in_a_chunk(leaf, gen, base):
        """The kept ones, but for one element of each chunk."""
        column = torch.ones(CHUNK)
        at = torch.randint(0, min(CHUNK, leaf.numel()), (1,), generator=gen)
        column[at] = (2 * base - 4096 if base == SHRINK else 5120) / 4096
        return column, torch.ones(_chunks(leaf.numel())), 0.0

    def make(self, leaves):
        leaves = list(leaves)
        for place, (column, row, shift) in self.factors.items():
            leaf = scaled(leaves[place], column, row, shift)
            if self.kind == "tail" and leaf.dim():
                leaf[..., -max(1, leaf.shape[-1] // 8):] *= 8
            leaves[place] = leaf
        return leaves

    def tensors(self, names):
        """names: of places, "in.3"."""
        found = []
        for place, (column, row, shift) in self.factors.items():
            number = names[place].split(".")[1]
            found += [("column." + number, column.contiguous()),
                      ("row." + number, row.contiguous()),
                      ("shift." + number,
                       torch.full((1,), shift, dtype=torch.float64))]
        return found


def _signs(shape, gen):
    return torch.randint(0, 2, shape, generator=gen).double() * 2 - 1


def perturbed(leaf, gen, step):
    """x (1 + step xi), xi = +-1: signs of columns times signs of rows."""
    if not sets.is_floating(leaf):
        return leaf
    result = torch.empty_like(leaf)
    flat, to = leaf.view(-1), result.view(-1)
    column, row = _signs((CHUNK,), gen), _signs((_chunks(flat.numel()),), gen)
    for at in range(0, flat.numel(), BLOCK):
        part = flat[at:at + BLOCK].double()
        moved = _times(part.clone(), column, row[at // CHUNK:])
        to[at:at + BLOCK] = part.add_(moved, alpha=step)
    return result


# --- what is kept of an output --------------------------------------------

def _in_chunks(flat, at):
    """A block as float64 chunks, the last filled up with zeros."""
    part = flat[at:at + BLOCK].double()
    short = -part.numel() % CHUNK
    if short:
        part = torch.cat([part, part.new_zeros(short)])
    return part.view(-1, CHUNK)


class Digest:
    """Of one output: sums [chunks, SUMS] of elements times signs; energy
    [chunks], the sums of max(r, g)^2, g from one perturbed run if there is
    one; reaction, the sums of g^2, or None. Only floating-point outputs have
    the last two."""

    def __init__(self, out, signs, near=None, step=1.0):
        flat, signs = out.view(-1), signs.t().contiguous()
        other = near.view(-1) if near is not None and \
            near.is_floating_point() else None
        sums, energy, reaction = [], [], []
        for at in range(0, flat.numel(), BLOCK):
            part = _in_chunks(flat, at)
            sums.append(part @ signs)
            if not out.is_floating_point():
                continue
            square = part * part
            if other is not None:
                g = self._reaction(_in_chunks(other, at), part, step)
                reaction.append(g.sum(1))
                square = torch.maximum(square, g)
            energy.append(square.sum(1))
        self.sums = torch.cat(sums) if sums else signs.new_zeros((0, SUMS))
        self.energy = torch.cat(energy) if energy else None
        self.reaction = torch.cat(reaction) if reaction else None

    @staticmethod
    def _reaction(near, part, step):
        g = near.sub_(part).div_(step).square_()
        if not math.isfinite(float(g.sum())):
            g = torch.nan_to_num(g, nan=0.0, posinf=0.0)
        return g


class Windows:
    """Where the windows of each output begin, in all of it and, where only
    some rows are run in float64, in the output of those rows."""

    def __init__(self, at, within, length):
        self.at, self.within, self.length = at, within, length

    @staticmethod
    def _cut(outputs, starts, lengths):
        return [None if out is None else torch.stack(
            [out.reshape(-1)[s:s + length] for s in at]).contiguous()
            for out, at, length in zip(outputs, starts, lengths)]

    def cut(self, outputs):
        return self._cut(outputs, self.at, self.length)

    def cut_within(self, outputs):
        return self._cut(outputs, self.within, self.length)


def anywhere(outputs, rng):
    """Windows anywhere: the beginning, the end, and places between them."""
    at, lengths = [], []
    for out in outputs:
        n = out.numel()
        length = n if n <= WINDOWS * WINDOW else WINDOW
        starts = {0, n - length}
        while length < n and len(starts) < WINDOWS:
            starts.add(rng.randrange(0, n - length) // 64 * 64)
        at.append(sorted(starts))
        lengths.append(length)
    return Windows(at, at, lengths)


class Rows:
    """Groups of neighbouring rows, along the first axis of all outputs and
    of the inputs that have as many."""

    def __init__(self, starts, group, total):
        self.starts, self.group, self.total = starts, group, total
        self.index = torch.tensor([s + i for s in starts
                                   for i in range(group)])

    def of(self, leaves):
        return [leaf.index_select(0, self.index)
                if isinstance(leaf, torch.Tensor) and leaf.dim() and
                leaf.shape[0] == self.total else leaf for leaf in leaves]

    def windows(self, outputs, rng):
        at, within, lengths = [], [], []
        for out in outputs:
            row = out.numel() // self.total
            whole = self.group * row
            length = min(whole, WINDOW)
            offsets = [rng.randrange(0, whole - length + 1) // 64 * 64
                       for _ in self.starts]
            offsets[0], offsets[-1] = 0, whole - length
            at.append([s * row + o for s, o in zip(self.starts, offsets)])
            within.append([i * whole + o for i, o in enumerate(offsets)])
            lengths.append(length)
        return Windows(at, within, lengths)


def choose_rows(leaves, outputs, rng):
    """Rows to run in float64, or None where there is nothing to choose."""
    inputs = [leaf for leaf in leaves
              if isinstance(leaf, torch.Tensor) and leaf.dim()]
    if not inputs or any(not out.dim() or not out.numel() for out in outputs):
        return None
    total = max(inputs, key=tensors.nbytes).shape[0]
    if any(out.shape[0] != total for out in outputs):
        return None
    sliced = [t for t in inputs if t.shape[0] == total] + list(outputs)
    row_bytes = sum(tensors.nbytes(t) for t in sliced) // total
    longest = max(out.numel() // total for out in outputs)
    group = max(1, -(-WINDOW // longest))
    count = max(2, min(WINDOWS, ROWS_BYTES // max(1, group * row_bytes)))
    if 2 * count * group > total:
        return None
    between = rng.sample(range(1, total // group - 1), count - 2)
    starts = [0] + sorted(g * group for g in between) + [total - group]
    return Rows(starts, group, total)


def by_rows(whole, part, step):
    """Is the output of some rows that of these rows in the whole? As nearly
    as another way to compute it comes."""
    for a, b in zip(whole, part):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if not a.is_floating_point():
            if not torch.equal(a, b):
                return False
            continue
        a, b = a.double(), b.double()
        # step is some units in the last place of half types, many of others.
        near = step / 64 if step == oracle.STEP_USUAL else step / 2
        if not oracle.rms(a - b) <= near * oracle.rms(b):
            return False
    return True


# --- all of it -------------------------------------------------------------

class Condenser:
    """The part of bundle.Maker that makes sets and stock, condensed."""

    def __init__(self, maker, first):
        self.maker, self.run = maker, maker.oracle
        self.first = first      # its leaves are the kept inputs
        self.base = SHRINK
        self.rows = choose_rows(first.leaves, maker.outputs, maker.random)
        maker.outputs = [torch.empty(out.shape, dtype=out.dtype,
                                     device="meta") for out in maker.outputs]
        self.reaction = self.kappa = None   # of the first set, for the stock
        names = first.tensor_indices()
        self.names = {place: "in.%d" % i for i, place in enumerate(names)}
        self.has_others = any(
            isinstance(leaf, torch.Tensor) and not sets.is_floating(leaf)
            for leaf in first.leaves)

    def make(self):
        """(kinds that were made, number of stock entries)."""
        try:
            return self._make()
        except NotByRows:
            self.rows = None
            self.maker.begin_again()
            return self._make()

    def _make(self):
        maker = self.maker
        outputs = maker.outputs
        self.windows = self.rows.windows(outputs, maker.random) \
            if self.rows else anywhere(outputs, maker.random)
        self._find_exact()
        self.run.runs = min(self.run.runs, maker.runs_most(RUNS))
        maker.write("inputs/base.safetensors", [
            (self.names[place], leaf)
            for place, leaf in enumerate(self.first.leaves)
            if sets.is_floating(leaf)])
        kinds = [kind for number, kind in enumerate(KINDS)
                 if self._make_set(number, kind)]
        if not self.rows:
            self._let_all_matter()
        return kinds, self._make_stock()

    def _part(self, leaves):
        return self.rows.of(leaves) if self.rows else leaves

    def _find_exact(self):
        part = self._part(self.first.leaves)
        expect = self.run.expect(self.first.leaves)
        if self.rows:
            expect = self._run_rows(part, None, expect)
        try:
            self.run.find_exact(part, expect)
        except Refused as refused:
            if refused.kind != "memory":
                raise
            self.run.forget_exact()
            self.maker.notes.append("float64 does not fit into memory")

    def _run_rows(self, part, weights, whole):
        """The output of the chosen rows, run by themselves."""
        try:
            small = self.run.expect(part, weights)
        except Refused as refused:
            if refused.kind in ("memory", "exit"):
                raise
            raise NotByRows() from None
        if not by_rows(self.rows.of(whole), small, self.run.step):
            raise NotByRows()
        return small

    # --- inputs ---

    def _others(self, seed):
        """The kept leaves; those that are not floating-point made again."""
        if not self.has_others:
            return self.first.leaves
        made = self.maker.inputs(seed).leaves
        return [kept if sets.is_floating(kept) else new
                for kept, new in zip(self.first.leaves, made)]

    def _write_inputs(self, name, leaves, fresh, weights=None):
        named = [(self.names[place], leaf)
                 for place, leaf in enumerate(leaves)
                 if isinstance(leaf, torch.Tensor) and
                 not sets.is_floating(leaf)]
        if fresh:
            named += fresh.tensors(self.names)
        if weights is not None:
            named += [("weight.%d" % i, w) for i, w in enumerate(weights)]
        self.maker.write("inputs/" + name, named)

    # --- sets ---

    def _make_set(self, number, kind):
        why = sets.why_not(kind, self.first.leaves, self.run.slots)
        if not why:
            why = self._try_set(number, kind)
            if why and number and kind in ("changed", "declared"):
                why = self._try_other_factors(number, kind)
        if why and kind == "declared":
            raise Refused("unsupported", "its data are too large to be kept, "
                          "and cannot be made of one another: %s; choose "
                          "smaller sizes with --set" % why)
        if why:
            self.maker.dropped.append({"kind": kind, "reason": why})
        return not why

    def _try_other_factors(self, number, kind):
        before = self.base
        self.base = GROW if before == SHRINK else SHRINK
        why = self._try_set(number, kind)
        if why:
            self.base = before
        return why

    def _try_set(self, number, kind):
        """The reason why this set cannot be used, or None: it is written."""
        maker, run = self.maker, self.run
        seed = maker.seed()
        fresh, leaves = None, self.first.leaves
        if number and kind != "changed":
            leaves = self._others(seed)
        if number:
            fresh = Fresh(kind, leaves, seed, self.base)
        weights = sets.random_weights(run.slots, run.declared, seed) \
            if kind == "weights" else None
        given = fresh.make(leaves) if fresh else leaves
        why = run.why_not_scaled(kind, leaves, given)
        if why:
            return why
        try:
            values = self._values(given, weights, kind, seed)
        except Refused as refused:
            if refused.kind in ("memory", "exit") or not number:
                raise
            return refused.text
        if isinstance(values, str):
            if not number:
                maker.refuse_not_finite(run.expect(given, weights))
            return values
        name = "set-%02d.safetensors" % len(maker.seeds["sets"])
        maker.seeds["sets"].append({"kind": kind, "seed": seed})
        self._write_inputs(name, leaves, fresh, weights)
        maker.write("oracle/" + name, values)
        return None

    def _values(self, leaves, weights, kind, seed):
        """What is kept of a set's outputs, or why there is nothing."""
        run, gen = self.run, sets.generator(seed)
        out = run.expect(leaves, weights)
        self.maker.check_outputs(out)
        _refuse_large_numbers(out)
        bad = oracle.not_finite(out)
        if bad:
            return "the reference is not finite there: index %s" % list(bad[1])
        part = self._part(leaves)
        small = self._run_rows(part, weights, out) if self.rows else None
        near = self._run_near(leaves, weights, gen)
        signs = _signs((SUMS, CHUNK), gen)
        digests = [Digest(o, signs, n, run.step) for o, n in zip(out, near)]
        del near
        expect = self.windows.cut(out)
        del out
        scales = self._scales(part, weights, expect, small, seed)
        if isinstance(scales, str):
            return scales
        exact, react, noise = scales
        if kind == "large" and oracle.is_flat(expect, react):
            return oracle.FLAT
        kappa = [_kappa(*of) for of in zip(expect, exact, react, noise)]
        if self.kappa is None:
            self.reaction = [digest.reaction for digest in digests]
            self.kappa = kappa
        return self._named(signs, digests, kappa, expect) + \
            _named("exact", exact) + _named("react", react) + \
            _named("noise", noise)

    def _run_near(self, leaves, weights, gen):
        """The reference on data perturbed once."""
        run = self.run
        return run.expect(
            [perturbed(leaf, gen, run.step) for leaf in leaves],
            [value if slot.structural else
             perturbed(value, gen, run.step) for slot, value in
             zip(run.slots, run.declared if weights is None else weights)],
            keep=False)

    def _scales(self, part, weights, expect, small, seed):
        """(exact, react, noise) of the windows, or why there are none."""
        run, windows = self.run, self.windows
        cut = None if self.rows else windows.cut
        exact = run.exact(part, weights) if run.way else None
        bad = oracle.not_finite(exact or [])
        if bad:
            return "float64 is not finite there: index %s" % list(bad[1])
        if cut and exact:
            exact = cut(exact)
        middle = exact or [out.double() if out.is_floating_point() else None
                           for out in (small if self.rows else expect)]
        react, noise = run.spread(part, weights, middle, seed, cut)
        if self.rows:
            if self.maker.matters is None:
                others = Fresh("declared", self.first.leaves,
                               self.maker.seed(), self.base).make(
                                   self._others(self.maker.seed()))
                self.maker.find_matters(part, small, exact, react, noise,
                                        self._part(others))
            exact, react, noise = [
                windows.cut_within(v) if v else [None] * len(expect)
                for v in (exact, react, noise)]
        return exact or [None] * len(expect), react, noise

    def _named(self, signs, digests, kappa, expect):
        named = [("signs", signs.to(torch.int8))]
        for i, digest in enumerate(digests):
            scale = torch.zeros_like(digest.sums[:, 0]) \
                if digest.energy is None \
                else torch.sqrt(digest.energy * kappa[i])
            named += [("sums.%d" % i, digest.sums.contiguous()),
                      ("scale.%d" % i, scale.contiguous()),
                      ("at.%d" % i, torch.tensor(self.windows.at[i]))]
        return named + _named("expect", expect)

    def _let_all_matter(self):
        self.maker.matters = [True] * len(self.names), \
            [True] * len(self.run.slots)
        self.maker.notes.append("whether inputs and weights matter was not "
                                "tried: the data are too large")

    # --- stock ---

    def _make_stock(self):
        maker = self.maker
        number = maker.stock_most(stock_count(maker.stock_count(
            self.first)[1]))
        if not any(sets.is_floating(leaf) for leaf in self.first.leaves):
            maker.notes.append("there is no floating-point input to vary")
        for i in range(number):
            seed = maker.seed()
            leaves = self._others(seed)
            fresh = Fresh("stock", leaves, seed, self.base)
            out = self.run.expect(fresh.make(leaves), keep=False)
            maker.check_outputs(out)
            _refuse_large_numbers(out)
            maker.refuse_not_finite(out)
            signs = _signs((SUMS, CHUNK), sets.generator(seed + 1))
            digests = [Digest(o, signs) for o in out]
            for digest, reaction in zip(digests, self.reaction):
                if reaction is not None:
                    digest.energy = torch.maximum(digest.energy, reaction)
            name = "stock-%02d.safetensors" % i
            maker.seeds["stock"].append({"kind": "stock", "seed": seed})
            self._write_inputs(name, leaves, fresh)
            maker.write("oracle/" + name, self._named(
                signs, digests, self.kappa, self.windows.cut(out)))
        return number

    def describe(self):
        """"condensed" of bundle.json."""
        return {
            "chunk": CHUNK,
            "sums": SUMS,
            "windows": [len(at) for at in self.windows.at],
            "window": self.windows.length,
            "rows": bool(self.rows),
            "left_out": ["set wide", "set small", "set tiny", "set outliers",
                         "set infinite", "set nan",
                         "perturbed runs beyond %d" % self.run.runs,
                         "values of elements outside of the windows"],
        }


def _refuse_large_numbers(outputs):
    """Sums of whole numbers must be exact, in whatever order."""
    for i, out in enumerate(outputs):
        if out.dtype == torch.int64 and out.numel() and \
                max(int(out.max()), -int(out.min())) >= NUMBER_MAX:
            raise Refused("unsupported", "output %d has whole numbers of 2^40 "
                          "and more, which sums do not hold, and its data are "
                          "too large to be kept; choose smaller sizes with "
                          "--set" % i)


def _named(what, values):
    return [("%s.%d" % (what, i), value) for i, value in enumerate(values)
            if value is not None]


def _kappa(expect, exact, react, noise):
    """By how much sigma^2 is more than max(r, g)^2 in a window, at most: the
    reference's own error counts there too."""
    if react is None:
        return 1.0
    g = react.double().square_()
    r = expect.double().square_()
    sigma = torch.maximum(g, r if exact is None else exact.square())
    if noise is not None:
        limit = matters.LIMIT[expect.dtype]
        sigma = torch.maximum(sigma,
                              (noise.double() * (4 / limit)).square_())
    whole = torch.maximum(g, r).sum(1)
    ratio = sigma.sum(1)[whole > 0] / whole[whole > 0]
    most = float(ratio.max()) if ratio.numel() else 1.0
    return max(1.0, most) if math.isfinite(most) else 1.0
