"""A block of a text encoder: tokens looked up and placed, then attention and
a feed-forward layer, each on normalised input and added to it.

Sizes can be changed with --size or --set, for instance --set TOKENS=33.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 2
TOKENS = 64
FEATURES = 128
HEADS = 4
VOCABULARY = 500
# kforge: size test BATCH=2 TOKENS=5 FEATURES=16 HEADS=2 VOCABULARY=20
# kforge: size gpu BATCH=16 TOKENS=512 FEATURES=1024 HEADS=16 VOCABULARY=32000


class Model(nn.Module):
    def __init__(self, tokens, features, heads, vocabulary):
        super().__init__()
        self.heads = heads
        self.word = nn.Embedding(vocabulary, features)
        self.place = nn.Parameter(torch.randn(tokens, features))
        self.attention_norm = nn.LayerNorm(features)
        self.together = nn.Linear(features, 3 * features, bias=False)
        self.out = nn.Linear(features, features)
        self.feed_norm = nn.LayerNorm(features)
        self.up = nn.Linear(features, 4 * features)
        self.down = nn.Linear(4 * features, features)
        nn.init.normal_(self.together.weight, 0, 1.5 / math.sqrt(features))
        for norm in (self.attention_norm, self.feed_norm):
            nn.init.normal_(norm.weight, 1, 0.2)
            nn.init.normal_(norm.bias, 0, 0.2)

    def attend(self, x):
        batch, tokens, features = x.shape
        parts = self.together(x).view(batch, tokens, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        score = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        mixed = torch.softmax(score, dim=-1) @ value
        return self.out(mixed.transpose(1, 2).reshape(x.shape))

    def forward(self, token):
        x = self.word(token) + self.place
        x = x + self.attend(self.attention_norm(x))
        return x + self.down(F.gelu(self.up(self.feed_norm(x))))


def get_init_inputs():
    return [TOKENS, FEATURES, HEADS, VOCABULARY]


def get_inputs():
    return [torch.randint(0, VOCABULARY, (BATCH, TOKENS))]
