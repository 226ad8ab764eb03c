#!/usr/bin/env python3
"""Twenty-four problems by a large language model that answered cold: how many
were correct by which attempt, and how fast. In C, five attempts each; as
two-part programs for OpenCL (bench/suite_opencl.py), one each.

    bench/suite.py [RUN]

The replies are bench/results/suite/replies.jsonl (results/opencl/), as they
came. They are judged again here, in one run: bundles, compiling, sandbox,
values and times are live. With RUN the run's folder is kept there (it must not
exist yet).
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

KFORGE = os.path.join(os.environ.get("KF_BUILD", "build"), "kforge")
MARK = {"correct": "c", "mismatch": "m", "runtime_error": "r",
        "compilation_failure": "b", "generation_failure": "g"}


def paths(replies):
    """The problems that were recorded, by level and name."""
    lines = replies.read_text(encoding="utf-8").splitlines()
    asked = {json.loads(line).get("problem") for line in lines}
    return [path for level in ("level1", "level2", "level3")
            for path in sorted(pathlib.Path("problems", level).glob("*.py"))
            if path.stem in asked]


def judge(run, platform, replies, attempts):
    done = subprocess.run(
        [KFORGE, "run", *paths(replies), "--model", f"replay:{replies}",
         "--platform", platform, "--out", run, "-n", str(attempts),
         "--profile", "none", "--advisor", "none", "--json"],
        stdout=subprocess.PIPE, text=True, timeout=3600, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"kforge run ended with status {done.returncode}")
    return json.loads(done.stdout)["problems"]


def best(problem, by):
    """The fastest correct attempt among the first ones, or None."""
    good = [a for a in problem["attempts"]
            if a["number"] <= by and a["state"] == "correct" and a["speedup"]]
    return max(good, key=lambda a: a["speedup"], default=None)


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values \
        else None


def summary(problems, by):
    """Of problems without a correct program the speed-up counts as 1: one
    would keep PyTorch."""
    found = [best(p, by) for p in problems]
    ratios = [a["speedup"] if a else 1 for a in found]
    return {"attempts": by,
            "correct": sum(a is not None for a in found),
            "faster": sum(ratio > 1 for ratio in ratios),
            "twice_as_fast": sum(ratio > 2 for ratio in ratios),
            "geometric_mean": mean(ratios), "worst": min(ratios)}


def row(p, attempts):
    states = " ".join(MARK[a["state"]] for a in p["attempts"])
    a = best(p, attempts)
    if not a:
        return f"| `{p['problem']}` | {states} | - | | | |"
    return (f"| `{p['problem']}` | {states} | {a['number']} "
            f"| {a['baseline_ns'] / 1e3:.0f} us | {a['time_ns'] / 1e3:.0f} us "
            f"| {a['speedup']:.2f}x ({a['speedup_low']:.2f} to "
            f"{a['speedup_high']:.2f}) |")


def main(platform="cpu", name="suite", by=(1, 3, 5)):
    replies = pathlib.Path("bench/results", name, "replies.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        run = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, "run")
        problems = judge(run, platform, replies, by[-1])
    print("| problem | attempts | best | eager | program | speed-up |\n"
          "|---|---|---|---|---|---|", file=sys.stderr)
    for p in problems:
        print(row(p, by[-1]), file=sys.stderr)
    sums = [summary(problems, n) for n in by]
    for s in sums:
        print(f"by attempt {s['attempts']}: {s['correct']} of {len(problems)} "
              f"correct, {s['faster']} faster than eager, "
              f"{s['twice_as_fast']} twice as fast, geometric mean "
              f"{s['geometric_mean']:.2f}x, worst {s['worst']:.2f}x",
              file=sys.stderr)
    print(json.dumps({"good": sums[-1]["correct"] == len(problems),
                      "by_attempt": sums, "problems": problems}))


if __name__ == "__main__":
    main()
