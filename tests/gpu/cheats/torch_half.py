"""Computes in half precision, as autocast would.

class: lower precision
platform: cuda
problem: tests/cheats/problems/layer.py
found: mismatch values
without: precision
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.float16):
            return torch.relu(self.fc(x)).float()
