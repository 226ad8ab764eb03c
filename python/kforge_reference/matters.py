"""Which inputs and weights an output depends on.

One at a time is replaced, an input by that of another seed, a weight by random
values; it matters if some element of the output moves further than the judge
would allow. What was not tried counts as if it mattered.

And which inputs must be read, nearly all of them: there what was not tried, or
not shown, counts as if it need not be.
"""

import time

import torch

from . import oracle, sets, tensors
from .failure import Refused

RUNS_MAX = 256
SECONDS_MAX = 20.0
# So many elements of an input are tried: were less than three quarters of it
# needed, all of them would be by chance in one case of 10,000.
PROBES = 32
PROBES_SECONDS = 5.0
PROBED_BYTES = 1 << 20      # of smaller inputs no time shows if they are read
# The judge's T (docs/judging.md); an element may be off by 16 T sigma.
LIMIT = {torch.float64: 2.0**-44, torch.float32: 2.0**-15,
         torch.float16: 2.0**-9, torch.bfloat16: 2.0**-6}


class Center:
    """A case with its outputs and their scales, to which others are held."""

    def __init__(self, run, leaves, expect, exact, react, noise):
        self.run = run
        self.leaves = leaves
        self.expect = expect
        self.bound = [self._bound(i, exact, react, noise)
                      for i in range(len(expect))]
        self.middle = exact if run.way else expect

    def _bound(self, i, exact, react, noise):
        """16 T sigma for each element; None where values must be equal."""
        if react[i] is None:
            return None
        middle = exact[i] if self.run.way else self.expect[i].double()
        limit = LIMIT[self.expect[i].dtype]
        sigma = torch.maximum(middle.abs(), react[i].double())
        if noise[i] is not None:
            sigma = torch.maximum(sigma, noise[i].double() * (4 / limit))
        return sigma * (16 * limit)

    def moved(self, leaves, weights):
        """True if these numbers give another output, or none."""
        try:
            outputs = self.run.expect(leaves, weights)
            wide = self.run.exact(leaves, weights) if self.run.way \
                else outputs
        except Refused as refused:
            if refused.kind in ("memory", "exit"):
                raise
            return True
        if [o.shape for o in outputs] != [o.shape for o in self.expect] or \
                oracle.not_finite(outputs):
            return True
        for i, bound in enumerate(self.bound):
            if bound is None:
                if not tensors.same(outputs[i], self.expect[i]):
                    return True
                continue
            away = (wide[i].double() - self.middle[i].double()).abs()
            if bool((away > bound).any()):
                return True
        return False


def _another(leaf, other, gen):
    """Other values for an input, or None where there are none to be had."""
    if not tensors.same(leaf, other):
        return other
    if not sets.is_floating(leaf):
        return None
    return sets.random_like("", leaf, gen)


def find(center, places, others, seed):
    """(inputs, weights, tried): lists of bool, for each place of a tensor
    among the leaves and for each weight, and how many of these two lists
    together were tried before time was up. others: leaves of another seed."""
    run = center.run
    gen = sets.generator(seed)
    end = time.monotonic() + SECONDS_MAX
    inputs = [True] * len(places)
    weights = [True] * len(run.slots)
    tried = 0

    def may_go_on():
        return tried < RUNS_MAX and time.monotonic() < end

    for i, place in enumerate(places):
        if not may_go_on():
            break
        tried += 1
        leaf = center.leaves[place]
        new = None if leaf is None or not leaf.numel() \
            else _another(leaf, others[place], gen)
        if new is not None:
            leaves = list(center.leaves)
            leaves[place] = new
            inputs[i] = center.moved(leaves, None)
    for i, (slot, value) in enumerate(zip(run.slots, run.declared)):
        if not may_go_on():
            break
        tried += 1
        if slot.structural or not value.numel():
            continue
        changed = list(run.declared)
        changed[i] = sets.random_like(slot.name, value, gen)
        weights[i] = center.moved(center.leaves, changed)
    return inputs, weights, tried


def must_be_read(center, places, seed):
    """For each place: must three quarters of its elements at least be read?
    Each of some, drawn at random, is replaced alone by the least or the
    largest of its input's numbers. Who does not read it cannot follow, and
    would be refused where an output moves."""
    gen = sets.generator(seed)
    end = time.monotonic() + PROBES_SECONDS
    return [_must_be_read(center, place, gen, end) for place in places]


def _must_be_read(center, place, gen, end):
    leaf = center.leaves[place]
    if not sets.is_floating(leaf) or tensors.nbytes(leaf) < PROBED_BYTES:
        return False
    ends = leaf.min(), leaf.max()
    at = torch.randint(0, leaf.numel(), (PROBES,), generator=gen)
    # What is zero may be so in all data that a program has to know.
    if not bool(leaf.reshape(-1)[at].all()):
        return False
    return all(time.monotonic() < end and
               any(center.moved(_with_one(center.leaves, place, i, value),
                                None) for value in ends)
               for i in at.tolist())


def _with_one(leaves, place, i, value):
    leaves = list(leaves)
    changed = leaves[place].clone(memory_format=torch.contiguous_format)
    changed.view(-1)[i] = value
    leaves[place] = changed
    return leaves
