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
from .facts import Mismatch
from .op import (FACTS, INPUTS, NO_GRADIENT, PROGRAM, WEIGHTS, directly, op,
                 wants_gradient, why_not)

CHOICES = ("raise", "fallback")
SCALARS = [s["value"] for s in FACTS["scalars"]]
NAMES = [t["name"] for t in FACTS["inputs"] + FACTS["scalars"]]
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


def _parameter_names():
    """Of arguments that are given by place."""
    try:
        found = inspect.signature(reference.Model.forward).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in list(found)[1:] if p.kind in (
        p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


PARAMETERS = _parameter_names()


def _flatten(value, name, found):
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            _flatten(item, "%s.%d" % (name, i), found)
    elif isinstance(value, dict):
        for key, item in value.items():
            _flatten(item, "%s.%s" % (name, key), found)
    else:
        found[name] = value


def _named(args, kwargs):
    """{name: tensor, None or number}, named as when the program was judged:
    the order in which a caller names them says nothing."""
    found = {}
    for i, value in enumerate(args):
        _flatten(value, PARAMETERS[i] if i < len(PARAMETERS) else "in%d" % i,
                 found)
    for name, value in kwargs.items():
        _flatten(value, name, found)
    return found


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


def _nobody_watches(tensors):
    """Are these tensors themselves, and does nothing of PyTorch record or
    replace what is done with them? Then the operator's way through PyTorch,
    which takes longer than a small kernel, can be left out."""
    modes = getattr(torch._C, "_len_torch_dispatch_stack", None)
    return modes is not None and modes() == 0 and not _is_compiling() and \
        not torch.jit.is_tracing() and \
        all(type(t) in (torch.Tensor, torch.nn.Parameter) for t in tensors)


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

    def _kforge_mismatch(self, found, weights):
        if self._kforge_why is not None:
            return self._kforge_why
        if self._kforge_mode is not None and \
                self.training != self._kforge_mode:
            return "train() and eval() differ in this model, and the program " \
                "was judged in the other mode"
        if len(found) != len(NAMES) or any(n not in found for n in NAMES):
            return "it wants the tensors and numbers %s, and was given %s" % (
                ", ".join(NAMES), ", ".join(found))
        for spec in FACTS["inputs"]:
            if (found[spec["name"]] is None) != spec["none"]:
                return "it wants other tensors: %s is%s None" % (
                    spec["name"], " not" if spec["none"] else "")
        scalars = [found[s["name"]] for s in FACTS["scalars"]]
        if [type(s) for s in scalars] != [type(s) for s in SCALARS] or \
                scalars != SCALARS:
            return "its numbers are %s, not %s" % (SCALARS, scalars)
        for spec in INPUTS:
            if not isinstance(found[spec["name"]], torch.Tensor):
                return "%s is not a tensor" % spec["name"]
        for weight, spec in zip(weights, WEIGHTS):
            if not isinstance(weight, torch.Tensor):
                return "it has no weight %s any more" % spec["name"]
        given = [found[t["name"]] for t in INPUTS]
        why = why_not(given + weights, INPUTS + WEIGHTS)
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
        if kwargs:      # as the reference would refuse them
            inspect.signature(super().forward).bind(*args, **kwargs)
        found = _named(args, kwargs)
        weights = [_resolve(self, w["name"]) for w in WEIGHTS]
        why = self._kforge_mismatch(found, weights)
        if why is not None:
            return self._kforge_decline(why, args, kwargs)
        given = [found[t["name"]] for t in INPUTS]
        call = op
        if FACTS["two_part"] and _nobody_watches(given + weights):
            call = directly
        if not self._kforge_fallback:
            return call(*given, *weights)
        try:
            return call(*given, *weights)
        except Mismatch as error:
            return self._kforge_decline(str(error), args, kwargs)

    @staticmethod
    def refresh():
        """Say so when weights were changed through .data or numpy, which
        PyTorch does not count: the program then prepares them again."""
        PROGRAM.refresh()
