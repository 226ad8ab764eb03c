#!/usr/bin/env python3
"""The recorded replies of a large language model, judged on this machine: what
each attempt became, and how fast the best is against PyTorch eager.

Every recording in tests/data/replay is a run with a model that answered cold,
of five attempts (special64: four). Replies are what was recorded; bundles, compiling, sandbox,
values and times are live. The table is the README's.
"""

import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

KFORGE = os.path.join(os.environ.get("KF_BUILD", "build"), "kforge")
REPLAY = pathlib.Path("tests/data/replay")
MARK = {"correct": "c", "mismatch": "m", "runtime_error": "r",
        "compilation_failure": "b", "generation_failure": "g"}


def attempts(name):
    lines = (REPLAY / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return len(lines) - 1   # the first is a header


def judge(name, cache):
    problem = next(pathlib.Path("problems").glob(f"level*/{name}.py"))
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [KFORGE, "run", str(problem), "--model",
             f"replay:{REPLAY / name}.jsonl", "--out", f"{folder}/run",
             "-n", str(attempts(name)), "--profile", "none", "--advisor",
             "none", "--json"], capture_output=True, text=True, timeout=1200,
            check=False, env={**os.environ, "XDG_CACHE_HOME": cache})
    if done.returncode not in (0, 1):
        sys.exit(f"{name}: status {done.returncode}: {done.stderr}")
    print(done.stderr, file=sys.stderr, end="")
    return json.loads(done.stdout)["problems"][0]


def row(p):
    states = [a["state"] for a in p["attempts"]]
    best = p.get("best_attempt", 0)
    chosen = next(a for a in p["attempts"] if a["number"] == best)
    return (f"| `{p['problem']}` | {' '.join(MARK[s] for s in states)} "
            f"| {best or '-'} | {p['baseline_ns'] / 1e3:.0f} us "
            f"| {p['time_ns'] / 1e3:.0f} us | {p['speedup']:.2f}x "
            f"({chosen['speedup_low']:.2f} to {chosen['speedup_high']:.2f}) |")


def main():
    names = sorted(path.stem for path in REPLAY.glob("*.jsonl"))
    with tempfile.TemporaryDirectory() as cache:
        problems = [judge(name, cache) for name in names]
    print("| problem | attempts | best | eager | program | speed-up |\n"
          "|---|---|---|---|---|---|", file=sys.stderr)
    for p in problems:
        print(row(p), file=sys.stderr)
    speedups = [p["speedup"] for p in problems if p["speedup"]]
    mean = math.exp(sum(map(math.log, speedups)) / len(speedups))
    print(f"geometric mean {mean:.2f}x", file=sys.stderr)
    print(json.dumps({"good": all(p["correct"] for p in problems),
                      "geometric_mean": mean, "problems": problems}))


if __name__ == "__main__":
    main()
