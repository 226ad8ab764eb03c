"""The C library in c/: opened with ctypes, built again where it does not fit
the machine, called on the memory of tensors."""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
import threading

import torch

from .contexts import Context, Contexts
from .facts import FOLDER

BUILD_SECONDS = 600
ALIGNMENT = 256         # of outputs, so that the library need not copy


# --- finding or building the library -----------------------------------------

def _open(path, name):
    """The library if it is there and this processor can run it, else why."""
    if not os.path.exists(path):
        return None, "%s is not there" % path
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        return None, str(error)
    if getattr(library, name + "_check")() != 0:
        return None, ("%s was built for a processor with more instructions"
                      % path)
    return library, None


def _sources():
    """What the library is built from, by name, relative to FOLDER."""
    names = [n for n in os.listdir(FOLDER) if n.endswith((".c", ".h"))]
    return sorted(names + ["Makefile", os.path.join("kforge", "program.h")])


def _processor():
    words = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            words += next((line for line in file
                           if line.startswith(("flags", "Features"))), "")
    except OSError:
        pass
    return words


def _built_place(facts):
    """Where this machine's own build is kept: by the processor and by all that
    goes into it. One program may be exported for several shapes."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    key = hashlib.sha256("\0".join([
        facts["problem"], facts["program"], facts["kforge_version"],
        facts["march"], _processor()]).encode())
    for name in _sources():
        with open(os.path.join(FOLDER, name), "rb") as file:
            text = file.read()
        key.update(b"%s %d " % (name.encode(), len(text)) + text)
    return os.path.join(cache, "kforge", "exports",
                        "%s-%s" % (facts["id"], key.hexdigest()[:16]))


def _make(make, scratch):
    """Builds the library in scratch. In there, because makefiles cannot take
    a path with a space; "" or why it failed."""
    os.mkdir(os.path.join(scratch, "kforge"))
    for name in _sources():
        shutil.copyfile(os.path.join(FOLDER, name),
                        os.path.join(scratch, name))
    try:
        done = subprocess.run(
            [make, "-s", "-C", scratch, "library", "OUT=."],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=BUILD_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "make was not done after %d seconds" % BUILD_SECONDS
    if done.returncode:
        return done.stdout.decode("utf-8", "replace")[:400]
    return ""


def _build(facts, place, why):
    begin = "the library of %s cannot be used here (%s), and " % (
        facts["name"], why)
    make = shutil.which("make")
    if not make:
        raise ImportError(begin + "there is no make to build it again")
    try:
        os.makedirs(place, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place) as scratch:
            failure = _make(make, scratch)
            # Whole or absent, also where two processes build it at once.
            if not failure:
                os.replace(os.path.join(scratch, facts["library"]),
                           os.path.join(place, facts["library"]))
    except OSError as error:
        raise ImportError("%sit cannot be built again in %s: %s; set "
                          "XDG_CACHE_HOME to a folder that can be written" % (
                              begin, place, error)) from error
    if failure:
        raise ImportError("%sbuilding it again failed: %s" % (begin, failure))


def _find(facts):
    library, why = _open(os.path.join(FOLDER, facts["library"]), facts["id"])
    if library:
        return library
    place = _built_place(facts)
    path = os.path.join(place, facts["library"])
    library, _ = _open(path, facts["id"])
    if library:
        return library
    _build(facts, place, why)
    library, why = _open(path, facts["id"])
    if not library:
        raise ImportError("the library of %s was built, and cannot be used: "
                          "%s" % (facts["name"], why))
    return library


# --- calling it --------------------------------------------------------------

def _pointers(tensors):
    return (ctypes.c_void_p * len(tensors))(*[t.data_ptr() for t in tensors])


class _Prepared(Context):
    """A context of the library."""

    def __init__(self, program, weights):
        self._program = program
        self.handle = None
        super().__init__(weights)

    def prepare(self, weights):
        program = self._program
        if self.handle is None:
            self.handle = ctypes.c_void_p()
            status = program.create(weights, ctypes.byref(self.handle))
            words = program.words(status)
        else:
            status = program.set_weights(self.handle, _pointers(weights))
            words = program.error(self.handle).decode()
        if status:
            raise RuntimeError("%s: %s" % (program.facts["name"], words))

    def free(self):
        if self.handle:
            self._program.free(self.handle)
            self.handle = None


class Program:
    """Calls the library; safe to use from several threads, one at a time."""

    def __init__(self, facts):
        self.facts = facts
        self.weights = facts["weights"]
        self.outputs = facts["outputs"]
        self._library = _find(facts)
        self._lock = threading.Lock()
        self._contexts = Contexts(facts, lambda weights: _Prepared(self,
                                                                   weights))
        get = self._function
        self.free = get("free", None, 1)
        self._message = get("message", ctypes.c_char_p, 0)
        self._message.argtypes = [ctypes.c_int]
        self.error = get("error", ctypes.c_char_p, 1)
        given = sum(not t["none"] for t in facts["inputs"])
        self._forward = get("forward", ctypes.c_int,
                            1 + given + len(self.outputs))
        self._create = get("create", ctypes.c_int, 1 + bool(self.weights))
        if self.weights:
            self.set_weights = get("set_weights", ctypes.c_int, 2)

    def _function(self, name, result, count):
        function = getattr(self._library, "%s_%s" % (self.facts["id"], name))
        function.restype = result
        function.argtypes = [ctypes.c_void_p] * count
        return function

    def words(self, status):
        return self._message(status).decode()

    def create(self, weights, handle):
        if self.weights:
            return self._create(_pointers(weights), handle)
        return self._create(handle)

    def refresh(self):
        """Forgets all prepared weights: they were changed behind PyTorch's
        back, as by tensor.data or numpy."""
        with self._lock:
            self._contexts.clear()

    @staticmethod
    def _output(spec):
        """Aligned as programs want it, so that nothing is copied: PyTorch's
        own memory, of which the output is not a view but a part."""
        if not spec["bytes"]:
            return torch.empty(spec["shape"], dtype=spec["torch"],
                               device="cpu")
        room = torch.empty(spec["bytes"] + ALIGNMENT, dtype=torch.uint8,
                           device="cpu")
        skip = -room.data_ptr() % ALIGNMENT
        part = (ctypes.c_char * spec["bytes"]).from_address(
            room.data_ptr() + skip)
        part.room = room    # which lives as long as the tensor does
        return torch.frombuffer(part, dtype=spec["torch"]).view(spec["shape"])

    def run(self, inputs, weights):
        """Inputs and weights have been checked: contiguous, on the CPU."""
        outputs = [self._output(spec) for spec in self.outputs]
        with self._lock:
            context = self._contexts.get(weights)
            status = self._forward(context.handle,
                                   *[t.data_ptr() for t in inputs],
                                   *[t.data_ptr() for t in outputs])
            if status:
                raise RuntimeError("%s: %s" % (
                    self.facts["name"],
                    self.error(context.handle).decode()
                    or self.words(status)))
        return outputs
