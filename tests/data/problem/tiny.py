"""A problem that takes no time: every kind of weight, input and output."""

import torch
import torch.nn as nn

ROWS = 6
COLUMNS = 10


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.norm = nn.BatchNorm1d(columns)
        self.register_buffer("mask", torch.ones(columns))
        self.order = torch.arange(columns).flip(0)
        self.calls = 0

    def forward(self, x, nothing, factor, flag):
        self.calls += 1
        y = self.norm(x) * self.mask * factor * self.calls
        return y[:, self.order], (x > 0).sum(1)


def get_init_inputs():
    return [COLUMNS]


def get_inputs():
    return [torch.randn(ROWS, COLUMNS), None, 3, True]
