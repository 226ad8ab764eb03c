"""Weights are laid out anew on the processor, where PyTorch makes tensors by
itself, and brought to the device then.

class: PyTorch, tensors without a device
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
        self.ones = torch.ones(8)
        self.packed = None

    def kf_prepare(self):
        packed = torch.zeros(304, 48)
        packed[:300, :40] = self.fc.weight.detach().cpu().t()
        packed[300, :40] = self.fc.bias.detach().cpu() * self.ones[0]
        self.packed = packed.to(self.fc.weight.device)

    def forward(self, x):
        out = x @ self.packed[:300, :40]
        return out.add_(self.packed[300, :40]).clamp_(min=0)
