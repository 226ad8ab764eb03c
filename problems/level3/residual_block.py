"""A block of a residual network that halves the image: two convolutions beside
a shortcut with one of its own, each normalised with statistics from training.

Sizes can be changed with --size or --set, for instance --set BATCH=1.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
CHANNELS_IN = 24
CHANNELS_OUT = 32
SIDE = 28
# kforge: size test BATCH=1 CHANNELS_IN=3 CHANNELS_OUT=4 SIDE=9
# kforge: size gpu BATCH=256 CHANNELS_IN=64 CHANNELS_OUT=128 SIDE=56


class Norm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.2 * torch.randn(channels))
        self.bias = nn.Parameter(0.2 * torch.randn(channels))
        self.register_buffer("running_mean", 0.2 * torch.randn(channels))
        self.register_buffer("running_var", 0.5 + torch.rand(channels))

    def forward(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var,
                            self.weight, self.bias)


class Model(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.first = nn.Conv2d(channels_in, channels_out, 3, stride=2,
                               padding=1, bias=False)
        self.first_norm = Norm(channels_out)
        self.second = nn.Conv2d(channels_out, channels_out, 3, padding=1,
                                bias=False)
        self.second_norm = Norm(channels_out)
        self.shortcut = nn.Conv2d(channels_in, channels_out, 1, stride=2,
                                  bias=False)
        self.shortcut_norm = Norm(channels_out)

    def forward(self, image):
        x = F.relu(self.first_norm(self.first(image)))
        x = self.second_norm(self.second(x))
        return F.relu(x + self.shortcut_norm(self.shortcut(image)))


def get_init_inputs():
    return [CHANNELS_IN, CHANNELS_OUT]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS_IN, SIDE, SIDE)]
