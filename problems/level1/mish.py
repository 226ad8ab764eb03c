"""An activation with a soft gate: x times tanh of softplus of x, with a
steepness for each channel.

Sizes can be changed with --size or --set, for instance --set ROWS=64.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 768
CHANNELS = 513
# kforge: size test ROWS=7 CHANNELS=37
# kforge: size gpu ROWS=65536 CHANNELS=4097


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.steepness = nn.Parameter(0.5 + torch.rand(channels))

    def forward(self, x):
        return x * torch.tanh(F.softplus(self.steepness * x))


def get_init_inputs():
    return [CHANNELS]


def get_inputs():
    return [2 * torch.randn(ROWS, CHANNELS)]
