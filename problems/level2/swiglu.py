"""The gated layer of recent language models: one product gates another.

Sizes can be changed with --size or --set, for instance --set TOKENS=16.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 96
FEATURES = 192
HIDDEN = 512
# kforge: size test TOKENS=5 FEATURES=12 HIDDEN=20
# kforge: size gpu TOKENS=4096 FEATURES=2048 HIDDEN=5632


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.gate = nn.Linear(features, hidden, bias=False)
        self.up = nn.Linear(features, hidden, bias=False)
        self.down = nn.Linear(hidden, features, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def get_init_inputs():
    return [FEATURES, HIDDEN]


def get_inputs():
    return [2 * torch.randn(TOKENS, FEATURES)]
