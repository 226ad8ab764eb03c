"""Multi-head self-attention: one product makes queries, keys and values, no
token looks ahead, one product brings the heads together.

Sizes can be changed with --size or --set, for instance --set TOKENS=33.
"""

import math

import torch
import torch.nn as nn

BATCH = 2
TOKENS = 96
FEATURES = 192
HEADS = 6
# kforge: size test BATCH=1 TOKENS=7 FEATURES=16 HEADS=2
# kforge: size gpu BATCH=16 TOKENS=1024 FEATURES=1024 HEADS=16


class Model(nn.Module):
    def __init__(self, tokens, features, heads):
        super().__init__()
        self.heads = heads
        self.together = nn.Linear(features, 3 * features, bias=False)
        self.out = nn.Linear(features, features)
        nn.init.normal_(self.together.weight, 0, 1.5 / math.sqrt(features))
        later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        self.register_buffer("later", later)

    def forward(self, x):
        batch, tokens, features = x.shape
        parts = self.together(x).view(batch, tokens, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        score = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        score = score.masked_fill(self.later, float("-inf"))
        mixed = torch.softmax(score, dim=-1) @ value
        mixed = mixed.transpose(1, 2).reshape(batch, tokens, features)
        return self.out(mixed)


def get_init_inputs():
    return [TOKENS, FEATURES, HEADS]


def get_inputs():
    return [torch.randn(BATCH, TOKENS, FEATURES)]
