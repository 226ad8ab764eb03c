"""The program on its GPU: what host.c launches is a list that was recorded when
the program was judged, and is launched again for every call, on the current
stream, by the driver's library. Scratch and outputs are PyTorch's memory."""

import ctypes
import os
import threading

import torch

from .contexts import Context, Contexts
from .facts import FOLDER, Mismatch

DRIVER = "libcuda.so.1"     # KFORGE_CUDA_DRIVER names another
ALIGNMENT = 256             # of scratch and kept memory
INPUT_ALIGNMENT = 64        # of inputs and weights: others are copied
NO_BINARY = 209
MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 8, 14    # a function's attributes
COOPERATIVE, CLUSTER, DEPENDENT = 2, 4, 6           # a launch's
# By a program's numbers of element types; signed ones are moved as unsigned.
MAP_TYPES = (0, 0, 0, 0, 1, 3, 5, 6, 9, 7, 8)


class _Value(ctypes.Union):
    _fields_ = [("pad", ctypes.c_char * 64), ("flag", ctypes.c_int),
                ("dim", ctypes.c_uint * 3)]


class _Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4),
                ("value", _Value)]


class _Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
                ("shared_bytes", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(_Attribute)),
                ("attribute_count", ctypes.c_uint)]


def _stream(device):
    return torch.cuda.current_stream(device).cuda_stream


def _guard(device):
    return torch.cuda.device(device)


def _capturing():
    return torch.cuda.is_current_stream_capturing()


def _wait(device):
    torch.cuda.current_stream(device).synchronize()


class _Driver:
    """The functions that are used, with a sentence where one fails."""

    SIGNATURES = {
        "cuModuleLoadData": "PP", "cuModuleGetFunction": "PPP",
        "cuFuncSetAttribute": "Pii", "cuLaunchKernelEx": "PPPP",
        "cuMemsetD8Async": "QBNP", "cuMemsetD16Async": "QHNP",
        "cuMemsetD32Async": "QINP", "cuMemsetD2D32Async": "QNINNP",
        "cuMemcpyDtoDAsync_v2": "QQNP",
        "cuTensorMapEncodeTiled": "PiIQPPPPiiii",
    }
    TYPES = {"P": ctypes.c_void_p, "i": ctypes.c_int, "I": ctypes.c_uint,
             "Q": ctypes.c_uint64, "N": ctypes.c_size_t,
             "B": ctypes.c_ubyte, "H": ctypes.c_ushort}

    def __init__(self, name):
        self._name = name
        path = os.environ.get("KFORGE_CUDA_DRIVER") or DRIVER
        library = ctypes.CDLL(path)
        self._error_name = library.cuGetErrorName
        for function, letters in self.SIGNATURES.items():
            found = getattr(library, function)
            found.argtypes = [self.TYPES[letter] for letter in letters]
            setattr(self, function, found)

    def fail(self, what, result):
        words = ctypes.c_char_p()
        self._error_name(result, ctypes.byref(words))
        raise RuntimeError("%s: CUDA cannot %s: %s (%d)" % (
            self._name, what, (words.value or b"error").decode(), result))

    def check(self, what, result):
        if result:
            self.fail(what, result)


class _Module:
    """The kernels, loaded on one device."""

    def __init__(self, driver, code, facts, device):
        self.driver = driver
        self._functions = {}
        self._shared_bytes = {}     # that each may have
        self._module = ctypes.c_void_p()
        result = driver.cuModuleLoadData(ctypes.byref(self._module), code)
        if result == NO_BINARY:
            raise Mismatch("%s: the kernels were built for %s (%s), and %s is "
                           "another kind of device: export the program there"
                           % (facts["name"], facts["judged_on"],
                              facts["arch"], device))
        driver.check("load the kernels", result)

    def function(self, op):
        name = op["launch"]
        function = self._functions.setdefault(name, ctypes.c_void_p())
        driver = self.driver
        if not function:
            driver.check("find " + name, driver.cuModuleGetFunction(
                ctypes.byref(function), self._module, name.encode()))
        x, y, z = op["cluster"]
        # Launches come later and in any order: what one needs holds for all.
        if op["shared_bytes"] > self._shared_bytes.get(name, 0):
            driver.check("allow " + name, driver.cuFuncSetAttribute(
                function, MAX_DYNAMIC_SHARED, op["shared_bytes"]))
            self._shared_bytes[name] = op["shared_bytes"]
        if x * y * z > 8:
            driver.check("allow " + name, driver.cuFuncSetAttribute(
                function, NON_PORTABLE_CLUSTER, 1))
        return function


