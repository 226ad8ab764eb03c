"""Ends its process, and says that all is well.

platform: cuda
problem: tests/cheats/problems/layer.py
found: runtime_error exited
"""
import os

import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        os._exit(0)
