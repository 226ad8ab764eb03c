#!/usr/bin/env python3
"""From a candidate's file to a verdict on the CPU: how long, and for what.

One small problem, its bundle made before, a fixed plan of 100 calls. What is
neither compiler nor candidate nor baseline is kforge's own. The time to make
the bundle, paid once a problem, is measured beside it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

KFORGE = os.path.join(os.environ.get("KF_BUILD", "build"), "kforge")
PROBLEM = "problems/softmax.py"
SIZE = "ROWS=64"
PROGRAM = "bench/softmax.c"
CALLS = 100
REPEATS = 11
GOAL_TOTAL_NS = 1.5e9
GOAL_OURS_NS = 100e6
PARTS = ("all_ns", "compiler_ns", "candidate_ns", "baseline_ns", "ours_ns")


def verify(cache, *options):
    """The verdict, and the wall time of the whole command."""
    command = [KFORGE, "verify", PROBLEM, PROGRAM, "--set", SIZE,
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


def measure(cache):
    # The first makes the bundle and measures the baseline that is stored.
    _, cold = verify(cache)
    rows = []
    for _ in range(REPEATS):
        verdict, wall = verify(cache, "--baseline", "stored")
        rows.append({**{part: verdict["took"][part] for part in PARTS},
                     "command_ns": wall})
    return cold, rows


def main():
    with tempfile.TemporaryDirectory() as cache:
        cold, rows = measure(cache)
    median = {part: statistics.median(row[part] for row in rows)
              for part in (*PARTS, "command_ns")}
    good = (median["command_ns"] <= GOAL_TOTAL_NS and
            median["ours_ns"] <= GOAL_OURS_NS)

    def line(words, ns, goal=None):
        limit = f"  (goal: at most {goal / 1e6:.0f} ms)" if goal else ""
        print(f"{words:34}{ns / 1e6:9.1f} ms{limit}", file=sys.stderr)

    line("first command, bundle and baseline", cold)
    line("then, file to verdict", median["command_ns"], GOAL_TOTAL_NS)
    line("  of it the judge", median["all_ns"])
    line("    compiler", median["compiler_ns"])
    line("    candidate", median["candidate_ns"])
    line("    baseline", median["baseline_ns"])
    line("    ours", median["ours_ns"], GOAL_OURS_NS)
    print(json.dumps({
        "good": good, "problem": PROBLEM, "set": SIZE, "calls": CALLS,
        "repeats": REPEATS, "first_command_ns": cold, "median": median,
        "goal": {"command_ns": GOAL_TOTAL_NS, "ours_ns": GOAL_OURS_NS},
        "rows": rows,
    }))


if __name__ == "__main__":
    main()
