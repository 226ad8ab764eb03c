"""Feature maps normalised in groups of channels, with gain and shift.

Sizes can be changed with --size or --set, for instance --set GROUPS=4.
"""

import torch
import torch.nn as nn

BATCH = 16
CHANNELS = 48
GROUPS = 6
HEIGHT = 40
WIDTH = 40
# kforge: size test BATCH=2 CHANNELS=12 GROUPS=3 HEIGHT=5 WIDTH=7
# kforge: size gpu BATCH=128 CHANNELS=256 GROUPS=32 HEIGHT=96 WIDTH=96


class Model(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)
        nn.init.normal_(self.norm.weight, 1, 0.3)
        nn.init.normal_(self.norm.bias, 0, 0.3)

    def forward(self, image):
        return self.norm(image)


def get_init_inputs():
    return [GROUPS, CHANNELS]


def get_inputs():
    spread = 0.5 + torch.rand(BATCH, CHANNELS, 1, 1)
    return [spread * torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) + 0.5]
