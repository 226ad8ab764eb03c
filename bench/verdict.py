#!/usr/bin/env python3
"""From a candidate's file to a verdict on the CPU: how long, and for what.

A small problem and one four times as large, their bundles made before, a fixed
plan of 100 calls. What is neither compiler nor candidate nor baseline is
kforge's own. The time to make the bundle, paid once a problem, is measured
beside it, and so is the memory of kforge itself, in a run of its own: what is
resident, shared with the candidate or not, but for the bundle's files.
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
GOAL_OURS_NS = 60e6
GOAL_MEMORY_BYTES = 40e6
LOOK_S = 0.002
PARTS = ("all_ns", "compiler_ns", "candidate_ns", "baseline_ns", "ours_ns")


def verify_command(size, *options):
    return [KFORGE, "verify", PROBLEM, PROGRAM, "--set", size,
            "--calls", str(CALLS), "--json", *options]


def verify(cache, size, *options):
    """The verdict, and the wall time of the whole command."""
    command = verify_command(size, *options)
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


def resident(pid):
    """(bytes beside the bundle, bytes of the bundle) of a process now."""
    own = bundle = 0
    counted_as_bundle = False
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("Rss:"):
                size = int(line.split()[1]) * 1024
                own, bundle = (own, bundle + size) if counted_as_bundle else \
                    (own + size, bundle)
            elif "-" in line.split(" ", 1)[0]:
                counted_as_bundle = "/bundles/" in line
    return own, bundle


def memory(cache, size):
    with subprocess.Popen(verify_command(size, "--baseline", "stored"),
                          stdout=subprocess.DEVNULL,
                          env={**os.environ, "XDG_CACHE_HOME": cache}) as kforge:
        most = (0, 0)
        while kforge.poll() is None:
            try:
                most = tuple(map(max, most, resident(kforge.pid)))
            except OSError:     # it has just ended
                pass
            time.sleep(LOOK_S)
    return {"own_bytes": most[0], "bundle_bytes": most[1]}


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
            "memory": memory(cache, size), "rows": rows}


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
    limit = goals.get("memory_bytes")
    print(f"{'memory beside the bundle':34}"
          f"{result['memory']['own_bytes'] / 1e6:9.1f} MB" +
          (f"  (goal: at most {limit / 1e6:.0f} MB)" if limit else ""),
          file=sys.stderr)


def main():
    goals = {"command_ns": GOAL_TOTAL_NS, "ours_ns": GOAL_OURS_NS,
             "memory_bytes": GOAL_MEMORY_BYTES}
    with tempfile.TemporaryDirectory() as cache:
        results = [measure(cache, size) for size in SIZES]
    for i, result in enumerate(results):
        show(result, {} if i else goals)
    found = {**results[0]["median"],
             "memory_bytes": results[0]["memory"]["own_bytes"]}
    good = all(found[part] <= goal for part, goal in goals.items())
    print(json.dumps({"good": good, "problem": PROBLEM, "calls": CALLS,
                      "repeats": REPEATS, "goal": goals, "sizes": results}))


if __name__ == "__main__":
    main()
