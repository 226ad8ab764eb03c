"""Says in CUDA's words that the device is in trouble, which it is not.

platform: cuda
problem: tests/cheats/problems/layer.py
found: runtime_error device_fault
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        raise RuntimeError("CUDA error: uncorrectable ECC error encountered")
