#!/usr/bin/env python3
"""python/reference.py: what is refused, what a bundle holds, its values.

Needs a Python with torch; skipped without. Prints TAP.
"""

import ctypes
import json
import mmap
import os
import socket
import struct
import sys
import tempfile
import threading
import time
import types
import unittest
import warnings
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "python"))
sys.dont_write_bytecode = True

try:
    import torch
except ImportError:
    print("1..0 # SKIP this Python has no torch")
    sys.exit(0)

from kforge_reference import bundle, count, precision, sets, tensors  # noqa: E402
from kforge_reference.failure import Refused  # noqa: E402
from kforge_reference import matters, oracle, problem, serve  # noqa: E402

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
DOUBLE_IT = """
class Model(nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    return [torch.randn(3, 4)]
"""


def model(forward, inputs="torch.randn(6, 10)", init="pass", extra=""):
    """A problem's text with one line or more of each part."""
    return HEAD + extra + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        %s
    def forward(self, x):
        %s
def get_inputs():
    return [%s]
def get_init_inputs():
    return []
""" % (init.replace("\n", "\n        "), forward.replace("\n", "\n        "),
       inputs)


def read_safetensors(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + size]), data[8 + size:], 8 + size


def tensors_in(path):
    header, data, _ = read_safetensors(path)
    types = {safe: dtype for dtype, _, safe in tensors.TYPES}
    found = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if end > begin:
            found[name] = torch.frombuffer(
                bytearray(data[begin:end]), dtype=types[entry["dtype"]]
            ).reshape(entry["shape"])
    return found


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text, name="mine.py"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def load(self, text):
        return problem.Problem(self.file(text))

    def bundle(self, text, bytes_max=1 << 30, bytes_whole=1 << 30, seed=7,
               **more):
        """Makes one; returns (result.json, bundle.json or None)."""
        out = os.path.join(self.folder.name, "out")
        os.makedirs(out, exist_ok=True)
        bundle.main({"problem": self.file(text), "out": out, "threads": 1,
                     "bytes_whole": bytes_whole, "bytes_max": bytes_max,
                     "seed": seed, **dict({"memory_bytes": 1 << 34}, **more)})
        with open(os.path.join(out, "result.json")) as file:
            result = json.load(file)
        info = None
        if "error" not in result:
            with open(os.path.join(out, "public", "bundle.json")) as file:
                info = json.load(file)
        return result, info

    def data(self, name):
        return tensors_in(os.path.join(self.folder.name, "out", name))

    def small_stock(self, number=2):
        before = bundle.STOCK_MAX, bundle.STOCK_MIN
        bundle.STOCK_MAX, bundle.STOCK_MIN = number, number

        def restore():
            bundle.STOCK_MAX, bundle.STOCK_MIN = before
        self.addCleanup(restore)


class BadProblems(Case):
    ROWS = (
        ("no class Model", HEAD + "x = 1\n", "no_model", "class Model"),
        ("Model is not a module", "class Model:\n    pass\n", "no_model",
         "nn.Module"),
        ("no get_inputs", HEAD + "class Model(nn.Module):\n    pass\n",
         "no_inputs", "get_inputs"),
        ("broken syntax", "def f(:\n", "syntax", "mine.py, line 1"),
        ("import of what is not there", "import no_such_module_\n",
         "exception", "line 1: ModuleNotFoundError"),
        ("sys.exit in the file", "import sys\nsys.exit(0)\n", "exit",
         "line 2"),
        ("exception in forward", model("return x @ x"), "exception",
         "line 10: RuntimeError"),
        ("exception in the constructor", model("return x", init="1 / 0"),
         "exception", "line 8: ZeroDivisionError: division by zero in "
         "Model()"),
        ("not finite", model("return torch.log(x - x)"), "non_finite",
         "index [0, 0]"),
        ("NaN in a later stock entry is refused as well",
         model("return x * (float('nan') if C.n > 60 else 1)",
               inputs="C.next()", extra="""
class C:
    n = 0
    @classmethod
    def next(cls):
        cls.n += 1
        return torch.randn(2)
