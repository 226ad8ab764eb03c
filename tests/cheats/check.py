#!/usr/bin/env python3
"""One program of each class of cheats, of those in C for the processor, for
`make check`; `make cheats` has all of them."""

import importlib.machinery
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
PATH = pathlib.Path(__file__).resolve().parent / "run"
LOADER = importlib.machinery.SourceFileLoader("cheats", str(PATH))
cheats = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("cheats", LOADER))
LOADER.exec_module(cheats)


def main():
    programs = cheats.one_of_each_class(
        [p for p in cheats.cheats() if p.is_plain()])
    print(f"1..{len(programs) + 2}")
    number = 0

    def result(line, good):
        nonlocal number
        number += 1
        print(f"{'ok' if good else 'not ok'} {number} - {line}", flush=True)

    result("the shipped judge has no switch for its defences",
           cheats.shipped_judge_has_no_switch())
    result("verdicts of a judge without a defence bear another hash",
           cheats.weak_verdicts_bear_another_hash())
    figures = cheats.run(programs, result)
    return 0 if figures["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
