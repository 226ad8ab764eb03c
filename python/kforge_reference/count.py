"""Counted operations of a call, and a watch for lost precision.

Both look at each operation as PyTorch dispatches it. Where this torch has no
such hook the counts are unknown, which is None.
"""

import contextlib
import math

import torch

from . import tensors

# Operations in which a weight stands for an input: a row of it is looked up, or
# it is added as it is.
TAKING = ("embedding", "embedding_bag", "_embedding_bag", "index",
          "index_select", "gather", "add")

try:
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError:
    TorchDispatchMode = None

# Operations that move, make or name data and compute nothing.
FREE = ("empty", "zeros", "ones", "full", "clone", "copy", "_to_copy",
        "contiguous", "cat", "stack", "arange", "detach", "fill", "zero",
        "lift_fresh", "scalar_tensor", "new_empty", "new_zeros", "new_ones",
        "empty_like", "zeros_like", "ones_like", "full_like", "index_select",
        "gather", "embedding", "flip", "roll", "repeat", "constant_pad_nd")
# Whole networks in one operation, whose work we cannot see.
OPAQUE = ("mkldnn_rnn_layer", "_thnn_fused_lstm_cell", "_cudnn_rnn",
          "_scaled_dot_product_flash_attention",
          "_scaled_dot_product_flash_attention_for_cpu",
          "_scaled_dot_product_efficient_attention")


def _matmul(args, out):
    """Counts of the matrix products, by the operands' shapes."""
    shapes = [a.shape for a in args if isinstance(a, torch.Tensor)]
    return 2.0 * out.numel() * shapes[-2][-1]


def _convolution(args, out):
    # weight is (out, in / groups, ...), transposed (in, out / groups, ...).
    weight, transposed = args[1], args[6]
    places = args[0] if transposed else out
    return 2.0 * places.numel() * math.prod(weight.shape[1:])


COUNTED = {
    "mm": ("matmul", _matmul), "bmm": ("matmul", _matmul),
    "mv": ("matmul", _matmul), "dot": ("matmul", _matmul),
    "addmm": ("matmul", _matmul), "baddbmm": ("matmul", _matmul),
    "addmv": ("matmul", _matmul), "addbmm": ("matmul", _matmul),
    "convolution": ("convolution", _convolution),
}


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _name(func):
    return func.__name__.split(".")[0].rstrip("_") or func.__name__


def _is_view(out, sources, func):
    if func.__name__.split(".")[0].endswith("_"):
        return False    # in place: it does compute
    start = tensors.storage_start(out)
    return start != 0 and any(
        tensors.storage_start(source) == start for source in sources)


if TorchDispatchMode is not None:
    class Counter(TorchDispatchMode):
        """Sums up operations while it is entered."""

        def __init__(self):
            super().__init__()
            self.sums = {"matmul": 0.0, "convolution": 0.0,
                         "elementwise": 0.0}
            self.known = True

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            name = _name(func)
            outs = list(_tensors(result))
            sources = list(_tensors(args))
            if name in OPAQUE:
                self.known = False
            elif name in COUNTED:
                kind, count = COUNTED[name]
                self.sums[kind] += count(args, outs[0])
            elif outs and name not in FREE and \
                    not _is_view(outs[0], sources, func):
                # One for each element touched: a reduction reads more
                # elements than it writes, a broadcast writes more.
                self.sums["elementwise"] += max(
                    t.numel() for t in outs + sources)
            return result

    class TableWatch(TorchDispatchMode):
        """Notes which of these tensors, of two axes or more, are taken as they
        are."""

        def __init__(self, tensors_):
            super().__init__()
            self.tensors = tensors_
            self.found = set()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if _name(func) in TAKING:
                starts = {tensors.storage_start(t) for t in _tensors(args)}
                self.found |= {
                    i for i, t in enumerate(self.tensors)
                    if t.dim() > 1 and t.is_floating_point() and
                    tensors.storage_start(t) in starts}
            return func(*args, **(kwargs or {}))

    class NarrowWatch(TorchDispatchMode):
        """Notes whether a float64 value was made into a smaller float."""

        def __init__(self):
            super().__init__()
            self.narrowed = False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if any(t.dtype is torch.float64 for t in _tensors(args)):
                self.narrowed |= any(
                    t.is_floating_point() and t.dtype is not torch.float64
                    for t in _tensors(result))
            return result

    class Widen(TorchDispatchMode):
        """Makes float64 of every smaller float that a program asks for."""

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = {k: _wide(v) for k, v in (kwargs or {}).items()}
            return func(*[_wide(a) for a in args], **kwargs)


def _wide(value):
    if isinstance(value, torch.dtype) and value.is_floating_point:
        return torch.float64
    return value


def count(call):
    """Operations of one call() as a dict with their total, or None."""
    if TorchDispatchMode is None:
        return None
    counter = Counter()
    try:
        with counter:
            call()
    except Exception:   # a count is not worth a problem
        return None
    if not counter.known:
        return None
    counts = dict(counter.sums)
    counts["total"] = sum(counter.sums.values())
    return counts


def tables(call, weights):
    """Places of the weights that one call() takes as they are."""
    if TorchDispatchMode is None:
        return []
    watch = TableWatch(weights)
    with watch:
        call()
    return sorted(watch.found)


def multiplies(counts):
    """Are there sums of products, whose terms an algorithm may mix? Yes where
    that is not known."""
    return counts is None or bool(counts["matmul"] or counts["convolution"])


def narrow_watch():
    if TorchDispatchMode is None:
        return contextlib.nullcontext()
    return NarrowWatch()


def widen():
    return Widen() if TorchDispatchMode is not None else None
