"""The problem's inputs, as a program is given them."""

import torch

from kforge_reference import device
from kforge_reference.tensors import nbytes, storage_bytes

from . import protocol


class Given:
    """views: of the inputs in shared memory, None for what is no tensor.

    Every call finds its inputs in the same memory, with other values, as most
    calls of a module that is used do: a program that remembers its results by
    address is then wrong in its second call, and not by chance.
    """

    def __init__(self, infos, views):
        self._infos = infos
        self._views = views
        self._rooms = [None for _ in views]

    def put(self):
        """A new tensor for each input. A program may do what it likes to it:
        the rooms are names of our own for its memory."""
        for i, view in enumerate(self._views):
            if view is None:
                continue
            room = self._rooms[i]
            if room is not None and _is_whole(room):
                room.copy_(view)
            else:
                self._rooms[i] = device.put(view.clone())
        return [None if room is None else _same(room) for room in self._rooms]

    def changed(self):
        """Which byte of the arena a program wrote to, or None."""
        for info, view, room in zip(self._infos, self._views, self._rooms):
            if view is None:
                continue
            if not _is_whole(room):
                return info.offset
            now = room.cpu()
            place = protocol.first_difference(
                now.data_ptr(), view.data_ptr(), nbytes(view))
            if place is not None:
                return info.offset + place
        return None


def _is_whole(room):
    """A program can take memory from all tensors that lie in it."""
    return storage_bytes(room) >= nbytes(room)


def _same(room):
    """Another tensor in the same memory, which is a view of none."""
    return torch.empty(0, dtype=room.dtype, device=room.device).set_(room)
