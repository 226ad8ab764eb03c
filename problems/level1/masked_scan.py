"""How much is still to come: for each step the sum of all later ones and its
own, leaving out steps that are masked.

Sizes can be changed with --size or --set, for instance --set STEPS=100.
"""

import torch
import torch.nn as nn

BATCH = 200
STEPS = 2001
# kforge: size test BATCH=3 STEPS=70
# kforge: size gpu BATCH=16384 STEPS=16001


class Model(nn.Module):
    def forward(self, value, valid):
        kept = torch.where(valid, value, torch.zeros_like(value))
        return torch.flip(torch.cumsum(torch.flip(kept, [1]), dim=1), [1])


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(BATCH, STEPS), torch.rand(BATCH, STEPS) < 0.7]
