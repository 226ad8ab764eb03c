"""Launches on a stream of its own and does not wait for it.

class: work on another stream
platform: cuda
problem: tests/cheats/problems/layer.py
found: correct -
time: 8 ms
without: -, the clock stops when the whole device has finished
"""
import torch
import torch.nn as nn

SIDE = torch.cuda.Stream() if torch.cuda.is_available() else None


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        out = torch.empty(x.shape[0], 40, device=x.device)
        with torch.cuda.stream(SIDE):
            torch.cuda._sleep(20_000_000)
            out.copy_(torch.relu(self.fc(x)))
        return out
