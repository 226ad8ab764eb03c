"""The second half of a transformer block's step: add the residual, normalise.

Sizes can be changed with --size or --set, for instance --set TOKENS=128.
"""

import torch
import torch.nn as nn

TOKENS = 1024
FEATURES = 512
# kforge: size test TOKENS=24 FEATURES=96
# kforge: size gpu TOKENS=65536 FEATURES=4096


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x, residual):
        return self.norm(x + residual)


def get_init_inputs():
    return [FEATURES]


def get_inputs():
    return [torch.randn(TOKENS, FEATURES),
            0.5 * torch.randn(TOKENS, FEATURES)]
