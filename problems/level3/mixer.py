"""A mixer block: a perceptron over the patches of each channel, then one over
the channels of each patch, both on normalised input and added to it.

Sizes can be changed with --size or --set, for instance --set PATCHES=16.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
PATCHES = 49
CHANNELS = 96
# kforge: size test BATCH=2 PATCHES=6 CHANNELS=10
# kforge: size gpu BATCH=256 PATCHES=196 CHANNELS=512


class Perceptron(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.up = nn.Linear(features, 2 * features)
        self.down = nn.Linear(2 * features, features)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Model(nn.Module):
    def __init__(self, patches, channels):
        super().__init__()
        self.patch_norm = nn.LayerNorm(channels)
        self.patch = Perceptron(patches)
        self.channel_norm = nn.LayerNorm(channels)
        self.channel = Perceptron(channels)
        for norm in (self.patch_norm, self.channel_norm):
            nn.init.normal_(norm.weight, 1, 0.2)
            nn.init.normal_(norm.bias, 0, 0.2)

    def forward(self, x):
        mixed = self.patch(self.patch_norm(x).transpose(1, 2))
        x = x + mixed.transpose(1, 2)
        return x + self.channel(self.channel_norm(x))


def get_init_inputs():
    return [PATCHES, CHANNELS]


def get_inputs():
    return [torch.randn(BATCH, PATCHES, CHANNELS)]
