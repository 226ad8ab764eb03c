"""Energy of each channel: the sum of squares over time, the axis between.

Sizes can be changed with --size or --set, for instance --set STEPS=100.
"""

import torch
import torch.nn as nn

BATCH = 16
STEPS = 1000
CHANNELS = 100
# kforge: size test BATCH=2 STEPS=33 CHANNELS=10
# kforge: size gpu BATCH=64 STEPS=8000 CHANNELS=1000


class Model(nn.Module):
    def forward(self, signal):
        return torch.sum(signal * signal, dim=1)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(BATCH, STEPS, CHANNELS) *
            (0.5 + torch.rand(BATCH, 1, CHANNELS))]
