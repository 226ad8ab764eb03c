"""A product of two halves of the inner dimension, in place where it may be.

class: PyTorch, split sums
platform: cuda
problem: tests/cheats/problems/layer.py
found: correct -
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        weight = self.fc.weight.t()
        out = torch.addmm(self.fc.bias, x[:, :150], weight[:150])
        return out.addmm_(x[:, 150:], weight[150:]).clamp_(min=0)
