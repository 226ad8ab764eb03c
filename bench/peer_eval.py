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
cache empty, as for every new program. PEER_REPEATS=N changes how often it runs,
PEER_PATH=FOLDER is where it finds modules that it imports and that Python lacks.

    bench/peer_eval.py [--limit SECONDS] [--out FILE]

FILE is written anew after each judgement; at the limit what there is counts.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import gpu

KFORGE = os.path.join(os.environ.get("KF_BUILD", "build"), "kforge")
PEER = pathlib.Path("bench/peer")
FILES = {"cuda": ("kernels.cu", "host.c"), "opencl": ("kernels.cl", "host.c"),
         "cpu": ("program.c",)}
REPEATS = 7
PEER_REPEATS = int(os.environ.get("PEER_REPEATS", "3"))
CALLS = 100
GOAL_RATIO = 50.0

EVALUATE = """
import importlib, inspect, json, os, sys
answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)               # what others print
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
good = bool(result and result.compiled and result.correctness)
print(json.dumps({"good": good, "runtime": result and result.runtime}),
      file=answer)
"""


def platforms():
    """Names of those that have a device, best first."""
    done = subprocess.run([KFORGE, "platforms", "--json"], check=True,
                          capture_output=True, text=True, timeout=120)
    found = {p["name"] for p in json.loads(done.stdout) if p["devices"]}
    return [name for name in FILES if name in found]


def evaluator():
    """(folder for sys.path, module) of the checkout, or None."""
    checkout = pathlib.Path(os.environ.get("KERNELBENCH", "") or "/nowhere")
    for place, name in (("src", "kernelbench.eval"), ("", "src.eval")):
        if (checkout / place / (name.replace(".", "/") + ".py")).exists():
            return str(checkout / place), name
    return None


def kforge(figures, platform, cache, baseline):
    """{"took_ns", "took"} of a judgement."""
    command = [KFORGE, "verify", "-p", platform, str(PEER / "add.py"),
               *(str(PEER / name) for name in FILES[platform]), "--calls",
               str(CALLS), "--baseline", baseline, "--json"]
    verdict, took, words = gpu.run(
        figures, command, env={**os.environ, "XDG_CACHE_HOME": cache})
    if not verdict or verdict.get("state") != "correct":
        sys.exit(f"{' '.join(command)} judged nothing correct: {verdict or ''} "
                 f"{words}")
    return {"took_ns": took, "took": verdict["took"]}


def peer(figures, python, place, name):
    """{"took_ns", ...} of an evaluation."""
    path = os.environ.get("PEER_PATH")
    env = {**os.environ, "PYTHONPATH": path} if path else None
    with tempfile.TemporaryDirectory() as build:
        found, took, words = gpu.run(
            figures, [python, "-c", EVALUATE, place, name, PEER / "add.py",
                      PEER / "add_extension.py", build], env=env)
    if not found or not found["good"]:
        sys.exit(f"the evaluator accepted nothing: {found or ''} {words}")
    return {"took_ns": took, "runtime": found["runtime"]}


def measure(figures, platform, other):
    """other: (python, folder, module) of the peer, or None."""
    with tempfile.TemporaryDirectory() as cache:
        figures.keep("first", "kforge", kforge(figures, platform, cache,
                                               "live"))
        for i in range(REPEATS):
            if i and figures.is_over():
                break
            figures.keep("kforge", str(i), kforge(figures, platform, cache,
                                                  "stored"))
            if other and i < PEER_REPEATS:      # in turn
                figures.keep("peer", str(i), peer(figures, *other))


def median(figures, part):
    return statistics.median(facts["took_ns"]
                             for facts in figures.parts[part].values())


def show(figures, platform, missing):
    ours = median(figures, "kforge")
    print(f"kforge on {platform}, file to verdict: {ours / 1e9:.2f} s (the "
          f"first, with bundle and baseline: "
          f"{median(figures, 'first') / 1e9:.2f} s)", file=sys.stderr)
    result = {"good": True, "platform": platform, "calls": CALLS,
              "kforge_median_ns": ours, "missing": missing,
              "goal_ratio": GOAL_RATIO, "parts": figures.parts}
    if missing:
        print(f"no peer here, for want of {'; '.join(missing)}",
              file=sys.stderr)
    else:
        theirs = median(figures, "peer")
        result.update(ratio=theirs / ours, good=theirs / ours >= GOAL_RATIO)
        print(f"KernelBench's evaluator: {theirs / 1e9:.1f} s, "
              f"{theirs / ours:.1f} times as long (goal: {GOAL_RATIO:.0f})",
              file=sys.stderr)
    print(json.dumps(result))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=1500)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    here, python, module = platforms(), gpu.torch_python(), evaluator()
    missing = [words for words, there in (
        ("a CUDA device", "cuda" in here),
        ("a Python with torch that sees it (KFORGE_PYTHON)", python),
        ("a checkout of KernelBench (KERNELBENCH)", module)) if not there]
    figures = gpu.Figures(args.out, args.limit)
    measure(figures, here[0], None if missing else (python, *module))
    show(figures, here[0], missing)


if __name__ == "__main__":
    main()