"""), "non_finite", "output 0"),
        ("a counter outside the module", model(
            "C[0] += 1\nreturn x + C[0]", extra="C = [0]\n"),
         "nondeterministic", "differs from itself"),
        ("the clock", model("import time\nreturn x * (time.perf_counter_ns() % 1000003)"),
         "nondeterministic", "differs from itself"),
        ("dropout in training mode", model("return F.dropout(x, 0.5)"),
         "random", "random numbers"),
        ("more memory than there is", model(
            "return x + torch.empty(1 << 60)"), "memory", "out of memory"),
        ("a device in trouble", model(
            "raise RuntimeError('CUDA error: uncorrectable ECC error "
            "encountered')"), "device", "the device is in trouble during"),
        ("a string among the inputs", model("return x", inputs="'mean'"),
         "unsupported", "input x is a str"),
        ("a string as output", model("return 'x'"), "unsupported",
         "returns the type str"),
        ("no output", model("return None"), "unsupported", "no tensor"),
        ("complex output", model("return torch.fft.fft(x)"), "unsupported",
         "complex64"),
        ("sparse input", model("return x", inputs=(
            "torch.randn(3, 3).to_sparse()")), "unsupported", "dense"),
        ("output whose shape depends on the data", model(
            "return x[x > 0]"), "unsupported", "depends on the values"),
        ("lazy parameters", model("return self.l(x)",
                                  init="self.l = nn.LazyLinear(3)"),
         "unsupported", "lazy"),
        ("inputs of another shape each time", model(
            "return x.sum()", inputs="torch.randn(int(torch.randint(2, 99, "
            "(1,))))"), "unsupported", "another seed"),
    )

    def test_each_is_one_clear_sentence(self):
        for what, text, kind, words in self.ROWS:
            with self.subTest(what):
                result, _ = self.bundle(text)
                self.assertIn("error", result)
                self.assertEqual(result["error"]["kind"], kind,
                                 result["error"])
                self.assertIn(words, result["error"]["text"])
                self.assertNotIn("\n", result["error"]["text"])
                self.assertLess(len(result["error"]["text"]), 700)

    def test_a_bundle_over_the_limit_is_not_begun(self):
        result, _ = self.bundle(model("return x"), bytes_max=1000,
                                bytes_whole=1000)
        self.assertEqual(result["error"]["kind"], "limit")
        self.assertFalse(os.path.exists(
            os.path.join(self.folder.name, "out", "inputs")))

    def test_how_much_too_large_it_is_is_told(self):
        result, _ = self.bundle(model("return x"), bytes_max=1000,
                                bytes_whole=1000)
        self.assertGreater(result["error"]["ratio"], 1)

    def test_what_would_take_too_long_is_not_begun(self):
        result, _ = self.bundle(model("return x"), seconds=1e-9)
        self.assertEqual(result["error"]["kind"], "time", result)
        self.assertIn("over the limit", result["error"]["text"])
        self.assertGreater(result["error"]["ratio"], 1)

    def test_a_long_message_is_cut(self):
        result, _ = self.bundle(model("raise ValueError('x' * 100000)"))
        self.assertLess(len(result["error"]["text"]), 700)


class Notes(Case):
    STATEFUL = model("y = x + self.h\nself.h = y\nreturn y",
                     init="self.register_buffer('h', torch.zeros(6, 10))")
    WORDS = "keeps a state that changes its next output"

    def test_a_state_that_changes_the_next_output_is_noted(self):
        self.small_stock()
        _, info = self.bundle(self.STATEFUL)
        self.assertTrue(any(self.WORDS in note for note in info["notes"]),
                        info["notes"])
        found = [w["matters"] for w in info["weights"]]
        self.assertEqual(found, [True])

    def test_statistics_that_only_run_along_are_not(self):
        self.small_stock()
        _, info = self.bundle(model("return self.n(x)",
                                    init="self.n = nn.BatchNorm1d(10)"))
        self.assertFalse(any(self.WORDS in note for note in info["notes"]),
                         info["notes"])


def of_sums():
    """The kinds of sets of what does not leave out what is far below."""
    return [kind for kind in sets.KINDS
            if kind not in ("outliers", "infinite", "nan")]


class Light(Case):
    def test_it_has_all_sets_and_one_stock_entry(self):
        _, info = self.bundle(model("return x * 2", init="self.w = "
                                    "nn.Parameter(torch.ones(1))"),
                              light=True)
        self.assertEqual(info["sets"], of_sums())
        self.assertEqual(info["stock"], 1)
        self.assertEqual(info["perturbed_runs"], 2)


class Matters(Case):
    def found(self, text):
        self.small_stock()
        result, info = self.bundle(text)
        self.assertEqual(result, {"made": True})
        return {entry["name"]: entry["matters"]
                for entry in info["inputs"] + info["weights"]}, info

    def test_what_changes_nothing_is_found(self):
        rows = (
            (model("return x * self.w", init="self.w = nn.Parameter("
                   "torch.ones(10))\nself.v = nn.Parameter(torch.ones(3))"),
             {"x": True, "w": True, "v": False}),
            (model("return F.softmax(x, -1).mean(-1)"), {"x": False}),
            (model("return x * 0"), {"x": False}),
            # A constant moves the mean away, to which a norm is blind.
            (model("return F.layer_norm(x + self.b, [10])",
                   init="self.b = nn.Parameter(torch.zeros(1))"),
             {"x": True, "b": False}),
            (model("return (x > 0) & (x < 1e9)"), {"x": True}),
            (model("return x.abs() + y.abs() - y", inputs="torch.randn(9), "
                   "torch.rand(9)").replace("self, x)", "self, x, y)"),
             {"x": True, "y": False}),
        )
        for text, wanted in rows:
            with self.subTest(text):
                self.assertEqual(self.found(text)[0], wanted)

    def test_an_input_that_is_always_the_same_is_tried_too(self):
        two = model("return x + y", inputs="torch.randn(4), torch.zeros(4)")
        self.assertEqual(self.found(two.replace("self, x)", "self, x, y)"))[0],
                         {"x": True, "y": True})
        idle = model("return x + 0 * y",
                     inputs="torch.randn(4), torch.ones(4)")
        self.assertEqual(
            self.found(idle.replace("self, x)", "self, x, y)"))[0],
            {"x": True, "y": False})

    def test_what_cannot_be_tried_matters(self):
        found, _ = self.found(HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(10))
    def forward(self, x, nothing, count):
        return x
def get_inputs():
    return [torch.randn(10), None, torch.arange(3)]
""")
        self.assertEqual(found, {"x": True, "nothing": True, "count": True,
                                 "table": True})

    def test_the_number_of_runs_is_bounded_and_said(self):
        before = matters.RUNS_MAX
        self.addCleanup(setattr, matters, "RUNS_MAX", before)
        matters.RUNS_MAX = 2
        found, info = self.found(model("return x", init="self.w = "
                                       "nn.ParameterList([nn.Parameter("
                                       "torch.ones(1)) for _ in range(3)])"))
        self.assertEqual(list(found.values()), [True, False, True, True])
        self.assertIn("whether they matter was tried for 2 of 4 inputs and "
                      "weights", info["notes"])


class Inputs(Case):
    def test_lists_are_flattened_in_order(self):
        loaded = self.load(HEAD + """
class Model(nn.Module):
    def forward(self, x, pair, flag, table, nothing, n=1):
        return x
def get_inputs():
    return [torch.zeros(1), (torch.ones(2), [3.5]), True,
            {"a": torch.zeros(4, dtype=torch.int64)}, None, 7]
""")
        made = loaded.inputs(1)
        self.assertEqual(made.names, ["x", "pair.0", "pair.1.0", "flag",
                                      "table.a", "nothing", "n"])
        self.assertEqual(made.tensor_indices(), [0, 1, 4, 5])
        self.assertEqual(made.scalars(), [("pair.1.0", 3.5), ("flag", True),
                                          ("n", 7)])
        args, kwargs = made.build(made.leaves)
        self.assertEqual(kwargs, {})
        self.assertIsInstance(args[1], tuple)
        self.assertEqual(args[1][1], [3.5])
        self.assertIs(args[2], True)
        self.assertIsNone(args[4])

    def test_a_dict_gives_named_arguments(self):
        loaded = self.load(model("return x").replace(
            "return [torch.randn(6, 10)]", "return {'x': torch.ones(2)}"))
        made = loaded.inputs(1)
        self.assertEqual(made.names, ["x"])
        out = loaded.reference()(made, made.leaves)
        self.assertEqual(out[0].tolist(), [1.0, 1.0])

    def test_seeds_decide(self):
        loaded = self.load(HEAD + DOUBLE_IT)
        one, two = loaded.inputs(5).leaves[0], loaded.inputs(5).leaves[0]
        self.assertTrue(torch.equal(one, two))
        self.assertFalse(torch.equal(one, loaded.inputs(6).leaves[0]))

    def test_views_become_contiguous(self):
        loaded = self.load(model("return x", inputs="torch.randn(3, 4).t()"))
        self.assertTrue(loaded.inputs(1).leaves[0].is_contiguous())

    def test_arguments_of_the_constructor(self):
        rows = (("[2, 3]", (2, 3)), ("{'a': 2, 'b': 3}", (2, 3)),
                ("[[2], {'b': 3}]", (2, 3)), ("(2, 3)", (2, 3)))
        for text, wanted in rows:
            loaded = self.load(HEAD + """
class Model(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.got = (a, b)
    def forward(self, x):
        return x
def get_inputs():
    return [torch.ones(1)]
def get_init_inputs():
    return %s
""" % text)
            self.assertEqual(loaded.construct().got, wanted)


