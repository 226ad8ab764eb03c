"""Expected values and the scales on which they are judged.

    r       the reference in the problem's own types
    y       the reference in float64, on the very same numbers
    react   g = sqrt(mean_j (y(x_j) - y)^2) / step
    noise   e = max_j |r(x_j) - y(x_j)|

with x_j the inputs and weights perturbed by x (1 + step xi), xi = +-1, and
rounded to the problem's types before either run sees them.
"""

import contextlib
import time

import torch

from . import count, device, sets, tensors
from .failure import Refused

RUNS = 8
RUNS_SLOW = 4
SLOW_S = 1.0    # a float64 call that takes longer gets fewer perturbed runs
FLOAT32_MAX = 3.4028234663852886e38
# Perturbations must be several units in the last place of the data.
STEP = {torch.float16: 2.0**-8, torch.bfloat16: 2.0**-5}
STEP_USUAL = 2.0**-12


@contextlib.contextmanager
def _default_float64():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def _widened():
    with _default_float64(), count.widen():
        yield


# Ways to run a program in float64, the plainest first.
WAYS = [("cast", contextlib.nullcontext),
        ("default dtype", _default_float64)]
if count.widen() is not None:
    WAYS.append(("widened", _widened))


def rms(x):
    return float(torch.sqrt((x * x).mean())) if x.numel() else 0.0


def _wide_leaf(leaf):
    if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
        return leaf.double()
    return leaf


class Oracle:
    """The reference beside its float64 form."""

    def __init__(self, problem, inputs):
        self.problem = problem
        self.inputs = inputs    # for its structure
        self.reference = problem.reference()
        self.slots = self.reference.slots
        self.declared = self.reference.weights()
        self.way = None         # how float64 is had; None: it is not
        self.runs = RUNS
        self.exact_s = 0.0      # of one call in float64
        self._exact = None
        self._context = None
        types = [t.dtype for t in self.declared + inputs.leaves
                 if isinstance(t, torch.Tensor)]
        self.step = max([STEP.get(t, STEP_USUAL) for t in types],
                        default=STEP_USUAL)

    def expect(self, leaves, weights=None, keep=True):
        """keep: the leaves are used again, so forward gets copies."""
        return self.reference(self.inputs, leaves, weights, keep=keep)

    def exact(self, leaves, weights=None):
        """Float64 outputs, None where an output is not floating-point."""
        if weights is None:
            weights = self.declared
        with self._context():
            outputs = self._exact(
                self.inputs, [_wide_leaf(leaf) for leaf in leaves],
                [_wide_leaf(weight) for weight in weights])
        return [out if out.is_floating_point() else None for out in outputs]

    def find_exact(self, leaves, expect):
        """Settles how float64 is run; leaves it out where no way works."""
        for way, context in WAYS:
            watch = count.narrow_watch()
            try:
                self._exact = self.problem.reference(torch.float64)
                self._context = context
                if not device.is_cpu():
                    self.exact(leaves)
                start = time.monotonic()
                with watch:
                    exact = self.exact(leaves)
                took = time.monotonic() - start
            except Refused as refused:
                if refused.kind == "memory":
                    raise
                continue
            # In the widened way the watch stands outside of the widening
            # and would not see a request that was granted in float64.
            if getattr(watch, "narrowed", False) or \
                    not self._agrees(expect, exact):
                continue
            self.way = way
            self.exact_s = took
            self.runs = RUNS_SLOW if took > SLOW_S else RUNS
            return
        self._exact = None

    def why_not_scaled(self, kind, declared, leaves):
        """Why large or tiny inputs cannot be judged, or None; other kinds
        can."""
        if kind not in ("large", "tiny"):
            return None
        if not self.way:
            return "there is no float64 form, which alone tells where the " \
                "reference itself loses its way"
        if sets.leaves_type(declared, leaves):
            return "an input is too %s for its type there" % (
                "large" if kind == "large" else "small")
        return None

    def forget_exact(self):
        self.way = self._exact = None

    @staticmethod
    def _agrees(expect, exact):
        """Float64 throughout, and the same function as the reference."""
        for r, y in zip(expect, exact):
            if not r.is_floating_point():
                continue
            if y is None or y.dtype is not torch.float64 or \
                    y.shape != r.shape:
                return False
            scale, error = rms(r.double()), rms(r.double() - y)
            limit = 0.01 if r.element_size() >= 4 else 0.1
            # What cancels out entirely leaves rounding errors only.
            if not error <= limit * scale + 1e-6:
                return False
        return True

    def spread(self, leaves, weights, middle, seed, cut=None):
        """react and noise for each output, as float32; None for outputs that
        are not floating-point. cut: what is looked at of outputs, as middle
        is; None: all. Without a float64 form react comes from the
        reference's own runs, and there is no noise."""
        gen = sets.generator(seed)
        if weights is None:
            weights = self.declared
        squares = [0.0] * len(middle)
        noise = [None] * len(middle)
        for _ in range(self.runs):
            near = [sets.perturb(leaf, gen, self.step) for leaf in leaves]
            near_weights = [
                value if slot.structural
                else sets.perturb(value, gen, self.step)
                for slot, value in zip(self.slots, weights)]
            r = self.expect(near, near_weights)
            y = self.exact(near, near_weights) if self.way else None
            if cut:
                r, y = cut(r), cut(y) if y else None
            y = y or [_wide_leaf(out) if out.is_floating_point() else None
                      for out in r]
            for i, center in enumerate(middle):
                if center is None:
                    continue
                squares[i] = squares[i] + (y[i] - center) ** 2
                if self.way:
                    error = (r[i].double() - y[i]).abs()
                    noise[i] = error if noise[i] is None else \
                        torch.maximum(noise[i], error)
        react = [None if center is None else
                 _as_scale(torch.sqrt(squares[i] / self.runs) / self.step)
                 for i, center in enumerate(middle)]
        return react, [None if e is None else _as_scale(e) for e in noise]


