"""The largest value in windows of time, taken on a signal that is padded.

Sizes can be changed with --size or --set, for instance --set WINDOW=7.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
CHANNELS = 48
STEPS = 2000
WINDOW = 5
STRIDE = 3
# kforge: size test BATCH=2 CHANNELS=3 STEPS=31
# kforge: size gpu BATCH=128 CHANNELS=256 STEPS=20000


class Model(nn.Module):
    def __init__(self, window, stride):
        super().__init__()
        self.window = window
        self.stride = stride

    def forward(self, signal):
        return F.max_pool1d(signal, self.window, self.stride,
                            padding=self.window // 2)


def get_init_inputs():
    return [WINDOW, STRIDE]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, STEPS)]
