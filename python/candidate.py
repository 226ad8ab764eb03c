#!/usr/bin/env python3
"""Builds and runs programs that are Python files (docs/forms.md).

    candidate.py build DEVICE OUTPUT PROBLEM SOURCE
    candidate.py serve DEVICE ARTEFACT PROBLEM [LAUNCHES [watched]]
    candidate.py nurse DEVICE ARTEFACT PROBLEM

DEVICE is torch's name of it ("" for the processor, "cuda"), PROBLEM the problem's file. build
leaves an artefact: the source with all that was compiled for it. serve loads it
and calls it when the supervisor says so (src/runner/protocol.h). LAUNCHES is a
file for what each call launches; watched: a profiler is around the process.
nurse has PyTorch loaded, and forks a process that serves whenever it is told to.

It runs in a sandbox, under any Python from 3.8 with torch 1.13 or 2.x, and
needs no other package.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

ARGUMENTS = {"build": (4,), "serve": (3, 4, 5), "nurse": (3,)}


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if len(sys.argv) - 2 not in ARGUMENTS.get(mode, ()):
        sys.stderr.write(__doc__)
        return 2
    if mode == "build":
        from kforge_candidate import build
        status = build.main(*sys.argv[2:])
    elif mode == "nurse":
        from kforge_candidate import nursery
        status = nursery.serve(*sys.argv[2:])
    else:
        from kforge_candidate import serve
        status = serve.main(*sys.argv[2:])
    # The program may have left threads or exit handlers behind: leave now.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