class Weights(Case):
    def test_order_names_ties_and_kinds(self):
        loaded = self.load(model("return x", init="""
self.scale = nn.Parameter(torch.ones(3))
self.register_buffer("mask", torch.tril(torch.ones(3, 3)))
self.register_buffer("hidden", torch.ones(2), persistent=False)
self.table = torch.arange(4)
self.first = nn.Linear(2, 2)
self.norm = nn.BatchNorm1d(2)
self.last = nn.Linear(2, 2)
self.last.weight = self.first.weight
self.loose = [nn.Linear(1, 1, bias=False), torch.zeros(5)]
""".strip()))
        run = loaded.reference()
        self.assertEqual(
            [(s.name, s.kind, s.structural) for s in run.slots], [
                ("scale", "parameter", False),
                ("mask", "buffer", True),
                ("hidden", "buffer", True),
                ("table", "attribute", True),
                ("loose.0.weight", "parameter", False),
                ("loose.1", "attribute", True),
                ("first.weight", "parameter", False),
                ("first.bias", "parameter", False),
                ("norm.weight", "parameter", False),
                ("norm.bias", "parameter", False),
                ("norm.running_mean", "buffer", False),
                ("norm.running_var", "buffer", False),
                ("norm.num_batches_tracked", "buffer", True),
                ("last.bias", "parameter", False)])

    def test_registered_weights_stand_in_state_dict_order(self):
        loaded = self.load(model("return x", init="""
self.rnn = nn.LSTM(3, 4, num_layers=2)
self.net = nn.Sequential(nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2))
""".strip()))
        run = loaded.reference()
        self.assertEqual([slot.name for slot in run.slots],
                         list(run.module.state_dict()))

    def test_random_ones_keep_structure_and_domain(self):
        loaded = self.load(model("return x", init="""
self.norm = nn.BatchNorm1d(64)
self.positive = nn.Parameter(torch.rand(64) + 0.1)
self.register_buffer("mask", torch.ones(64))
self.net = nn.Linear(64, 64)
""".strip()))
        run = loaded.reference()
        before = run.weights()
        after = dict(zip([slot.name for slot in run.slots],
                         sets.random_weights(run.slots, before, 3)))
        self.assertTrue(torch.equal(after["mask"], torch.ones(64)))
        self.assertEqual(int(after["norm.num_batches_tracked"]), 0)
        for name in ("norm.running_var", "norm.weight", "positive"):
            self.assertGreater(float(after[name].min()), 0, name)
            self.assertGreater(float(after[name].std()), 0.01, name)
        self.assertLess(float(after["norm.running_var"].min()), 0.01)
        for name in ("norm.bias", "norm.running_mean", "net.weight"):
            self.assertLess(float(after[name].min()), 0, name)
            self.assertGreater(float(after[name].max()), 0, name)

    def test_weights_that_share_memory_are_parted(self):
        loaded = self.load(model("return x + self.view.sum()", init="""
self.weight = nn.Parameter(torch.ones(2, 3))
self.view = self.weight.detach().t()
self.wide = torch.ones(1, 3).expand(4, 3)
""".strip(), inputs="torch.zeros(2)"))
        run = loaded.reference()
        made = loaded.inputs(1)
        weights = run.weights()
        weights[0].fill_(100)
        self.assertEqual(run(made, made.leaves, weights)[0].tolist(),
                         [6.0, 6.0])


class State(Case):
    def test_every_call_begins_from_the_same_state(self):
        rows = {
            "running statistics": ("return self.norm(x)",
                                   "self.norm = nn.BatchNorm1d(10)"),
            "a hidden state": (
                "self.h = torch.tanh(x + self.h)\nreturn self.h",
                "self.h = torch.zeros(6, 10)"),
            "a counter": ("self.n += 1\nreturn x * self.n", "self.n = 0"),
            "a cache": (
                "self.seen.append(x)\nreturn x * len(self.seen)",
                "self.seen = []"),
            "a buffer that grows": (
                "self.b = torch.cat([self.b, x])\nreturn self.b",
                "self.register_buffer('b', torch.zeros(1, 10))"),
            "a parameter changed through data": (
                "self.p.data.add_(1)\nreturn x * self.p",
                "self.p = nn.Parameter(torch.ones(10))"),
            "inputs changed in place": ("return x.mul_(2)", "pass"),
            "Python's random numbers": (
                "import random\nreturn x * random.random()", "pass"),
        }
        for what, (forward, init) in rows.items():
            with self.subTest(what):
                loaded = self.load(model(forward, init=init))
                run, made = loaded.reference(), loaded.inputs(1)
                first = run(made, made.leaves)[0]
                for _ in range(3):
                    self.assertTrue(torch.equal(
                        first, run(made, made.leaves)[0]))

    def test_settled_state_still_restores_what_moves(self):
        loaded = self.load(model(
            "self.h += 1\nreturn x + self.h",
            init="self.h = torch.zeros(10)\nself.w = torch.ones(10)"))
        run, made = loaded.reference(), loaded.inputs(1)
        args, _ = made.build(made.leaves)
        first = run.module(*args)
        run.state.settle()
        for _ in range(3):
            run.state.restore()
            self.assertTrue(torch.equal(first, run.module(*args)))


