#!/usr/bin/env python3
"""kforge run --executor folder:DIR: another process judges."""

import json
import sys

from harness import (C_PROBLEM, EXIT, asked, finish, kforge, reply, run_tests,
                     script_model, signal, start, wait_for)


def begin(scratch, programs, *more):
    model = script_model(scratch, [reply(p) for p in programs])
    return start("run", C_PROBLEM, "--model", model, "-n", str(len(programs)),
                 "--out", scratch / "run", "--executor",
                 f"folder:{scratch / 'away'}", "--baseline", "none",
                 "--calls", "20", "--json", *more)


def watcher(scratch):
    (scratch / "away").mkdir(exist_ok=True)
    return start("judge", scratch / "away", "--watch")


def stop(process):
    process.send_signal(signal.SIGINT)
    return finish(process)


def test_a_run_goes_on_when_results_appear(scratch):
    run = begin(scratch, ["broken.c", "wrong.c", "good.c"])
    judge = watcher(scratch)
    result = finish(run)
    assert result.status == 0, result
    states = [a["state"] for a in result.json()["problems"][0]["attempts"]]
    assert states == ["compilation_failure", "mismatch", "correct"], result
    assert stop(judge).status == EXIT["canceled"]
    # The verdict is kept as the other side told it.
    path, = (scratch / "away").glob("scale_shift-3-*/result.json")
    told = json.loads(path.read_text())["verdict"]
    kept = kforge("show", scratch / "run", "3", "--only", "verdict").json()
    for member in ("state", "seed", "artefact", "took", "judge", "device"):
        assert kept[member] == told[member], (member, kept)
    # Its prompts know the device and the shapes.
    prompt = kforge("show", scratch / "run", "1", "--only", "prompt").out
    assert "measured" in prompt and "(64, 96)" in prompt, prompt


def test_a_run_that_was_stopped_takes_what_came_meanwhile(scratch):
    run = begin(scratch, ["good.c"])
    wait_for(lambda: list((scratch / "away").glob("about-*/job.json")),
             "a question about the problem")
    assert kforge("judge", scratch / "away").status == 0
    wait_for(lambda: list((scratch / "away").glob("scale_shift-1-*/job.json")),
             "a job")
    assert stop(run).status == EXIT["canceled"]
    assert kforge("judge", scratch / "away").status == 0
    result = kforge("resume", scratch / "run", "--json")
    assert result.status == 0, result
    assert asked(scratch) == ["1"]


def test_the_best_are_judged_again_as_jobs_with_another_seed(scratch):
    run = begin(scratch, ["good.c"], "--rejudge", "3", "--seed", "7")
    judge = watcher(scratch)
    result = finish(run)
    assert stop(judge).status == EXIT["canceled"]
    assert result.status == 0, result
    assert "judged again, alone" in result.err, result
    path, = (scratch / "away").glob("scale_shift-again-1-*/result.json")
    told = json.loads(path.read_text())["verdict"]
    first, = (scratch / "away").glob("scale_shift-1-*/job.json")
    again = json.loads((path.parent / "job.json").read_text())
    assert again["seed"] != json.loads(first.read_text())["seed"], again
    kept = kforge("show", scratch / "run", "1", "--json").json()
    assert kept["judged_again"]["seed"] == told["seed"] == again["seed"]
    assert kept["judged_again"]["fresh_data"] is False, kept


def test_what_was_judged_elsewhere_is_exported_where_its_device_is(scratch):
    run = begin(scratch, ["good.c"])
    judge = watcher(scratch)
    assert finish(run).status == 0
    stop(judge)
    result = kforge("export", scratch / "run", "--as", "c", "-o",
                    scratch / "out")
    assert result.status == 0, result
    assert "attempt 1 of run" in result.out, result
    assert list((scratch / "out").glob("lib*.so")), result


def test_an_export_without_the_device_says_where_to_go(scratch):
    run = begin(scratch, ["good.c"], "--platform", "cuda")
    wait_for(lambda: list((scratch / "away").glob("about-*/job.json")),
             "a question about the problem")
    stop(run)
    result = kforge("export", scratch / "run", "--as", "c", "-o",
                    scratch / "out", env={"KFORGE_CUDA_DRIVER": "/nowhere"})
    assert result.status == EXIT["unavailable"], result
    assert "judged on another machine" in result.err, result
    assert "copy the run's folder" in result.err, result


def test_a_job_that_cannot_be_judged_stops_the_run_with_its_reason(scratch):
    run = begin(scratch, ["good.c"], "--platform", "null:7")
    wait_for(lambda: list((scratch / "away").glob("about-*/job.json")),
             "a question about the problem")
    assert kforge("judge", scratch / "away").status == EXIT["not_all"]
    result = finish(run)
    assert result.status == EXIT["unavailable"], result
    assert "no number 7" in result.err and "about-scale_shift" in result.err
    assert asked(scratch) == []


def test_the_judging_machine_profiles_in_the_same_visit(scratch):
    run = begin(scratch, ["good.c", "good.c"], "--profile", "threads",
                "--advisor", "none")
    judge = watcher(scratch)
    result = finish(run)
    assert stop(judge).status == EXIT["canceled"]
    assert result.status == 0, result
    path, = (scratch / "away").glob("scale_shift-1-*/result.json")
    told = json.loads(path.read_text())
    assert told["verdict"]["profile"]["source"], told
    assert (path.parent / "profile").is_dir()
    about, = (scratch / "away").glob("about-*/result.json")
    assert json.loads(about.read_text())["device"]["ceilings"]["bytes_per_s"]
    prompt = kforge("show", scratch / "run", "2", "--only", "prompt").out
    assert "## Its profile" in prompt and "cpu_time" in prompt, prompt
    assert "Its bytes alone take" in prompt, prompt
    job = json.loads((path.parent / "job.json").read_text())
    assert job["profile"] == "threads", job


def test_what_another_version_told_of_a_problem_is_not_taken(scratch):
    run = begin(scratch, ["good.c"])
    judge = watcher(scratch)
    assert finish(run).status == 0
    stop(judge)
    about, = (scratch / "away").glob("about-*/result.json")
    told = json.loads(about.read_text())
    told["about"]["bundle"]["format"] += 1
    about.write_text(json.dumps(told))
    (scratch / "run").rename(scratch / "before")
    result = finish(begin(scratch, ["good.c"]))
    assert result.status == EXIT["input"], result
    assert "about-scale_shift-*/result.json" in result.err, result


def test_a_job_brings_no_command_of_its_own(scratch):
    folder = scratch / "job"
    folder.mkdir()
    (folder / "program.c").write_text("")
    (folder / "job.json").write_text(json.dumps({
        "kforge_job": 1, "problem": str(C_PROBLEM), "files": ["program.c"],
        "profile": "command:touch /tmp/x {run}"}))
    result = kforge("judge", folder)
    assert result.status == EXIT["not_all"], result
    assert '"profile" wants "auto" or the name' in result.err, result


def test_executors_are_named(scratch):
    for wrong in ("folder:", "slurm", "away"):
        result = kforge("run", C_PROBLEM, "--model", "exec:true", "--executor",
                        wrong, "--out", scratch / "run")
        assert result.status == EXIT["input"] and wrong in result.err, result
        assert "folder:DIR" in result.err, result


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
