"""Words of a sentence looked up in a table and added up, each with a weight.

Sizes can be changed with --size or --set, for instance --set WORDS=5.
"""

import torch
import torch.nn as nn

SENTENCES = 256
WORDS = 20
VOCABULARY = 2000
FEATURES = 128
# kforge: size test SENTENCES=5 WORDS=4 VOCABULARY=30 FEATURES=12
# kforge: size gpu SENTENCES=65536 WORDS=20 VOCABULARY=100000 FEATURES=256


class Model(nn.Module):
    def __init__(self, vocabulary, features):
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocabulary, features))

    def forward(self, word, weight):
        found = self.table[word]
        return (found * weight.unsqueeze(-1)).sum(dim=1)


def get_init_inputs():
    return [VOCABULARY, FEATURES]


def get_inputs():
    return [torch.randint(0, VOCABULARY, (SENTENCES, WORDS)),
            torch.rand(SENTENCES, WORDS) + 0.1]
