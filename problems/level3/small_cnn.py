"""A small image classifier: two stages of convolution, ReLU and pooling, then
a linear layer.

Sizes can be changed with --size or --set, for instance --set BATCH=1.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
CHANNELS = 16
SIDE = 32
CLASSES = 10
# kforge: size test BATCH=2 CHANNELS=3 SIDE=8
# kforge: size gpu BATCH=1024 CHANNELS=64 SIDE=64 CLASSES=100


class Model(nn.Module):
    def __init__(self, channels, side, classes):
        super().__init__()
        self.first = nn.Conv2d(3, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, 2 * channels, 3, padding=1)
        self.last = nn.Linear(2 * channels * (side // 4) ** 2, classes)

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.first(image)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        return self.last(x.flatten(1))


def get_init_inputs():
    return [CHANNELS, SIDE, CLASSES]


def get_inputs():
    return [torch.randn(BATCH, 3, SIDE, SIDE)]
