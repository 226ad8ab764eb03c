"""A program that kforge has judged, for PyTorch.

    ModelNew    the reference's Model with its forward replaced
    op          the same as an operator: torch.ops.kforge.NAME

README.md says what they promise.
"""

from .module import ModelNew
from .op import FACTS, Mismatch, op

__all__ = ["FACTS", "Mismatch", "ModelNew", "op"]
