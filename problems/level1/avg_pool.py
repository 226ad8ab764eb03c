"""Means over windows that overlap; at the border only what lies inside counts.

Sizes can be changed with --size or --set, for instance --set WINDOW=5.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS = 64
HEIGHT = 48
WIDTH = 50
WINDOW = 3
STRIDE = 2
# kforge: size test BATCH=1 CHANNELS=3 HEIGHT=8 WIDTH=9
# kforge: size gpu BATCH=128 CHANNELS=256 HEIGHT=160 WIDTH=160


class Model(nn.Module):
    def __init__(self, window, stride):
        super().__init__()
        self.window = window
        self.stride = stride

    def forward(self, image):
        return F.avg_pool2d(image, self.window, self.stride,
                            padding=self.window // 2, count_include_pad=False)


def get_init_inputs():
    return [WINDOW, STRIDE]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]
