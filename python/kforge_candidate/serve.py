"""One program, loaded once and called when the supervisor says so. Reads as its
running order: import, say hello, make the problem, load the program, lock the
door, then call after call."""

import ctypes
import faulthandler
import gc
import os
import sys
import time

import torch

from kforge_reference import cuda, device
from kforge_reference.problem import (BUILD_SEED, Problem, prepare_torch,
                                      seed_all)

from . import artefact, flush, program, protocol, trace
from .extensions import Extensions
from .given import Given
from .guard import Guard
from .outputs import Outputs
from .readback import Readback
from .weights import Weights
from .words import Wrong, end_of, of_error

INPUT_SEED = 20260102


def main(device_name, artefact_path, problem_path, launches=None,
         watched=None):
    faulthandler.enable()
    sys.stdout.reconfigure(line_buffering=True)
    server = Server(device_name, artefact_path, problem_path)
    if launches:
        server.watch(trace.told if watched else trace.Launches(launches))
    server.channel.hello()
    while not server.left:
        server.serve(server.channel.wait())
    if watched:
        sys.exit(0)     # a profiler finishes its files when a process exits
    return 0


def view(info, address):
    """The tensor that lies in shared memory."""
    dtype = getattr(torch, protocol.DTYPES[info.dtype])
    shape = tuple(info.shape[:info.rank])
    numel = 1
    for size in shape:
        numel *= size
    if not numel:
        return torch.empty(shape, dtype=dtype, device="cpu")
    size = numel * torch.empty((), dtype=dtype, device="cpu").element_size()
    memory = (ctypes.c_char * size).from_address(address + info.offset)
    return torch.frombuffer(memory, dtype=dtype).reshape(shape)


class Server:
    def __init__(self, device_name, artefact_path, problem_path):
        self.channel = protocol.Channel()
        self._device_name = device_name
        self._artefact = artefact_path
        self._problem_path = problem_path
        self._folder = artefact.folder()
        self._commands = {
            protocol.PING: lambda: None, protocol.READY: self.ready,
            protocol.LOAD: self.load, protocol.PREPARE: self.prepare,
            protocol.UPLOAD: self.upload, protocol.FORWARD: self.forward,
            protocol.DOWNLOAD: self.download, protocol.TIDY: self.tidy,
            protocol.TRACE: self.trace, protocol.LEAVE: self.leave,
        }
        self.left = False

    def watch(self, watcher):
        """From here on watcher(forward) is called for every forward."""
        forward = self.forward
        self._commands[protocol.FORWARD] = lambda: watcher(forward)

    def leave(self):
        self.left = True

    def serve(self, command):
        """Trouble of ours ends the process: READY alone may have any."""
        reply = self.channel.reply
        reply.changed = protocol.NOWHERE
        end, text = protocol.GOOD, ""
        start = time.perf_counter_ns()
        try:
            self._commands[command]()
        except BaseException as error:
            if command == protocol.READY:
                raise
            end, text = end_of(error, protocol), self._words(error)
        reply.own_ns = time.perf_counter_ns() - start
        self.channel.say(end, text)
        self.channel.answer()

    def _words(self, error):
        if isinstance(error, Wrong):
            return error.text
        return of_error(self._folder, error)

    # --- getting ready -------------------------------------------------------

    def ready(self):
        prepare_torch(int(os.environ.get("OMP_NUM_THREADS", "1")),
                      self._device_name or "cpu")
        self._problem = Problem(self._problem_path)
        self._inputs = self._problem.inputs(INPUT_SEED)
        self._arguments = self._problem.init_arguments()
        device.leave_default()
        self._synchronize = device.settle
        self._driver = driver = cuda.of_device()
        self._flush = flush.of_device(driver)
        self._readback = Readback(driver) if driver else None
        self._guard = Guard()
        self._mapped = trace.mapped()

    def load(self):
        """The program's file runs, and whatever it compiles is compiled."""
        folder, manifest = artefact.unpack(self._artefact)
        cache = artefact.set_caches(folder)
        if manifest["warm"]:
            Extensions(cache, manifest["extensions"]).install()
        self._module = program.construct(program.load(folder), self._arguments,
                                         self._problem.dtype)
        self._weights = Weights(self._module, self.channel.names,
                                self.channel.weights)
        if manifest["warm"]:
            self._warm()
        self._guard.check()
        protocol.forbid_processes()
        self._take(*protocol.map_arenas())

    def _warm(self):
        """One call on the problem's own inputs; what is wrong with it the
        first call of a judgement will show."""
        try:
            program.call(self._module, self._inputs, [
                leaf.clone() if isinstance(leaf, torch.Tensor) else leaf
                for leaf in self._inputs.leaves])
            self._synchronize()
        except Exception as error:
            print("a first call, on the problem's inputs: %s" %
                  of_error(self._folder, error))

    def _take(self, inputs, outputs):
        channel = self.channel
        if self._driver:
            self._driver.pin(*inputs, writable=False)
            self._driver.pin(*outputs)
        inputs, outputs = inputs[0], outputs[0]
        self._given = Given(channel.inputs, [
            None if protocol.DTYPES[info.dtype] == "none" else
            view(info, inputs) for info in channel.inputs], self._readback)
        self._weight_views = [view(info, inputs) for info in channel.weights]
        self._outputs = Outputs(channel.outputs, [
            view(info, outputs) for info in channel.outputs])

    # --- weights -------------------------------------------------------------

    def prepare(self):
        with torch.no_grad():
            self._weights.put(self._weight_views, everything=True)
        own = getattr(self._module, "kf_prepare", None)
        if callable(own):
            with torch.no_grad():
                own()
            self._synchronize()

    # --- a call --------------------------------------------------------------

    def upload(self):
        with torch.no_grad():
            self._weights.put(self._weight_views, everything=False)
        leaves = list(self._inputs.leaves)
        for place, tensor in zip(self._inputs.tensor_indices(),
                                 self._given.put()):
            leaves[place] = tensor
        self._args, self._kwargs = self._inputs.build(leaves)
        self._outputs.expect()
        seed_all(BUILD_SEED)
        gc.collect(0)
        self._synchronize()
        self._flush()

    def forward(self):
        gc.disable()
        try:
            with torch.no_grad():
                result = self._module(*self._args, **self._kwargs)
                self._synchronize()
                self._outputs.take(result)
        finally:
            gc.enable()

    def trace(self):
        """forward, with what it runs written down."""
        self.channel.tell(trace.run(self.forward, self._mapped))

    def download(self):
        self._outputs.deliver()
        self._guard.check()
        place = self._given.changed()
        if place is not None:
            self.channel.reply.changed = place

    def tidy(self):
        self._args = self._kwargs = None
        self._outputs.forget()
