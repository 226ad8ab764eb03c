#!/usr/bin/env python3
"""The runner in Python: the shared memory is as the header has it, outputs and
weights are what they should be."""

import ctypes
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("KF_BUILD", "build")
DRIVER = BUILD / "tests" / "standin" / "libcuda.so.1"
sys.path.insert(0, str(ROOT / "python"))

from kforge_candidate import protocol  # noqa: E402

STRUCTS = {
    "kf_host_tensor": protocol.Tensor, "kf_scalar": protocol.Scalar,
    "kf_host_request": protocol.Request, "kf_host_fault": protocol.Fault,
    "kf_host_reply": protocol.Reply,
}
NUMBERS = {
    "KF_HOST_MAGIC": protocol.MAGIC,
    "KF_RUNNER_FD_REPLY": protocol.REPLY,
    "KF_RUNNER_FD_REQUEST": protocol.REQUEST,
    "KF_RUNNER_FD_INPUTS": protocol.INPUTS,
    "KF_RUNNER_FD_OUTPUTS": protocol.OUTPUTS,
    "KF_RUNNER_FD_HELLO": protocol.HELLO,
    "KF_RUNNER_FD_FILTER": protocol.FILTER,
    "KF_HOST_PING": protocol.PING, "KF_HOST_LOAD": protocol.LOAD,
    "KF_HOST_PREPARE": protocol.PREPARE, "KF_HOST_FORWARD": protocol.FORWARD,
    "KF_HOST_TIDY": protocol.TIDY, "KF_HOST_READY": protocol.READY,
    "KF_HOST_UPLOAD": protocol.UPLOAD, "KF_HOST_DOWNLOAD": protocol.DOWNLOAD,
    "KF_HOST_TRACE": protocol.TRACE, "KF_HOST_RAN_BYTES": protocol.RAN_BYTES,
    "KF_PYTHON_EXCEPTION": protocol.EXCEPTION,
    "KF_PYTHON_EXITED": protocol.EXITED,
    "KF_PYTHON_OUTPUTS": protocol.OUTPUTS_WRONG,
    "KF_PYTHON_SHAPE": protocol.SHAPE, "KF_PYTHON_DTYPE": protocol.DTYPE,
    "KF_PYTHON_WEIGHTS": protocol.WEIGHTS,
    "KF_PYTHON_PATCHED": protocol.PATCHED,
    "KF_PYTHON_DEFERRED": protocol.DEFERRED,
    "KF_PYTHON_MEMORY": protocol.MEMORY,
    "KF_PYTHON_DEVICE": protocol.DEVICE,
    "KF_BF16": protocol.DTYPES.index("bfloat16"),
    "KF_F32": protocol.DTYPES.index("float32"),
}


def rows():
    """(what, C expression, our value)"""
    for name, struct in STRUCTS.items():
        yield name, f"sizeof(struct {name})", ctypes.sizeof(struct)
        for field in struct._fields_:
            yield (f"{name}.{field[0]}",
                   f"offsetof(struct {name}, {field[0]})",
                   getattr(struct, field[0]).offset)
    for name, value in NUMBERS.items():
        yield name, name, value


def ask_compiler(expressions):
    lines = "\n".join(f'\tprintf("%llu\\n", (unsigned long long)({e}));'
                      for e in expressions)
    source = ('#include <stdio.h>\n#include <stddef.h>\n'
              '#include "runner/protocol.h"\n'
              f"int main(void)\n{{\n{lines}\n\treturn 0;\n}}\n")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "layout")
        subprocess.run(["cc", "-std=gnu11", f"-I{ROOT}/include",
                        f"-I{ROOT}/src", "-x", "c", "-", "-o", program],
                       input=source, text=True, check=True)
        out = subprocess.run([program], capture_output=True, text=True,
                             check=True).stdout
    return [int(line) for line in out.split()]


def test_layouts_and_numbers_agree():
    table = list(rows())
    theirs = ask_compiler(expression for _, expression, _ in table)
    wrong = [f"{what}: {ours} here, {value} in the header"
             for (what, _, ours), value in zip(table, theirs) if ours != value]
    assert not wrong, wrong


def outputs(numel=4):
    import torch
    from kforge_candidate.outputs import Outputs
    info = protocol.Tensor(rank=1, dtype=protocol.DTYPES.index("float32"))
    info.shape[0] = numel
    place = torch.zeros(numel)
    found = Outputs([info], [place])
    found.expect()
    return torch, found, place


