#!/usr/bin/env python3
"""The CUDA programs of tests/gpu as far as they can be looked at without a
device: each is compiled for sm_90a by NVRTC, its host.c recorded, and every launch
checked against what the kernels' code says, by the stand-in for NVIDIA's driver.
Kernels do nothing there, so what comes of a program that gets as far is a
mismatch; what is found before a device has begun must be found here too. Files of
form cu are compiled where nvcc is. Without NVRTC this is skipped."""

import os
import sys

from harness import BUILD, ROOT, kforge

sys.path.insert(0, str(ROOT / "tests"))
import trust  # noqa: E402

STANDIN = {"KFORGE_CUDA_DRIVER":
           str(BUILD / "tests" / "standin" / "libcuda.so.1")}
FOLDERS = ("honest", "cheats", "hostile")
# What a kernel does is seen on a device alone.
ON_DEVICE = ("device_fault", "timeout")


def programs():
    for folder in FOLDERS:
        for path in sorted((ROOT / "tests" / "gpu" / folder).iterdir()):
            if path.is_dir() or path.suffix in (".c", ".cu", ".py"):
                yield folder, trust.Program(path)


def request(program):
    """As it is on a device, without times; of form cu, it is compiled."""
    stop = "values" if "host.c" in program.files() else "build"
    first = next(program.requests(stop_after=stop))
    first.pop("calls")
    first.pop("libraries", None)
    return first


def is_good(program, verdict):
    if program.is_found(verdict):
        return True
    state, _, reasons = program.fact("found").partition(" ")
    if "host.c" not in program.files():
        return verdict["state"] == "none"
    later = state in ("correct", "mismatch") or any(
        reason in ON_DEVICE for reason in reasons.split("|"))
    return later and verdict["state"] == "mismatch"


def why_skipped(program):
    if program.paths[0].suffix == ".py":
        return "PyTorch and a device"
    if "program.cu" in program.files() and not trust.has_nvcc():
        return "nvcc"
    return None


def main():
    found = list(programs())
    print(f"1..{len(found)}")
    platforms = kforge("platforms", "--json", env=STANDIN)
    absent = "NVRTC" if "compiler: none" in platforms.out else None
    able = [p for _, p in found if not absent and not why_skipped(p)]
    os.environ.update(STANDIN)
    verdicts = dict(zip((id(p) for p in able),
                        trust.judge([request(p) for p in able])))
    failed = 0
    for number, (folder, program) in enumerate(found, 1):
        verdict = verdicts.get(id(program))
        what = f"{number} - {folder}/{program.name}"
        if not verdict:
            print(f"ok {what} # SKIP needs {absent or why_skipped(program)}")
            continue
        good = is_good(program, verdict)
        failed += not good
        print(f"{'ok' if good else 'not ok'} {what}: {trust.words(verdict)}")
        if not good:
            print("# " + verdict.get("text", "").replace("\n", "\n# "))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
