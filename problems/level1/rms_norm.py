"""Rows divided by their root mean square, then a gain for each feature.

Sizes can be changed with --size or --set, for instance --set TOKENS=128.
"""

import torch
import torch.nn as nn

TOKENS = 2048
FEATURES = 768
EPSILON = 1e-5
# kforge: size test TOKENS=11 FEATURES=72
# kforge: size gpu TOKENS=65536 FEATURES=4096


class Model(nn.Module):
    def __init__(self, features, epsilon):
        super().__init__()
        self.epsilon = epsilon
        self.gain = nn.Parameter(1 + 0.3 * torch.randn(features))

    def forward(self, x):
        square = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(square + self.epsilon) * self.gain


def get_init_inputs():
    return [FEATURES, EPSILON]


def get_inputs():
    return [torch.randn(TOKENS, FEATURES) * (0.5 + torch.rand(TOKENS, 1))]
