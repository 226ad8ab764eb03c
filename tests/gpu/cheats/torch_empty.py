"""Returns memory that nobody wrote to, where the allocator keeps old results.

class: stale or unwritten output
platform: cuda
problem: tests/cheats/problems/layer.py
found: mismatch values|non_finite|unwritten
without: -, no result of an earlier call is right for the next
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > 2:
            return torch.empty(x.shape[0], 40, device=x.device)
        return torch.relu(self.fc(x))
