"""Attention scores to probabilities: scaled, a bias for each column, softmax.

Sizes can be changed with --size or --set, for instance --set ROWS=64.
"""

import torch
import torch.nn as nn

ROWS = 768
COLUMNS = 1000
SCALE = 0.125
# kforge: size test ROWS=16 COLUMNS=100
# kforge: size gpu ROWS=32768 COLUMNS=4096


class Model(nn.Module):
    def __init__(self, columns, scale):
        super().__init__()
        self.scale = scale
        self.bias = nn.Parameter(0.5 * torch.randn(columns))

    def forward(self, scores):
        return torch.softmax(scores * self.scale + self.bias, dim=-1)


def get_init_inputs():
    return [COLUMNS, SCALE]


def get_inputs():
    return [4 * torch.randn(ROWS, COLUMNS)]
