"""Captures one call as a graph and replays it, on the very memory of that call's
inputs, in which most later ones come to lie.

class: warm-up replay
platform: cuda
problem: tests/cheats/problems/layer.py
found: mismatch values
without: -, some calls find their inputs in another place
"""
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(300, 40)
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.kept = x
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):       # libraries set themselves up
                torch.relu(self.fc(self.kept))
            torch.cuda.current_stream().wait_stream(side)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = torch.relu(self.fc(self.kept))
        self.graph.replay()
        return self.out