class Sets(Case):
    def test_kinds(self):
        x = torch.rand(64, 16) + 1
        rows = {
            "zero_mean": lambda y: abs(float(y.mean())) < 1e-6,
            "wide": lambda y: float((y / x).max()) > 8 and
            float((y / x).min()) < 1 / 8,
            "tail": lambda y: torch.equal(y[:, -2:], x[:, -2:] * 8) and
            torch.equal(y[:, :-2], x[:, :-2]),
            "small": lambda y: bool(((y - x * 1e-3).abs() < 1e-9).all()),
            "large": lambda y: torch.equal(y, x * 1024),
            "tiny": lambda y: torch.equal(y, x * 2.0**-102),
            "declared": lambda y: torch.equal(y, x),
        }
        whole = torch.arange(5)
        for kind, good in rows.items():
            made = sets.apply(kind, [x, whole, None, 3], 1)
            self.assertTrue(good(made[0]), kind)
            self.assertEqual(made[0].dtype, torch.float32)
            self.assertIs(made[1], whole)
            self.assertEqual(made[2:], [None, 3])

    def test_the_last_input_alone_is_tiny(self):
        x = torch.rand(4, 4)
        made = sets.apply("tiny", [x, x, None], 1)
        self.assertIs(made[0], x)
        self.assertTrue(torch.equal(made[1], x * 2.0**-102))

    def test_outliers_stand_in_some_rows_at_their_ends_too(self):
        x = torch.rand(800, 10) + 1
        made, = sets.outliers([x], 1)
        low, high = made < -1e30, made > 1e6
        self.assertTrue(torch.equal(low.any(1), high.any(1)))
        self.assertEqual(int(high.sum()), 100)
        self.assertTrue(bool(high[799].any()))
        for end in (0, 9):
            self.assertGreater(int(high[:, end].sum()), 20)
        usual = ~(low | high)
        factor = torch.ones(800, 1)
        factor[400:] = 1024
        self.assertTrue(torch.equal(made[usual], (x * factor)[usual]))

    def test_what_counts_the_far_below_as_nothing_has_outliers(self):
        """outliers, infinite, nan: which of them fits, and why the others do
        not."""
        rows = (
            ("torch.logsumexp(x, 1)", "outliers infinite", "other numbers"),
            ("x.max(1).values", "outliers infinite nan", ""),
            ("torch.softmax(x, 1)", "outliers", "no output is infinite"),
            ("x.cumsum(1)", "", "reach the outputs"),
            ("x - x.mean(1, True)", "", "reach the outputs"),
            ("torch.tanh(x @ x.t())", "", "multiplies matrices"),
            ("x * torch.rsqrt((x * x).mean(1, True) + 1e-5)", "",
             "loses its way"),
        )
        for forward, fit, why in rows:
            self.small_stock()
            _, info = self.bundle(model("return " + forward,
                                        inputs="torch.randn(48, 10)"))
            self.assertEqual([kind for kind in info["sets"] if kind in
                              ("outliers", "infinite", "nan")], fit.split(),
                             forward)
            self.assertIn(why, str(info["dropped"]), forward)

    def expect_of(self, kind, forward, inputs):
        self.small_stock()
        _, info = self.bundle(model("return " + forward, inputs=inputs))
        name = "set-%02d.safetensors" % info["sets"].index(kind)
        return (self.data("inputs/" + name)["in.0"],
                self.data("oracle/" + name)["expect.0"])

    def test_what_hangs_on_a_nan_is_open_and_nothing_else(self):
        x, expect = self.expect_of("nan", "x.max(1).values",
                                   "torch.randn(48, 10)")
        odd = x.isnan().any(1)
        self.assertEqual(int(odd.sum()), 6)
        self.assertTrue(torch.equal(expect.isnan(), odd))
        self.assertTrue(torch.equal(expect[~odd], x[~odd].max(1).values))
        # A NaN moves what is sorted: nothing of its row is asked for.
        x, expect = self.expect_of("nan", "x.sort(1).values",
                                   "torch.randn(48, 10)")
        self.assertTrue(torch.equal(expect.isnan().all(1),
                                    x.isnan().any(1)))

    def test_infinities_are_of_both_signs(self):
        x, expect = self.expect_of("infinite", "torch.logsumexp(x, 1)",
                                   "torch.randn(48, 10)")
        self.assertEqual(int((expect == float("inf")).sum()), 3)
        self.assertEqual(int((expect == float("-inf")).sum()), 3)
        self.assertEqual(int((x == float("inf")).sum()), 3)

    def test_a_set_outside_the_domain_is_left_out_and_said_so(self):
        self.small_stock()
        _, info = self.bundle(model("return torch.sqrt(x)",
                                    inputs="torch.rand(6, 10)"))
        dropped = {d["kind"]: d["reason"] for d in info["dropped"]}
        self.assertIn("not finite", dropped["zero_mean"])
        self.assertIn("no parameter", dropped["weights"])
        self.assertEqual(info["sets"], ["declared", "changed", "wide",
                                        "tail", "small", "large", "tiny"])

    def test_large_inputs_that_show_nothing_are_left_out(self):
        rows = (
            ("every output is one number", "return x.tanh()",
             "torch.rand(6, 10) + 1"),
            ("not finite there", "return x.exp()", "torch.rand(6, 10) + 1"),
            ("too large for its type", "return x.float().clamp(0, 1)",
             "100 + torch.rand(6, 10).half()"),
        )
        for why, forward, inputs in rows:
            self.small_stock()
            _, info = self.bundle(model(forward, inputs=inputs))
            dropped = {d["kind"]: d["reason"] for d in info["dropped"]}
            self.assertIn(why, dropped["large"])
            self.assertNotIn("large", info["sets"])

    def test_few_elements_are_changed_and_only_floating_ones(self):
        x, other = torch.zeros(3, 5000), torch.ones(3, 5000)
        whole = torch.arange(5)
        made = sets.change_few([x, whole, None], [other, whole + 1, None], 1,
                               4096)
        self.assertEqual(int((made[0] != x).sum()), 3)
        self.assertEqual(float(made[0].max()), 1)
        self.assertIs(made[1], whole)
        self.assertFalse(bool(x.any()))
        # Where both seeds give the same number, another one is made of it.
        same, = sets.change_few([other], [other], 1, 4096)
        self.assertEqual(float(same.max()), 1.25)

    def test_operands_are_rounded_to_nearest_or_cut(self):
        x = torch.tensor([1 + 2**-11, 1 + 3 * 2**-11, -1 - 2**-11 - 2**-20,
                          1 + 2**-10 + 2**-12, 0.0])
        rows = {"tf32": [1, 1 + 2**-9, -1 - 2**-10, 1 + 2**-10, 0],
                "tf32_cut": [1, 1 + 2**-10, -1, 1 + 2**-10, 0],
                "bf16": [1, 1, -1, 1, 0]}
        for kind, wanted in rows.items():
            self.assertEqual(precision.KINDS[kind](x).tolist(), wanted, kind)

    def test_the_first_set_tells_what_lower_precision_does(self):
        self.small_stock()
        self.bundle(model("return self.f(x)",
                          init="self.f = nn.Linear(10, 7)"))
        first = self.data("oracle/set-00.safetensors")
        self.assertLessEqual({"tf32.0", "tf32_cut.0", "bf16.0"}, set(first))
        self.assertNotIn("tf32.0", self.data(
            "oracle/set-01.safetensors"))

    def test_no_set_is_called_changed_if_no_output_follows(self):
        self.small_stock()
        _, info = self.bundle(model("return (x > 100).float()"))
        self.assertEqual(info["sets"][:2], ["declared", "declared"])

    def test_integer_inputs_have_declared_sets_only(self):
        self.small_stock()
        _, info = self.bundle(model(
            "return x * self.w[0, 0]", init="self.w = nn.Parameter("
            "torch.ones(1, 1))", inputs="torch.randint(0, 9, (5,))"))
        self.assertEqual(info["sets"], ["declared", "declared", "weights"])
        self.assertEqual({d["reason"] for d in info["dropped"]},
                         {"there is no floating-point input"})

    def test_tables_stand_for_inputs_where_there_are_integers_only(self):
        self.small_stock()
        _, info = self.bundle(model(
            "return self.f(self.e(x) + self.p)",
            init="self.e = nn.Embedding(9, 4)\n"
            "self.p = nn.Parameter(torch.randn(5, 4))\n"
            "self.f = nn.Linear(4, 3)",
            inputs="torch.randint(0, 9, (5,))"))
        self.assertIn("small", info["sets"])
        made = self.data("inputs/set-%02d.safetensors" %
                         info["sets"].index("small"))
        weights = self.data("inputs/weights.safetensors")
        for i, (slot, factor) in enumerate((
                ("p", 1e-3), ("e.weight", 1e-3), ("f.weight", 1),
                ("f.bias", 1))):
            self.assertLess(float((made["weight.%d" % i] -
                                   factor * weights[slot]).abs().max()),
                            1e-9, slot)

    def stock_inputs(self, forward, inputs):
        self.small_stock()
        _, info = self.bundle(model(forward, inputs=inputs))
        return info, [self.data("inputs/stock-%02d.safetensors" % i)["in.0"]
                      for i in range(2)]

    def test_constant_inputs_are_fresh_in_the_stock(self):
        info, stock = self.stock_inputs("return x + 1", "torch.ones(6, 10)")
        self.assertFalse(torch.equal(stock[0], stock[1]))
        self.assertEqual(info["notes"], [])

    def test_inputs_that_must_be_constant_are_and_it_is_said(self):
        info, stock = self.stock_inputs(
            "return torch.sqrt(1 - x * x)", "torch.ones(6, 10)")
        self.assertTrue(torch.equal(stock[0], stock[1]))
        self.assertIn("cannot be varied", info["notes"][0])