def refused(call, end):
    from kforge_candidate.words import Wrong
    try:
        call()
    except Wrong as wrong:
        assert wrong.end == end, (wrong.end, wrong.text)
        return
    raise AssertionError("nothing was found")


def test_trouble_with_a_device_is_told_from_a_programs_own():
    from kforge_candidate.words import end_of
    rows = (
        (RuntimeError, "CUDA error: uncorrectable ECC error encountered\n"
         "CUDA kernel errors might be asynchronously reported at some other "
         "API call", protocol.DEVICE),
        (RuntimeError, "Triton Error [CUDA]: uncorrectable ECC error "
         "encountered", protocol.DEVICE),
        (RuntimeError, "CUDA driver error: unknown error", protocol.DEVICE),
        (RuntimeError, "the device's caches cannot be flushed: CUDA error 214",
         protocol.DEVICE),
        (RuntimeError, "CUDA error 2147", protocol.EXCEPTION),
        (RuntimeError, "CUDA error 700", protocol.EXCEPTION),
        (RuntimeError, "CUDA error: an illegal memory access was encountered",
         protocol.EXCEPTION),
        (RuntimeError, "CUDA error: out of memory", protocol.MEMORY),
        (RuntimeError, "unknown error", protocol.EXCEPTION),
        (ValueError, "CUDA error: unknown error", protocol.EXCEPTION),
    )
    for kind, text, end in rows:
        assert end_of(kind(text), protocol) == end, text


def test_outputs_arrive():
    torch, found, place = outputs()
    found.take(torch.arange(4.0))
    found.deliver()
    assert place.tolist() == [0, 1, 2, 3], place


def test_outputs_that_change_after_the_return_are_deferred_work():
    torch, found, _ = outputs()
    late = torch.zeros(4)
    found.take(late)
    late += 1
    refused(found.deliver, protocol.DEFERRED)


def test_outputs_of_another_kind_are_told():
    torch, found, _ = outputs()
    refused(lambda: found.take(torch.zeros(5)), protocol.SHAPE)
    refused(lambda: found.take(torch.zeros(4).double()), protocol.DTYPE)
    refused(lambda: found.take([]), protocol.OUTPUTS_WRONG)
    refused(lambda: found.take([3.0]), protocol.OUTPUTS_WRONG)


def given(*tensors, readback=None):
    from kforge_candidate.given import Given
    return Given([protocol.Tensor(offset=1000 * i)
                  for i in range(len(tensors))], tensors, readback)


def test_inputs_lie_in_two_places_and_in_the_same_at_first():
    import torch
    view = torch.arange(6.0).reshape(2, 3)
    found = given(view, None, torch.empty(0, 4),
                  torch.ones((), dtype=torch.int8))
    places, held = [], []   # held: memory that no allocator gives again
    for _ in range(40):
        view += 1
        x, none, empty, number = found.put()
        assert torch.equal(x, view) and x.is_contiguous(), x
        assert none is None and empty.shape == (0, 4), (none, empty)
        assert number.item() == 1 and number.dtype == torch.int8, number
        assert not x._is_view() and x.data_ptr() % 64 == 0, x
        assert found.changed() is None
        places.append(x.data_ptr())
        held.append(x)
    assert places[0] == places[1] != places[2], places
    assert len(set(places)) == 2, places
    assert len(set(places[3:])) == 2, places


def test_what_is_written_to_inputs_is_told_by_its_byte():
    import torch
    found = given(torch.zeros(4), torch.zeros(5))
    for _ in range(3):
        _, y = found.put()
        assert found.changed() is None
        y[3] = 7
        assert 1000 + 12 <= found.changed() < 1000 + 16, found.changed()
    _, y = found.put()
    getattr(y, "untyped_storage", y.storage)().resize_(0)
    assert found.changed() == 1000, found.changed()
    _, y = found.put()      # has memory again
    assert y.tolist() == [0] * 5 and found.changed() is None, y
    y.resize_(10000)
    _, y = found.put()
    assert y.tolist() == [0] * 5 and found.changed() is None, y


