#!/usr/bin/env python3
"""How many candidates a second `kforge judge --jsonl` judges.

A small C problem whose bundle is made before; as many distinct programs as are
asked for, so that nothing can be kept from one to the next; values only, as a
training loop wants them. The compiler's time counts, and its share is told.
"""

import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

KFORGE = os.path.join(os.environ.get("KF_BUILD", "build"), "kforge")
PROBLEM = "problems/c/softmax_c"
PROGRAM = "bench/softmax.c"
WARM = 4
COUNT = 60
TURNS = 3
GOAL_PER_S = 5.0
PARTS = ("all_ns", "compiler_ns", "candidate_ns", "ours_ns")


def request(number):
    """The same work in sources that all differ, in code and not only in
    comments."""
    with open(PROGRAM, encoding="utf-8") as file:
        source = file.read()
    source += (f"\nint kf_unused_{number}(int x)\n{{\n"
               f"\treturn {number} * x + {number % 7};\n}}\n")
    return json.dumps({"id": number, "files": {"program.c": source}})


def judge(cache, numbers):
    """The verdicts, and the time from the first line to the last."""
    command = [KFORGE, "judge", "--jsonl", PROBLEM, "--size", "test",
               "--stop-after", "values"]
    started = time.monotonic_ns()
    done = subprocess.run(command, text=True, capture_output=True,
                          input="\n".join(map(request, numbers)) + "\n",
                          timeout=600, check=False,
                          env={**os.environ, "XDG_CACHE_HOME": cache})
    took = time.monotonic_ns() - started
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with status "
                 f"{done.returncode}:\n{done.stderr}")
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    bad = [v for v in verdicts if v.get("state") != "correct"]
    if len(verdicts) != len(numbers) or bad:
        sys.exit(f"{len(verdicts)} verdicts, not all correct: {bad[:1]}")
    return verdicts, took


def compile_alone(numbers):
    """The compiler on the same sources, as many side by side, nothing else:
    what no judge of them can be faster than."""
    with open("platforms/cpu/platform.json", encoding="utf-8") as file:
        platform = json.load(file)

    def compile_one(folder, number):
        source = os.path.join(folder, f"{number}.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(json.loads(request(number))["files"]["program.c"])
        names = {"{compiler}": platform["compiler"][0], "{include}": "include",
                 "{output}": source + ".so", "{source}": source}
        subprocess.run([names.get(word, word) for word in platform["command"]],
                       check=True)

    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(
                len(os.sched_getaffinity(0))) as pool:
        started = time.monotonic_ns()
        list(pool.map(lambda n: compile_one(folder, n), numbers))
        return time.monotonic_ns() - started


def main():
    with tempfile.TemporaryDirectory() as cache:
        _, cold = judge(cache, range(WARM))
        # In turn, so that other load meets both alike.
        verdicts, took, alone = [], 0, 0
        for turn in range(WARM, WARM + COUNT, COUNT // TURNS):
            numbers = range(turn, turn + COUNT // TURNS)
            some, ns = judge(cache, numbers)
            verdicts += some
            took += ns
            alone += compile_alone(numbers)
    per_s = COUNT / (took / 1e9)
    median = {part: statistics.median(v["took"][part] for v in verdicts)
              for part in PARTS}
    total = {part: sum(v["took"][part] for v in verdicts) for part in PARTS}
    share = total["compiler_ns"] / total["all_ns"]
    print(f"{COUNT} candidates in {took / 1e9:.1f} s: {per_s:.2f} a second "
          f"(goal: at least {GOAL_PER_S:.0f} on 2 cores)", file=sys.stderr)
    for part in PARTS:
        print(f"  {part[:-3]:10} {median[part] / 1e6:8.1f} ms (median)",
              file=sys.stderr)
    print(f"  {took / alone:.2f} times as long as the compiler alone",
          file=sys.stderr)
    print(f"  the compiler is {100 * share:.0f} % of a judgement",
          file=sys.stderr)
    print(json.dumps({
        "good": per_s >= GOAL_PER_S, "problem": PROBLEM, "size": "test",
        "stop_after": "values", "candidates": COUNT,
        "cores": len(os.sched_getaffinity(0)), "per_second": per_s,
        "goal_per_second": GOAL_PER_S, "took_ns": took,
        "compiler_alone_ns": alone,
        "times_compiler_alone": took / alone, "first_ns": cold, "compiler_share": share, "median": median,
        "judge": verdicts[0]["judge"], "sandbox": verdicts[0]["sandbox"],
    }))


if __name__ == "__main__":
    main()