class Values(Case):
    def oracle(self, text, seed=1):
        loaded = self.load(text)
        made = loaded.inputs(seed)
        run = oracle.Oracle(loaded, made)
        run.find_exact(made.leaves, run.expect(made.leaves))
        return run, made

    def test_exact_is_float64_on_the_same_numbers(self):
        run, made = self.oracle(model(
            "return self.l(x)", init="self.l = nn.Linear(10, 4)"))
        self.assertEqual(run.way, "cast")
        weight, bias = run.declared
        wanted = made.leaves[0].double() @ weight.double().t() + \
            bias.double()
        exact = run.exact(made.leaves)[0]
        self.assertEqual(exact.dtype, torch.float64)
        self.assertLess(float((exact - wanted).abs().max()), 1e-14)

    def test_programs_with_a_type_written_in_still_have_float64(self):
        rows = (
            ("return (x.float() * 3).float()", "widened"),
            ("return x.to(torch.float32) + torch.zeros(10, "
             "dtype=torch.float32)", "widened"),
            ("return torch.matmul(x, torch.ones(10, 10))", "default dtype"),
            ("return torch.softmax(x, 1, dtype=torch.float32)", "widened"),
        )
        for forward, way in rows:
            run, made = self.oracle(model(forward))
            self.assertEqual(run.way, way, forward)
            self.assertEqual(run.exact(made.leaves)[0].dtype, torch.float64)

    def test_without_float64_the_reference_judges_itself(self):
        self.small_stock()
        _, info = self.bundle(model(
            "if x.dtype != torch.float32:\n    raise TypeError('no')\n"
            "return x * 3"))
        self.assertIsNone(info["float64"])
        self.assertTrue(any("no float64" in n for n in info["notes"]))
        data = self.data("oracle/set-00.safetensors")
        self.assertIn("react.0", data)
        self.assertNotIn("exact.0", data)
        self.assertNotIn("noise.0", data)

    MUST_BE_READ = (
        ("return x @ x.t()", "torch.randn(64, 64)", True),
        ("return x.relu()", "torch.randn(64, 64)", True),
        ("return F.max_pool2d(x[None], 4)", "torch.randn(64, 64)", True),
        ("return x.softmax(1)", "torch.rand(64, 64)", True),
        # Some of it is never looked at.
        ("return x[:32] * 2", "torch.randn(64, 64)", False),
        ("return x[::2] * 2", "torch.randn(64, 64)", False),
        ("return x.tril() @ x", "torch.randn(64, 64)[None]", True),
        ("return x.tril() * 2", "torch.randn(64, 64)", False),
        ("return x[torch.arange(40)]", "torch.randn(64, 64)", False),
        ("return x - x + 1", "torch.randn(64, 64)", False),
        # What is known beforehand, or hidden in a long sum.
        ("return x @ x", "torch.randn(64, 64).tril()", False),
        ("return x.mean()", "torch.rand(1024, 64)", False),
        ("return x * 2", "torch.randint(0, 9, (64, 64))", False),
    )

    def test_what_need_not_be_read_is_not_said_to_be(self):
        for forward, inputs, wanted in self.MUST_BE_READ:
            run, made = self.oracle(model(forward, inputs))
            expect, y = run.expect(made.leaves), run.exact(made.leaves)
            react, noise = run.spread(made.leaves, None, y, 3)
            center = matters.Center(run, made.leaves, expect, y, react, noise)
            with self.subTest(forward, inputs=inputs), \
                    mock.patch.object(matters, "PROBED_BYTES", 0):
                self.assertEqual(matters.must_be_read(center, [0], 5),
                                 [wanted])
            self.assertEqual(matters.must_be_read(center, [0], 5), [False])

    def test_what_must_be_read_is_told_of_a_device(self):
        self.small_stock()
        elsewhere = types.SimpleNamespace(
            is_cpu=lambda: False, name=lambda: "a device",
            memory_bytes=lambda: None)
        text = model("return x * 2 + y[:3].sum()", "torch.randn(64, 64), "
                     "torch.randn(64)").replace("self, x)", "self, x, y)")

        def told(**more):
            return [entry["must_be_read"]
                    for entry in self.bundle(text, **more)[1]["inputs"]]

        with mock.patch.object(matters, "PROBED_BYTES", 0):
            self.assertEqual(told(), [False, False])
            with mock.patch.object(bundle, "device", elsewhere):
                self.assertEqual(told(), [True, False])
                self.assertEqual(told(light=True), [False, False])

    def test_without_time_nothing_must_be_read(self):
        run, made = self.oracle(model("return x * 2"))
        y = run.exact(made.leaves)
        react, noise = run.spread(made.leaves, None, y, 3)
        center = matters.Center(run, made.leaves, run.expect(made.leaves), y,
                                react, noise)
        with mock.patch.multiple(matters, PROBED_BYTES=0, PROBES_SECONDS=0):
            self.assertEqual(matters.must_be_read(center, [0], 5), [False])

    def test_react_is_how_an_element_follows_its_inputs(self):
        run, made = self.oracle(model("return x * x"))
        y = run.exact(made.leaves)
        react, noise = run.spread(made.leaves, None, y, 3)
        # d(x^2) = 2 x dx, and every dx is x times the step.
        wanted = 2 * made.leaves[0].double() ** 2
        error = ((react[0].double() - wanted) / wanted).abs().max()
        self.assertLess(float(error), 2e-3)
        self.assertLess(float((noise[0] / y[0].abs()).max()), 2.0**-23)

    def test_react_knows_weights(self):
        run, made = self.oracle(model(
            "return x * 0 + self.p",
            init="self.p = nn.Parameter(torch.full((10,), 5.0))"))
        react, _ = run.spread(made.leaves, None, run.exact(made.leaves), 3)
        self.assertLess(float((react[0] - 5).abs().max()), 0.01)

    def test_half_types_are_perturbed_by_more_than_their_last_place(self):
        for dtype, step in (("float16", 2.0**-8), ("bfloat16", 2.0**-5)):
            run, made = self.oracle(model(
                "return x * 2", inputs="torch.randn(40).to(torch.%s)"
                % dtype))
            self.assertEqual(run.step, step)
            gen = sets.generator(1)
            x = made.leaves[0]
            moved = sets.perturb(x, gen, step)
            self.assertTrue(bool((moved != x).all()))

    def test_integer_outputs_have_no_scale(self):
        self.small_stock()
        _, info = self.bundle(model("v, i = torch.topk(x, 3)\nreturn v, i, "
                                    "x > 0"))
        self.assertEqual([o["dtype"] for o in info["outputs"]],
                         ["float32", "int64", "bool"])
        data = self.data("oracle/set-00.safetensors")
        self.assertEqual(sorted(n for n in data if "pad" not in n),
                         ["bf16.0", "exact.0", "expect.0", "expect.1",
                          "expect.2", "noise.0", "react.0", "tf32.0",
                          "tf32_cut.0"])


