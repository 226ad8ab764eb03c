"""ModelNew: the reference's Model, computed by the program.

It is built like the reference and holds what the reference holds, so weights
and state_dicts of one fit the other. What the program was not made for (other
shapes, types, strides, devices, constructor arguments, modes, gradients) is
refused, or computed by the reference: on_mismatch="raise" or "fallback", by
default what the environment's KFORGE_ON_MISMATCH says, else "raise".
"""

import contextlib
import inspect
import os
import random
import sys
import warnings

import torch

from . import problem as reference
from .library import Mismatch
from .op import (FACTS, INPUTS, NO_GRADIENT, PROGRAM, WEIGHTS, op,
                 wants_gradient, why_not)

CHOICES = ("raise", "fallback")
NONES = [t["none"] for t in FACTS["inputs"]]
SCALARS = [s["value"] for s in FACTS["scalars"]]
BUILD_SEED = 42     # with which the constructor's arguments were judged


@contextlib.contextmanager
def _own_random_numbers():
    """What is drawn inside is not missed outside."""
    numpy = sys.modules.get("numpy")
    before = random.getstate(), torch.get_rng_state(), \
        numpy and numpy.random.get_state()
    try:
        yield
    finally:
        random.setstate(before[0])
        torch.set_rng_state(before[1])
        if numpy:
            numpy.random.set_state(before[2])


def _init_inputs():
    """The arguments that the program was judged with, as (args, kwargs)."""
    with _own_random_numbers():
        random.seed(BUILD_SEED)
        torch.manual_seed(BUILD_SEED)
        given = getattr(reference, "get_init_inputs", list)()
    if isinstance(given, dict):
        return (), given
    if not isinstance(given, (list, tuple)):
        return (given,), {}
    if len(given) == 2 and isinstance(given[0], (list, tuple)) and \
            isinstance(given[1], dict):
        return tuple(given[0]), given[1]
    return tuple(given), {}


def _bound(args, kwargs):
    """By name, defaults filled in, so that two ways to say the same agree."""
    try:
        bound = inspect.signature(reference.Model).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    bound.apply_defaults()
    return bound.arguments


def _equal(a, b):
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) \
            and a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(_equal(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_equal, a, b))
    return a is b or bool(a == b)


def _resolve(module, name):
    """The tensor that a weight's name stands for: attributes, items of lists
    and dicts on the way; None if there is none."""
    at = module
    for part in name.split("."):
        if isinstance(at, (list, tuple)):
            at = at[int(part)]
        elif isinstance(at, dict):
            at = at[part] if part in at else \
                next(v for k, v in at.items() if str(k) == part)
        else:
            at = getattr(at, part, None)
    return at


def _flatten(value, tensors, scalars):
    """As the reference's inputs were taken apart when it was judged."""
    if value is None or isinstance(value, torch.Tensor):
        tensors.append(value)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _flatten(item, tensors, scalars)
    elif isinstance(value, dict):
        for item in value.values():
            _flatten(item, tensors, scalars)
    else:
        scalars.append(value)


def _depends_on_mode(module):
    """Does train() or eval() change what it computes? Whoever asks for
    self.training may."""
    for part in module.modules():
        for name in ("forward", "_forward_impl", "forward_impl"):
            code = getattr(getattr(type(part), name, None), "__code__", None)
            if code and "training" in code.co_names:
                return True
    return False


def _is_compiling():
    asked = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    return bool(asked and asked())


class ModelNew(reference.Model):
    def __init__(self, *args, on_mismatch=None, **kwargs):
        super().__init__(*args, **kwargs)
        chosen = on_mismatch or os.environ.get("KFORGE_ON_MISMATCH") or "raise"
        if chosen not in CHOICES:
            raise ValueError("on_mismatch is 'raise' or 'fallback', not %r"
                             % (chosen,))
        self._kforge_fallback = chosen == "fallback"
        self._kforge_why = None
        if not _equal(_bound(args, kwargs), _bound(*_init_inputs())):
            self._kforge_why = ("it was built with other arguments than the "
                                "program was judged with")
        self._kforge_mode = self.training if _depends_on_mode(self) else None

    def _kforge_mismatch(self, tensors, scalars, weights):
        if self._kforge_why is not None:
            return self._kforge_why
        if self._kforge_mode is not None and \
                self.training != self._kforge_mode:
            return "train() and eval() differ in this model, and the program " \
                "was judged in the other mode"
        if [t is None for t in tensors] != NONES:
            return "it wants %d tensors, and None where there was one" % \
                len(INPUTS)
        if scalars != SCALARS or \
                [type(s) for s in scalars] != [type(s) for s in SCALARS]:
            return "its numbers are %s, not %s" % (SCALARS, scalars)
        for weight, spec in zip(weights, WEIGHTS):
            if not isinstance(weight, torch.Tensor):
                return "it has no weight %s any more" % spec["name"]
        given = [t for t in tensors if t is not None]
        why = why_not(given, INPUTS) or why_not(weights, WEIGHTS)
        if why is None and wants_gradient(given + weights):
            return NO_GRADIENT
        return why

    def _kforge_decline(self, why, args, kwargs):
        if not self._kforge_fallback:
            raise Mismatch("%s: %s" % (FACTS["name"], why))
        if not _is_compiling():
            warnings.warn("%s is computed by the reference: %s" % (
                FACTS["name"], why), stacklevel=3)
        return super().forward(*args, **kwargs)

    def forward(self, *args, **kwargs):
        tensors, scalars = [], []
        if kwargs:
            bound = inspect.signature(super().forward).bind(*args, **kwargs)
            args, kwargs = bound.args, bound.kwargs
        _flatten(args, tensors, scalars)
        _flatten(kwargs, tensors, scalars)
        weights = [_resolve(self, w["name"]) for w in WEIGHTS]
        why = self._kforge_mismatch(tensors, scalars, weights)
        if why is not None:
            return self._kforge_decline(why, args, kwargs)
        given = [t for t in tensors if t is not None]
        if not self._kforge_fallback:
            return op(*given, *weights)
        try:
            return op(*given, *weights)
        except Mismatch as error:
            return self._kforge_decline(str(error), args, kwargs)

    @staticmethod
    def refresh():
        """Say so when weights were changed through .data or numpy, which
        PyTorch does not count: the program then prepares them again."""
        PROGRAM.refresh()
