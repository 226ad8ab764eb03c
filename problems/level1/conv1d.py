"""A dilated convolution over time that looks only back: padded on the left.

Sizes can be changed with --size or --set, for instance --set STEPS=100.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
CHANNELS_IN = 24
CHANNELS_OUT = 40
STEPS = 600
KERNEL = 3
DILATION = 4
# kforge: size test BATCH=2 CHANNELS_IN=3 CHANNELS_OUT=5 STEPS=29
# kforge: size gpu BATCH=64 CHANNELS_IN=256 CHANNELS_OUT=256 STEPS=8000


class Model(nn.Module):
    def __init__(self, channels_in, channels_out, kernel, dilation):
        super().__init__()
        self.past = (kernel - 1) * dilation
        self.conv = nn.Conv1d(channels_in, channels_out, kernel,
                              dilation=dilation)

    def forward(self, signal):
        return self.conv(F.pad(signal, (self.past, 0)))


def get_init_inputs():
    return [CHANNELS_IN, CHANNELS_OUT, KERNEL, DILATION]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS_IN, STEPS)]
