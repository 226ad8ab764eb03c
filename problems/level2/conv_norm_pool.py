"""The first stage of an image classifier: convolution, normalisation with
statistics from training, ReLU, max pooling.

Sizes can be changed with --size or --set, for instance --set BATCH=1.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
CHANNELS_IN = 3
CHANNELS_OUT = 32
HEIGHT = 64
WIDTH = 64
KERNEL = 5
# kforge: size test BATCH=1 CHANNELS_IN=2 CHANNELS_OUT=4 HEIGHT=12 WIDTH=14
# kforge: size gpu BATCH=256 CHANNELS_IN=3 CHANNELS_OUT=64 HEIGHT=160 WIDTH=160


class Model(nn.Module):
    def __init__(self, channels_in, channels_out, kernel):
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, kernel,
                              padding=kernel // 2, bias=False)
        self.gain = nn.Parameter(1 + 0.3 * torch.randn(channels_out))
        self.shift = nn.Parameter(0.3 * torch.randn(channels_out))
        self.register_buffer("running_mean", 0.3 * torch.randn(channels_out))
        self.register_buffer("running_var", 0.5 + torch.rand(channels_out))

    def forward(self, image):
        x = F.batch_norm(self.conv(image), self.running_mean,
                         self.running_var, self.gain, self.shift)
        return F.max_pool2d(F.relu(x), 2)


def get_init_inputs():
    return [CHANNELS_IN, CHANNELS_OUT, KERNEL]


def get_inputs():
    return [torch.randn(BATCH, CHANNELS_IN, HEIGHT, WIDTH)]
