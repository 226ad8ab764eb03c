"""Makes a bundle: runs the reference on all kinds of data and writes files."""

import json
import os
import platform
import random
import time

import torch

from . import condensed, count, device, matters, oracle, precision, \
    safetensors, sets, tensors
from .failure import Refused, from_exception, is_memory
from .problem import Problem, prepare_torch

FORMAT = 8
STOCK_BYTES = 128 << 20     # of all stock entries together
STOCK_MAX = 64
STOCK_MIN = 12
STOCK_BYTES_MAX = 1536 << 20    # beyond this even fewer than STOCK_MIN
STOCK_LEAST = 4
# A light bundle is there for looking at the problem, not for timed calls.
STOCK_LIGHT = 1
RUNS_LIGHT = 2
OUTLIERS_TRIES = 4


def main(request):
    """Leaves result.json in request["out"]: {"made": true} or an error."""
    path = request["problem"]
    try:
        Maker(request).make()
        result = {"made": True}
    except Refused as refused:
        result = refused.as_json()
    except BaseException as error:
        refused = from_exception("the making of the bundle", path, error)
        if refused.kind == "exception":
            refused.kind = "internal"
        result = refused.as_json()
    write_json(request["out"], "result.json", result)


def write_json(folder, name, value):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1, allow_nan=False)
        file.write("\n")


