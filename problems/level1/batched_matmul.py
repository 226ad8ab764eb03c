"""Products of many small matrices, the second of each pair transposed.

Sizes can be changed with --size or --set, for instance --set PAIRS=8.
"""

import torch
import torch.nn as nn

PAIRS = 48
ROWS = 64
INNER = 96
COLUMNS = 80
# kforge: size test PAIRS=3 ROWS=8 INNER=12 COLUMNS=10
# kforge: size gpu PAIRS=1024 ROWS=512 INNER=384 COLUMNS=640


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b.transpose(1, 2))


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(PAIRS, ROWS, INNER), torch.randn(PAIRS, COLUMNS, INNER)]
