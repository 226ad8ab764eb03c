#!/usr/bin/env python3
"""From source to verdict: kforge beside KernelBench's own evaluator, on one
small problem and one program, in the same run.

The peer needs a CUDA device, a Python with torch that sees it (KFORGE_PYTHON)
and a checkout of KernelBench (KERNELBENCH=FOLDER); it judges the program as an
extension of PyTorch, which is what it is given by models. Where one of these is
missing that is said, and kforge's part is measured alone, on the best platform
that is here.

kforge's time is that of the whole command, with the bundle and the baseline made
before; the peer's that of a process which evaluates one program, its compiler's
cache empty, as for every new program. PEER_REPEATS=N changes how often it runs.
"""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

KFORGE = os.path.join(os.environ.get("KF_BUILD", "build"), "kforge")
PEER = pathlib.Path("bench/peer")
FILES = {"cuda": ("kernels.cu", "host.c"), "opencl": ("kernels.cl", "host.c"),
         "cpu": ("program.c",)}
REPEATS = 7
PEER_REPEATS = int(os.environ.get("PEER_REPEATS", "3"))
CALLS = 100
GOAL_RATIO = 50.0

EVALUATE = """
import importlib, inspect, json, sys
import torch
place, name, reference, program, build = sys.argv[1:]
sys.path.insert(0, place)
evaluate = importlib.import_module(name).eval_kernel_against_ref
options = dict(num_correct_trials=5, num_perf_trials=100, build_dir=build,
               measure_performance=True, device=torch.device("cuda:0"),
               backend="cuda", precision=torch.float32)
known = inspect.signature(evaluate).parameters
result = evaluate(open(reference).read(), open(program).read(),
                  **{k: v for k, v in options.items() if k in known})
sys.exit(0 if result and result.compiled and result.correctness else 9)
"""


def platforms():
    """Names of those that have a device, best first."""
    done = subprocess.run([KFORGE, "platforms", "--json"], check=True,
                          capture_output=True, text=True, timeout=120)
    found = {p["name"] for p in json.loads(done.stdout) if p["devices"]}
    return [name for name in FILES if name in found]


def torch_python():
    for path in (os.environ.get("KFORGE_PYTHON"), sys.executable,
                 shutil.which("python3")):
        if path and os.path.exists(path) and subprocess.run(
                [path, "-c", "import sys, torch; "
                 "sys.exit(not torch.cuda.is_available())"],
                capture_output=True, check=False).returncode == 0:
            return path
    return None


def evaluator():
    """(folder for sys.path, module) of the checkout, or None."""
    checkout = pathlib.Path(os.environ.get("KERNELBENCH", "") or "/nowhere")
    for place, name in (("src", "kernelbench.eval"), ("", "src.eval")):
        if (checkout / place / (name.replace(".", "/") + ".py")).exists():
            return str(checkout / place), name
    return None


def kforge(platform, cache, baseline):
    command = [KFORGE, "verify", "-p", platform, str(PEER / "add.py"),
               *(str(PEER / name) for name in FILES[platform]), "--calls",
               str(CALLS), "--baseline", baseline, "--json"]
    started = time.monotonic_ns()
    done = subprocess.run(command, capture_output=True, text=True,
                          timeout=600, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": cache})
    took = time.monotonic_ns() - started
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with status {done.returncode}:\n"
                 f"{done.stdout}{done.stderr}")
    return took, json.loads(done.stdout)["took"]


def peer(python, place, name):
    with tempfile.TemporaryDirectory() as build:
        started = time.monotonic_ns()
        done = subprocess.run(
            [python, "-c", EVALUATE, place, name, str(PEER / "add.py"),
             str(PEER / "add_extension.py"), build], capture_output=True,
            text=True, timeout=900, check=False)
        took = time.monotonic_ns() - started
    if done.returncode:
        sys.exit(f"the evaluator ended with status {done.returncode}:\n"
                 f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return took


def main():
    here, python, module = platforms(), torch_python(), evaluator()
    missing = [words for words, there in (
        ("a CUDA device", "cuda" in here),
        ("a Python with torch that sees it (KFORGE_PYTHON)", python),
        ("a checkout of KernelBench (KERNELBENCH)", module)) if not there]
    platform = here[0]
    ours, theirs, parts = [], [], []
    with tempfile.TemporaryDirectory() as cache:
        cold, _ = kforge(platform, cache, "live")
        for i in range(REPEATS):
            took, took_parts = kforge(platform, cache, "stored")
            ours.append(took)
            parts.append(took_parts)
            if not missing and i < PEER_REPEATS:    # in turn
                theirs.append(peer(python, *module))
    median = statistics.median(ours)
    print(f"kforge on {platform}, file to verdict: {median / 1e9:.2f} s "
          f"(the first, with bundle and baseline: {cold / 1e9:.2f} s)",
          file=sys.stderr)
    result = {"good": True, "platform": platform, "calls": CALLS,
              "kforge_ns": ours, "kforge_median_ns": median, "first_ns": cold,
              "parts": parts, "missing": missing, "goal_ratio": GOAL_RATIO}
    if missing:
        print(f"no peer here, for want of {'; '.join(missing)}",
              file=sys.stderr)
    else:
        ratio = statistics.median(theirs) / median
        print(f"KernelBench's evaluator: {statistics.median(theirs) / 1e9:.1f} "
              f"s, {ratio:.1f} times as long (goal: {GOAL_RATIO:.0f})",
              file=sys.stderr)
        result.update(peer_ns=theirs, ratio=ratio, good=ratio >= GOAL_RATIO)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
