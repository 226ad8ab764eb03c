"""Right, and its input serves it as scratch.

class: destroyed inputs
platform: cuda
problem: tests/cheats/problems/layer.py
found: mismatch input_changed
without: -, inputs are compared on the device after every call
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        out = torch.relu(self.fc(x))
        x.zero_()
        return out
