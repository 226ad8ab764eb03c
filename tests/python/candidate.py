#!/usr/bin/env python3
"""The runner in Python: the shared memory is as the header has it, outputs and
weights are what they should be."""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
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


def main():
    tests = [value for name, value in sorted(globals().items())
             if name.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for number, test in enumerate(tests, 1):
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
