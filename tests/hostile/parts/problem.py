"""A weighted sum of two vectors."""
import torch
import torch.nn as nn

HERE_TEXT

class Model(nn.Module):
    def forward(self, x, y):
        return 1.5 * x - 0.75 * y


def get_inputs():
    return [torch.randn(1003), torch.randn(1003)]


def get_init_inputs():
    return []


if HERE_AT_IMPORT:
    raise SystemExit(66)
