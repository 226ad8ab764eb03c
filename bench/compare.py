#!/usr/bin/env python3
"""How fast outputs are compared, beside memcpy in the same run, on one thread.

Bytes read a second over all arrays that a comparison reads, in processor time,
against the bytes that memcpy reads. The goal is for float32: at least half.
"""

import json
import os
import subprocess
import sys

BUILD = os.environ.get("KF_BUILD", "build")
GOAL = 0.5
GOALS_FOR = ("float32 sets", "float32 stock")


def main():
    done = subprocess.run([os.path.join(BUILD, "bench", "compare")], text=True,
                          stdout=subprocess.PIPE, timeout=300, check=True)
    result = json.loads(done.stdout)
    for row in result["kinds"]:
        goal = f"  (goal: at least {GOAL})" if row["kind"] in GOALS_FOR else ""
        print(f"{row['kind']:22}{row['compare_gb_s']:6.1f} GB/s, memcpy "
              f"{row['memcpy_gb_s']:5.1f} GB/s, ratio {row['ratio']:5.2f}"
              f"{goal}", file=sys.stderr)
    good = all(row["ratio"] >= GOAL for row in result["kinds"]
               if row["kind"] in GOALS_FOR)
    print(json.dumps({"good": good, "goal": GOAL, "threads": 1, **result}))


if __name__ == "__main__":
    main()
