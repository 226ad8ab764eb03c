#!/usr/bin/env python3
"""tests/run itself: nothing that goes wrong in a test program is overlooked."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# (what the program does, its script, the numbers in the last line)
CASES = [
    ("results are counted",
     "echo 1..3; echo ok 1 - a; echo ok 2; echo 'ok 3 # SKIP no device'",
     (2, 0, 1)),
    ("a failure is a failure",
     "echo 1..2; echo ok 1; echo not ok 2 - b; exit 1", (1, 1, 0)),
    ("cmocka's form of a skip is one",
     "echo 1..1; echo 'not ok 1 # SKIP test_a'", (0, 0, 1)),
    ("a whole program may be skipped",
     "echo '1..0 # SKIP no torch'", (0, 0, 1)),
    ("several plans add up",
     "echo 1..1; echo ok 1; echo 1..1; echo ok 1", (2, 0, 0)),
    ("no plan", "echo ok 1", (1, 1, 0)),
    ("no output at all", "true", (0, 1, 0)),
    ("fewer results than planned", "echo 1..3; echo ok 1", (1, 1, 0)),
    ("more results than planned",
     "echo 1..1; echo ok 1; echo ok 2", (2, 1, 0)),
    ("a crash after the last result",
     "echo 1..1; echo ok 1; kill -SEGV $$", (1, 1, 0)),
    ("a status that no result explains",
     "echo 1..1; echo ok 1; exit 3", (1, 1, 0)),
    ("a program that hangs", "echo 1..1; echo ok 1; sleep 600", (1, 1, 0)),
]


def run(script, limit):
    return subprocess.run(
        [sys.executable, "tests/run", "--limit", limit, "--command",
         f"sh -c {quote(script)}"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def main():
    print(f"1..{len(CASES)}")
    failed = False
    for number, (name, script, (good, bad, skipped)) in enumerate(CASES, 1):
        done = run(script, "1" if "sleep" in script else "30")
        last = f"{good} passed, {bad} failed, {skipped} skipped"
        right = done.stdout.splitlines()[-1] == last and \
            (done.returncode != 0) == (bad > 0) and \
            ("repeat: " in done.stdout) == (bad > 0)
        print(f"{'ok' if right else 'not ok'} {number} - {name}")
        if not right:
            failed = True
            for line in done.stdout.splitlines():
                print(f"# {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