def _as_scale(value):
    """Float32, never infinite or NaN."""
    value = torch.nan_to_num(value, nan=FLOAT32_MAX, posinf=FLOAT32_MAX)
    return value.clamp(max=FLOAT32_MAX).float().contiguous()


# Whoever is further off than this share of its largest output has lost it.
LOST = 2.0**-12
# What outliers must not bring forth: a thing far below all other numbers says
# that a place does not count.
REACHED = 2.0**50
FLAT = "every output is one number there, whatever the inputs"


def is_flat(outputs, react):
    """Would one number for each output be right?"""
    return all(
        (g is None or not bool(g.any())) and
        (not out.numel() or bool((out == out.reshape(-1)[0]).all()))
        for out, g in zip(outputs, react))


def is_lost(middle, noise):
    """Is the reference itself far off?"""
    return any(e is not None and e.numel() and
               float(e.max()) > LOST * float(y.abs().max())
               for y, e in zip(middle, noise))


def is_reached(outputs):
    return any(out.is_floating_point() and
               not bool((out.abs() < REACHED).all()) for out in outputs)


def selects(leaves, outputs):
    """Is every number of the outputs one of the inputs', as of a maximum?"""
    given = [leaf.reshape(-1) for leaf in leaves if sets.is_floating(leaf)]
    if any(not out.is_floating_point() or not out.numel() or
           any(out.dtype is not leaf.dtype for leaf in given)
           for out in outputs):
        return False
    # Not of all types can PyTorch tell that; float64 holds them all.
    given = torch.cat(given).double()
    return all(bool(torch.isin(part.double(), given).all()) for out in outputs
               for part in (out.reshape(-1)[:64], out))


def agreed(outputs, exact):
    """Both, with NaN where one of them is finite and the other is not."""
    for out, y in zip(outputs, exact):
        other = out.isfinite() != y.isfinite()
        out[other] = y[other] = float("nan")


def untouched(outputs, others):
    """The outputs, NaN where one of the others is not the same; None if that
    is everywhere, or nowhere."""
    kept = []
    for out, *more in zip(outputs, *others):
        same = torch.ones_like(out, dtype=torch.bool)
        for other in more:
            same &= other == out
        kept.append(torch.where(same, out, torch.full_like(out, float("nan"))))
    holes = sum(int(out.isnan().sum()) for out in kept)
    return kept if 0 < holes < sum(out.numel() for out in kept) else None


def not_finite(outputs):
    """(output, index) of the first non-finite value, or None."""
    for i, out in enumerate(outputs):
        index = None if out is None else tensors.first_not_finite(out)
        if index is not None:
            return i, index
    return None
