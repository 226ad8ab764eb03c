"""The baseline: one live process that runs the reference in eager PyTorch.

The supervisor writes inputs into an arena that both map, then asks over a
socket, a line at a time:

    warm        only where "wait" is asked for, first: compute on the device, and
                have compilers work, which nobody's times may be taken beside
                                                        -> "warm done"
    choose      only there, next: what is timed from here on is time of our own
    run 0       time one call with the declared weights -> "ok TIME DELAY"
    run 1       the same with the weights in the arena
    anything that goes wrong                            -> "error JSON"

TIME is forward's own (on a device: by the device's clock), DELAY how long our
threads were ready in it and waited for a processor (0 where the kernel does not
tell), both in nanoseconds.

Before the first call "ready JSON" is sent, after import, loading and warm-up. Where
"compile" is asked for, the module is also compiled (torch.compile), and the
faster of the two is what is timed; JSON has the times of both.
"""

import ctypes
import gc
import glob
import json
import mmap
import socket
import statistics
import time

import torch

from . import cuda, device, tensors
from .failure import Refused, from_exception, one_line
from .problem import BUILD_SEED, Problem, prepare_torch, seed_all

WARM_CALLS = 3
WARM_NS = 50_000_000
WARM_CALLS_MAX = 1000
# Of eager against compile.
COMPARE_CALLS = 5
COMPARE_BLOCKS = 20
COMPARE_NS = 300_000_000


def main(request):
    control = socket.socket(fileno=request["control"])
    lines = control.makefile("r", encoding="utf-8", newline="\n")

    def say(text):
        control.sendall((text + "\n").encode())

    try:
        if request.get("wait") and lines.readline().strip() != "warm":
            return
        server = Server(request)
        server.begin(request.get("compile", False))
        if request.get("wait"):
            say("warm done")
            if lines.readline().strip() != "choose":
                return
        server.choose()
        say("ready " + json.dumps({"torch": str(torch.__version__),
                                   "threads": torch.get_num_threads(),
                                   "way": server.way, "ways": server.ways,
                                   "note": server.note,
                                   "device": server.about}))
        for line in lines:
            word, _, argument = line.strip().partition(" ")
            if word != "run":
                break
            say("ok %d %d" % server.run(argument == "1"))
    except Refused as refused:
        say("error " + json.dumps(refused.as_json()))
    except BaseException as error:
        refused = from_exception("the baseline", request["problem"], error)
        say("error " + json.dumps(refused.as_json()))


def _view(memory, place):
    """The tensor that lies in the arena at a place of the request."""
    shape = place["shape"]
    dtype = tensors.BY_NAME[place["dtype"]]
    numel = 1
    for size in shape:
        numel *= size
    if not numel:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(memory, dtype=dtype, count=numel,
                            offset=place["offset"]).reshape(shape)


def _pin(memory):
    """Inputs are copied from there before each call."""
    try:
        driver = cuda.of_device()
    except (OSError, AttributeError, RuntimeError):
        return      # torch's device is no CUDA's
    if driver and len(memory):
        driver.pin(ctypes.addressof(ctypes.c_char.from_buffer(memory)),
                   len(memory))


def _delay():
    """The second number of schedstat, of all threads."""
    total = 0
    for path in glob.glob("/proc/self/task/*/schedstat"):
        try:
            with open(path, encoding="ascii") as file:
                total += int(file.read().split()[1])
        except (OSError, IndexError, ValueError):
            pass    # a thread that has just ended
    return total


def _words(error):
    if isinstance(error, Refused):
        return one_line(error.text)
    return one_line("%s: %s" % (type(error).__name__, error))


def _called(module):
    """The module by a function of its own, so that what is compiled for it is
    kept apart from what is compiled for the module."""
    def call(*args, **kwargs):
        return module(*args, **kwargs)
    return call


