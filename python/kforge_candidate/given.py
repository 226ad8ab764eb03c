"""The problem's inputs, as a program is given them."""

import random

import torch

from kforge_reference import device
from kforge_reference.tensors import nbytes, storage_bytes

from . import protocol

STEP = 512      # bytes between the two places; every element is as aligned
SAME = 2        # so many calls at first find their inputs in the first

_coin = random.SystemRandom().random


class Given:
    """infos, views: of the inputs in shared memory; None for what is no tensor.
    readback: compares memory of a device's; None: it is the processor.

    The first two calls find their inputs in the same memory, with other values:
    who remembers results by address is wrong in the second. The third finds
    them a little further on, and all others where a coin says: who reads what
    an earlier call was given, and not what it is given, is wrong as well.
    """

    def __init__(self, infos, views, readback=None):
        self._infos = infos
        self._views = views
        self._first_difference = readback.first_difference if readback else \
            _first_difference
        self._rooms = [None for _ in views]     # flat, with a step to spare
        self._inputs = [None for _ in views]    # names of ours for the memory
        self._calls = 0

    def put(self):
        """A new tensor for each input; a program may do what it likes to it."""
        self._calls += 1
        further = self._calls > SAME and \
            (self._calls == SAME + 1 or _coin() < 0.5)
        for i, view in enumerate(self._views):
            if view is not None:
                self._inputs[i] = self._put(i, view, further)
        return [None if each is None else _same(each)
                for each in self._inputs]

    def _put(self, i, view, further):
        step = STEP // view.element_size()
        room = self._rooms[i]
        if room is None or storage_bytes(room) < nbytes(room):
            room = self._rooms[i] = device.room(view.numel() + step,
                                                view.dtype)
        place = room.narrow(0, step if further else 0, view.numel())
        return place.view(view.shape).copy_(view)

    def changed(self):
        """Which byte of the arena a program wrote to, or None. It can take the
        memory away from all tensors that lie in it."""
        for info, view, given, room in zip(self._infos, self._views,
                                           self._inputs, self._rooms):
            if view is None:
                continue
            if storage_bytes(room) < nbytes(room):
                return info.offset
            place = self._first_difference(given, view, nbytes(view))
            if place is not None:
                return info.offset + place
        return None


def _same(given):
    """Another tensor in the same memory, which is a view of none."""
    return torch.empty(0, dtype=given.dtype, device=given.device).set_(given)


def _first_difference(given, view, size):
    return protocol.first_difference(given.data_ptr(), view.data_ptr(), size)
