"""Switches TF32 on for the whole process, its own and the reference's, it hopes.

class: global numeric state changed
platform: cuda
problem: tests/cheats/problems/layer.py
found: mismatch values
without: -, the reference runs in a process that never loads the program
"""
import torch
import torch.nn as nn

torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        torch.backends.cuda.matmul.allow_tf32 = True
        return torch.relu(self.fc(x))