class _Map:
    """A tensor map, made again when its memory is another."""

    def __init__(self, driver, spec):
        self._driver = driver
        self._spec = spec
        self._at = None
        room = ctypes.create_string_buffer(128 + 64)
        self._room = room
        self.address = (ctypes.addressof(room) + 63) // 64 * 64

    def place(self, at):
        if at == self._at:
            return
        spec, rank = self._spec, len(self._spec["dim"])
        self._driver.check("make a tensor map",
                           self._driver.cuTensorMapEncodeTiled(
            self.address, MAP_TYPES[spec["dtype"]], rank, at,
            (ctypes.c_uint64 * rank)(*spec["dim"]),
            (ctypes.c_uint64 * rank)(*spec["stride"]),
            (ctypes.c_uint32 * rank)(*spec["box"]),
            (ctypes.c_uint32 * rank)(*spec["element"]), *spec["modes"]))
        self._at = at


def _attributes(op):
    found = []
    if op["cluster"][0]:
        found.append(_Attribute(CLUSTER, b"", _Value(
            dim=(ctypes.c_uint * 3)(*op["cluster"]))))
    if op["cooperative"]:
        found.append(_Attribute(COOPERATIVE, b"", _Value(flag=1)))
    if op["dependent"]:
        found.append(_Attribute(DEPENDENT, b"", _Value(flag=1)))
    return (_Attribute * len(found))(*found), len(found)


class _List:
    """One list of operations, with everything ready but addresses."""

    def __init__(self, module, plan):
        self._driver = module.driver
        self._steps = []
        # Where addresses go when they are known: (cell, buffer, offset).
        self._cells, self._maps, self._configs = [], [], []
        self._held = []
        self.buffers = [tuple(b) for b in plan["buffers"]]
        self.temp_bytes, self._temp_at = 0, {}
        for memory, index, size in self.buffers:
            if memory == "temp":
                self._temp_at[index] = self.temp_bytes
                self.temp_bytes += -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        for op in plan["ops"]:
            if "launch" in op:
                self._add_launch(module, op)
            elif "fill" in op:
                self._add_fill(op)
            elif op["bytes"]:
                self._steps.append(("copy memory",
                                    self._driver.cuMemcpyDtoDAsync_v2,
                                    (self._cell(op["copy"]),
                                     self._cell(op["from"]), op["bytes"]),
                                    True))

    def _cell(self, place):
        cell = ctypes.c_uint64()
        self._cells.append((cell, *place))
        return cell

    def _argument(self, arg):
        if isinstance(arg, str):
            data = ctypes.create_string_buffer(bytes.fromhex(arg))
        elif isinstance(arg, dict):
            data = _Map(self._driver, arg)
            self._maps.append((data, *arg["map"]))
            return data.address
        else:
            data = self._cell(arg)
        self._held.append(data)
        return ctypes.addressof(data)

    def _add_launch(self, module, op):
        function = module.function(op)
        addresses = [self._argument(arg) for arg in op["args"]]
        parameters = (ctypes.c_void_p * max(len(addresses), 1))(*addresses)
        attributes, count = _attributes(op)
        config = _Config(tuple(op["grid"]), tuple(op["group"]),
                         op["shared_bytes"], None, attributes, count)
        self._held += [parameters, attributes]
        self._configs.append(config)
        self._steps.append(("launch " + op["launch"],
                            self._driver.cuLaunchKernelEx,
                            (ctypes.byref(config), function, parameters, None),
                            False))

    def _add_fill(self, op):
        driver, width = self._driver, op["width"]
        count = op["bytes"] // width
        value = int.from_bytes(bytes.fromhex(op["value"]), "little")
        if not count:
            return
        if width == 8:      # columns of 4 bytes
            memory, offset = op["fill"]
            for at, half in ((0, value & 0xffffffff), (4, value >> 32)):
                self._steps.append(("fill memory", driver.cuMemsetD2D32Async,
                                    (self._cell((memory, offset + at)), 8,
                                     half, 1, count), True))
            return
        function = {1: driver.cuMemsetD8Async, 2: driver.cuMemsetD16Async,
                    4: driver.cuMemsetD32Async}[width]
        self._steps.append(("fill memory", function,
                            (self._cell(op["fill"]), value, count), True))

    def addresses(self, memory):
        """Of each buffer; memory: {kind: [addresses by index]}."""
        scratch = memory["temp"]
        return [scratch + self._temp_at[index] if kind == "temp" else
                memory[kind][index] for kind, index, _ in self.buffers]

    def replay(self, memory, stream):
        base = self.addresses(memory)
        for cell, buffer, offset in self._cells:
            cell.value = base[buffer] + offset
        for tensor_map, buffer, offset in self._maps:
            tensor_map.place(base[buffer] + offset)
        for config in self._configs:
            config.stream = stream
        for what, function, arguments, streamed in self._steps:
            result = function(*arguments, stream) if streamed else \
                function(*arguments)
            if result:
                self._driver.fail(what, result)


