"""A product of two matrices none of whose sizes is a multiple of a vector.

Sizes can be changed with --size or --set, for instance --set INNER=77.
"""

import torch
import torch.nn as nn

ROWS = 251
INNER = 1013
COLUMNS = 307
# kforge: size test ROWS=13 INNER=61 COLUMNS=19
# kforge: size gpu ROWS=4099 INNER=4001 COLUMNS=4111


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(ROWS, INNER), torch.randn(INNER, COLUMNS)]
