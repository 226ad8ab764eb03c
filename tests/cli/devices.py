#!/usr/bin/env python3
"""Several devices of one platform: which of them a job is judged on."""

import collections
import json
import os
import shutil
import signal
import sys

from harness import (DATA, EXIT, ROOT, finish, kforge, run_tests, start,
                     wait_for)

PROBLEM = str(ROOT / "problems" / "c" / "axpby")
FILES = {name: (DATA / "two_part" / name).read_text()
         for name in ("kernels.cl", "host.c")}
JOB = {"kforge_job": 1, "problem": PROBLEM, "files": list(FILES), "calls": 20,
       "platform": "opencl", "set": ["COUNT=10007"], "baseline": "none"}


def two_devices():
    """What has PoCL show the processor twice; None if there is no PoCL."""
    for name in ("pthread", "cpu"):     # its name until version 4, and since
        env = {"POCL_DEVICES": f"{name} {name}"}
        listed = kforge("platforms", "--json", env=env).json()
        devices = [d["id"] for p in listed if p["name"] == "opencl"
                   for d in p["devices"]]
        if devices[:2] == ["opencl:0", "opencl:1"]:
            return env
    return None


TWO = two_devices()


def jobs(scratch, count, **members):
    """Folders of jobs, whose programs differ."""
    for i in range(count):
        folder = scratch / "jobs" / f"job{i}"
        folder.mkdir(parents=True)
        for name, text in FILES.items():
            (folder / name).write_text(f"{text}\n/* {i} */\n")
        (folder / "job.json").write_text(json.dumps({**JOB, **members}))
    return scratch / "jobs"


def judged_on(folder):
    """How many jobs were judged, with a right verdict, on which device."""
    results = [json.loads(path.read_text())
               for path in folder.glob("*/result.json")]
    assert all(r["verdict"]["state"] == "correct" for r in results), results
    return collections.Counter(r["device"]["id"] for r in results)


def judge(*words, **more):
    return kforge("judge", *words, env=TWO, **more)


def test_jobs_are_shared_among_devices(scratch):
    folder = jobs(scratch, 6)
    run = judge(folder, "--devices", "all", "--jobs", 2)
    assert run.status == 0, run
    on = judged_on(folder)
    assert set(on) == {"opencl:0", "opencl:1"} and sum(on.values()) == 6, on


def test_by_itself_a_job_is_judged_on_the_first(scratch):
    folder = jobs(scratch, 3)
    run = judge(folder, "--jobs", 2)
    assert run.status == 0, run
    assert judged_on(folder) == {"opencl:0": 3}


def test_a_job_that_names_its_device_is_judged_there(scratch):
    folder = jobs(scratch, 2, platform="opencl:1")
    run = judge(folder, "--devices", "0")
    assert run.status == 0, run
    assert "--devices 0 concerns none of these jobs" in run.err, run
    assert judged_on(folder) == {"opencl:1": 2}


def test_a_device_in_quarantine_is_passed_over(scratch):
    folder, cache = jobs(scratch, 4), scratch / "cache"
    devices = cache / "devices"
    devices.mkdir(parents=True)
    ill = [devices / f"{os.uname().nodename}-opencl-{i}.quarantine"
           for i in (0, 1)]
    ill[0].write_text('{"reason": "it computes nonsense"}')
    words = (folder, "--devices", "0,1", "--jobs", 2, "--cache", cache)
    run = judge(*words)
    assert run.status == 0, run
    assert judged_on(folder) == {"opencl:1": 4}
    ill[1].write_text('{"reason": "it computes nonsense"}')
    run = judge(*words, "--again")
    assert run.status == EXIT["not_all"], run
    assert "in quarantine" in run.err and "nonsense" in run.err, run


def test_lines_are_shared_too(scratch):
    lines = [json.dumps({"id": i, "files": {
        name: f"{text}\n/* {i} */\n" for name, text in FILES.items()}})
             for i in range(6)]
    run = judge("--jsonl", PROBLEM, "--platform", "opencl", "--devices", "1,0",
                "--jobs", 2, "--set", "COUNT=10007", "--calls", 20,
                "--baseline", "none", "--cache", scratch / "cache",
                stdin="\n".join(lines) + "\n")
    assert run.status == 0, run
    answers = [json.loads(line) for line in run.out.splitlines()]
    assert sorted(a["id"] for a in answers) == list(range(6)), answers
    assert all(a["state"] == "correct" for a in answers), answers
    assert {a["device_id"] for a in answers} == {"opencl:0", "opencl:1"}


