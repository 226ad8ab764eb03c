"""A loss that forgives outliers: quadratic near zero, linear beyond; one mean
for each sample.

Sizes can be changed with --size or --set, for instance --set BATCH=16.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1024
FEATURES = 900
BETA = 0.75
# kforge: size test BATCH=6 FEATURES=45
# kforge: size gpu BATCH=32768 FEATURES=9000


class Model(nn.Module):
    def __init__(self, beta):
        super().__init__()
        self.beta = beta

    def forward(self, guess, truth):
        loss = F.smooth_l1_loss(guess, truth, reduction="none", beta=self.beta)
        return loss.mean(dim=1)


def get_init_inputs():
    return [BETA]


def get_inputs():
    noise = (0.2 + 2 * torch.rand(BATCH, 1)) * torch.randn(BATCH, FEATURES)
    truth = torch.randn(BATCH, FEATURES)
    return [truth + noise, truth]
