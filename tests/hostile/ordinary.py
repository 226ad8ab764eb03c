#!/usr/bin/env python3
"""The contract of the sandbox (tests/contract/sandbox.c) as an ordinary user, to
whom root gave a control group: make check runs as root on many machines, and some
promises are for others alone. Prints what the contract prints."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import traps  # noqa: E402

USER = traps.ORDINARY + 1       # limits count a user's processes: no other test's
BUILD = pathlib.Path(os.environ.get("KF_BUILD", "build"))


def main():
    if os.getuid() != 0:
        print("1..0 # SKIP contract/sandbox is run as an ordinary user already")
        return 0
    place = pathlib.Path(tempfile.mkdtemp(prefix="kf-ordinary."))
    group = traps.GivenGroup(USER)
    try:
        place.chmod(0o755)
        shutil.copytree(BUILD / "hostile", place / "hostile")
        program = shutil.copy(BUILD / "tests" / "contract" / "sandbox", place)
        return subprocess.run(
            [program], cwd="/", check=False, preexec_fn=lambda: traps.become(
                USER, group),
            env=dict(os.environ, KF_BUILD=str(place))).returncode
    finally:
        group.close()
        shutil.rmtree(place)


if __name__ == "__main__":
    sys.exit(main())
