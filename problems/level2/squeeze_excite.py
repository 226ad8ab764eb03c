"""Channels of an image weighted by what the whole image shows of them.

Sizes can be changed with --size or --set, for instance --set HEIGHT=14.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 16
CHANNELS = 96
SQUEEZED = 24
HEIGHT = 36
WIDTH = 36
# kforge: size test BATCH=2 CHANNELS=8 SQUEEZED=4 HEIGHT=5 WIDTH=6
# kforge: size gpu BATCH=128 CHANNELS=512 SQUEEZED=64 HEIGHT=72 WIDTH=72


class Model(nn.Module):
    def __init__(self, channels, squeezed):
        super().__init__()
        self.squeeze = nn.Linear(channels, squeezed)
        self.excite = nn.Linear(squeezed, channels)
        nn.init.normal_(self.squeeze.weight, 0, 0.5)
        nn.init.normal_(self.excite.weight, 0, 0.5)

    def forward(self, image):
        seen = image.mean(dim=(2, 3))
        gate = torch.sigmoid(self.excite(F.relu(self.squeeze(seen))))
        return image * gate[:, :, None, None]


def get_init_inputs():
    return [CHANNELS, SQUEEZED]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) +
            torch.randn(BATCH, CHANNELS, 1, 1)]
