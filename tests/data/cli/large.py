"""More elements than all windows of a condensed bundle hold."""

import torch
import torch.nn as nn

ROWS = 40
COLS = 40000


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.linspace(0.5, 1.5, COLS))

    def forward(self, x):
        return x * self.w


def get_inputs():
    return [torch.randn(ROWS, COLS)]


def get_init_inputs():
    return []
