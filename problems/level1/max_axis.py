"""The highest reading of each sensor, with an offset for each hour.

Readings and offsets come in steps of a quarter, so that the highest is often
there more than once. Sizes can be changed with --size or --set, for instance
--set SENSORS=77.
"""

import torch
import torch.nn as nn

DAYS = 30
HOURS = 240
SENSORS = 200
# kforge: size test DAYS=3 HOURS=24 SENSORS=13
# kforge: size gpu DAYS=365 HOURS=2400 SENSORS=1000


class Model(nn.Module):
    def __init__(self, hours):
        super().__init__()
        self.offset = nn.Parameter(torch.round(4 * torch.randn(hours, 1)) / 4)

    def forward(self, reading):
        return torch.max(reading + self.offset, dim=1).values


def get_init_inputs():
    return [HOURS]


def get_inputs():
    return [torch.round(12 * torch.randn(DAYS, HOURS, SENSORS)) / 4]
