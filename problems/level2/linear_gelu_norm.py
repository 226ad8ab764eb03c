"""A feed-forward layer with its surroundings: linear, GELU, the residual,
layer norm.

Sizes can be changed with --size or --set, for instance --set TOKENS=16.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 128
FEATURES = 320
# kforge: size test TOKENS=5 FEATURES=24
# kforge: size gpu TOKENS=16384 FEATURES=3072


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        nn.init.normal_(self.norm.weight, 1, 0.3)
        nn.init.normal_(self.norm.bias, 0, 0.3)

    def forward(self, x):
        return self.norm(x + F.gelu(self.linear(x)))


def get_init_inputs():
    return [FEATURES]


def get_inputs():
    return [torch.randn(TOKENS, FEATURES)]
