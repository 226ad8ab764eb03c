#!/usr/bin/env python3
"""The recorded genuine replies of a large language model, judged here again:
the states are those in tests/data/replay/states.json. Times are not looked at.
"""

import json
import sys

from harness import ROOT, kforge, run_tests, states

REPLAY = ROOT / "tests" / "data" / "replay"
WANTED = json.loads((REPLAY / "states.json").read_text(encoding="utf-8"))


def vector_sets():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        for line in info:
            if line.startswith("flags"):
                return set(line.split(":")[1].split())
    return set()


def replay(name):
    def test(scratch):
        wanted = WANTED[name]
        problem = next((ROOT / "problems").glob(f"level*/{name}.py"))
        result = kforge("run", problem, "--model",
                        f"replay:{REPLAY / name}.jsonl", "--out",
                        scratch / "run", "-n", len(wanted["states"]),
                        "--baseline", "none", "--calls", "40", "--json",
                        timeout=280)
        assert states(result) == wanted["states"], result

    missing = set(WANTED[name]["cpu"]) - vector_sets()
    test.skip = f"the replies use {', '.join(sorted(missing))}, which this " \
        "processor lacks" if missing else None
    return test


for problem in WANTED:
    globals()[f"test_{problem}"] = replay(problem)


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
