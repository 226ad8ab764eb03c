#!/usr/bin/env python3
"""One attempt to do harm of each class, at one stage after the other, for `make
check`; `make hostile` has all of them, for every user and tier."""

import importlib.machinery
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
PATH = pathlib.Path(__file__).resolve().parent / "run"
LOADER = importlib.machinery.SourceFileLoader("hostile", str(PATH))
hostile = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("hostile", LOADER))
LOADER.exec_module(hostile)
SLOW = ("build", "module", "forward", "problem", "compile_cu")


def main():
    chosen = hostile.one_of_each_class(
        [one for one in hostile.attempts() if one.stage not in SLOW])
    number = 0

    def result(line, good):
        nonlocal number
        number += 1
        print(f"{'ok' if good else 'not ok'} {number} - {line}", flush=True)

    # The last user is an ordinary one; the best tier that it has.
    figures = hostile.run(chosen, hostile.users_here()[-1:], hostile.TIERS,
                          result, first_tier=True)
    print(f"1..{number}")
    return 0 if figures["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