class Counts(Case):
    def test_known_products(self):
        rows = (
            (lambda: torch.ones(3, 5) @ torch.ones(5, 7), "matmul",
             2 * 3 * 5 * 7),
            (lambda: torch.ones(2, 3, 5) @ torch.ones(2, 5, 7), "matmul",
             2 * 2 * 3 * 5 * 7),
            (lambda: torch.nn.functional.linear(
                torch.ones(3, 5), torch.ones(7, 5), torch.ones(7)),
             "matmul", 2 * 3 * 5 * 7),
            (lambda: torch.conv2d(torch.ones(2, 4, 8, 8),
                                  torch.ones(6, 2, 3, 3), groups=2),
             "convolution", 2 * 2 * 6 * 6 * 6 * 2 * 9),
            (lambda: torch.conv_transpose1d(
                torch.ones(2, 4, 8), torch.ones(4, 6, 3)), "convolution",
             2 * 2 * 4 * 8 * 6 * 3),
            (lambda: torch.ones(4, 5).t().relu(), "elementwise", 20),
            (lambda: torch.ones(4, 5).sum(), "elementwise", 20),
        )
        if count.TorchDispatchMode is None:
            self.skipTest("this torch cannot count")
        for call, kind, wanted in rows:
            with torch.no_grad():
                counts = count.count(call)
            self.assertEqual(counts[kind], wanted)
            self.assertEqual(counts["total"], wanted)


class Files(Case):
    def test_a_bundle_is_whole_and_aligned(self):
        self.small_stock(3)
        result, info = self.bundle(model(
            "return self.l(x), (x > 0).sum(1) > 3", init="""
self.l = nn.Linear(10, 3)
self.odd = torch.ones(7, dtype=torch.bool)
""".strip()))
        self.assertEqual(result, {"made": True})
        self.assertEqual(info["stock"], 3)
        self.assertEqual(info["sets"],     # of float16 parts, it may be
                         [kind for kind in of_sums() if kind != "tiny"])
        self.assertIn({"kind": "tiny", "reason":
                       "the reference multiplies matrices"}, info["dropped"])
        self.assertEqual(info["bytes"],
                         4 * 60 + 4 * 33 + 7 + 4 * 18 + 6)
        out = os.path.join(self.folder.name, "out")
        names = sorted(os.path.join(folder[len(out) + 1:], name)
                       for folder, _, files in os.walk(out)
                       for name in files)
        self.assertEqual(names, sorted(
            ["public/bundle.json", "result.json", "oracle/seeds.json",
             "inputs/weights.safetensors"] +
            ["%s/%s-%02d.safetensors" % (part, kind, i)
             for part in ("inputs", "oracle")
             for kind, number in (("set", 8), ("stock", 3))
             for i in range(number)]))
        for name in names:
            if name.endswith(".safetensors"):
                self.check_layout(os.path.join(out, name))
        self.assertEqual(
            sorted(self.data("inputs/weights.safetensors")),
            sorted(["l.weight", "l.bias", "odd", "__pad.1", "__pad.3"]))

    def check_layout(self, path):
        header, data, start = read_safetensors(path)
        at = 0
        for name, entry in header.items():
            begin, end = entry["data_offsets"]
            self.assertEqual(begin, at)
            at = end
            if not name.startswith("__pad"):
                self.assertEqual((start + begin) % 64, 0)
        self.assertEqual(at, len(data))

    def test_seeds_are_not_public(self):
        self.small_stock()
        _, info = self.bundle(model("return x"))
        self.assertNotIn("seed", json.dumps(info))

    def test_the_same_seed_gives_the_same_bundle(self):
        self.small_stock()
        self.bundle(model("return x"))
        first = self.data("inputs/set-01.safetensors")["in.0"]
        self.bundle(model("return x"))
        self.assertTrue(torch.equal(
            first, self.data("inputs/set-01.safetensors")["in.0"]))

    def test_scalars_and_empty_slots(self):
        self.small_stock()
        _, info = self.bundle(HEAD + """
class Model(nn.Module):
    def forward(self, x, mask, n, f, b):
        return x * n * f if b and mask is None else x
def get_inputs():
    return [torch.randn(3), None, 2**40, 0.1, True]
""")
        self.assertEqual(info["inputs"][1], {"name": "mask", "dtype": "none",
                                             "must_be_read": False,
                                             "shape": [], "matters": True})
        self.assertEqual(info["scalars"], [
            {"name": "n", "kind": "i", "value": 2**40},
            {"name": "f", "kind": "f", "value": 0.1},
            {"name": "b", "kind": "b", "value": 1}])


