"""A small perceptron with two hidden layers and GELU between them.

Sizes can be changed with --size or --set, for instance --set BATCH=8.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 64
FEATURES = 384
HIDDEN = 768
CLASSES = 100
# kforge: size test BATCH=3 FEATURES=24 HIDDEN=40 CLASSES=10
# kforge: size gpu BATCH=4096 FEATURES=2048 HIDDEN=8192 CLASSES=1000


class Model(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.first = nn.Linear(features, hidden)
        self.second = nn.Linear(hidden, hidden)
        self.last = nn.Linear(hidden, classes)

    def forward(self, x):
        x = F.gelu(self.first(x))
        x = F.gelu(self.second(x))
        return self.last(x)


def get_init_inputs():
    return [FEATURES, HIDDEN, CLASSES]


def get_inputs():
    return [torch.randn(BATCH, FEATURES)]
