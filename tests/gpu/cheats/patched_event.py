"""Has the events of the device tell a hundredth of the time.

class: patched clocks
platform: cuda
problem: tests/cheats/problems/layer.py
found: correct -
time: 500 us
without: -, the time is not taken in its process
"""
import torch
import torch.nn as nn

BEFORE = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda a, b: BEFORE(a, b) / 100


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        torch.cuda._sleep(2_000_000)
        return torch.relu(self.fc(x))
