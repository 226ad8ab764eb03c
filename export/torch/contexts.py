"""A program with sets of weights, prepared for each: which are the ones that a
call comes with, and did they change since?"""

import weakref

import torch

from .facts import Mismatch, read_tensors

CONTEXTS_MAX = 8        # sets of weights that are prepared at the same time


def _version(tensor):
    """Counts changes in place; None where PyTorch does not count them."""
    try:
        return tensor._version
    except RuntimeError:    # made under torch.inference_mode()
        return None


class Context:
    """One set of weights. What is prepared of it, subclasses hold: prepare()
    makes that, for the first time or anew, and free() gives it back."""

    def __init__(self, weights):
        self.prepare(weights)
        self.note(weights)

    def prepare(self, weights):
        raise NotImplementedError

    def free(self):
        pass

    def note(self, weights):
        self.keys = [w.data_ptr() for w in weights]
        self.versions = [_version(w) for w in weights]
        # Their memory is held while they live: after tensor.data = other, an
        # address that was free would be given to another tensor.
        self.held = held = {i: w.detach() for i, w in enumerate(weights)}
        self.alive = [weakref.ref(w, lambda _, i=i: held.pop(i, None))
                      for i, w in enumerate(weights)]

    def fits(self, weights):
        """Are these the very tensors that it holds?"""
        return all(ref() is w and key == w.data_ptr() for ref, key, w
                   in zip(self.alive, self.keys, weights))

    def is_dead(self):
        """Is a tensor gone, or its memory another's now? Nobody counts what
        happens to memory that a tensor has left, so it is not trusted if the
        tensor comes back to it."""
        for ref, key in zip(self.alive, self.keys):
            weight = ref()
            if weight is None or weight.data_ptr() != key:
                return True
        return False

    def is_stale(self, weights):
        return any(v is None or v != _version(w)
                   for v, w in zip(self.versions, weights))


class Contexts:
    """The sets that are prepared, latest first. Not for two threads at once."""

    def __init__(self, facts, make):
        self._facts = facts
        self._make = make
        self._list = []
        self._fixed = {}
        if any(w["structural"] for w in facts["weights"]):
            values = read_tensors("weights.safetensors")
            self._fixed = {i: values[w["name"]]
                           for i, w in enumerate(facts["weights"])
                           if w["structural"]}

    def __len__(self):
        return len(self._list)

    def _check_fixed(self, weights):
        """Masks, tables and the like belong to the program itself."""
        for i, value in self._fixed.items():
            if not torch.equal(weights[i].cpu(), value):
                raise Mismatch("%s: the values of %s are part of the program, "
                               "and these are others" % (
                                   self._facts["name"],
                                   self._facts["weights"][i]["name"]))

    def get(self, weights):
        """The context of these tensors, prepared."""
        for context in [c for c in self._list if c.is_dead()]:
            self._list.remove(context)
            context.free()
        for context in self._list:
            if not context.fits(weights):
                continue
            if context.is_stale(weights):
                self._list.remove(context)
                try:
                    self._check_fixed(weights)
                    context.prepare(weights)
                except RuntimeError:
                    context.free()
                    raise
                context.note(weights)
                self._list.insert(0, context)
            return context
        self._check_fixed(weights)
        context = self._make(weights)
        self._list.insert(0, context)
        while len(self._list) > CONTEXTS_MAX:
            self._list.pop().free()
        return context

    def clear(self):
        while self._list:
            self._list.pop().free()
