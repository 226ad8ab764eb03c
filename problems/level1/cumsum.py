"""Running totals over time of a batch of signals with several channels.

Sizes can be changed with --size or --set, for instance --set STEPS=100.
"""

import torch
import torch.nn as nn

BATCH = 8
STEPS = 1000
CHANNELS = 96
# kforge: size test BATCH=2 STEPS=50 CHANNELS=12
# kforge: size gpu BATCH=64 STEPS=8192 CHANNELS=768


class Model(nn.Module):
    def forward(self, signal):
        return torch.cumsum(signal, dim=1)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(BATCH, STEPS, CHANNELS)]
