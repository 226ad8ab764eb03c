"""Mean and variance of each column of a table, the unbiased kind.

Sizes can be changed with --size or --set, for instance --set ROWS=50.
"""

import torch
import torch.nn as nn

ROWS = 2000
COLUMNS = 300
# kforge: size test ROWS=40 COLUMNS=17
# kforge: size gpu ROWS=1000000 COLUMNS=500


class Model(nn.Module):
    def forward(self, table):
        variance, mean = torch.var_mean(table, dim=0, unbiased=True)
        return mean, variance


def get_init_inputs():
    return []


def get_inputs():
    spread = 0.25 + 2 * torch.rand(1, COLUMNS)
    return [spread * torch.randn(ROWS, COLUMNS) + 2 * torch.randn(1, COLUMNS)]
