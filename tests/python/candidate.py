#!/usr/bin/env python3
"""The runner in Python knows the shared memory as the header has it."""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

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


def main():
    table = list(rows())
    theirs = ask_compiler(expression for _, expression, _ in table)
    print("1..1")
    wrong = [f"{what}: {ours} here, {value} in the header"
             for (what, _, ours), value in zip(table, theirs) if ours != value]
    print("not ok 1" if wrong else "ok 1", "- layouts and numbers agree")
    for line in wrong:
        print("#", line)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
