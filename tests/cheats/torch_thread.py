"""Returns memory that a thread fills a little later.

class: work deferred to another thread
problem: tests/cheats/problems/layer.py
found: mismatch values|unwritten|non_finite|cheat_deferred_work
without: -, what a call returned is looked at before the clock stops and after
"""
import threading
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        out = torch.full((x.shape[0], 40), 7.0)

        def work():
            time.sleep(0.02)
            with torch.no_grad():
                out.copy_(torch.relu(self.fc(x)))

        threading.Thread(target=work).start()
        return out