def test_jobs_of_other_platforms_are_not_concerned(scratch):
    """Whatever comes first: one that no list is about, or that is no good."""
    program = ROOT / "tests" / "data" / "programs" / "axpby" / "program.c"
    folder = jobs(scratch, 4)
    other = {"files": ["program.c"], "platform": "cpu"}
    for name, members in (("a", other), ("b", {**other, "platform": "none"}),
                          ("c", {"platform": "opencl:1"})):
        (folder / name).mkdir()
        for text, file in ((program.read_text(), "program.c"),
                           *((FILES[f], f) for f in FILES)):
            (folder / name / file).write_text(text)
        (folder / name / "job.json").write_text(json.dumps({**JOB, **members}))
    run = judge(folder, "--devices", "0,1", "--jobs", 2)
    assert run.status == EXIT["not_all"], run
    on = judged_on(folder)
    assert on["cpu:0"] == 1 and on["opencl:0"] and on["opencl:1"] > 1, on
    assert sum(on.values()) == 6, on
    assert json.loads((folder / "b" / "error.json").read_text())


def test_a_platform_of_ones_own_stays_it(scratch):
    """Its devices have the names that the driver gives them."""
    mine = scratch / "platforms" / "mine"
    shutil.copytree(ROOT / "platforms" / "opencl", mine)
    text = json.loads((mine / "platform.json").read_text())
    (mine / "platform.json").write_text(json.dumps({**text, "name": "mine"}))
    folder = jobs(scratch, 4, platform="mine")
    run = kforge("judge", folder, "--devices", "all", "--jobs", 2, env={
        **TWO, "KFORGE_PLATFORMS": str(scratch / "platforms")})
    assert run.status == 0, run
    assert set(judged_on(folder)) == {"opencl:0", "opencl:1"}
    names = {json.loads(path.read_text())["platform"]
             for path in folder.glob("*/result.json")}
    assert names == {"mine"}, names


def test_jobs_that_appear_are_shared_too(scratch):
    (scratch / "jobs").mkdir()
    words = ("judge", scratch / "jobs", "--watch", "--devices", "all")
    refused = judge(*words[1:])
    assert refused.status == EXIT["input"], refused
    assert "say of which platform with several they are" in refused.err
    process = start(*words, "--jobs", 2, "--platform", "opencl", env=TWO)
    folder = jobs(scratch / "jobs", 4)
    wait_for(lambda: len(list(folder.glob("*/result.json"))) == 4, "results")
    process.send_signal(signal.SIGINT)
    assert finish(process).status == EXIT["canceled"]
    assert set(judged_on(folder)) == {"opencl:0", "opencl:1"}


def test_devices_without_work_are_told_of(scratch):
    run = judge(jobs(scratch, 2), "--devices", "0,1", "--jobs", 1)
    assert run.status == 0, run
    assert "with 1 at once only 1 of the 2 devices work" in run.err, run


def test_wrong_lists_are_one_sentence(scratch):
    folder = jobs(scratch, 1)
    for words, code, sentence in (
            (("--devices", "0,0"), "input", "number 0 is there twice"),
            (("--devices", "0,-1"), "input",
             "give numbers or names, as in 0,2,h200"),
            (("--devices", "0,7"), "unavailable",
             "platform opencl has no number 7 here, only opencl:0, opencl:1"),
            (("--jsonl", "--devices", "all"), "input",
             "--devices all: say of which platform with several"),
            (("--devices", "all", "--platform", "opencl:1"), "input",
             "--devices all and --platform opencl:1 both say")):
        run = judge(*([] if "--jsonl" in words else [folder]), *words)
        assert run.status == EXIT[code], run
        assert sentence in run.err and run.err.count("\n") == 1, run
        assert not list(folder.glob("*/result.json")), run


if not TWO and "opencl" not in os.environ.get("KF_MUST_RUN", ""):
    for test in [n for n in dir() if n.startswith("test_")]:
        globals()[test].skip = "no OpenCL that shows the processor twice"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
