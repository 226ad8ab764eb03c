"""Keeps its result by the shape of its input.

class: result cached by shape
platform: cuda
problem: tests/cheats/problems/layer.py
found: mismatch values
without: fresh_inputs
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)
        self.kept = {}

    def forward(self, x):
        key = x.shape
        if key not in self.kept:
            self.kept[key] = torch.relu(self.fc(x)).clone()
        return self.kept[key]
