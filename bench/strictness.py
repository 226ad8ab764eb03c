#!/usr/bin/env python3
"""What the strict protocol costs: a judgement by kforge's rules against one of
values only, as other judges make it (tests/cheats/values_only.c).

Both have the same bundle, sandbox, compiler and plan of CALLS calls. Each
program is judged by both in turn, by two processes that live on, and the ratio
is that of the wall times of such a pair, request to verdict: up to the values
(8 sets and 3 fresh inputs against 5 fresh inputs), then with times.

Usage: bench/strictness.py [--pairs N] [NUMBER...], after `make
build/cheats/kforge`; NUMBER is a row of the table, from 1.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
sys.dont_write_bytecode = True
os.environ.setdefault("KF_BUILD", "build")

import trust  # noqa: E402

# A problem, what of it is set, and whose program: a file, or the attempt of a
# model (those are the fast ones).
ROWS = (
    ("tests/cheats/problems/linear", {}, "tests/honest/packed_weights.c"),
    ("problems/c/axpby", {"size": "test"}, "tests/data/programs/axpby"),
    ("problems/level1/softmax.py", {"set": ["ROWS=16"]}, "bench/softmax.c"),
    ("problems/level2/swiglu.py", {}, 1),
    ("problems/level1/attention.py", {}, 1),
    ("problems/level1/depthwise_conv.py", {}, 1),
    ("problems/level3/mlp.py", {"size": "test"}, "tests/data/programs/mlp"),
    ("problems/level1/softmax.py", {}, "bench/softmax.c"),
    ("problems/c/axpby", {}, "tests/data/programs/axpby"),
    ("problems/level1/rms_norm.py", {}, 1),
)
CALLS = 100
REACHES = {"values": {"stop_after": "values"}, "time": {"calls": CALLS}}
PAIRS = 7
GOAL = 2.0
ANSWER_S = 600


class Judge:
    """One kforge that judges line by line."""

    def __init__(self, name, kforge, without=""):
        self.name, self.hash = name, None
        self.process = subprocess.Popen(
            [kforge, "judge", "--jsonl", "--jobs", "1"], cwd=ROOT, text=True,
            env=trust.environment(without), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)

    def ask(self, request):
        started = time.monotonic_ns()
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        verdict = json.loads(self.process.stdout.readline())
        wall_ns = time.monotonic_ns() - started
        if verdict.get("state") != "correct":
            sys.exit(f"{request['problem']} is not correct: {verdict}")
        self.hash = verdict["judge"]["hash"]
        return {"wall_ns": wall_ns, "calls": verdict["calls"],
                "compiler_ns": verdict["took"]["compiler_ns"],
                "candidate_ns": verdict["took"]["candidate_ns"]}

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=ANSWER_S)


def of_model(problem, attempt):
    name = pathlib.Path(problem).stem
    return next(trust.program_of(reply) for reply in trust.replies()
                if (reply["problem"], reply["attempt"]) == (name, attempt))


def program(problem, whose):
    if not isinstance(whose, str):
        return of_model(problem, whose)
    path = ROOT / whose
    if path.is_dir():
        path /= "program.c"
    prefix = trust.PREFIX if path.parent.name == "honest" else None
    return (prefix.read_text(encoding="utf-8") if prefix else "") + \
        path.read_text(encoding="utf-8")


def in_turn(judges, request, count):
    """Of each pair what both took, {judge: ...}."""
    for judge in judges:
        judge.ask(request)      # its bundle is open then
    return [{judge.name: judge.ask(request)
             for judge in (judges if number % 2 else judges[::-1])}
            for number in range(count)]


def median_of(pairs, name, part):
    return statistics.median(pair[name][part] for pair in pairs)


def summary(pairs):
    ratios = [pair["strict"]["wall_ns"] / pair["values_only"]["wall_ns"]
              for pair in pairs]
    return {"ratio": statistics.median(ratios), "low": min(ratios),
            "high": max(ratios),
            **{name: {part: median_of(pairs, name, part)
                      for part in pairs[0][name]}
               for name in ("strict", "values_only")}}


def measure(judges, row, count):
    """Of one row of the table; None: this processor cannot run its program."""
    problem, sizes, whose = row
    text = program(problem, whose)
    if trust.lacking(text, trust.processor_flags()):
        return None
    request = {"problem": problem, "baseline": "none", **sizes,
               "files": {"program.c": text}}
    result = {"problem": problem, **sizes, "program": whose}
    for reach, more in REACHES.items():
        result[reach] = summary(in_turn(judges, dict(request, **more), count))
    return result


def show(result):
    what = [pathlib.Path(result["problem"]).stem, result.get("size", ""),
            *result.get("set", [])]
    print(f"{' '.join(what):20}", end="", file=sys.stderr)
    for reach in REACHES:
        r = result[reach]
        print(f"{r['values_only']['wall_ns'] / 1e6:8.0f} "
              f"{r['strict']['wall_ns'] / 1e6:6.0f} {r['ratio']:6.2f} "
              f"({r['low']:.2f} to {r['high']:.2f})", end="",
              file=sys.stderr)
    print(file=sys.stderr, flush=True)


def run(numbers, count):
    """All rows of these numbers, or all that there are."""
    judges = [Judge("strict", trust.KFORGE),
              Judge("values_only", trust.WEAK_KFORGE, "protocol")]
    results = []
    print("values only and strict, ms, and the ratio: up to the values, then "
          f"with {CALLS} calls, times taken", file=sys.stderr)
    for number, row in enumerate(ROWS, 1):
        if numbers and number not in numbers:
            continue
        result = measure(judges, row, count)
        if result:
            results.append(result)
            show(result)
    for judge in judges:
        judge.end()
    if judges[0].hash == judges[1].hash:
        sys.exit("both verdicts are of the same judge")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("row", nargs="*", type=int)
    args = parser.parse_args()
    results = run(args.row, args.pairs)
    ratio = {reach: statistics.geometric_mean(
        r[reach]["ratio"] for r in results) for reach in REACHES}
    worst = {reach: max(r[reach]["ratio"] for r in results)
             for reach in REACHES}
    print(json.dumps({"good": all(r <= GOAL for r in ratio.values()),
                      "goal": GOAL, "calls": CALLS, "pairs": args.pairs,
                      "problems": len(results), "ratio": ratio,
                      "worst": worst, "rows": results}))


if __name__ == "__main__":
    main()
