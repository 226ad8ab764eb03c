"""The program as an operator of PyTorch: torch.ops.kforge.NAME."""

import contextlib
import hashlib
import sys
import types

import torch

from .facts import Mismatch, read_facts

FACTS = read_facts()
if FACTS["two_part"]:
    from .device import Program
else:
    from .library import Program
DEVICE = FACTS["torch_device"]
INPUTS = [t for t in FACTS["inputs"] if not t["none"]]
WEIGHTS = FACTS["weights"]
OUTPUTS = FACTS["outputs"]


# Behind what is said of another size or type.
ONLY = "; this is made for the shape %s of the problem alone" % \
    FACTS["shape"] if FACTS["shape"] else ""


def why_not(tensors, specs):
    """Why the program cannot take these tensors; None if it can."""
    for tensor, spec in zip(tensors, specs):
        if tensor.device.type != DEVICE:
            return "%s is on device %s, not on %s" % (
                spec["name"], tensor.device.type,
                "the CPU" if DEVICE == "cpu" else "a GPU (%s)" % DEVICE)
        if tensor.device != tensors[0].device:
            return "%s is on %s, and %s on %s" % (
                spec["name"], tensor.device, specs[0]["name"],
                tensors[0].device)
        if tensor.layout is not torch.strided:
            return "%s is not a dense tensor" % spec["name"]
        if tensor.dtype is not spec["torch"]:
            return "%s has dtype %s, not %s%s" % (
                spec["name"], tensor.dtype, spec["torch"], ONLY)
        if tuple(tensor.shape) != spec["shape"]:
            return "%s has shape %s, not %s%s" % (
                spec["name"], tuple(tensor.shape), spec["shape"], ONLY)
        if not tensor.is_contiguous():
            return "%s is not contiguous" % spec["name"]
    return None


def wants_gradient(tensors):
    return torch.is_grad_enabled() and any(t.requires_grad for t in tensors)


NO_GRADIENT = ("it has no gradient: call it under torch.no_grad(), or with "
               "tensors and weights that do not require one")


def _pack(outputs):
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _key():
    """What makes two exports the same operator. The problem's hash stands for
    its shapes, its numbers and its fixed tables: one program may be right for
    several problems, and its context is made for one."""
    return hashlib.sha256("\0".join([
        FACTS["problem"], FACTS["program"], FACTS["kforge_version"],
        FACTS["march"], FACTS["arch"]]).encode()).hexdigest()


def _registry():
    """One for the process, whatever the exports in it are called. Before
    torch 2.0 a namespace can be defined once only, so it is kept too."""
    held = sys.modules.get("_kforge_operators")
    if held is None:
        held = types.ModuleType("_kforge_operators")
        try:
            held.library = torch.library.Library("kforge", "FRAGMENT")
        except (ValueError, RuntimeError):
            held.library = torch.library.Library("kforge", "DEF")
        held.operators = {}
        sys.modules["_kforge_operators"] = held
    return held


def _schema(name):
    arguments = ", ".join("Tensor " + t["id"] for t in INPUTS + WEIGHTS)
    result = "Tensor" if len(OUTPUTS) == 1 else "(%s)" % ", ".join(
        ["Tensor"] * len(OUTPUTS))
    return "%s(%s) -> %s" % (name, arguments, result)


@contextlib.contextmanager
def _below_autograd():
    """The next call goes to the kernels themselves."""
    guard = torch._C._AutoDispatchBelowAutograd()
    if hasattr(guard, "__enter__"):
        with guard:
            yield
        return
    try:        # before torch 2.0 it works from its making to its end
        yield
    finally:
        del guard


def _define(name, program):
    held = _registry()
    held.library.define(_schema(name))
    specs = INPUTS + WEIGHTS

    def on_device(*tensors):
        why = why_not(tensors, specs)
        if why:
            raise Mismatch("kforge::%s: %s" % (name, why))
        return _pack(program.run(tensors[:len(INPUTS)],
                                 tensors[len(INPUTS):]))

    def shapes_only(*tensors):
        for tensor, spec in zip(tensors, specs):
            torch._check(tuple(tensor.shape) == spec["shape"] and
                         tensor.dtype is spec["torch"]) \
                if hasattr(torch, "_check") else None
        return _pack([tensors[0].new_empty(spec["shape"],
                                           dtype=spec["torch"])
                      for spec in OUTPUTS])

    def with_autograd(*tensors):
        if wants_gradient(tensors):
            raise Mismatch("kforge::%s: %s" % (name, NO_GRADIENT))
        with _below_autograd():
            return getattr(torch.ops.kforge, name).default(*tensors)

    held.library.impl(name, on_device, DEVICE.upper())
    held.library.impl(name, with_autograd, "Autograd")
    fake = getattr(torch.library, "register_fake",
                   getattr(torch.library, "impl_abstract", None))
    if fake:
        fake("kforge::" + name, shapes_only)
    else:
        held.library.impl(name, shapes_only, "Meta")


def _find_or_define():
    """(operator, program). Another program of the same name takes a name with
    a digest in it."""
    held = _registry()
    key = _key()
    name = FACTS["id"]
    if name in held.operators and held.operators[name][0] != key:
        name = "%s_%s" % (name, key[:8])
    if name not in held.operators:
        program = Program(FACTS)
        _define(name, program)
        held.operators[name] = (key, program)
    return getattr(torch.ops.kforge, name).default, held.operators[name][1]


op, PROGRAM = _find_or_define()


def directly(*tensors):
    """What the operator does with tensors that have been checked, and want no
    gradient."""
    return _pack(PROGRAM.run(tensors[:len(INPUTS)], tensors[len(INPUTS):]))
