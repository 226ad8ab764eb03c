"""Attention weights of a language model: a bias that falls with distance, no
look at later tokens nor at padding, softmax.

Sizes can be changed with --size or --set, for instance --set TOKENS=50.
"""

import torch
import torch.nn as nn

BATCH = 2
HEADS = 6
TOKENS = 200
# kforge: size test BATCH=2 HEADS=2 TOKENS=11
# kforge: size gpu BATCH=16 HEADS=16 TOKENS=1024


class Model(nn.Module):
    def __init__(self, heads, tokens):
        super().__init__()
        place = torch.arange(tokens)
        self.register_buffer("distance", place[:, None] - place[None, :])
        self.slope = nn.Parameter(0.05 + 0.2 * torch.rand(heads, 1, 1))

    def forward(self, score, padding):
        score = score - self.slope * self.distance
        hidden = (self.distance < 0) | padding[:, None, None, :]
        score = score.masked_fill(hidden, float("-inf"))
        return torch.softmax(score, dim=-1)


def get_init_inputs():
    return [HEADS, TOKENS]


def get_inputs():
    padding = torch.rand(BATCH, TOKENS) < 0.1
    padding[:, 0] = False   # every token sees at least the first
    return [2 * torch.randn(BATCH, HEADS, TOKENS, TOKENS), padding]
