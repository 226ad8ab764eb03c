"""Pairs of features turned by an angle that grows with the position: rotary
embedding, for queries and keys at positions of their own.

Sizes can be changed with --size or --set, for instance --set TOKENS=64.
"""

import torch
import torch.nn as nn

BATCH = 2
HEADS = 6
TOKENS = 256
DEPTH = 64
# kforge: size test BATCH=1 HEADS=2 TOKENS=6 DEPTH=8
# kforge: size gpu BATCH=32 HEADS=16 TOKENS=4096 DEPTH=128


class Model(nn.Module):
    def __init__(self, depth):
        super().__init__()
        power = torch.arange(0, depth, 2) / depth
        self.register_buffer("frequency", 100.0 ** -power)

    @staticmethod
    def turn(x, cosine, sine):
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = (even * cosine - odd * sine, even * sine + odd * cosine)
        return torch.stack(turned, dim=-1).flatten(-2)

    def forward(self, query, key, position):
        angle = position[:, None, :, None] * self.frequency
        cosine, sine = angle.cos(), angle.sin()
        return self.turn(query, cosine, sine), self.turn(key, cosine, sine)


def get_init_inputs():
    return [DEPTH]


def get_inputs():
    return [torch.randn(BATCH, HEADS, TOKENS, DEPTH),
            torch.randn(BATCH, HEADS, TOKENS, DEPTH),
            torch.randint(0, TOKENS, (BATCH, TOKENS))]
