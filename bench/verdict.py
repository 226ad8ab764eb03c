#!/usr/bin/env python3
"""From a candidate's file to a verdict on the CPU: how long, and for what.

A small problem and one four times as large, their bundles made before, a fixed
plan of 100 calls. What is neither compiler nor candidate nor baseline is
kforge's own. The time to make the bundle, paid once a problem, is measured
beside it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

KFORGE = os.path.join(os.environ.get("KF_BUILD", "build"), "kforge")
PROBLEM = "problems/level1/softmax.py"
# Tensors of 64 kB, for which the goals are, and of 256 kB.
SIZES = ("ROWS=16", "ROWS=64")
PROGRAM = "bench/softmax.c"
CALLS = 100
REPEATS = 11
GOAL_TOTAL_NS = 1.5e9
GOAL_OURS_NS = 100e6
PARTS = ("all_ns", "compiler_ns", "candidate_ns", "baseline_ns", "ours_ns")


def verify(cache, size, *options):
    """The verdict, and the wall time of the whole command."""
    command = [KFORGE, "verify", PROBLEM, PROGRAM, "--set", size,
               "--calls", str(CALLS), "--json", *options]
    started = time.monotonic_ns()
    done = subprocess.run(command, capture_output=True, text=True,
                          timeout=300, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": cache})
    took = time.monotonic_ns() - started
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with status "
                 f"{done.returncode}:\n{done.stdout}{done.stderr}")
    verdict = json.loads(done.stdout)
    if verdict["state"] != "correct":
        sys.exit(f"the verdict is {verdict['state']}, not correct")
    return verdict, took


def measure(cache, size):
    # The first makes the bundle and measures the baseline that is stored.
    _, cold = verify(cache, size)
    rows = []
    for _ in range(REPEATS):
        verdict, wall = verify(cache, size, "--baseline", "stored")
        rows.append({**{part: verdict["took"][part] for part in PARTS},
                     "command_ns": wall})
    median = {part: statistics.median(row[part] for row in rows)
              for part in (*PARTS, "command_ns")}
    return {"set": size, "first_command_ns": cold, "median": median,
            "rows": rows}


def show(result, goals):
    def line(words, ns, goal=None):
        limit = f"  (goal: at most {goal / 1e6:.0f} ms)" if goal else ""
        print(f"{words:34}{ns / 1e6:9.1f} ms{limit}", file=sys.stderr)

    median = result["median"]
    print(f"{PROBLEM} --set {result['set']}", file=sys.stderr)
    line("first command, bundle and baseline", result["first_command_ns"])
    line("then, file to verdict", median["command_ns"],
         goals.get("command_ns"))
    line("  of it the judge", median["all_ns"])
    line("    compiler", median["compiler_ns"])
    line("    candidate", median["candidate_ns"])
    line("    baseline", median["baseline_ns"])
    line("    ours", median["ours_ns"], goals.get("ours_ns"))


def main():
    goals = {"command_ns": GOAL_TOTAL_NS, "ours_ns": GOAL_OURS_NS}
    with tempfile.TemporaryDirectory() as cache:
        results = [measure(cache, size) for size in SIZES]
    for i, result in enumerate(results):
        show(result, {} if i else goals)
    good = all(results[0]["median"][part] <= goal
               for part, goal in goals.items())
    print(json.dumps({"good": good, "problem": PROBLEM, "calls": CALLS,
                      "repeats": REPEATS, "goal": goals, "sizes": results}))


if __name__ == "__main__":
    main()
