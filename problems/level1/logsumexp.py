"""Log of the sum of exponentials of each row, of scores of any size.

Sizes can be changed with --size or --set, for instance --set COLUMNS=31.
"""

import torch
import torch.nn as nn

ROWS = 1600
COLUMNS = 777
# kforge: size test ROWS=9 COLUMNS=65
# kforge: size gpu ROWS=65536 COLUMNS=8191


class Model(nn.Module):
    def forward(self, scores):
        return torch.logsumexp(scores, dim=-1)


def get_init_inputs():
    return []


def get_inputs():
    return [torch.randn(ROWS, COLUMNS) * (1 + 4 * torch.rand(ROWS, 1)) +
            10 * torch.randn(ROWS, 1)]
