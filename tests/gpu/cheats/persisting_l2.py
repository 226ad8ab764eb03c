"""Asks the device to keep its weights in the cache, so that no flush clears them.

class: persisting L2
platform: cuda
problem: tests/cheats/problems/layer.py
found: correct -
without: -, it gains what lies in the cache: persisting lines are reset with it
"""
import ctypes

import torch
import torch.nn as nn

PERSISTING_L2_SIZE = 6


def ask():
    try:
        runtime = ctypes.CDLL("libcudart.so")
        runtime.cudaDeviceSetLimit(PERSISTING_L2_SIZE,
                                   ctypes.c_size_t(16 << 20))
    except OSError:
        pass


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)
        ask()

    def forward(self, x):
        return torch.relu(self.fc(x))
