"""Scores of many classes, scaled by a temperature for each sample, reduced to
their log partition function.

Sizes can be changed with --size or --set, for instance --set CLASSES=50.
"""

import torch
import torch.nn as nn

BATCH = 128
FEATURES = 256
CLASSES = 1003
# kforge: size test BATCH=6 FEATURES=16 CLASSES=23
# kforge: size gpu BATCH=8192 FEATURES=1024 CLASSES=16003


class Model(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.linear = nn.Linear(features, classes)
        nn.init.normal_(self.linear.weight, 0, 0.2)
        nn.init.normal_(self.linear.bias, 0, 1)

    def forward(self, x, temperature):
        return torch.logsumexp(self.linear(x) / temperature, dim=1)


def get_init_inputs():
    return [FEATURES, CLASSES]


def get_inputs():
    return [torch.randn(BATCH, FEATURES), 0.5 + torch.rand(BATCH, 1)]
