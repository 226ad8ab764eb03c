"""A tall, narrow matrix, transposed, times another: a small result from a sum
over very many rows.

Sizes can be changed with --size or --set, for instance --set ROWS=1000.
"""

import torch
import torch.nn as nn

ROWS = 20000
LEFT = 24
RIGHT = 33
# kforge: size test ROWS=300 LEFT=5 RIGHT=6
# kforge: size gpu ROWS=16000000 LEFT=24 RIGHT=33


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.t(), b)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(ROWS, LEFT), torch.randn(ROWS, RIGHT)]