class _Prepared(Context):
    """What kf_prepare keeps for one set of weights."""

    def __init__(self, program, device, weights):
        self._program = program
        self.device = device
        self.kept = {}
        super().__init__(weights)

    def prepare(self, weights):
        if _capturing():
            raise RuntimeError("%s: call it once before capturing: weights "
                               "are prepared then" % self._program.name)
        self.kept = self._program.keep(self.device, weights)
        self.stream = _stream(self.device)

    def addresses(self, stream):
        """By slot. Memory is not given to others before this stream is done
        with it."""
        if stream != self.stream:
            for tensor in self.kept.values():
                tensor.record_stream(torch.cuda.current_stream(self.device))
        return {slot: t.data_ptr() for slot, t in self.kept.items()}


class Program:
    """Launches the kernels; safe to use from several threads."""

    def __init__(self, facts):
        self.facts = facts
        self.name = facts["name"]
        self._plans = facts["plans"]
        with open(os.path.join(FOLDER, "kernels.cubin"), "rb") as file:
            self._code = file.read() + b"\0"
        self._lock = threading.Lock()
        self._driver = None
        self._lists = {}        # by device: (prepare's or None, forward's)
        # Inputs that are None have a place in the list of inputs.
        self._given = [not t["none"] for t in facts["inputs"]]
        self._contexts = None
        if self._plans["prepare"] or any(w["structural"]
                                         for w in facts["weights"]):
            self._contexts = Contexts(facts, lambda weights: _Prepared(
                self, weights[0].device if weights else self._device, weights))
        self._device = None

    def _lists_of(self, device):
        if device not in self._lists:
            if self._driver is None:
                self._driver = _Driver(self.name)
            module = _Module(self._driver, self._code, self.facts, device)
            prepare = self._plans["prepare"]
            self._lists[device] = (prepare and _List(module, prepare),
                                   _List(module, self._plans["forward"]))
        return self._lists[device]

    @staticmethod
    def _scratch(size, device):
        return torch.empty(size, dtype=torch.uint8, device=device) \
            if size else None

    def keep(self, device, weights):
        """What kf_prepare makes of them: {slot: memory}."""
        prepare = self._lists_of(device)[0]
        if not prepare:
            return {}
        kept = {index: torch.zeros(max(size, 1), dtype=torch.uint8,
                                   device=device)
                for kind, index, size in prepare.buffers if kind == "keep"}
        scratch = self._scratch(prepare.temp_bytes, device)
        prepare.replay({
            "weight": [w.data_ptr() for w in self._aligned(weights)],
            "keep": {slot: t.data_ptr() for slot, t in kept.items()},
            "temp": scratch.data_ptr() if scratch is not None else 0},
            _stream(device))
        _wait(device)   # other streams may use it next
        return kept

    def refresh(self):
        """Forgets all prepared weights: they were changed behind PyTorch's
        back, as by tensor.data."""
        with self._lock:
            if self._contexts is not None:
                self._contexts.clear()

    @staticmethod
    def _aligned(tensors):
        return [t if t.data_ptr() % INPUT_ALIGNMENT == 0 else t.clone()
                for t in tensors]

    def _run(self, device, inputs, weights):
        stream = _stream(device)
        outputs = [torch.empty(spec["shape"], dtype=spec["torch"],
                               device=device)
                   for spec in self.facts["outputs"]]
        forward = self._lists_of(device)[1]
        kept = {}
        if self._contexts is not None:
            self._device = device
            kept = self._contexts.get(weights).addresses(stream)
        scratch = self._scratch(forward.temp_bytes, device)
        inputs, weights = self._aligned(inputs), self._aligned(weights)
        given = iter(inputs)
        forward.replay({
            "input": [next(given).data_ptr() if there else 0
                      for there in self._given],
            "weight": [w.data_ptr() for w in weights],
            "output": [t.data_ptr() for t in outputs], "keep": kept,
            "temp": scratch.data_ptr() if scratch is not None else 0}, stream)
        return outputs

    def run(self, inputs, weights):
        """Inputs and weights have been checked: contiguous, on one GPU."""
        tensors = [*inputs, *weights]
        device = tensors[0].device if tensors else torch.device(
            "cuda", torch.cuda.current_device())
        with self._lock, _guard(device):
            return self._run(device, inputs, weights)
