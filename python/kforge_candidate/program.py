"""A program: a Python file that defines class ModelNew."""

import importlib.util
import inspect
import os
import sys

import torch

from kforge_reference import device
from kforge_reference.problem import BUILD_SEED, seed_all
from kforge_reference.state import State

from . import artefact, protocol
from .words import Wrong

MODULE_NAME = "kforge_solution"
CLASS_NAME = "ModelNew"


def load(folder):
    """The class; raises whatever the file raises."""
    path = os.path.join(folder, artefact.SOURCE)
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module
    seed_all(BUILD_SEED)
    spec.loader.exec_module(module)
    found = getattr(module, CLASS_NAME, None)
    if not inspect.isclass(found) or not issubclass(found, torch.nn.Module):
        raise Wrong(protocol.EXCEPTION, "%s defines no class %s derived from "
                    "torch.nn.Module" % (artefact.SOURCE, CLASS_NAME))
    return found


def construct(found, arguments, dtype):
    """As the problem constructs its own Model, and put on the device then.
    arguments: (list, dict) of the problem's, made before the program's file
    ran; dtype: the problem's, or None."""
    args, kwargs = arguments
    with torch.no_grad():
        seed_all(BUILD_SEED)
        module = device.put(found(*args, **kwargs))
    if dtype is not None:
        State(module, MODULE_NAME).cast(dtype)
    return module


def call(module, inputs, leaves):
    """What forward returns, with these in the place of the inputs' leaves."""
    args, kwargs = inputs.build(leaves)
    with torch.no_grad():
        return module(*args, **kwargs)
