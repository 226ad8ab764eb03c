"""The problem's weights into a program's module."""

from kforge_reference import device
from kforge_reference.state import slots

from . import protocol
from .words import Wrong


class Weights:
    """Which tensor of the module gets which of the problem's weights.

    names, infos: of the problem's, in state_dict order. By name first; what is
    left by order and shape, for a program may call its parameters otherwise.
    """

    def __init__(self, module, names, infos):
        self._pairs = []    # (place among the weights, tensor)
        free = {slot.name: slot for slot in slots(module)}
        left = []
        for i, name in enumerate(names):
            slot = free.get(name)
            if slot is not None and _fits(slot, infos[i]):
                if slot.kind == "attribute":    # no module moves them
                    slot.tensor.data = device.put(slot.tensor.data)
                self._pairs.append((i, free.pop(name).tensor))
            else:
                left.append(i)
        for i in left:
            slot = next((s for s in free.values() if s.kind != "attribute" and
                         _fits(s, infos[i])), None)
            if slot is not None:
                self._pairs.append((i, free.pop(slot.name).tensor))
            elif not infos[i].structural:
                raise Wrong(protocol.WEIGHTS, _missing(names[i], infos[i],
                                                       slots(module)))
        self._versions = None

    def put(self, views, everything):
        """Values that have not been written to since the last time stay."""
        for k, (i, tensor) in enumerate(self._pairs):
            if everything or tensor._version != self._versions[k]:
                tensor.data.copy_(views[i])
        self._versions = [tensor._version for _, tensor in self._pairs]


def _shape(info):
    return tuple(info.shape[:info.rank])


def _fits(slot, info):
    floating = protocol.DTYPES[info.dtype].startswith(("float", "bfloat"))
    return tuple(slot.tensor.shape) == _shape(info) and \
        slot.tensor.is_floating_point() == floating


def _missing(name, info, found):
    has = ", ".join("%s %s" % (s.name, list(s.tensor.shape))
                    for s in found if s.kind != "attribute")
    return ("ModelNew has no parameter or buffer for the problem's weight %s "
            "%s; give it one of that name, or as many as Model has in the "
            "same order and shapes. It has: %s" % (
                name, list(_shape(info)), has or "none"))
