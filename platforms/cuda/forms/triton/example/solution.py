import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_row(x, gain, shift, out, features, BLOCK: tl.constexpr):
    """A row for each program: read once, kept in registers, written once."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < features
    at = row * features + column
    y = tl.load(x + at, mask=inside, other=0.0)
    y = y * tl.load(gain + column, mask=inside, other=0.0)
    y += tl.load(shift + column, mask=inside, other=0.0)
    most = tl.max(tl.abs(y), axis=0)
    tl.store(out + at, y / (most + 1e-6), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(features) + 0.5)
        self.shift = nn.Parameter(torch.randn(features))

    def forward(self, x):
        rows, features = x.shape
        out = torch.empty_like(x)
        scale_row[(rows,)](x, self.gain, self.shift, out, features,
                           BLOCK=triton.next_power_of_2(features))
        return out
