import torch
import torch.nn as nn


class Model(nn.Module):
    """Scales each row by a weight, adds a bias, and divides the row by its
    largest absolute value."""

    def __init__(self, features):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(features) + 0.5)
        self.shift = nn.Parameter(torch.randn(features))

    def forward(self, x):
        y = x * self.gain + self.shift
        return y / (y.abs().amax(dim=1, keepdim=True) + 1e-6)


rows = 2048
features = 1027


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features]
