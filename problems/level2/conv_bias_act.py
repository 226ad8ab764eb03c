"""One stage of an image network: convolution, a bias of its own, hard swish.

Sizes can be changed with --size or --set, for instance --set BATCH=1.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
CHANNELS_IN = 24
CHANNELS_OUT = 32
HEIGHT = 56
WIDTH = 56
KERNEL = 3
# kforge: size test BATCH=1 CHANNELS_IN=4 CHANNELS_OUT=6 HEIGHT=10 WIDTH=11 KERNEL=5
# kforge: size gpu BATCH=64 CHANNELS_IN=96 CHANNELS_OUT=128 HEIGHT=112 WIDTH=112


class Model(nn.Module):
    def __init__(self, channels_in, channels_out, kernel):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, kernel,
                              padding=kernel // 2, bias=False)
        self.shift = nn.Parameter(0.3 * torch.randn(channels_out, 1, 1))

    def forward(self, image):
        return F.hardswish(self.conv(image) + self.shift)


def get_init_inputs():
    return [CHANNELS_IN, CHANNELS_OUT, KERNEL]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS_IN, HEIGHT, WIDTH)]
