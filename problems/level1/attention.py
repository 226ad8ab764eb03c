"""Scaled dot-product attention of several heads, every query over all keys.

Sizes can be changed with --size or --set, for instance --set KEYS=99.
"""

import math

import torch
import torch.nn as nn

BATCH = 2
HEADS = 4
QUERIES = 128
KEYS = 160
DEPTH = 64
# kforge: size test BATCH=1 HEADS=2 QUERIES=7 KEYS=9 DEPTH=8
# kforge: size gpu BATCH=16 HEADS=16 QUERIES=1024 KEYS=1024 DEPTH=64


class Model(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.scale = 1 / math.sqrt(depth)

    def forward(self, query, key, value):
        score = torch.matmul(query, key.transpose(-2, -1)) * self.scale
        return torch.matmul(torch.softmax(score, dim=-1), value)


def get_init_inputs():
    return [DEPTH]


def get_inputs():
    return [2 * torch.randn(BATCH, HEADS, QUERIES, DEPTH),
            torch.randn(BATCH, HEADS, KEYS, DEPTH),
            torch.randn(BATCH, HEADS, KEYS, DEPTH)]
