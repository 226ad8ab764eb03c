"""What outputs become where the operands have less precision.

The float64 form is run on inputs and matrices that are rounded to it; the
difference to its own values is what a program's errors look like that computes
with such operands, however small they are (docs/judging.md).
"""

import torch

from .failure import Refused


def _nearest(x, bits):
    """x in float32 with so many bits of the fraction dropped, ties to even."""
    raw = x.view(torch.int32)
    odd = (raw >> bits) & 1
    return (((raw + ((1 << (bits - 1)) - 1) + odd) >> bits) << bits) \
        .view(torch.float32)


def _cut(x, bits):
    return ((x.view(torch.int32) >> bits) << bits).view(torch.float32)


# float16 has the bits of TF32, where it has the range.
KINDS = {"tf32": lambda x: _nearest(x, 13), "tf32_cut": lambda x: _cut(x, 13),
         "bf16": lambda x: _nearest(x, 16)}


def _rounded(leaf, how):
    if isinstance(leaf, torch.Tensor) and leaf.dtype is torch.float32:
        return how(leaf.contiguous())
    return leaf


def _difference(rounded, exact, expect):
    """Float32; None for an output that is not, or is not finite there."""
    if exact is None or expect.dtype is not torch.float32:
        return None
    away = (rounded - exact).float().contiguous()
    return away if bool(torch.isfinite(away).all()) else None


def differences(run, leaves, expect, exact):
    """{kind: a difference or None for each output}, of declared weights."""
    found = {}
    for kind, how in KINDS.items():
        weights = [_rounded(value, how)
                   if value.dim() > 1 and not slot.structural else value
                   for slot, value in zip(run.slots, run.declared)]
        try:
            outputs = run.exact([_rounded(leaf, how) for leaf in leaves],
                                weights)
        except Refused as refused:
            if refused.kind in ("memory", "exit"):
                raise
            continue
        if [out is None for out in outputs] == [y is None for y in exact]:
            found[kind] = [_difference(*three) for three in
                           zip(outputs, exact, expect)]
    return found
