"""How surprised a classifier is by each right answer, weighted by class.

Sizes can be changed with --size or --set, for instance --set CLASSES=10.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1024
CLASSES = 1000
# kforge: size test BATCH=13 CLASSES=21
# kforge: size gpu BATCH=32768 CLASSES=16000


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.weight = nn.Parameter(0.5 + torch.rand(classes))

    def forward(self, logits, label):
        return F.cross_entropy(logits, label, weight=self.weight,
                               reduction="none")


def get_init_inputs():
    return [CLASSES]


def get_inputs():
    return [3 * torch.randn(BATCH, CLASSES),
            torch.randint(0, CLASSES, (BATCH,))]
