"""A small problem for the tests of the command line."""

import torch
import torch.nn as nn

ROWS = 64
COLUMNS = 96


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(columns) + 0.5)
        self.shift = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.relu(x * self.scale + self.shift)


def get_inputs():
    return [torch.randn(ROWS, COLUMNS)]


def get_init_inputs():
    return [COLUMNS]