class Maker:
    def __init__(self, request):
        self.request = request
        self.out = request["out"]
        self.light = request.get("light", False)
        seed = request.get("seed")
        self.random = random.SystemRandom() if seed is None \
            else random.Random(seed)
        self.seeds = {"sets": [], "stock": []}
        self.dropped = []
        self.notes = []
        self.matters = None     # (of inputs, of weights), after the first set
        self.must_be_read = []  # of inputs, likewise; empty: not tried
        self.first_set = None   # its scales, until it was changed
        self.oracle = None
        self.condenser = None   # of a problem whose data are not all kept
        self.outputs = []       # of the first call
        self.operations = None  # counted, after it
        self.tables = []        # places of weights that stand for inputs
        self.start = time.monotonic()

    def seed(self):
        return self.random.getrandbits(62)

    def make(self):
        prepare_torch(self.request["threads"], self.request.get("device", "cpu"),
                      repeatable=True)
        self.problem = Problem(self.request["problem"])
        before = time.monotonic()
        first = self.problem.inputs(self.seed())
        self.inputs_s = time.monotonic() - before
        self.form = first.form()
        self.check_size(first)
        self.oracle = oracle.Oracle(self.problem, first)
        if not device.is_cpu():     # loads libraries, which takes its time
            self.oracle.reference(first, first.leaves)
        before = time.monotonic()
        self.outputs = self.oracle.reference(first, first.leaves)
        self.call_s = time.monotonic() - before
        self.check_size(first)
        self.check_time(3 * self.call_s)
        self.check(first)
        self.look_inside(first)
        for folder in ("public", "inputs", "oracle"):
            os.makedirs(os.path.join(self.out, folder), exist_ok=True)
        self.write_weights()
        kinds, stock = self.make_data(first)
        if self.oracle.way is None:
            self.notes.append("the reference has no float64 form: values are "
                              "judged against its own types")
        write_json(self.out, "oracle/seeds.json", self.seeds)
        info = self.describe(first, kinds, stock)
        info["took_s"] = round(time.monotonic() - self.start, 3)
        write_json(self.out, "public/bundle.json", info)

    def look_inside(self, first):
        """What a call consists of."""
        def call():
            return self.oracle.reference(first, first.leaves)

        self.operations = count.count(call)
        if not any(map(sets.is_floating, first.leaves)):
            self.tables = [i for i in count.tables(
                call, [slot.tensor for slot in self.oracle.slots])
                if not self.oracle.slots[i].structural]

    def make_data(self, first):
        """(kinds of sets, number of stock entries)."""
        notes = list(self.notes)
        if self.whole_bytes(first) <= self.request["bytes_whole"]:
            try:
                return self.make_whole(first)
            except Exception as error:
                if not is_memory(error):
                    raise
            # Here what was allocated then is held by no exception any more.
            device.release()
            self.begin_again()
            self.oracle.forget_exact()
            self.notes = notes + ["the data are condensed: to make all of "
                                  "them took more memory than there is"]
        self.condenser = condensed.Condenser(self, first)
        return self.condenser.make()

    def make_whole(self, first):
        """(kinds of sets, number of stock entries)."""
        self.oracle.find_exact(first.leaves, self.outputs)
        self.oracle.runs = self.runs_most(self.oracle.runs)
        self.check_time(self.remaining_time())
        kinds = list(filter(None, map(self.make_set, sets.KINDS)))
        return kinds, self.make_stock(first)

    def runs_most(self, runs):
        return min(runs, RUNS_LIGHT) if self.light else runs

    def stock_most(self, number):
        return STOCK_LIGHT if self.light else number

    def begin_again(self):
        """What was made is no use."""
        for folder in ("inputs", "oracle"):
            folder = os.path.join(self.out, folder)
            for name in os.listdir(folder):
                if name != "weights.safetensors":
                    os.remove(os.path.join(folder, name))
        self.seeds = {"sets": [], "stock": []}
        self.dropped, self.matters, self.first_set = [], None, None
        self.must_be_read = []

    # --- is this a problem that can be judged? ----------------------------

    def check(self, first):
        """The reference must agree with itself, whatever random numbers it
        is offered, and be finite."""
        run = self.oracle.reference
        self.compare(self.outputs, run(first, first.leaves),
                     "nondeterministic",
                     "the reference differs from itself though its state is "
                     "restored before each call")
        self.compare(self.outputs, run(first, first.leaves, seed=self.seed()),
                     "random", "the output depends on random numbers that "
                     "forward draws (dropout in training mode?), which no "
                     "other program can repeat")
        self.refuse_not_finite(self.outputs)
        again = run(first, first.leaves, restore=False)
        if any(not tensors.same(a, b) for a, b in zip(self.outputs, again)):
            self.notes.append("the reference keeps a state that changes its "
                              "next output; every call here begins from the "
                              "first state")

    @staticmethod
    def compare(one, two, kind, sentence):
        if len(one) != len(two):
            raise Refused(kind, sentence)
        for i, (a, b) in enumerate(zip(one, two)):
            if not tensors.same(a, b):
                raise Refused(kind, "%s (output %d)" % (sentence, i))

    @staticmethod
    def refuse_not_finite(outputs):
        bad = oracle.not_finite(outputs)
        if bad:
            raise Refused("non_finite", "the reference is not finite on its "
                          "own inputs: output %d at index %s"
                          % (bad[0], list(bad[1])))

    def stock_count(self, first):
        each = sum(tensors.nbytes(leaf) for leaf in first.leaves
                   if isinstance(leaf, torch.Tensor))
        each += sum(tensors.nbytes(out) for out in self.outputs)
        each = max(each, 1)
        if self.light:
            return STOCK_LIGHT, each
        number = min(STOCK_MAX, max(STOCK_MIN, STOCK_BYTES // each))
        if number * each > STOCK_BYTES_MAX:
            number = max(STOCK_LEAST, STOCK_BYTES_MAX // each)
        return number, each

    def whole_bytes(self, first):
        """Of a bundle that keeps all data; before there are outputs, less."""
        number, each = self.stock_count(first)
        weights = sum(tensors.nbytes(w) for w in self.oracle.declared) \
            if self.oracle else 0
        scales = sum(16 * out.numel() for out in self.outputs)
        return number * each + len(sets.KINDS) * (each + scales) + \
            2 * weights

    def condensed_bytes(self, first):
        """(of a condensed bundle, of the memory that its making takes)."""
        inputs = [leaf for leaf in first.leaves
                  if isinstance(leaf, torch.Tensor)]
        weights = sum(tensors.nbytes(w) for w in self.oracle.declared) \
            if self.oracle else 0
        each = self.stock_count(first)[1]
        return (condensed.estimate(inputs, self.outputs, weights,
                                   len(condensed.KINDS),
                                   condensed.stock_count(each)),
                4 * (each + weights))

    def check_size(self, first):
        """Asked before there are outputs, and with them."""
        total = self.whole_bytes(first)
        if total <= self.request["bytes_whole"]:
            return
        disk, memory = self.condensed_bytes(first)
        room = self.request["bytes_max"]
        if disk > room:
            raise Refused("limit", "its bundle takes %.1f GB, and %.1f GB "
                          "may be used of the cache's file system; choose "
                          "smaller sizes with --set or --size, or another "
                          "place with --cache" % (disk / 1e9, room / 1e9),
                          disk / room)
        there = device.memory_bytes() or self.request["memory_bytes"]
        if memory > there:
            raise Refused("limit", "its reference needs about %.1f GB of "
                          "memory, and there are %.1f; choose smaller sizes "
                          "with --set or --size, or a bigger machine"
                          % (memory / 1e9, there / 1e9), memory / there)

    def remaining_time(self):
        """Seconds that all sets will take, from the calls so far. To perturb
        inputs costs about as much as to make them twice."""
        run = self.oracle
        each = self.call_s + run.exact_s + 2 * self.inputs_s
        return len(sets.KINDS) * (1 + run.runs) * each

    def check_time(self, seconds):
        most = self.request.get("seconds")
        if most and time.monotonic() - self.start + seconds > most:
            raise Refused("time", "its bundle would take about %.0f s, over "
                          "the limit of %.0f; choose smaller sizes with --set"
                          % (time.monotonic() - self.start + seconds, most),
                          seconds / most)

    # --- data -------------------------------------------------------------

    def inputs(self, seed):
        made = self.problem.inputs(seed)
        if made.form() != self.form:
            raise Refused("unsupported", "get_inputs() gives other shapes, "
                          "types or scalars with another seed")
        return made

    def check_outputs(self, outputs):
        if [(o.shape, o.dtype) for o in outputs] != \
                [(o.shape, o.dtype) for o in self.outputs]:
            raise Refused("unsupported", "the shape or type of the output "
                          "depends on the values of the input")

    def write(self, name, named):
        safetensors.write(os.path.join(self.out, name), named)

    def write_weights(self):
        self.write("inputs/weights.safetensors", [
            (slot.name, value) for slot, value in
            zip(self.oracle.slots, self.oracle.declared)])

    def tensors_of(self, leaves):
        """(name, tensor) of in[], without the empty slots."""
        places = self.oracle.inputs.tensor_indices()
        return [("in.%d" % i, leaves[place]) for i, place in
                enumerate(places) if leaves[place] is not None]

    def changed(self):
        """The first set with so few elements changed that who looks at some of
        them only sees nothing of it; None where no output follows."""
        first = self.first_set.leaves
        for one_in in sets.CHANGED_ONE_IN:
            leaves = sets.change_few(first, self.inputs(self.seed()).leaves,
                                     self.seed(), one_in)
            if self.first_set.moved(leaves, None):
                return leaves
        return None

    def make_set(self, kind):
        """The kind of the set that was made, or None."""
        seed = self.seed()
        leaves = self.inputs(seed).leaves
        if kind == "changed":
            changed = self.changed()
            self.first_set = None
            kind = "declared" if changed is None else kind
            leaves = leaves if changed is None else changed
        why = sets.why_not(kind, leaves, self.oracle.slots, self.tables)
        make = {"outliers": self.make_outliers,
                "infinite": self.make_infinite,
                "nan": self.make_nan}.get(kind, self.make_usual)
        try:
            why = why or make(kind, leaves, seed)
        except Refused as refused:
            # What goes wrong on declared data is wrong with the problem.
            if kind == "declared" or refused.kind in ("memory", "exit"):
                raise
            why = refused.text
        if why:
            self.dropped.append({"kind": kind, "reason": why})
        return None if why else kind

    def make_usual(self, kind, leaves, seed):
        # Halves of numbers, in a type of less range, are right for products of
        # all that is declared, and 1024 times as much.
        if kind == "tiny" and not self.tables and \
                count.multiplies(self.operations):
            return "the reference multiplies matrices"
        declared, leaves = leaves, sets.apply(kind, leaves, seed)
        weights = None
        if kind == "weights":
            weights = sets.random_weights(
                self.oracle.slots, self.oracle.declared, seed)
        elif kind in sets.CHANGE and self.tables:
            weights = sets.apply_to_tables(kind, self.tables,
                                           self.oracle.declared, seed)
        return self.oracle.why_not_scaled(kind, declared, leaves) or \
            self.run_set(kind, leaves, weights, seed)

    def make_outliers(self, kind, leaves, seed):
        """Only where no sums of products are computed: a fast algorithm for
        these mixes numbers that lie far apart, and is no worse for that. What
        is far below must not be where it counts: then others are drawn."""
        if count.multiplies(self.operations):
            return "the reference multiplies matrices"
        for _ in range(OUTLIERS_TRIES):
            odd = sets.outliers(leaves, seed)
            if not oracle.is_reached(self.oracle.expect(odd)):
                return self.run_set(kind, odd, None, seed)
            seed = self.seed()
        return "numbers far below all others reach the outputs"

    def make_infinite(self, kind, leaves, seed):
        """Where a number far below all others counts as none. NaN is right
        wherever the reference is not finite, which is the comparison's."""
        if self.seeds["sets"][-1]["kind"] != "outliers":
            return "an infinity may reach what it should not"
        odd = sets.infinite(leaves, seed)
        expect = self.oracle.expect(odd)
        if not self.oracle.way or not all(
                out.is_floating_point() for out in expect):
            return "there is no float64 form of all outputs"
        exact = self.oracle.exact(odd)
        oracle.agreed(expect, exact)
        if not any(bool(out.isinf().any()) for out in expect):
            return "no output is infinite"
        react, noise = self.oracle.spread(odd, None, exact, seed)
        self.write_set(kind, seed, odd, None,
                       _named("expect", expect) + _named("exact", exact) +
                       _named("react", react) + _named("noise", noise))
        return None

    def make_nan(self, kind, leaves, seed):
        """What a program makes of a NaN is its own business, and where there
        may be one of it. All else must be right, which is: what stays as it is
        whatever stands in the NaN's place. Only where every output is one of
        the inputs: a NaN may get far in sums, by an order that is allowed."""
        outputs = self.oracle.expect(leaves)
        if not oracle.selects(leaves, outputs):
            return "the outputs are other numbers than the inputs"
        top = 4 * max(float(leaf.abs().max()) for leaf in leaves
                      if sets.is_floating(leaf)) + 1
        odd = [sets.with_holes(leaves, seed, value)
               for value in (float("nan"), top, -top)]
        expect = oracle.untouched(outputs, [self.oracle.expect(some)
                                            for some in odd])
        if expect is None:
            return "a NaN reaches every output, or none"
        zeros = [torch.zeros_like(out, dtype=torch.float32) for out in expect]
        self.write_set(kind, seed, odd[0], None,
                       _named("expect", expect) + _named("react", zeros) +
                       (_named("exact", [out.double() for out in expect]) +
                        _named("noise", zeros) if self.oracle.way else []))
        return None

    def run_set(self, kind, leaves, weights, seed):
        """Runs and writes one set; the reason if it cannot be used."""
        expect = self.oracle.expect(leaves, weights)
        self.check_outputs(expect)
        exact = self.oracle.exact(leaves, weights) if self.oracle.way else None
        bad = oracle.not_finite(expect + (exact or []))
        if bad and kind == "declared":
            self.refuse_not_finite(expect + (exact or []))
        if bad:
            return "the reference is not finite there: index %s" % list(bad[1])
        middle = exact or [out.double() if out.is_floating_point() else None
                           for out in expect]
        react, noise = self.oracle.spread(leaves, weights, middle, seed)
        if kind in ("large", "tiny") and oracle.is_flat(expect, react):
            return oracle.FLAT
        if kind in ("tiny", "outliers") and oracle.is_lost(middle, noise):
            return "the reference itself loses its way there"
        rounded = {}
        if self.matters is None:
            self.find_matters(leaves, expect, exact, react, noise)
            if exact:
                rounded = precision.differences(self.oracle, leaves, expect,
                                                exact)
        self.write_set(kind, seed, leaves, weights,
                       _named("expect", expect) + _named("exact", exact or []) +
                       _named("react", react) + _named("noise", noise) +
                       [one for rounding, outputs in rounded.items()
                        for one in _named(rounding, outputs)])
        return None

    def write_set(self, kind, seed, leaves, weights, known):
        number = len(self.seeds["sets"])
        self.seeds["sets"].append({"kind": kind, "seed": seed})
        named = self.tensors_of(leaves)
        if weights is not None:
            named += [("weight.%d" % i, w) for i, w in enumerate(weights)]
        self.write("inputs/set-%02d.safetensors" % number, named)
        self.write("oracle/set-%02d.safetensors" % number, known)

    def find_matters(self, leaves, expect, exact, react, noise, others=None):
        """The first set, which is a declared one, is where this is tried.
        others: leaves of another seed."""
        center = matters.Center(self.oracle, leaves, expect, exact, react,
                                noise)
        self.first_set = center
        places = self.oracle.inputs.tensor_indices()
        inputs, weights, tried = matters.find(
            center, places, others or self.inputs(self.seed()).leaves,
            self.seed())
        self.matters = inputs, weights
        # Where the processor computes, inputs may be in a cache: no time is
        # then too short to have read them.
        if not device.is_cpu() and not self.light:
            self.must_be_read = matters.must_be_read(center, places,
                                                     self.seed())
        if tried < len(inputs) + len(weights):
            self.notes.append("whether they matter was tried for %d of %d "
                              "inputs and weights" % (
                                  tried, len(inputs) + len(weights)))

    def make_stock(self, first):
        """Fresh inputs for timed calls. Their float64 values are not kept: the
        reference's own are far closer to them than any bound, and without
        them twice as many entries fit."""
        number = self.stock_count(first)[0]
        places = sets.constant_places(first.leaves,
                                      self.inputs(self.seed()).leaves)
        for i in range(number):
            seed = self.seed()
            leaves = self.inputs(seed).leaves
            if places and not self.can_vary(leaves, places, seed):
                self.notes.append("inputs that are the same for every seed "
                                  "cannot be varied: results that depend on "
                                  "nothing else may be kept between calls")
                places = []
            leaves = sets.vary(leaves, places, seed)
            expect = self.oracle.expect(leaves)
            self.check_outputs(expect)
            self.refuse_not_finite(expect)
            self.seeds["stock"].append({"kind": "stock", "seed": seed})
            self.write("inputs/stock-%02d.safetensors" % i,
                       self.tensors_of(leaves))
            self.write("oracle/stock-%02d.safetensors" % i,
                       _named("expect", expect))
        return number

    def can_vary(self, leaves, places, seed):
        """Some references hold for their own constants only."""
        try:
            expect = self.oracle.expect(sets.vary(leaves, places, seed))
            self.check_outputs(expect)
        except Refused as refused:
            if refused.kind in ("memory", "exit"):
                raise
            return False
        return not oracle.not_finite(expect)

    # --- what everybody may know ------------------------------------------

    def describe(self, first, kinds, stock):
        run = self.oracle
        places = first.tensor_indices()
        weight_bytes = sum(tensors.nbytes(w) for w in run.declared)
        read = self.must_be_read or [False] * len(places)
        data = [first.leaves[i] for i in places
                if first.leaves[i] is not None] + self.outputs
        return {
            "format": FORMAT,
            "torch": str(torch.__version__),
            "made_on": device.name(),
            "python": platform.python_version(),
            "inputs": [dict(_describe(first.names[i], first.leaves[i], True),
                            matters=matter, must_be_read=must)
                       for i, matter, must in zip(places, self.matters[0],
                                                  read)],
            "scalars": [_describe_scalar(name, value)
                        for name, value in first.scalars()],
            "weights": [dict(_describe(slot.name, value, False),
                             kind=slot.kind, structural=slot.structural,
                             matters=matter)
                        for slot, value, matter in zip(
                            run.slots, run.declared, self.matters[1])],
            "outputs": [_describe("out%d" % i, out, False)
                        for i, out in enumerate(self.outputs)],
            "operations": self.operations,
            "bytes": weight_bytes + sum(tensors.nbytes(t) for t in data),
            "float64": run.way,
            "perturbed_runs": run.runs,
            "step": run.step,
            "sets": kinds,
            "dropped": self.dropped,
            "stock": stock,
            "notes": self.notes,
            "condensed": self.condenser.describe() if self.condenser else None,
        }


def _named(what, outputs):
    return [("%s.%d" % (what, i), out) for i, out in enumerate(outputs)
            if out is not None]


def _describe(name, tensor, with_domain):
    if tensor is None:
        return {"name": name, "dtype": "none", "shape": []}
    entry = {"name": name, "dtype": tensors.NAME[tensor.dtype],
             "shape": list(tensor.shape)}
    if with_domain and tensor.numel():
        wide = tensor.double() if tensor.element_size() < 4 or \
            not tensor.is_floating_point() else tensor
        entry["domain"] = {
            "min": _number(wide.min()), "max": _number(wide.max()),
            "mean": _number(wide.mean(dtype=torch.float64))}
    return entry


def _number(value):
    value = float(value)
    return value if abs(value) < float("inf") else None


def _describe_scalar(name, value):
    kind = "b" if isinstance(value, bool) else \
        "i" if isinstance(value, int) else "f"
    if kind == "f" and not abs(value) < float("inf"):
        raise Refused("unsupported", "scalar %s is not finite" % name)
    return {"name": name, "kind": kind,
            "value": int(value) if kind == "b" else value}
