"""A filter of its own for each channel of an image, with a stride of two.

Sizes can be changed with --size or --set, for instance --set KERNEL=3.
"""

import torch
import torch.nn as nn

BATCH = 8
CHANNELS = 64
HEIGHT = 57
WIDTH = 57
KERNEL = 5
STRIDE = 2
# kforge: size test BATCH=1 CHANNELS=5 HEIGHT=11 WIDTH=12
# kforge: size gpu BATCH=64 CHANNELS=512 HEIGHT=113 WIDTH=113


class Model(nn.Module):
    def __init__(self, channels, kernel, stride):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel, stride=stride,
                              padding=kernel // 2, groups=channels)

    def forward(self, image):
        return self.conv(image)


def get_init_inputs():
    return [CHANNELS, KERNEL, STRIDE]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]
