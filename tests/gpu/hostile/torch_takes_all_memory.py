"""Takes all of the device's memory and keeps it.

platform: cuda
problem: tests/cheats/problems/layer.py
found: runtime_error memory
"""
import torch
import torch.nn as nn

kept = []


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        while True:
            kept.append(torch.empty(1 << 30, dtype=torch.uint8,
                                    device=x.device))
