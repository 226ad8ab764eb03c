#!/usr/bin/env python3
"""Faults of our own are no verdicts: a compiler that is missing or broken, a
bundle that was cut or altered, processes that others kill, a device that is
ill. Each is tried again or told, and the run goes on when it is gone.
tests/kill/fail.py fails single calls; tests/contract/problem.c has no torch."""

import json
import os
import shutil
import signal
import subprocess
import sys

from harness import (C_PROBLEM, EXIT, KFORGE, PROBLEM, ROOT, Result, asked,
                     environment, finish, kforge, reply, run_tests,
                     script_model, start, wait_for)

FAST = ("--baseline", "none", "--calls", "20")
AXPBY = ROOT / "problems" / "c" / "axpby" / "problem.json"
# Right, and slow enough to be met while it runs.
SLOW = """#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data, *y = c->in[1].data;
	float a = (float)c->scalar[0].f, b = (float)c->scalar[1].f;
	float *z = c->out[0].data;

	for (volatile long k = 0; k < 20000000; k++)
		;
	for (int64_t i = 0; i < c->out[0].shape[0]; i++)
		z[i] = a * x[i] + b * y[i];
	return 0;
}
"""


def home(scratch, **command):
    """A KFORGE_HOME whose platform cpu is compiled with something else."""
    folder = scratch / "home"
    (folder / "platforms").mkdir(parents=True)
    for path in ROOT.iterdir():
        if path.name not in ("platforms", ".git"):
            (folder / path.name).symlink_to(path)
    for path in (ROOT / "platforms").iterdir():
        if path.name != "cpu":
            (folder / "platforms" / path.name).symlink_to(path)
    cpu = folder / "platforms" / "cpu"
    cpu.mkdir()
    for path in (ROOT / "platforms" / "cpu").iterdir():
        if path.name != "platform.json":
            (cpu / path.name).symlink_to(path)
    text = json.loads((ROOT / "platforms" / "cpu" /
                       "platform.json").read_text())
    text.update(command)
    (cpu / "platform.json").write_text(json.dumps(text))
    return {"KFORGE_HOME": str(folder)}


def is_ours(result, kind, *words):
    assert result.status == EXIT[kind] and not result.out, result
    for word in words:
        assert word in result.err, (word, result)


def begin_run(scratch, env):
    model = script_model(scratch, [reply("good.c")])
    return kforge("run", C_PROBLEM, "--model", model, "-n", "1", "--out",
                  scratch / "run", *FAST, "--json", env=env)


def goes_on(scratch):
    result = kforge("resume", scratch / "run", "--json")
    assert result.status == 0, result
    assert asked(scratch) == ["1"]
    assert [a["state"] for a in
            result.json()["problems"][0]["attempts"]] == ["correct"], result


def test_a_missing_compiler_is_named_and_the_run_goes_on(scratch):
    env = home(scratch, compiler=["no-such-cc"])
    is_ours(begin_run(scratch, env), "unavailable", "no-such-cc")
    goes_on(scratch)


def test_a_compiler_that_refuses_everything_accuses_nobody(scratch):
    command = ["{compiler}", "-no-such-option-of-it", "-o", "{output}",
               "{source}"]
    env = home(scratch, command=command)
    is_ours(begin_run(scratch, env), "unavailable", "compiler of platform cpu",
            "refuses our own example too")
    goes_on(scratch)


def own_bundle(scratch):
    """Words for a cache of its own, and the folder of the bundle in it."""
    (scratch / "program.c").write_text(SLOW.replace("20000000", "2"))
    words = ["verify", AXPBY, scratch / "program.c", "--size", "test", *FAST,
             "--cache", scratch / "cache", "--json"]
    assert kforge(*words).json()["state"] == "correct"
    bundle, = (scratch / "cache" / "bundles").glob("*/public")
    return words, bundle.parent


def test_a_bundle_that_was_altered_accuses_nobody(scratch):
    words, bundle = own_bundle(scratch)
    path = bundle / "oracle" / "set-00.safetensors"
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[:8], "little")
    begin = json.loads(data[8:8 + size])["exact.0"]["data_offsets"][0]
    data[8 + size + begin + 7] ^= 0x40
    path.write_bytes(data)
    is_ours(kforge(*words), "io", "was altered since it was made", "made anew")
    assert not bundle.exists()
    assert kforge(*words).json()["state"] == "correct"


def test_a_bundle_that_was_cut_is_made_anew(scratch):
    words, bundle = own_bundle(scratch)
    made = (bundle / "sum").read_text()
    os.truncate(bundle / "oracle" / "stock-03.safetensors", 100)
    assert kforge(*words).json()["state"] == "correct"
    assert (bundle / "sum").read_text() != made


