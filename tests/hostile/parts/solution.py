import torch
import torch.nn as nn

HERE_TEXT

class ModelNew(nn.Module):
    def forward(self, x, y):
        if HERE_IN_FORWARD:
            raise RuntimeError("harm was done")
        return 1.5 * x - 0.75 * y


if HERE_AT_IMPORT:
    raise RuntimeError("harm was done")
