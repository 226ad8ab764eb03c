#!/usr/bin/env python3
"""The cheats of tests/gpu/cheats, on a machine with a CUDA device."""

import importlib.machinery
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parent / "cheats"
LOADER = importlib.machinery.SourceFileLoader(
    "cheats", str(FOLDER.parent.parent / "cheats" / "run"))
cheats = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("cheats", LOADER))
LOADER.exec_module(cheats)


def main():
    programs = cheats.cheats(FOLDER)
    print(f"1..{len(programs)}")
    number = 0

    def result(line, good):
        nonlocal number
        number += 1
        print(f"{'ok' if good else 'not ok'} {number} - {line}", flush=True)

    return 0 if cheats.run(programs, result)["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