def test_a_bundle_that_is_cut_in_use_accuses_nobody(scratch):
    words, bundle = own_bundle(scratch)
    (scratch / "program.c").write_text(SLOW.replace("20000000", "100000000"))
    process = start(*words)
    wait_for(lambda: children(process.pid, "kforge-runner\0host") or
             process.poll() is not None, "its process")
    for path in (bundle / "inputs").iterdir():
        os.truncate(path, 0)
    is_ours(finish(process), "io", f"kforge: {bundle}/inputs/",
            "was cut while kforge used it", "begin again")
    (scratch / "program.c").write_text(SLOW.replace("20000000", "2"))
    assert kforge(*words).json()["state"] == "correct"


def children(pid, word):
    """Its descendants whose command line has that word."""
    parent, command = {}, {}
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8") as file:
                parent[int(entry)] = int(file.read().rsplit(")", 1)[1]
                                         .split()[1])
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                command[int(entry)] = file.read().decode(errors="replace")
        except (OSError, ValueError, IndexError):
            continue
    found = {pid}
    while True:
        more = {p for p, of in parent.items() if of in found} - found
        if not more:
            return sorted(p for p in found - {pid}
                          if word in command.get(p, "") and
                          "bwrap" not in command[p])
        found |= more


def killed(process, word, times):
    """Kills whoever has that word, so many times."""
    seen = set()
    for _ in range(times):
        wait_for(lambda: set(children(process.pid, word)) - seen or
                 process.poll() is not None, word)
        for pid in set(children(process.pid, word)) - seen:
            seen.add(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    assert seen, word


def slow(scratch, *more):
    (scratch / "program.c").write_text(SLOW)
    return start("verify", AXPBY, scratch / "program.c", "--size", "test",
                 "--json", *more)


def test_a_program_that_others_kill_is_judged_again(scratch):
    process = slow(scratch, *FAST)
    killed(process, "kforge-runner\0host", 1)
    result = finish(process)
    assert result.status == 0, result
    assert result.json()["state"] == "correct", result


def test_a_builder_that_others_kill_accuses_nobody(scratch):
    process = slow(scratch, *FAST)
    killed(process, "kforge-runner\0build", 1)
    result = finish(process)
    if result.out:
        assert result.json()["state"] == "correct", result
    else:
        assert result.status in (EXIT["io"], EXIT["unavailable"]), result
        assert result.err.startswith("kforge: "), result


def test_a_python_that_dies_accuses_nobody(scratch):
    """The live baseline: started again once, then told."""
    (scratch / "good.c").write_text((ROOT / "tests" / "data" / "cli" /
                                     "good.c").read_text())
    words = ["verify", PROBLEM, scratch / "good.c", "--json"]
    assert kforge(*words, *FAST).status == 0    # the bundle is there
    process = start(*words)
    killed(process, "reference.py", 1)
    result = finish(process)
    if result.out:
        assert result.json()["state"] == "correct", result
    else:
        assert result.status in (EXIT["io"], EXIT["unavailable"],
                                 EXIT["timeout"]), result


def test_a_device_in_quarantine_judges_nothing(scratch):
    cache = scratch / "cache"
    words = ["run", C_PROBLEM, "--model", script_model(scratch, [
        reply("good.c")]), "-n", "1", "--out", scratch / "run", *FAST,
        "--cache", cache, "--json"]
    before = kforge("verify", C_PROBLEM, ROOT / "tests" / "data" / "cli" /
                    "good.c", *FAST, "--cache", cache)
    assert before.status == 0, before
    note = cache / "devices" / f"{os.uname().nodename}-cpu-0.quarantine"
    assert note.parent.is_dir()
    note.write_text('{"reason": "it smokes", "at": "noon"}')
    is_ours(kforge(*words), "unavailable", "quarantine", "it smokes",
            "doctor --release cpu:0")
    # It had not begun: nobody was asked, and nothing is left.
    assert asked(scratch) == [] and not (scratch / "run").exists()
    note.unlink()
    result = kforge(*words)
    assert result.status == 0 and asked(scratch) == ["1"], result


def small_disk(folder, size):
    """Words before a command for which the folder is a disk that small."""
    return ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size={size} none "
            f'{folder} && exec "$@"', "sh"]


def test_a_full_disk_accuses_nobody(scratch):
    """From where not even the source has room to where all has."""
    words, _ = own_bundle(scratch)
    disk = scratch / "disk"
    disk.mkdir()
    full = 0
    for size in ("8k", "16k", "24k", "32k", "48k", "512k"):
        done = subprocess.run(
            [*small_disk(disk, size), KFORGE, *map(str, words)],
            env=environment({"TMPDIR": str(disk)}), text=True, check=False,
            capture_output=True, timeout=60)
        result = Result(done.returncode, done.stdout, done.stderr)
        if result.out:
            assert result.json()["state"] == "correct", (size, result)
            continue
        assert result.status in (EXIT["io"], EXIT["unavailable"]), result
        assert "No space left on device" in result.err, (size, result)
        full += 1
    assert 2 < full < 6, full


if not shutil.which("unshare") or subprocess.run(
        [*small_disk("/mnt", "4k"), "true"], check=False,
        capture_output=True).returncode:
    test_a_full_disk_accuses_nobody.skip = "nothing can be mounted here"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
