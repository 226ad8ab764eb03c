"""A bank of special functions of a signal in double precision, with gains.

Sizes can be changed with --size or --set, for instance --set ROWS=8.
"""

import torch
import torch.nn as nn

ROWS = 64
COLUMNS = 257
FLOOR = 0.2
# kforge: size test ROWS=4 COLUMNS=33
# kforge: size gpu ROWS=4096 COLUMNS=4097


class Model(nn.Module):
    def __init__(self, floor):
        super().__init__()
        self.floor = floor
        self.gain = nn.Parameter(torch.rand(6, dtype=torch.float64) + 0.5)

    def forward(self, x):
        t = x.abs() + self.floor
        bank = (torch.special.erfcx(t),
                torch.special.i1e(x),
                torch.polygamma(1, t),
                torch.special.log_ndtr(x),
                torch.special.airy_ai(x),
                torch.special.zeta(t + 1, t))
        return torch.stack(bank, dim=-1) * self.gain


def get_init_inputs():
    return [FLOOR]


def get_inputs():
    return [2 * torch.randn(ROWS, COLUMNS, dtype=torch.float64)]