def test_weights_find_their_place():
    import torch
    from kforge_candidate.weights import Weights
    info = protocol.Tensor(rank=1, dtype=protocol.DTYPES.index("float32"))
    info.shape[0] = 3

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.other = torch.nn.Parameter(torch.zeros(3))
            self.own = torch.nn.Parameter(torch.zeros(3))

    module = Module()
    weights = Weights(module, ["own", "first"], [info, info])
    with torch.no_grad():
        weights.put([torch.ones(3), torch.full((3,), 2.0)], everything=True)
    assert module.own.tolist() == [1, 1, 1], "by name"
    assert module.other.tolist() == [2, 2, 2], "by order and shape"
    refused(lambda: Weights(module, ["a", "b", "c"], [info] * 3),
            protocol.WEIGHTS)


def apart(test):
    """In a process of its own: a later test's torch would find the stand-in."""
    @functools.wraps(test)
    def call():
        process = os.fork()
        if not process:
            try:
                test()
                os._exit(0)
            except BaseException:   # pylint: disable=broad-except
                sys.stderr.write(traceback.format_exc())
                os._exit(1)
        assert os.waitpid(process, 0)[1] == 0, "as its process says"
    return call


@apart
def test_caches_are_flushed_by_the_driver():
    from kforge_candidate.flush import Flush
    from kforge_reference import cuda, device
    driver = ctypes.CDLL(str(DRIVER))
    flush = Flush(cuda.Driver(0, str(DRIVER)))
    memory = (ctypes.c_ubyte * flush._bytes).from_address(flush._memory.value)
    assert len(memory) == device.FLUSH_BYTES_MIN, len(memory)
    for call in (1, 2):
        memory[0] = memory[len(memory) - 1] = 7
        flush()
        assert memory[0] == memory[len(memory) - 1] == 0, call
        assert driver.standin_calls(b"cuCtxResetPersistingL2Cache") == call
    assert driver.standin_calls(b"cuMemAlloc_v2") == 1
    pushed = driver.standin_calls(b"cuCtxPushCurrent_v2")
    assert driver.standin_calls(b"cuCtxPopCurrent_v2") == pushed == 4, pushed
    # No such lines: it is flushed all the same. What fails is told.
    driver.standin_fail(b"cuCtxResetPersistingL2Cache", 0, 801)
    flush()
    driver.standin_fail(b"cuMemsetD8Async", 0, 700)
    try:
        flush()
    except RuntimeError as error:
        assert "700" in str(error), error
    else:
        raise AssertionError("nothing was raised")
    driver.standin_reset()


@apart
def test_memory_is_pinned_and_inputs_are_compared_in_steps():
    import torch
    from kforge_candidate.readback import Readback
    from kforge_reference import cuda, device
    driver = ctypes.CDLL(str(DRIVER))
    asked = cuda.Driver(0, str(DRIVER))
    readback = Readback(asked, step=4096)

    def there(count, dtype):
        at = ctypes.c_uint64()
        size = count * torch.empty(0, dtype=dtype).element_size()
        assert not driver.cuMemAlloc_v2(ctypes.byref(at),
                                        ctypes.c_size_t(size))
        memory = (ctypes.c_char * size).from_address(at.value)
        return torch.frombuffer(memory, dtype=dtype)

    pins = functools.partial(driver.standin_calls, b"cuMemHostRegister_v2")
    assert pins() == 1, "its own room"
    room = protocol.map_room(8192)
    register, flags = asked.library.cuMemHostRegister_v2, []
    asked.library.cuMemHostRegister_v2 = lambda at, size, flag: \
        flags.append(flag) or register(at, size, flag)
    asked.pin(room, 8192, writable=False)
    assert pins() == 2 and driver.standin_calls(b"cuMemcpyDtoHAsync_v2") == 0
    asked.pin(room, 0)
    assert pins() == 2, "nothing is nowhere"
    driver.standin_fail(b"cuMemHostRegister_v2", 0, 712)
    asked.pin(room, 8192)       # refused, and goes on
    assert flags == [1 | 8, 1], "portable, the first read-only"
    driver.standin_fail(b"cuCtxPushCurrent_v2", 0, 700)
    asked.pin(room, 8192)       # a program's fault, which a call will tell
    driver.standin_fail(b"cuDeviceGetAttribute", 0, 700)
    asked.pin(room, 8192, writable=False)
    driver.standin_reset()
    asked.attribute = lambda _: 0
    asked.pin(room, 8192, writable=False)
    assert pins() == 3, "read-only memory where that cannot be pinned"
    view = torch.arange(2500.0)
    now = there(2500, torch.float32).copy_(view)
    assert readback.first_difference(now, view, 10000) is None
    assert driver.standin_calls(b"cuMemcpyDtoHAsync_v2") == 3
    for place in (9999, 8192, 4096, 4095, 0):
        (ctypes.c_ubyte * 10000).from_address(now.data_ptr())[place] ^= 1
        found = readback.first_difference(now, view, 10000)
        assert found == place, (found, place)
    shared = Readback(asked, step=512, share=2)
    now.copy_(view)
    before = driver.standin_calls(b"cuMemcpyDtoHAsync_v2")
    assert shared.first_difference(now, view, 10000) is None
    assert driver.standin_calls(b"cuMemcpyDtoHAsync_v2") == before + 20
    for place in (9999, 7680, 7679, 5120, 5119, 2560, 2559, 0):
        (ctypes.c_ubyte * 10000).from_address(now.data_ptr())[place] ^= 1
        found = shared.first_difference(now, view, 10000)
        assert found == place, (found, place)
    now.copy_(view)
    driver.standin_fail(b"cuMemcpyDtoHAsync_v2", 3, 214)
    try:
        shared.first_difference(now, view, 10000)
    except RuntimeError as error:
        assert "CUDA error 214" in str(error), error
    else:
        raise AssertionError("a lane's trouble is told")
    driver.standin_reset()
    found = given(view, torch.zeros(5), readback=readback)
    device.room = there
    x, _ = found.put()
    assert found.changed() is None
    x[2000] = -1
    assert 8000 <= found.changed() < 8004, found.changed()
    driver.standin_fail(b"cuMemcpyDtoHAsync_v2", 0, 214)
    try:
        found.changed()
    except RuntimeError as error:
        assert "CUDA error 214" in str(error), error
    else:
        raise AssertionError("nothing was raised")


