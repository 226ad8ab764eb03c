"""Reads its first input for ever, in whose memory most others come to lie.

class: warm-up replay
problem: tests/cheats/problems/layer.py
found: mismatch values
without: -, some calls find their inputs in another place
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)
        self.first = None

    def forward(self, x):
        if self.first is None:
            self.first = x
        return torch.relu(self.fc(self.first))
