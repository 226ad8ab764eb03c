"""What forward returned, looked at and brought to where the judge reads it."""

import ctypes
import random

import torch

from kforge_reference import device

from . import protocol
from .words import Wrong

SAMPLES = 8     # elements of an output that are looked at twice
PLAIN = (torch.Tensor, torch.nn.Parameter)

_random = random.SystemRandom()


def flatten(value, found):
    """Tensors in order; as the reference's result is taken apart."""
    if isinstance(value, (list, tuple)):
        for item in value:
            flatten(item, found)
    elif isinstance(value, dict):
        for item in value.values():
            flatten(item, found)
    elif value is not None:
        found.append(value)
    return found


class Outputs:
    def __init__(self, infos, views):
        self._dtypes = [getattr(torch, protocol.DTYPES[info.dtype])
                        for info in infos]
        self._shapes = [tuple(info.shape[:info.rank]) for info in infos]
        self._views = views
        self._places = []
        self._result = []
        self._samples = []

    def expect(self):
        """Before a call: which elements will be looked at."""
        self._result = []
        self._places = [[_random.randrange(view.numel())
                         for _ in range(SAMPLES)] if view.numel() else []
                        for view in self._views]

    def take(self, value):
        """At the end of a call, within its time."""
        self._result = result = flatten(value, [])
        if len(result) != len(self._shapes):
            raise Wrong(protocol.OUTPUTS_WRONG, "forward returned %d tensor%s, "
                        "and the problem's returns %d" % (
                            len(result), "" if len(result) == 1 else "s",
                            len(self._shapes)))
        for i, tensor in enumerate(result):
            self._check(i, tensor)
            result[i] = tensor.detach().contiguous()
        self._samples = self._look(result)

    def _check(self, i, tensor):
        if type(tensor) not in PLAIN:
            raise Wrong(protocol.OUTPUTS_WRONG, "output %d is of the type %s, "
                        "not a plain tensor" % (i, type(tensor).__name__))
        if tuple(tensor.shape) != self._shapes[i]:
            raise Wrong(protocol.SHAPE, "output %d has shape %s, and the "
                        "problem's has %s" % (i, list(tensor.shape),
                                              list(self._shapes[i])))
        if tensor.dtype != self._dtypes[i]:
            raise Wrong(protocol.DTYPE, "output %d is %s, and the problem's is "
                        "%s" % (i, tensor.dtype, self._dtypes[i]))
        if tensor.layout is not torch.strided or not device.holds(tensor):
            raise Wrong(protocol.OUTPUTS_WRONG, "output %d is %s on %s, and a "
                        "dense tensor on the problem's device is wanted"
                        % (i, tensor.layout, tensor.device))

    def _look(self, tensors):
        """The chosen elements' bytes. On a device all streams were waited
        for, and looking would take longer than many a call."""
        if not device.is_cpu():
            return []
        return [ctypes.string_at(tensor.data_ptr() +
                                 place * tensor.element_size(),
                                 tensor.element_size())
                for tensor, places in zip(tensors, self._places)
                for place in places]

    def deliver(self):
        """After a call, in nobody's time."""
        for view, tensor in zip(self._views, self._result):
            view.copy_(tensor)
        if self._look(self._views) != self._samples and self._samples:
            raise Wrong(protocol.DEFERRED, "outputs changed after forward had "
                        "returned; all work must be done by then")

    def forget(self):
        self._result = []
