import torch
import torch.nn as nn


class ModelNew(nn.Module):
    """One pass over blocks of rows that stay in the caches: the sum goes into a
    buffer of its own, the maximum is found there, and the division is done in
    place, instead of five passes over all of memory."""

    BLOCK_BYTES = 256 << 10

    def __init__(self, features):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(features) + 0.5)
        self.shift = nn.Parameter(torch.randn(features))
        self.rows = max(1, self.BLOCK_BYTES // (4 * features))

    def forward(self, x):
        out = torch.empty_like(x)
        for first in range(0, x.shape[0], self.rows):
            y = out[first:first + self.rows]
            torch.addcmul(self.shift, x[first:first + self.rows], self.gain,
                          out=y)
            most = torch.maximum(y.amax(dim=1), -y.amin(dim=1)).add_(1e-6)
            y.mul_(most.reciprocal_().unsqueeze(1))
        return out
