import torch
import torch.nn as nn


class Model(nn.Module):
    """z = a x + b y + w, by two kernels, a copy that is kept, and scratch"""

    def __init__(self, count):
        super().__init__()
        self.w = nn.Parameter(torch.rand(count))

    def forward(self, x, y):
        return 1.5 * x - 0.75 * y * self.w


def get_inputs():
    return [torch.randn(1003), torch.randn(1003)]


def get_init_inputs():
    return [1003]
