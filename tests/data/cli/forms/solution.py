import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(columns) + 0.5)
        self.shift = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return torch.addcmul(self.shift, x, self.scale).clamp_(min=0)