class Server:
    def __init__(self, request):
        prepare_torch(request["threads"], request.get("device", "cpu"))
        self._memory = memory = mmap.mmap(request["arena"],
                                          request["arena_bytes"])
        _pin(memory)
        self.problem = Problem(request["problem"])
        self.reference = self.problem.reference()
        self.inputs = self.problem.inputs(BUILD_SEED)
        self.leaves = list(self.inputs.leaves)
        places = self.inputs.tensor_indices()
        if len(places) != len(request["inputs"]):
            raise Refused("internal", "the bundle has other inputs")
        for at, place in zip(places, request["inputs"]):
            if place is not None:
                self.leaves[at] = _view(memory, place)
        self.weights = [_view(memory, place) for place in request["weights"]]
        self.weights_loaded = False
        self.clock = None if device.is_cpu() else device.Clock()
        self.module = self.reference.module
        self.compiled = self.compiled_tf32 = None
        self.way = "eager"
        self.ways = {}      # ns of each
        self.compile_error = ""     # why there is no compiled way
        self.note = ""      # what else went wrong
        self.about = None   # of a device's baseline

    def warm(self):
        start = time.perf_counter_ns()
        for calls in range(WARM_CALLS_MAX):
            if calls >= WARM_CALLS and \
                    time.perf_counter_ns() - start > WARM_NS:
                break
            self.run(False)
        self.reference.state.settle()

    def compare(self, ways):
        """Median times of the ways, block after block in turn."""
        took = {way: [] for way in ways}
        start = time.perf_counter_ns()
        while len(took["eager"]) < COMPARE_BLOCKS * COMPARE_CALLS and (
                len(took["eager"]) < 2 * COMPARE_CALLS or
                time.perf_counter_ns() - start < COMPARE_NS):
            for way, module in ways.items():
                self.module = module
                self.run(False)     # the first after another is not like it
                took[way] += [self.run(False)[0]
                              for _ in range(COMPARE_CALLS)]
        return {way: statistics.median(times) for way, times in took.items()}

    def begin(self, may_compile):
        """Loads libraries, compiles, warms up: no time of a call counts."""
        self.run(False)
        self.warm()
        if may_compile:
            self.compile()

    def compile(self):
        eager = self.module
        try:
            self.module = compiled = torch.compile(eager)
            self.run(False)
            self.warm()
            self.compiled = compiled
        except Exception as error:
            self.compile_error = _words(error)
        if self.compiled is not None and not device.is_cpu():
            self.compile_tf32()
        self.module = eager
        device.release()

    def compile_tf32(self):
        try:
            with device.tf32():
                self.module = torch.compile(_called(self.reference.module))
                self.run(False)
            self.compiled_tf32 = self.module
        except Exception as error:  # told beside the time, or not
            self.note = "torch.compile with TF32: " + _words(error)

    def choose(self):
        """Settles which way is timed."""
        if self.compiled is not None:
            self.compare_compiled()
        if not device.is_cpu():
            self.describe()
        if self.compile_error:
            self.about = dict(self.about or {},
                              compile_error=self.compile_error)

    def compare_compiled(self):
        ways = {"eager": self.module, "compile": self.compiled}
        try:
            self.ways = self.compare(ways)
            self.way = min(self.ways, key=self.ways.get)
        except Exception as error:
            self.compile_error = _words(error)
            self.ways, self.way = {}, "eager"
        self.module = ways[self.way]
        device.release()

    def describe(self):
        """What stands beside the time of the way that is timed. Times with
        TF32 are told, and compared with nothing."""
        clock, timed = self.clock, self.module
        self.about = {"driver": device.driver()}
        try:
            self.about["memory_bytes_peak"] = device.memory_peak(
                lambda: self.run(False))
            self.clock = None       # its gate is a kernel too
            self.about["launches"] = device.launches(lambda: self.run(False))
            self.clock, self.module = clock, self.reference.module
            with device.tf32():
                self.about["eager_tf32_ns"] = self.usual()
                if "compile" in self.ways and \
                        self.compiled_tf32 is not None:
                    self.module = self.compiled_tf32
                    self.about["compile_tf32_ns"] = self.usual()
        except Exception as error:  # the time stands without it
            self.note = "beside the baseline: " + _words(error)
        self.clock, self.module = clock, timed
        device.release()

    def usual(self):
        """The median time of some calls, after one that loads or compiles."""
        self.run(False)
        return statistics.median(self.run(False)[0]
                                 for _ in range(COMPARE_CALLS))

    def time(self, call):
        if self.clock:
            return self.clock.time(call)
        start = time.perf_counter_ns()
        result = call()
        return result, time.perf_counter_ns() - start

    def run(self, with_weights):
        """(time, delay) of one forward. State is restored first, untimed; only
        what changes is copied, so that weights are no warmer in the caches
        than a candidate's."""
        self.reference.state.restore(everything=self.weights_loaded)
        if with_weights:
            self.reference.load(self.weights)
        self.weights_loaded = with_weights
        args, kwargs = self.inputs.build(
            [device.put(leaf) if isinstance(leaf, torch.Tensor) else leaf
             for leaf in self.leaves])
        gc.collect(0)
        gc.disable()
        try:
            with self.problem.guard_forward(), torch.no_grad():
                seed_all(BUILD_SEED)
                waited = _delay()
                # Kept until the clock has stopped: freeing is not forward's
                # work.
                result, took = self.time(lambda: self.module(*args, **kwargs))
                waited = _delay() - waited
                del result
        finally:
            gc.enable()
        return took, max(waited, 0)
