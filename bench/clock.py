#!/usr/bin/env python3
"""How often the intervals of times hold the true ratio, on simulated machines
(bench/clock.c), as docs/judging.md has it.

The goal: 92 % at least, and no lean to a side that the trials could show.
"""

import json
import os
import subprocess
import sys

BUILD = os.environ.get("KF_BUILD", "build")
GOAL = 0.92


def main():
    done = subprocess.run([os.path.join(BUILD, "bench", "clock")], text=True,
                          stdout=subprocess.PIPE, timeout=600, check=True)
    result = json.loads(done.stdout)
    rows = result["machines"]
    print("| machine | 20 blocks | stopping rule | blocks then |\n"
          "|---|---|---|---|", file=sys.stderr)
    for fixed, stopping in zip(rows[::2], rows[1::2]):
        print(f"| {fixed['machine']} | {100 * fixed['covered']:.1f} | "
              f"{100 * stopping['covered']:.1f} | {stopping['blocks']:.1f} |",
              file=sys.stderr)
    good = all(row["covered"] >= GOAL and
               abs(row["bias"]) <= 4 * row["bias_error"]
               for row in rows)
    print(json.dumps({"good": good, "goal": GOAL, **result}))


if __name__ == "__main__":
    main()
