"""An image made twice as large by a transposed convolution.

Sizes can be changed with --size or --set, for instance --set BATCH=1.
"""

import torch
import torch.nn as nn

BATCH = 2
CHANNELS_IN = 24
CHANNELS_OUT = 12
HEIGHT = 28
WIDTH = 30
KERNEL = 4
# kforge: size test BATCH=1 CHANNELS_IN=4 CHANNELS_OUT=3 HEIGHT=5 WIDTH=6
# kforge: size gpu BATCH=32 CHANNELS_IN=128 CHANNELS_OUT=64 HEIGHT=128 WIDTH=128


class Model(nn.Module):
    def __init__(self, channels_in, channels_out, kernel):
        super().__init__()
        self.conv = nn.ConvTranspose2d(channels_in, channels_out, kernel,
                                       stride=2, padding=1)

    def forward(self, image):
        return self.conv(image)


def get_init_inputs():
    return [CHANNELS_IN, CHANNELS_OUT, KERNEL]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS_IN, HEIGHT, WIDTH)]
