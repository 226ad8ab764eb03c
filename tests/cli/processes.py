#!/usr/bin/env python3
"""The processes of one program in Python, which are forked from one that has
PyTorch loaded: nothing is handed on from one to the next."""

import os
import pathlib
import re
import signal
import sys
import time

from harness import DATA, PROBLEM, finish, kforge, run_tests, start

SOLUTION = (DATA / "forms" / "solution.py").read_text()
TIMED = ("--baseline", "none", "--threads", "1", "--json", "-v", "-v")
READY = re.compile(r"process (\d+) of the candidate(, forked,)? ready in "
                   r"([\d.]+) ms")
GIVEN_UP = "are forked from is given up"
FORKED = "processes of the candidate will be forked"
NONE = "no process to fork"
WAIT_S = 60

# The program says by an exception that it has found something.
LEAVES = {
    "files": """
import os
def leave():
    for path in ("/tmp/kept", "/tmp/deep/in/kept"):
        if os.path.exists(path):
            raise RuntimeError("found " + path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").write("kept")
    os.symlink("/tmp", "/tmp/deep/link")
    os.chmod("/tmp", 0o700)
""",
    "locked": """
import os
def leave():
    if os.path.exists("/tmp/locked"):
        raise RuntimeError("found a folder")
    os.makedirs("/tmp/locked/in")
    os.chmod("/tmp/locked", 0)
""",
    "memory": """
import ctypes
def leave():
    libc = ctypes.CDLL(None)
    if libc.shmget(4711, 4096, 0) >= 0:
        raise RuntimeError("found shared memory")
    if libc.shmget(4711, 4096, 0o1600) < 0:
        raise RuntimeError("cannot make shared memory")
""",
    "parent": """
import ctypes, os, signal
def refused(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        return
    raise RuntimeError("%s%r is allowed" % (call.__name__, arguments))
def leave():
    import resource
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGUSR1,
                   signal.SIGSEGV, signal.SIGKILL):
        os.kill(1, number)
        os.kill(os.getppid(), number)
    if ctypes.CDLL(None).syscall(434, 1, 0) < 0:
        raise RuntimeError("process 1 has ended")
    refused(open, "/proc/1/mem", "r+b")
    refused(open, "/proc/1/maps")
    refused(os.readlink, "/proc/1/fd/3")
    refused(os.sched_setaffinity, 1, {min(os.sched_getaffinity(0))})
    refused(os.setpriority, os.PRIO_PROCESS, 1, 5)
    refused(os.setpriority, os.PRIO_PGRP, 0, 5)
    refused(os.setpriority, os.PRIO_USER, 0, 5)
    refused(resource.prlimit, 1, resource.RLIMIT_NOFILE, (40, 40))
    for fd in os.listdir("/proc/self/fd"):
        try:
            name = os.readlink("/proc/self/fd/" + fd)
        except OSError:
            continue
        if name.startswith("socket:"):
            raise RuntimeError("found a socket")
""",
}


def judge(scratch, source, *more, env=None):
    path = scratch / "solution.py"
    path.write_text(source)
    result = kforge("verify", *TIMED, *more, PROBLEM, path, env=env,
                    timeout=300)
    verdict = result.json()
    assert verdict["state"] == "correct", (verdict["text"], result)
    return verdict, result.err


def leaving(name):
    return LEAVES[name] + "leave()\n" + SOLUTION


def several(err):
    """One process alone would have nobody to hand on to."""
    return len(READY.findall(err)) >= 2


def test_processes_are_forked(scratch):
    verdict, err = judge(scratch, SOLUTION)
    assert several(err), err
    assert verdict["sandbox"] != "weak" and NONE not in err, err
    assert err.count(FORKED) == 1 and GIVEN_UP not in err, err
    assert all(forked for _, forked, _ in READY.findall(err)), err
    assert verdict["memory_bytes_peak"] > 0, verdict


def test_files_are_gone(scratch):
    for name in ("files", "locked"):
        _, err = judge(scratch, leaving(name))
        assert several(err), (name, err)


def test_a_sandbox_with_shared_memory_left_is_given_up(scratch):
    _, err = judge(scratch, leaving("memory"))
    assert several(err) and GIVEN_UP in err, err


def test_the_parent_is_out_of_reach(scratch):
    _, err = judge(scratch, leaving("parent"))
    assert several(err) and FORKED in err and GIVEN_UP not in err, err


def test_without_namespaces_each_is_started_anew(scratch):
    verdict, err = judge(scratch, SOLUTION, "--sandbox=weak",
                         env={"KFORGE_SANDBOX_TIER": "weak"})
    assert verdict["sandbox"] == "weak", verdict
    assert NONE in err and FORKED not in err and several(err), err


def of_folder(folder):
    """Processes whose command line names it."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(folder).encode() in \
                    (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def await_that(condition, what):
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def test_none_outlives_kforge(scratch):
    path = scratch / "solution.py"
    path.write_text("import time\nopen('/tmp/here', 'w')\n"
                    "time.sleep(600)\n" + SOLUTION)
    folder = scratch / "work"
    folder.mkdir()
    process = start("verify", *TIMED, PROBLEM, path,
                    env={"TMPDIR": str(folder)})

    def loading():
        """Two of the sandbox's processes: one sleeps in the program."""
        return any((pathlib.Path("/proc") / str(pid) / "root/tmp/here").exists()
                   for pid in of_folder(folder))

    await_that(loading, "the program is not loaded")
    os.kill(process.pid, signal.SIGKILL)
    finish(process)
    await_that(lambda: not of_folder(folder), "processes are left")


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
