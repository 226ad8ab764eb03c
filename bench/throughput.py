#!/usr/bin/env python3
"""How many small candidates a minute `kforge judge` judges whole, times
included, and whether any is lost.

On every platform that has a device here: COUNT programs that all differ, of
which each tenth does not compile and each tenth is wrong, as lines of JSON,
judged with as many at once as kforge chooses. Each must end with the verdict
that it deserves.

Usage: bench/throughput.py [PLATFORM...]; COUNT=N changes their number,
DEVICES=LIST (0,1 or all) shares them among several devices.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

KFORGE = os.path.join(os.environ.get("KF_BUILD", "build"), "kforge")
PROBLEM = "problems/c/axpby"
CUDA = pathlib.Path("tests/data/programs/axpby")
OPENCL = pathlib.Path("tests/data/cli/two_part")
# The file in which programs differ comes first.
SOURCES = {"cpu": [CUDA / "program.c"],
           "opencl": [OPENCL / "kernels.cl", OPENCL / "host.c"],
           "cuda": [CUDA / "kernels.cu", CUDA / "host.c"]}
DIFFERENCE = {"cpu": "\nint kf_unused_{0}(int x) {{ return {0} * x; }}\n",
              "opencl": "\nint unused_{0}(int x) {{ return {0} * x; }}\n",
              "cuda": "\n__device__ int unused_{0}(int x) "
                      "{{ return {0} * x; }}\n"}
COUNT = int(os.environ.get("COUNT", "40"))
DEVICES = os.environ.get("DEVICES")
CALLS = 100
GOAL_A_MINUTE = 100.0       # with this many cores, and a GPU:
GOAL_CORES = 16


def expected(number):
    return {0: "compilation_failure", 1: "mismatch"}.get(number % 10,
                                                         "correct")


def sources(platform, number):
    texts = {path.name: path.read_text() for path in SOURCES[platform]}
    first = SOURCES[platform][0].name
    state = expected(number)
    if state == "mismatch":
        wrong = texts[first].replace("x[i] + b", "x[i] - b", 1)
        if wrong == texts[first]:
            sys.exit(f"{SOURCES[platform][0]} cannot be made wrong")
        texts[first] = wrong
    texts[first] += DIFFERENCE[platform].format(number)
    if state == "compilation_failure":
        texts[first] += "\nthis is no program\n"
    return texts


def judge(platform, cache, numbers):
    """([verdict], nanoseconds from the first request to the last of them, what
    was said)."""
    command = [KFORGE, "judge", "--jsonl", PROBLEM, "-p", platform, "--size",
               "test", "--calls", str(CALLS), "--baseline", "none",
               *(["--devices", DEVICES] if DEVICES else [])]
    lines = [json.dumps({"id": n, "files": sources(platform, n)})
             for n in numbers]
    started = time.monotonic_ns()
    done = subprocess.run(command, text=True, capture_output=True,
                          input="\n".join(lines) + "\n", timeout=1500,
                          check=False,
                          env={**os.environ, "XDG_CACHE_HOME": cache})
    took = time.monotonic_ns() - started
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    return verdicts, took, done.stderr


def measure(platform):
    with tempfile.TemporaryDirectory() as cache:
        judge(platform, cache, range(2, 4))     # makes the bundle
        numbers = range(10, 10 + COUNT)
        verdicts, took, words = judge(platform, cache, numbers)
    states = {v["id"]: v.get("state") for v in verdicts}
    lost = [n for n in numbers if n not in states]
    wrong = {n: states[n] for n in numbers
             if n in states and states[n] != expected(n)}
    a_minute = COUNT / (took / 60e9)
    print(f"{platform}: {COUNT} candidates in {took / 1e9:.1f} s, "
          f"{a_minute:.0f} a minute; {len(lost)} lost, {len(wrong)} with "
          f"another verdict than they deserve", file=sys.stderr)
    if lost or wrong:
        print(words[-2000:], wrong, file=sys.stderr)
    return {"candidates": COUNT, "took_ns": took, "a_minute": a_minute,
            "on": collections.Counter(v.get("device_id") for v in verdicts),
            "lost": lost, "wrong": wrong}


def devices():
    done = subprocess.run([KFORGE, "platforms", "--json"], check=True,
                          capture_output=True, text=True, timeout=120)
    found = {p["name"] for p in json.loads(done.stdout) if p["devices"]}
    return [name for name in SOURCES if name in found]


def main():
    wanted = sys.argv[1:] or devices()
    cores = len(os.sched_getaffinity(0))
    results = {name: measure(name) for name in wanted}
    good = not any(r["lost"] or r["wrong"] for r in results.values())
    if "cuda" in results and cores >= GOAL_CORES:
        good = good and results["cuda"]["a_minute"] >= GOAL_A_MINUTE
    print(json.dumps({"good": good, "problem": PROBLEM, "calls": CALLS,
                      "cores": cores, "goal_a_minute": GOAL_A_MINUTE,
                      "goal_cores": GOAL_CORES, "platforms": results}))


if __name__ == "__main__":
    main()
