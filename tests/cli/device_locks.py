#!/usr/bin/env python3
"""Who times a device has it alone, whoever the others are."""

import fcntl
import json
import os
import shutil
import subprocess
import sys

from harness import (C_PROBLEM, DATA, EXIT, KFORGE, environment, finish, kforge,
                     run_tests, start)

WORDS = ("verify", C_PROBLEM, DATA / "good.c", "--calls", "20", "--baseline",
         "none")
FOR_ALL = "/tmp/kforge-devices"


def with_folder(options, *words, after="true"):
    """Runs kforge where the folder for all is a file system of these options."""
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o {options} none "
         f"{FOR_ALL} && \"$@\" && {after}", "sh", KFORGE, *map(str, words)],
        env=environment({"KFORGE_DEVICE_LOCKS": ""}), text=True,
        capture_output=True, timeout=120, check=False)


def test_processes_with_another_cache_wait_too(scratch):
    locks = scratch / "locks"
    env = {"KFORGE_DEVICE_LOCKS": str(locks)}
    first = kforge(*WORDS, "--cache", scratch / "a", env=env)
    assert first.status == 0, first
    with open(locks / "processor.lock", "r+", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("process 7 on box\n")
        lock.flush()
        process = start(*WORDS, "--cache", scratch / "b", "-v", env=env)
        said = iter(process.stderr.readline, "")
        assert any("waiting: process 7 on box is at work on cpu:0" in line
                   for line in said), "it did not wait"
    assert finish(process).status == 0


def test_a_lock_that_somebody_removed_is_made_again(scratch):
    """By a process that lives on, and for all, whatever the umask."""
    locks = scratch / "locks"
    words = ("judge", "--jsonl", C_PROBLEM, "--calls", "20", "--baseline",
             "none", "--jobs", "1")
    line = json.dumps({"files": {"program.c": (DATA / "good.c").read_text()}})
    before = os.umask(0o077)
    process = subprocess.Popen(
        [KFORGE, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True, env=environment({"KFORGE_DEVICE_LOCKS": str(locks)}))
    os.umask(before)
    for _ in range(2):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer.get("state") == "correct", answer
        files = {path.name: path for path in locks.iterdir()}
        assert "processor.lock" in files, files
        for path in files.values():
            assert path.stat().st_mode & 0o7777 == 0o666, path
            path.unlink()
    assert finish(process).status == 0


def test_where_no_lock_can_be_for_all_that_is_said(scratch):
    # Where it is not there yet, kforge makes it.
    assert kforge(*WORDS, env={"KFORGE_DEVICE_LOCKS": ""}).status == 0
    result = with_folder("ro", *WORDS, "--cache", scratch / "cache")
    assert result.returncode == 0, result
    assert f"cannot write to {FOR_ALL}: Read-only" in result.stderr, result
    assert "processes with another cache may work on cpu:0" in result.stderr
    doctor = with_folder("ro", "doctor", "--cache", scratch / "cache")
    assert f"cannot write to {FOR_ALL}: Read-only" in doctor.stdout, doctor
    lock, = (scratch / "cache" / "devices").glob("*-cpu-0.lock")
    assert lock.is_file()


def test_a_folder_that_lost_its_mode_gets_it_back(_):
    """As a crash may leave it, when it has just been made."""
    assert kforge(*WORDS, env={"KFORGE_DEVICE_LOCKS": ""}).status == 0
    result = with_folder("mode=0755", *WORDS, "--quiet",
                         after=f"stat -c %a {FOR_ALL}")
    assert result.stdout.splitlines()[-1:] == ["1777"], result


def test_a_folder_that_was_named_must_do(_):
    result = kforge(*WORDS, env={"KFORGE_DEVICE_LOCKS": "/proc/none"})
    assert result.status == EXIT["io"], result
    assert "KFORGE_DEVICE_LOCKS: " in result.err, result
    doctor = kforge("doctor", env={"KFORGE_DEVICE_LOCKS": "/proc/none"})
    assert doctor.status == EXIT["unavailable"], doctor
    assert "KFORGE_DEVICE_LOCKS: " in doctor.out, doctor
    assert result.err.count("\n") == 1, result


if not shutil.which("unshare") or subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True, check=False).returncode:
    for test in (test_where_no_lock_can_be_for_all_that_is_said,
                 test_a_folder_that_lost_its_mode_gets_it_back):
        test.skip = "nothing can be mounted here"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