def test_what_is_shared_is_pinned_when_a_program_is_loaded():
    from kforge_candidate import serve
    pins = []
    server = serve.Server.__new__(serve.Server)
    server._readback = None
    server._driver = types.SimpleNamespace(
        pin=lambda *where, **how: pins.append((where, how)))
    server.channel = types.SimpleNamespace(inputs=[], weights=[], outputs=[])
    server._take((4096, 10), (8192, 20))
    assert pins == [((4096, 10), {"writable": False}), ((8192, 20), {})], pins


@apart
def test_what_the_baseline_copies_from_is_pinned():
    import mmap
    from kforge_reference import cuda, serve
    driver = ctypes.CDLL(str(DRIVER))
    made = cuda.Driver(0, str(DRIVER))
    memory = mmap.mmap(-1, 8192)
    for cuda.of_device in (lambda: None, lambda: made):
        serve._pin(memory)
    assert driver.standin_calls(b"cuMemHostRegister_v2") == 1

    def absent():
        raise OSError("libcuda.so.1")
    cuda.of_device = absent
    serve._pin(memory)


PROBLEM = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x
def get_inputs():
    return [torch.ones(3)]
"""


def test_caches_are_flushed_last_before_a_call():
    """By what was there before the program was."""
    import torch
    from kforge_candidate import flush, serve
    did = []

    class Part:
        def __init__(self, name, result=None):
            self.put = lambda *_, **__: (did.append(name), result)[1]
            self.expect = self.put

    server = serve.Server.__new__(serve.Server)
    before = flush.of_device
    flush.of_device = lambda driver: lambda: did.append("flush")
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "problem.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PROBLEM)
            server._device_name, server._problem_path = "", path
            server.ready()
    finally:
        flush.of_device = before
    server._synchronize = lambda: did.append("settle")
    server._weights, server._weight_views = Part("weights"), []
    server._given = Part("inputs", [torch.zeros(3)])
    server._outputs = Part("outputs")
    server.upload()
    assert did == ["weights", "inputs", "outputs", "settle", "flush"], did
    assert flush.of_device(None)() is None, "on the processor"


def event(cat, name, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur,
            "args": args}


EVENTS = [
    event("cpu_op", "aten::mm", 90, 30),
    event("kernel", "void f<1, 2>(float*)", 105.5, 2, grid=[4, 2, 1],
          block=[128, 1, 1], **{"registers per thread": 40,
                                "shared memory": 1536,
                                "est. achieved occupancy %": 50}),
    event("gpu_memset", "Memset (Device)", 100, 1.25),
    {"ph": "f", "cat": "kernel", "name": "an arrow", "ts": 1},
]


def test_launches_are_rows_that_begin_with_the_first():
    from kforge_candidate import trace
    assert trace.rows(EVENTS, 3) == [
        [3, "fill", 0, 1250, "", "", "", "", "", ""],
        [3, "f<1, 2>(float*)", 5500, 7500, 8, 128, 40, 1536, "", 0.5],
    ], trace.rows(EVENTS, 3)
    assert trace.rows([], 1) == []


def test_launches_go_to_a_file_with_columns():
    from kforge_candidate import trace
    runner = (ROOT / "src" / "runner" / "trace.c").read_text()
    assert ",".join(trace.COLUMNS) in runner.replace('"\n\t\t    "', "")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "launches.csv")
        launches = trace.Launches(path)
        launches._events = lambda profiler: EVENTS
        calls = []
        launches(lambda: calls.append(1))
        launches(lambda: calls.append(2))
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    assert calls == [1, 2]
    assert lines[0] == ",".join(trace.COLUMNS), lines
    assert lines[2] == '1,"f<1, 2>(float*)",5500,7500,8,128,40,1536,,0.5', lines
    assert [line[0] for line in lines[1:]] == ["1", "1", "2", "2"], lines


def test_what_ran_is_told_in_whole_lines_or_as_unseen():
    channel = protocol.Channel.__new__(protocol.Channel)
    channel.reply = protocol.Reply()
    channel.tell(["kernel a", "operator b"])
    assert channel.reply.ran == b"kernel a\noperator b\n", channel.reply.ran
    channel.tell(["kernel " + "x" * 190] * 400)
    lines = channel.reply.ran.decode().splitlines()
    assert lines[-1] == "unseen more names than there is room for", lines[-1]
    assert set(lines[:-1]) == {"kernel " + "x" * 190}, lines[:-1]


def test_a_call_that_cannot_be_watched_is_made_and_says_so():
    from kforge_candidate import trace
    calls, before = [], trace._begin

    def refuse():
        raise RuntimeError("no such thing")

    trace._begin = refuse
    try:
        lines = trace.run(lambda: calls.append(1), set())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "launches.csv")
            trace.Launches(path)(lambda: calls.append(2))
            with open(path, encoding="utf-8") as file:
                text = file.read()
    finally:
        trace._begin = before
    assert calls == [1, 2] and lines == ["unseen no such thing"], lines
    assert text == "unseen no such thing\n", text


def test_programs_find_pytorch_as_it_is_by_itself():
    """Nothing is made on the device by default, and what a program's file says
    of that stands; a device that this torch lacks stands for one."""
    import torch
    from kforge_candidate import program
    from kforge_reference import device
    chosen, seen = [], []

    class Found(torch.nn.Module):
        def __init__(self, size):
            super().__init__()
            seen.append((size, list(chosen)))

        def to(self, where):
            seen.append(where)
            return self

    before = device._device, getattr(torch, "set_default_device", None)
    device._device = there = torch.device("meta")
    torch.set_default_device = chosen.append
    try:
        device.leave_default()
        torch.set_default_device("of the program")
        program.construct(Found, ((4,), {}), None)
    finally:
        device._device = before[0]
        if before[1]:
            torch.set_default_device = before[1]
        else:
            del torch.set_default_device
    assert chosen == [None, "of the program"], chosen
    assert seen == [(4, chosen), there], seen


def opens_driver():
    """Python cannot open one that was built with sanitizers."""
    return DRIVER.exists() and b"__asan_init" not in DRIVER.read_bytes()


if not opens_driver() and "cuda" not in os.environ.get("KF_MUST_RUN", ""):
    test_caches_are_flushed_by_the_driver.skip = (
        "there is no stand-in for CUDA's driver that Python can open")


def main():
    tests = [value for name, value in sorted(globals().items())
             if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
        skip = getattr(test, "skip", None)
        if skip:
            print(f"ok {number} - {test.__name__} # SKIP {skip}")
            continue
        try:
            test()
            print(f"ok {number} - {test.__name__}")
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {test.__name__}")
            for line in traceback.format_exc().splitlines():
                print("#", line)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
