"""What a module holds, and how to bring it back to how it was.

A module may change itself while it runs: running statistics, a hidden state,
a counter, a cache. Every call of a reference begins from the same state.
"""

import collections

import torch

from . import tensors

GROWING = (list, set, collections.deque)
RUNNING = ("running_mean", "running_var")


class Slot:
    """One weight: a parameter, a buffer or a plain tensor attribute."""

    def __init__(self, name, tensor, kind, structural):
        self.name = name
        self.tensor = tensor
        self.kind = kind
        # Structural: its values belong to the program (a mask, a table, an
        # index map), not to its training; kept when weights are random.
        self.structural = structural


def slots(module):
    """Weights in state_dict order; plain attributes follow a module's own
    parameters and buffers; a tensor with two names is listed once, under the
    first."""
    found = []
    _visit(module, "", found, set())
    return found


def _visit(module, prefix, found, seen):
    if id(module) in seen:
        return
    seen.add(id(module))
    for name, tensor in module.named_parameters(recurse=False):
        _add(found, seen, prefix + name, tensor, "parameter",
             not tensor.is_floating_point())
    for name, tensor in module.named_buffers(recurse=False):
        _add(found, seen, prefix + name, tensor, "buffer",
             name not in RUNNING or not tensor.is_floating_point())
    children = {id(child) for _, child in module.named_children()}
    for name, value in list(module.__dict__.items()):
        if name not in ("_parameters", "_buffers", "_modules"):
            _visit_value(value, prefix + name, found, seen, children)
    for name, child in module.named_children():
        _visit(child, prefix + name + ".", found, seen)


def _visit_value(value, name, found, seen, children):
    if isinstance(value, torch.Tensor):
        kind = "attribute"
        if isinstance(value, torch.nn.Parameter):
            kind = "parameter"
        _add(found, seen, name, value, kind, kind == "attribute")
    elif isinstance(value, torch.nn.Module):
        if id(value) not in children:
            _visit(value, name + ".", found, seen)
    elif isinstance(value, (list, tuple, dict)):
        if id(value) in seen:
            return
        seen.add(id(value))
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in list(items):
            _visit_value(item, "%s.%s" % (name, key), found, seen, children)


def _add(found, seen, name, tensor, kind, structural):
    if id(tensor) not in seen:
        seen.add(id(tensor))
        found.append(Slot(name, tensor, kind, structural))


class State:
    """A snapshot of a module: tensors by value, containers by content."""

    def __init__(self, module, problem_module_name):
        self._own = problem_module_name
        self._containers = []
        self._tensors = []
        self._record(module, set())
        self._unshare()
        self._saved = None

    def _record(self, value, seen):
        if id(value) in seen:
            return
        if isinstance(value, torch.Tensor):
            seen.add(id(value))
            self._tensors.append(value)
            return
        if isinstance(value, torch.nn.Module) or (
                type(value).__module__ == self._own and
                hasattr(value, "__dict__") and not isinstance(value, type)):
            seen.add(id(value))
            value = value.__dict__
        if isinstance(value, dict):
            seen.add(id(value))
            self._containers.append((value, dict(value)))
            items = list(value.values())
        elif isinstance(value, GROWING):
            seen.add(id(value))
            self._containers.append((value, list(value)))
            items = list(value)
        elif isinstance(value, tuple):
            items = value
        else:
            return
        for item in items:
            self._record(item, seen)

    def _unshare(self):
        """Give each tensor memory of its own, so that writing one cannot
        change another and a cast cannot part what was one."""
        seen = set()
        for tensor in self._tensors:
            start = tensors.storage_start(tensor) if tensor.numel() else None
            expanded = any(stride == 0 and size > 1 for stride, size in
                           zip(tensor.stride(), tensor.shape))
            if (start is not None and start in seen) or expanded:
                tensor.data = tensor.data.contiguous().clone()
            if start is not None:
                seen.add(start)

    def cast(self, dtype):
        """All floating-point tensors to dtype. Before save()."""
        for tensor in self._tensors:
            if tensor.is_floating_point():
                tensor.data = tensor.data.to(dtype)

    def save(self):
        self._saved = [tensor.detach().clone() for tensor in self._tensors]
        self._version = [tensor._version for tensor in self._tensors]
        self._moving = set(range(len(self._tensors)))

    def settle(self):
        """From now on restore() copies only tensors that have been seen to
        change. Call it after some calls, before restore()."""
        self._moving = {
            i for i, (tensor, saved) in enumerate(
                zip(self._tensors, self._saved))
            if tensor.shape != saved.shape or
            not torch.equal(tensor.detach(), saved)}

    def restore(self, everything=False):
        for container, content in self._containers:
            container.clear()
            if isinstance(container, collections.deque):
                container.extend(content)
            elif isinstance(container, list):
                container[:] = content
            else:
                container.update(content)
        for i, (tensor, saved) in enumerate(zip(self._tensors, self._saved)):
            if not (everything or i in self._moving or
                    tensor._version != self._version[i]):
                continue
            if tensor.shape == saved.shape and tensor.dtype == saved.dtype:
                tensor.data.copy_(saved)
            else:
                tensor.data = saved.clone()
            self._version[i] = tensor._version
