"""A long short-term memory read step by step over a short sequence, from a
state that is given; the last states are what comes out.

Sizes can be changed with --size or --set, for instance --set STEPS=3.
"""

import torch
import torch.nn as nn

BATCH = 16
STEPS = 12
FEATURES = 64
HIDDEN = 128
# kforge: size test BATCH=3 STEPS=3 FEATURES=6 HIDDEN=8
# kforge: size gpu BATCH=1024 STEPS=32 FEATURES=512 HIDDEN=1024


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.input = nn.Linear(features, 4 * hidden)
        self.state = nn.Linear(hidden, 4 * hidden, bias=False)

    def forward(self, signal, hidden, cell):
        for step in range(signal.shape[1]):
            gates = self.input(signal[:, step]) + self.state(hidden)
            keep, write, show, new = gates.chunk(4, dim=1)
            cell = torch.sigmoid(keep) * cell + \
                torch.sigmoid(write) * torch.tanh(new)
            hidden = torch.sigmoid(show) * torch.tanh(cell)
        return hidden, cell


def get_init_inputs():
    return [FEATURES, HIDDEN]


def get_inputs():
    return [2 * torch.randn(BATCH, STEPS, FEATURES),
            torch.tanh(torch.randn(BATCH, HIDDEN)),
            torch.randn(BATCH, HIDDEN)]
