#!/usr/bin/env python3
"""The correct programs of this folder, for `make check`; `make trust` judges
those of a large language model too."""

import importlib.machinery
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
PATH = pathlib.Path(__file__).resolve().parent / "run"
LOADER = importlib.machinery.SourceFileLoader("honest", str(PATH))
honest = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("honest", LOADER))
LOADER.exec_module(honest)


def main():
    programs = honest.programs(quick=True)
    print(f"1..{len(programs)}")
    number = 0

    def result(line, good):
        nonlocal number
        number += 1
        first, *more = line.splitlines()
        print(f"{'ok' if good else 'not ok'} {number} - {first}", flush=True)
        for words in more:
            print(f"# {words}")

    return 0 if honest.run(programs, result)["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
