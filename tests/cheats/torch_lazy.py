"""Returns a tensor of its own kind, which computes when somebody reads it.

class: lazy output
problem: tests/cheats/problems/layer.py
found: mismatch outputs
without: -, results must be plain tensors
"""
import torch
import torch.nn as nn


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunction():
            for lazy in args:
                if isinstance(lazy, Lazy) and hasattr(lazy, "work"):
                    lazy.copy_(lazy.work())
            return func(*args, **(kwargs or {}))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)

    def forward(self, x):
        out = torch.empty(x.shape[0], 40).as_subclass(Lazy)
        out.work = lambda: torch.relu(self.fc(x))
        return out
