#!/usr/bin/env python3
"""Who times a device has it alone, whoever the others are."""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys

from harness import (C_PROBLEM, DATA, EXIT, KFORGE, ROOT, environment, finish,
                     kforge, run_tests, signal, start)

WORDS = ("verify", C_PROBLEM, DATA / "good.c", "--calls", "20", "--baseline",
         "none")
FOR_ALL = "/tmp/kforge-devices"
AXPBY = (ROOT / "problems" / "c" / "axpby", DATA / "two_part" / "kernels.cl",
         DATA / "two_part" / "host.c", "-p", "opencl")
# OpenCL's loader, but every device says that it is a GPU.
LOADER = """#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int32_t get_info(void *, uint32_t, size_t, void *, size_t *);
int32_t clGetDeviceInfo(void *device, uint32_t what, size_t bytes, void *value,
			size_t *told)
{
	void *symbol = dlsym(RTLD_NEXT, "clGetDeviceInfo");
	get_info *ask;

	memcpy(&ask, &symbol, sizeof(ask));
	if (what == 0x1000 && value && bytes == 8) {
		*(uint64_t *)value = 4;
		return 0;
	}
	return ask(device, what, bytes, value, told);
}
"""


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


@contextlib.contextmanager
def held(path):
    """Somebody times on the device whose lock that is."""
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", encoding="ascii") as lock:
        path.chmod(0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("process 7 on box\n")
        lock.flush()
        yield


def waits(path, device, *words, env):
    """The process, once it has said that it waits for who holds the lock."""
    with held(path):
        process = start(*words, "-v", env=env)
        said = []
        for line in process.stderr:
            said.append(line)
            if f"waiting: process 7 on box is at work on {device}" in line:
                break
        else:
            raise AssertionError(f"{words} did not wait: {said}")
    return process


def test_who_measures_a_device_waits_for_it(scratch):
    env = {"KFORGE_DEVICE_LOCKS": str(scratch / "locks")}
    lock = scratch / "locks" / "processor.lock"
    for words in (("prompt", C_PROBLEM), ("platforms",)):
        result = finish(waits(lock, "cpu:0", *words, env=env))
        assert result.status == 0, result
        assert "measured memory bandwidth" in result.out, result
    with held(lock):
        process = start("prompt", C_PROBLEM, "-v", env=env)
        assert any("waiting: " in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        result = finish(process)
        assert result.status == EXIT["canceled"], result
        # Without cards nothing is measured.
        assert kforge("platforms", env=env).status == 0


def loader(scratch):
    (scratch / "loader.c").write_text(LOADER)
    subprocess.run(
        ["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-Wl,--no-as-needed", "-o",
         scratch / "loader.so", scratch / "loader.c", "-l:libOpenCL.so.1"],
        check=True)
    return str(scratch / "loader.so")


def test_who_computes_on_a_gpu_by_opencl_waits_for_it(scratch):
    """With much data, in an export's example, and under a sanitizer."""
    env = {"KFORGE_DEVICE_LOCKS": str(scratch / "locks"),
           "KFORGE_OPENCL_LIBRARY": loader(scratch)}
    lock = scratch / "locks" / "opencl-0.lock"
    judge = ("verify", *AXPBY, "--stop-after", "values", "--baseline", "none")
    rows = [(*judge, "--set", "COUNT=6000000"),
            ("export", *AXPBY, "--set", "COUNT=1007", "--unverified", "--as",
             "c", "-o", scratch / "out")]
    if shutil.which("oclgrind"):
        rows.append((*judge, "--set", "COUNT=1007", "--sanitize"))
    for words in rows:
        result = finish(waits(lock, "opencl:0", *words, env=env))
        assert result.status == 0, result


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


if not any(p["devices"] for p in kforge("platforms", "--json").json()
           if p["name"] == "opencl") and \
        "opencl" not in os.environ.get("KF_MUST_RUN", ""):
    test_who_computes_on_a_gpu_by_opencl_waits_for_it.skip = \
        "OpenCL has no device here"
if not shutil.which("unshare") or subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True, check=False).returncode:
    for test in (test_where_no_lock_can_be_for_all_that_is_said,
                 test_a_folder_that_lost_its_mode_gets_it_back):
        test.skip = "nothing can be mounted here"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
