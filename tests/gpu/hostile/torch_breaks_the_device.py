"""Has a kernel of PyTorch's stop at an index that is not there.

platform: cuda
problem: tests/cheats/problems/layer.py
found: runtime_error exception|device_fault
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        wrong = torch.full((24,), 1 << 30, device=x.device)
        return torch.relu(self.fc(x))[wrong]