class Precision(Case):
    """What a problem's file sets of torch ends with its own lines."""
    FLAGS = """
NEWER = hasattr(torch.backends, "fp32_precision")
FOUND = []
def found():
    FOUND.append((torch.backends.cuda.matmul.allow_tf32,
                  torch.backends.cudnn.allow_tf32,
                  torch.backends.cudnn.deterministic,
                  torch.get_float32_matmul_precision()))
def set_all():
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.deterministic = True
    torch.set_float32_matmul_precision("medium")
    if NEWER:
        torch.backends.fp32_precision = "tf32"
        torch.backends.cudnn.fp32_precision = "tf32"
set_all()
"""
    FULL = (False, False, False, "highest")

    def setUp(self):
        super().setUp()
        problem.prepare_torch(1)
        self.problem = problem.Problem(self.file(model(
            "found()\nset_all()\nreturn x", "[found(), set_all(), "
            "torch.ones(3)][2]", "found()\nset_all()", self.FLAGS)))
        self.found = self.problem.module.FOUND

    def test_it_does_not_last(self):
        reference = self.problem.reference()
        inputs = self.problem.inputs(1)
        for _ in range(2):
            reference(inputs, inputs.leaves)
        self.assertEqual(self.found, 4 * [self.FULL])
        self.problem.module.found()
        self.assertEqual(self.found[-1], self.FULL)
        if self.problem.module.NEWER:
            self.assertEqual(torch.backends.fp32_precision, "none")
            self.assertEqual(torch.backends.cudnn.fp32_precision, "none")

    def test_tf32_is_allowed_where_it_is_measured(self):
        reference = self.problem.reference()
        inputs = self.problem.inputs(1)
        with serve.device.tf32():
            reference(inputs, inputs.leaves)
            self.assertEqual(self.found[-1], (True, True, False, "high"))
        reference(inputs, inputs.leaves)
        self.assertEqual(self.found[-1], self.FULL)

    def test_convolutions_stay_repeatable_or_not(self):
        problem.prepare_torch(1, repeatable=True)
        self.problem.reference()
        self.assertEqual(self.found[-1], (False, False, True, "highest"))
        problem.prepare_torch(1)
        self.problem.reference()
        self.assertEqual(self.found[-1], self.FULL)


