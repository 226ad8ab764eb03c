#!/usr/bin/env python3
"""A device may be called by its name, or the beginning of its UUID: looked up
where it is, and what is kept has its number."""

import json
import os
import sys

from harness import (BUILD, C_PROBLEM, DATA, EXIT, ROOT, asked, finish, kforge,
                     reply, run_tests, script_model, signal, start, wait_for)

# Two devices: "Stand-in 0" and "Stand-in 1", whose UUIDs are all a0 and a1.
STANDIN = {"KFORGE_CUDA_DRIVER":
           str(BUILD / "tests" / "standin" / "libcuda.so.1")}
NULL_NAME = "null:DOES NOTHING"     # "a device that does nothing"
AXPBY = str(ROOT / "problems" / "c" / "axpby")
PARTS = [DATA / "two_part" / name for name in ("kernels.cl", "host.c")]
FAST = ("--baseline", "none", "--calls", "20")


def prompt(platform, *more, **env):
    return kforge("prompt", C_PROBLEM, "--platform", platform, *more,
                  env={**STANDIN, **env})


def unlike_devices():
    """What has PoCL show the processor in two ways, of which the second can be
    judged on; and alone; and its name. None if there is no such PoCL."""
    for other, word in (("basic", "pthread"), ("cpu-minimal", "cpu")):
        env = {"POCL_DEVICES": f"{word} {other}"}
        listed = kforge("platforms", "--json", env=env).json()
        names = [d["name"] for p in listed if p["name"] == "opencl"
                 for d in p["devices"]]
        if len(names) == 2 and names[0].startswith(f"{other}-"):
            return env, {"POCL_DEVICES": word}, names[1].split(",")[0]
    return None


UNLIKE = unlike_devices()


def test_a_name_means_the_device_that_has_it(_):
    for name in ("stand-in 1", "IN 1", "GPU-a1a1", "gpu-A1", "1"):
        result = prompt(f"cuda:{name}")
        assert result.status == 0, (name, result)
        assert "Stand-in 1" in result.out, (name, result)
        assert "Stand-in 0" not in result.out, (name, result)


def test_uuids_are_listed(_):
    listed = kforge("platforms", "--json", env=STANDIN).json()
    found = [d["hardware"] for p in listed if p["name"] == "cuda"
             for d in p["devices"]]
    assert [h[:8] for h in found] == ["GPU-a0a0", "GPU-a1a1"], found
    shown = kforge("platforms", "-v", env=STANDIN).out
    assert all(f"      hardware: {h}\n" in shown for h in found), shown


def test_one_that_is_hidden_is_not_meant(_):
    result = prompt("cuda:stand-in", CUDA_VISIBLE_DEVICES="1")
    assert result.status == 0 and "Stand-in 1" in result.out, result
    result = prompt("cuda:stand-in 0", CUDA_VISIBLE_DEVICES="1")
    assert result.status == EXIT["unavailable"], result
    assert "only cuda:1 (Stand-in 1)" in result.err, result


def test_none_or_several_are_one_sentence(_):
    both = "cuda:0 (Stand-in 0), cuda:1 (Stand-in 1)"
    for name, code, sentence in (
            ("stand", "unavailable", "platform cuda has several devices that "
             f"'stand' may be: {both}; say more of the name, or the number"),
            ("h200", "unavailable",
             f"no device here with 'h200' in its name, only {both}"),
            ("GPU-b", "unavailable", f"'GPU-b' in its name, only {both}"),
            ("7", "unavailable", "no number 7 here, only cuda:0, cuda:1"),
            ("", "input", "must be the number of a device, or its name"),
            ("-1", "input", "must be the number of a device, or its name")):
        result = prompt(f"cuda:{name}")
        assert result.status == EXIT[code], (name, result)
        assert sentence in result.err, (name, result)
        assert result.err.count("\n") == 1, (name, result)


def test_one_is_released_by_its_name(scratch):
    def release(name):
        return kforge("doctor", "--release", name, "--cache",
                      str(scratch / "cache"), env=STANDIN)

    assert release("cuda:1").status == 0
    ill = scratch / "cache" / "devices" / f"{os.uname().nodename}-cuda-1"
    ill.with_name(f"{ill.name}.quarantine").write_text(
        '{"device": "cuda:1", "reason": "a test", "at": "now"}')
    result = release("cuda:stand-in 0")
    assert "device cuda:0 is not in quarantine" in result.out, result
    result = release("cuda:stand-in 1")
    assert "device cuda:1 is out of quarantine" in result.out, result
    assert "device cuda:1 is not in" in release("cuda:1").out
    result = release("cuda:h200")
    assert result.status == EXIT["unavailable"], result
    assert "no device here with 'h200' in its name" in result.err, result


def test_kforge_json_may_name_one(scratch):
    (scratch / "kforge.json").write_text(json.dumps(
        {"platform": "cuda:stand-in 1"}))
    result = kforge("prompt", C_PROBLEM, cwd=scratch, env=STANDIN)
    assert result.status == 0 and "Stand-in 1" in result.out, result


def run_of(scratch, platform, programs, *more):
    model = script_model(scratch, [reply(p) for p in programs])
    return ("run", C_PROBLEM, "--model", model, "-n", str(len(programs)),
            "--out", scratch / "run", "--platform", platform, *FAST, *more)


