import torch
import torch.nn as nn


class Model(nn.Module):
    """The sum of two small tensors: what is left is what judging costs."""

    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return a + b


def get_inputs():
    return [torch.randn(1, 128), torch.randn(1, 128)]


def get_init_inputs():
    return []