class Serving(Case):
    def test_calls_are_timed_on_what_lies_in_the_arena(self):
        path = self.file(model(
            "LAST[0] = self.p + x\nself.p.data.add_(1)\nreturn LAST[0]",
            init="self.p = nn.Parameter(torch.ones(3))",
            inputs="torch.zeros(3)", extra="LAST = [None]\n"))
        arena = os.memfd_create("arena")
        os.ftruncate(arena, 8192)
        memory = mmap.mmap(arena, 8192)
        here, there = socket.socketpair()
        place = {"offset": 0, "dtype": "float32", "shape": [3]}
        request = {
            "problem": path, "threads": 1, "control": there.detach(),
            "arena": arena, "arena_bytes": 8192, "inputs": [place],
            "weights": [dict(place, offset=4096)]}
        thread = threading.Thread(target=serve.main, args=(request,))
        thread.start()
        lines = here.makefile("r")
        word, _, about = lines.readline().partition(" ")
        self.assertEqual(word, "ready")
        self.assertEqual(json.loads(about)["threads"], 1)
        last = sys.modules[problem.MODULE_NAME].LAST
        memory[0:12] = struct.pack("<3f", 1, 2, 3)
        memory[4096:4108] = struct.pack("<3f", 10, 20, 30)
        for question, wanted in (("run 0", [2, 3, 4]),
                                 ("run 1", [11, 22, 33]),
                                 ("run 0", [2, 3, 4])):
            here.sendall((question + "\n").encode())
            word, took, delay = lines.readline().split()
            self.assertEqual(word, "ok")
            self.assertGreater(int(took), 0)
            self.assertGreaterEqual(int(delay), 0)
            self.assertEqual(last[0].tolist(), wanted)
        here.shutdown(socket.SHUT_WR)
        thread.join(10)
        self.assertFalse(thread.is_alive())
        lines.close()
        here.close()

    def test_on_a_device_it_does_nothing_before_it_is_told_to(self):
        here, there = socket.socketpair()
        path = self.file("raise Exception('loaded')\n")
        thread = threading.Thread(target=serve.main, args=({
            "problem": path, "threads": 1, "control": there.detach(),
            "wait": True, "inputs": [], "weights": [], "arena": os.memfd_create(
                "arena"), "arena_bytes": 4096},))
        thread.start()
        here.settimeout(0.2)
        self.assertRaises(socket.timeout, here.recv, 1)
        here.settimeout(20)
        here.sendall(b"warm\n")
        lines = here.makefile("r")
        self.assertTrue(lines.readline().startswith("error "))
        thread.join(20)
        self.assertFalse(thread.is_alive())
        lines.close()
        here.close()

    def test_on_a_device_times_wait_for_a_word_of_their_own(self):
        arena = os.memfd_create("arena")
        os.ftruncate(arena, 4096)
        here, there = socket.socketpair()
        thread = threading.Thread(target=serve.main, args=({
            "problem": self.file(model("return x + 1", "torch.ones(3)")),
            "threads": 1, "control": there.detach(), "wait": True,
            "inputs": [{"offset": 0, "dtype": "float32", "shape": [3]}],
            "weights": [], "arena": arena, "arena_bytes": 4096},))
        thread.start()
        here.settimeout(20)
        here.sendall(b"warm\n")
        with here.makefile("r") as lines:
            self.assertEqual(lines.readline(), "warm done\n")
            here.sendall(b"choose\n")
            self.assertTrue(lines.readline().startswith("ready "))
        here.shutdown(socket.SHUT_WR)
        thread.join(20)
        self.assertFalse(thread.is_alive())
        here.close()

    def test_what_a_device_copies_from_is_pinned_and_stays(self):
        arena = os.memfd_create("arena")
        os.ftruncate(arena, 4096)
        pins = []
        before = serve.cuda.of_device
        serve.cuda.of_device = lambda: type("Driver", (), {
            "pin": staticmethod(lambda *where: pins.append(where))})
        try:
            server = serve.Server({
                "problem": self.file(model("return torch.ones(3)", "1")),
                "threads": 1, "arena": arena, "arena_bytes": 4096,
                "inputs": [], "weights": []})
        finally:
            serve.cuda.of_device = before
        (address, size), = pins
        self.assertEqual(size, 4096)
        # There even where no tensor lies in it.
        os.pwrite(arena, b"seen", 0)
        self.assertEqual(ctypes.string_at(address, 4), b"seen")
        del server

    def test_what_stands_beside_a_devices_time(self):
        here, there = socket.socketpair()
        arena = os.memfd_create("arena")
        os.ftruncate(arena, 4096)
        server = serve.Server({
            "problem": self.file(model("return x + 1", "torch.ones(3)")),
            "threads": 1, "arena": arena, "arena_bytes": 4096,
            "inputs": [{"offset": 0, "dtype": "float32", "shape": [3]}],
            "weights": []})
        seen, compiled = [], []

        def watched(value):
            def ask(call):
                call()
                seen.append((value, server.clock))
                return value
            return ask

        server.clock = clock = type("Clock", (), {"time": staticmethod(
            lambda call: (call(), 7 if torch.backends.cuda.matmul.allow_tf32
                          else 9))})
        before = serve.device.memory_peak, serve.device.launches
        serve.device.memory_peak = watched(100)
        serve.device.launches = watched(3)
        compile_before = getattr(torch, "compile", None)
        torch.compile = lambda call: (compiled.append(
            torch.backends.cuda.matmul.allow_tf32), call)[1]
        timed = server.module
        try:
            server.describe()
            eager_only = dict(server.about)
            server.ways = {"eager": 9, "compile": 9}
            server.compile_tf32()
            server.module = timed
            server.describe()
        finally:
            serve.device.memory_peak, serve.device.launches = before
            if compile_before is None:
                del torch.compile
            else:
                torch.compile = compile_before
            here.close()
            there.close()
        self.assertIs(server.module, timed)
        self.assertNotIn("compile_tf32_ns", eager_only)
        self.assertEqual(server.about["compile_tf32_ns"], 7)
        self.assertEqual(compiled, [True])
        self.assertEqual(server.about["memory_bytes_peak"], 100)
        self.assertEqual(server.about["launches"], 3)
        self.assertEqual(server.about["eager_tf32_ns"], 7)
        self.assertEqual(seen, 2 * [(100, clock), (3, None)])
        self.assertIs(server.clock, clock)
        self.assertFalse(torch.backends.cuda.matmul.allow_tf32)

    def ways(self, compiled):
        """What a server says of itself with that in torch.compile's place."""
        path = self.file(model("for _ in range(20): x = x * self.p\nreturn x",
                               init="self.p = nn.Parameter(torch.ones(3))",
                               inputs="torch.ones(3)"))
        arena = os.memfd_create("arena")
        os.ftruncate(arena, 4096)
        here, there = socket.socketpair()
        before = getattr(torch, "compile", None)
        torch.compile = compiled
        try:
            thread = threading.Thread(target=serve.main, args=({
                "problem": path, "threads": 1, "control": there.detach(),
                "arena": arena, "arena_bytes": 4096, "compile": True,
                "inputs": [{"offset": 0, "dtype": "float32", "shape": [3]}],
                "weights": []},))
            thread.start()
            with here.makefile("r") as lines:
                word, _, about = lines.readline().partition(" ")
            here.shutdown(socket.SHUT_WR)
            thread.join(30)
        finally:
            if before is None:
                del torch.compile
            else:
                torch.compile = before
            here.close()
        self.assertEqual(word, "ready")
        return json.loads(about)

    def test_the_faster_way_is_timed(self):
        def slow(module):
            return lambda *args: (time.sleep(0.002), module(*args))[1]

        about = self.ways(slow)
        self.assertEqual(about["way"], "eager")
        self.assertGreater(about["ways"]["compile"], 2e6)
        self.assertLess(about["ways"]["eager"], about["ways"]["compile"])
        # What torch.compile gives has no truth of its own: it asks the module.
        compiled = type("Compiled", (), {
            "__call__": lambda self, *args: args[0] * 1,
            "__len__": lambda self: [][1]})
        about = self.ways(lambda module: compiled())
        self.assertEqual(about["way"], "compile")
        self.assertLess(about["ways"]["compile"], about["ways"]["eager"])

    def test_what_cannot_be_compiled_is_timed_as_it_is(self):
        def fail(module):
            raise RuntimeError("no compiler")

        about = self.ways(fail)
        self.assertEqual((about["way"], about["ways"]), ("eager", {}))
        self.assertEqual(about["device"],
                         {"compile_error": "RuntimeError: no compiler"})

        def fail_later(module):
            def call(*args):
                raise RuntimeError("no kernel")
            return call

        error = self.ways(fail_later)["device"]["compile_error"]
        self.assertIn("RuntimeError: no kernel", error)
        self.assertIsNone(self.ways(lambda module: module)["device"])

    def test_trouble_is_told(self):
        here, there = socket.socketpair()
        arena = os.memfd_create("arena")
        os.ftruncate(arena, 4096)
        serve.main({"problem": self.file("import nowhere_\n"), "threads": 1,
                    "control": there.detach(), "arena": arena,
                    "arena_bytes": 4096, "inputs": [], "weights": []})
        word, _, rest = here.recv(4096).decode().partition(" ")
        self.assertEqual(word, "error")
        self.assertEqual(json.loads(rest)["error"]["kind"], "exception")
        here.close()


class TapResult(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.number = self.testsRun
        self.bad = len(self.failures) + len(self.errors)

    def stopTest(self, test):
        name = test.id().split(".", 1)[1]
        bad = self.failures + self.errors
        if len(bad) > self.bad:
            print("not ok %d - %s" % (self.number, name))
            for case, text in bad[self.bad:]:
                print("# %s" % case)
                print("# " + text.rstrip().replace("\n", "\n# "))
        elif self.skipped and self.skipped[-1][0] is test:
            print("ok %d - %s # SKIP %s" % (self.number, name,
                                            self.skipped[-1][1]))
        else:
            print("ok %d - %s" % (self.number, name))
        sys.stdout.flush()
        super().stopTest(test)


def run_module(module):
    """All of a module's own tests; its exit status."""
    torch.set_num_threads(1)
    suite = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromTestCase(case)
        for case in vars(module).values() if isinstance(case, type) and
        issubclass(case, unittest.TestCase) and
        case.__module__ == module.__name__)
    print("1..%d" % suite.countTestCases())
    return 0 if suite.run(TapResult()).wasSuccessful() else 1


def main():
    warnings.simplefilter("ignore")
    return run_module(sys.modules[__name__])


if __name__ == "__main__":
    sys.exit(main())