def test_what_a_run_keeps_has_the_number(scratch):
    result = kforge(*run_of(scratch, NULL_NAME, ["good.c"]), "--json")
    assert result.status == EXIT["not_all"], result     # it computes nothing
    work, = (scratch / "run" / "work").iterdir()
    job = json.loads((work / "job.json").read_text())
    assert job["platform"] == "null:0", job
    told = json.loads((work / "result.json").read_text())
    assert told["device"]["id"] == told["verdict"]["device_id"] == "null:0"
    assert told["platform"] == "null", told


def test_another_machines_device_is_looked_up_there(scratch):
    """Its name travels as it was given, and says nothing here."""
    away = scratch / "away"
    run = start(*run_of(scratch, "null:nothing", ["good.c"]), "--executor",
                f"folder:{away}")
    away.mkdir(exist_ok=True)
    judge = start("judge", away, "--watch")
    assert finish(run).status == EXIT["not_all"]
    judge.send_signal(signal.SIGINT)
    assert finish(judge).status == EXIT["canceled"]
    jobs = [json.loads(path.read_text()) for path in away.glob("*/job.json")]
    assert [j["platform"] for j in jobs] == ["null:nothing"] * 2, jobs
    told = [json.loads(path.read_text())["device"]["id"]
            for path in away.glob("*/result.json")]
    assert told == ["null:0"] * 2, told


def test_a_name_that_the_other_machine_lacks_stops_the_run(scratch):
    """As trouble that can pass, so the problem is not left out."""
    away = scratch / "away"
    run = start(*run_of(scratch, "null:abacus", ["good.c"]), "--executor",
                f"folder:{away}")
    wait_for(lambda: list(away.glob("about-*/job.json")), "a question")
    assert kforge("judge", away).status == EXIT["not_all"]
    result = finish(run)
    assert result.status == EXIT["unavailable"], result
    assert "no device here with 'abacus' in its name, only null:0 (a device " \
        "that does nothing)" in result.err, result


# --- PoCL's processor, in two ways -------------------------------------------


def opencl_jobs(folder, platform):
    for i in range(2):
        job = folder / f"job{i}"
        job.mkdir(parents=True)
        for path in PARTS:
            (job / path.name).write_text(f"{path.read_text()}\n/* {i} */\n")
        (job / "job.json").write_text(json.dumps({
            "kforge_job": 1, "problem": AXPBY, "set": ["COUNT=10007"],
            "files": [p.name for p in PARTS], "platform": platform,
            "calls": 20, "baseline": "none"}))
    return folder


def device_of(job):
    result = json.loads((job / "result.json").read_text())
    assert result["verdict"]["state"] == "correct", result
    return result["device"]["id"]


def test_jobs_and_lists_may_name_devices(scratch):
    both, alone, name = UNLIKE
    named = opencl_jobs(scratch / "named", f"opencl:{name}")
    run = kforge("judge", named, env=both)
    assert run.status == 0, run
    assert [device_of(j) for j in named.iterdir()] == ["opencl:1"] * 2
    driver = "opencl:portable"          # PoCL's name, of both
    run = kforge("prompt", C_PROBLEM, "--platform", driver, env=both)
    assert run.status == EXIT["unavailable"], run
    assert "devices that 'portable' may be: opencl:0 (" in run.err, run
    run = kforge("prompt", C_PROBLEM, "--platform", driver, env=alone)
    assert run.status == 0 and name in run.out, run
    shared = opencl_jobs(scratch / "shared", "opencl")
    run = kforge("judge", shared, "--devices", name.upper(), env=both)
    assert run.status == 0, run
    assert [device_of(j) for j in shared.iterdir()] == ["opencl:1"] * 2
    for devices, code, sentence in (
            (f"1,{name}", "input", "is among the devices twice"),
            ("1,abacus", "unavailable", f"opencl:1 ({name}")):
        run = kforge("judge", shared, "--again", "--devices", devices,
                     env=both)
        assert run.status == EXIT[code] and sentence in run.err, run


def test_a_run_finds_its_device_where_the_order_has_changed(scratch):
    """What it has stored is the name."""
    both, alone, name = UNLIKE
    text = "One pass.\n\n" + "\n".join(
        f"```{language} {path.name}\n{path.read_text()}```"
        for language, path in zip(("opencl", "c"), PARTS))
    model = script_model(scratch, [text, text.replace("\n```", "\n\n```")])
    waits = f"; [ $KFORGE_ATTEMPT = 1 -o -e {scratch}/go ] || sleep 60"
    run = start("run", AXPBY, "--set", "COUNT=10007", "--model", model + waits,
                "-n", "2", "--out", scratch / "run", "--platform",
                f"opencl:{name}", *FAST, env=alone)
    wait_for(lambda: asked(scratch) == ["1", "2"], "the second question")
    run.send_signal(signal.SIGINT)
    assert finish(run).status == EXIT["canceled"]
    work = scratch / "run" / "work"
    assert device_of(work / "axpby-1") == "opencl:0"
    (scratch / "go").touch()
    result = kforge("resume", scratch / "run", env=both)
    assert result.status == 0, result
    assert device_of(work / "axpby-2") == "opencl:1"
    told = [json.loads((work / f"axpby-{i}" / "result.json").read_text())
            for i in (1, 2)]
    assert told[0]["device"]["name"] == told[1]["device"]["name"], told


if not UNLIKE and "opencl" not in os.environ.get("KF_MUST_RUN", ""):
    for test in (test_jobs_and_lists_may_name_devices,
                 test_a_run_finds_its_device_where_the_order_has_changed):
        test.skip = "no OpenCL that shows the processor in two ways"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
