#!/usr/bin/env python3
"""kforge judge: folders of jobs and lines of JSON; kforge build."""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys

from harness import (EXIT, KFORGE, ROOT, environment, finish, kforge,
                     run_tests, start, wait_for)

PROBLEM = str(ROOT / "problems" / "c" / "axpby")
QUICK = {"size": "test", "stop_after": "values", "baseline": "none"}
LINES = ("judge", "--jsonl", PROBLEM, "--size", "test", "--stop-after",
         "values", "--baseline", "none")
BODY = {"good": "", "wrong": "z[i] += 1;", "slow": "for (;;) ;",
        "broken": "this is not C"}


def program(name="good"):
    return f"""#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{{
	float alpha = (float)c->scalar[0].f, beta = (float)c->scalar[1].f;
	const float *x = c->in[0].data, *y = c->in[1].data;
	float *z = c->out[0].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {{
		z[i] = alpha * x[i] + beta * y[i];
		{BODY[name]}
	}}
	return 0;
}}
"""


def job(folder, name="good", **members):
    folder.mkdir(parents=True)
    (folder / "program.c").write_text(program(name))
    text = {"kforge_job": 1, "problem": PROBLEM, "files": ["program.c"],
            **QUICK, **members}
    if name == "slow":
        text["limits"] = {"call_s": 600}
    (folder / "job.json").write_text(json.dumps(text))
    return folder


def result(folder):
    return json.loads((folder / "result.json").read_text())


def ends(run):
    return {pathlib.Path(line["folder"]).name: line["end"]
            for line in map(json.loads, run.out.splitlines())}


# --- folders -----------------------------------------------------------------

def test_folders_are_judged_and_told_in_a_table(scratch):
    jobs = {name: job(scratch / "jobs" / name, name)
            for name in ("good", "wrong", "broken")}
    run = kforge("judge", scratch / "jobs", "--jobs", 2)
    assert run.status == 0, run
    states = {name: result(folder)["verdict"]["state"]
              for name, folder in jobs.items()}
    assert states == {"good": "correct", "wrong": "mismatch",
                      "broken": "compilation_failure"}, states
    for state in states.values():
        assert state in run.out, run
    assert "error" in (jobs["broken"] / "log.txt").read_text()
    assert not (jobs["good"] / "work").exists()


def test_a_result_names_its_judge(scratch):
    folder = job(scratch / "one", seed=5, calls=40, stop_after="time")
    assert kforge("judge", folder).status == 0
    whole = result(folder)
    verdict = whole["verdict"]
    assert whole["kforge_result"] == 1 and whole["problem"] == "axpby", whole
    assert whole["device"]["name"] and whole["machine"]["name"], whole
    assert verdict["judge"]["version"] and verdict["judge"]["hash"], whole
    assert verdict["rules"] == "kforge" and verdict["seed"] == 5, whole
    assert verdict["sandbox"] and verdict["compiler"], whole
    assert verdict["calls"] == 40 and verdict["time_ns"] > 0, whole


def test_a_job_with_a_result_is_left_alone(scratch):
    folder = job(scratch / "one")
    assert ends(kforge("judge", folder, "--json")) == {"one": "done"}
    before = os.stat(folder / "result.json").st_mtime_ns
    assert ends(kforge("judge", folder, "--json")) == {"one": "had_result"}
    assert os.stat(folder / "result.json").st_mtime_ns == before


def copied_problem(folder):
    """A problem in the folder of its job, so that it can be changed there."""
    shutil.copytree(PROBLEM, folder / "problem" / "axpby")
    return folder / "problem" / "axpby" / "reference.c"


def test_a_result_is_that_of_its_job_alone(scratch):
    folder = job(scratch / "one", problem="problem/axpby", seed=5)
    reference = copied_problem(folder)
    assert ends(kforge("judge", folder, "--json")) == {"one": "done"}
    seed = json.loads((folder / "job.json").read_text())
    del seed["seed"]

    def judged_again():
        first = ends(kforge("judge", folder, "--json"))
        second = ends(kforge("judge", folder, "--json"))
        assert second == {"one": "had_result"}, second
        return first == {"one": "done"}

    assert not judged_again()
    (folder / "program.c").write_text(program("wrong"))
    assert judged_again()
    assert result(folder)["verdict"]["state"] == "mismatch"
    (folder / "job.json").write_text(json.dumps(seed))
    assert judged_again()
    assert result(folder)["verdict"]["seed"] != 5	# another job's
    with open(reference, "a", encoding="utf-8") as file:
        file.write("/* changed */\n")
    assert judged_again()


def test_a_result_from_elsewhere_is_not_believed(scratch):
    good, wrong = (job(scratch / "jobs" / name, name)
                   for name in ("good", "wrong"))
    kforge("judge", good)
    shutil.copy(good / "result.json", wrong)
    run = kforge("judge", scratch / "jobs", "--json")
    assert ends(run) == {"good": "had_result", "wrong": "done"}, run
    assert result(wrong)["verdict"]["state"] == "mismatch"


def test_a_job_cannot_weaken_the_sandbox(scratch):
    """Where there is only the weak one, the command line must allow it."""
    folder = job(scratch / "one", sandbox="weak")
    alone = {"KFORGE_BWRAP": "/none"}
    run = kforge("judge", folder, env=alone)
    assert run.status == EXIT["not_all"] and "KFORGE_BWRAP" in run.err, run
    line = request(1, sandbox="weak")
    got = answers(kforge(*LINES, env=alone, stdin=line))[0]
    assert got["error"]["kind"] == "unavailable", got
    got = answers(kforge(*LINES, "--sandbox", "weak", env=alone,
                         stdin=line))[0]
    assert got["state"] == "correct" and got["sandbox"] == "weak", got


def test_what_is_no_file_is_refused_in_a_sentence(scratch):
    other = job(scratch / "other")
    kforge("judge", other)
    for name in ("job.json", "program.c", "result.json"):
        for kind, make in (("link", lambda at, to: at.symlink_to(to)),
                           ("file", lambda at, _: os.mkfifo(at))):
            folder = job(scratch / f"{kind}-{name}")
            (folder / name).unlink(missing_ok=True)
            make(folder / name, other / name)
            run = kforge("judge", folder, timeout=30)
            assert run.status == EXIT["not_all"], (kind, name, run)
            told = [line for line in run.err.splitlines()
                    if f"{folder / name} is " in line and kind in line]
            assert len(told) == 1, (kind, name, run)


def test_a_name_that_is_not_utf8_is_refused_alone(scratch):
    good = job(scratch / "jobs" / "good")
    shutil.copytree(good, scratch / "jobs" / os.fsdecode(b"b\xffd"))
    run = kforge("judge", scratch / "jobs")
    assert run.status == EXIT["not_all"], run
    told = [line for line in run.err.splitlines() if "not UTF-8" in line]
    assert len(told) == 1 and "rename it" in told[0], run
    assert result(good)["verdict"]["state"] == "correct"
    run = kforge("judge", scratch / "jobs", "--json")
    got = sorted(json.loads(line)["end"] for line in run.out.splitlines())
    assert got == ["had_result", "trouble"], run


def test_again_repeats_the_order_and_the_verdict(scratch):
    folder = job(scratch / "one", "wrong")
    kforge("judge", folder)
    first = result(folder)["verdict"]
    assert ends(kforge("judge", folder, "--again", "--json")) == {
        "one": "done"}
    second = result(folder)["verdict"]
    assert first["seed"] == second["seed"], (first, second)
    assert first["evidence"]["order"] == second["evidence"]["order"]
    assert first["text"] == second["text"] and first["state"] == "mismatch"


def test_trouble_is_noted_and_tried_again(scratch):
    folder = job(scratch / "jobs" / "one", problem="nowhere.py")
    good = job(scratch / "jobs" / "two")
    run = kforge("judge", scratch / "jobs")
    assert run.status == EXIT["not_all"] and "nowhere.py" in run.err, run
    error = json.loads((folder / "error.json").read_text())
    assert error["kind"] == "input" and "nowhere.py" in error["text"], error
    assert not (folder / "result.json").exists()
    assert result(good)["verdict"]["state"] == "correct"
    text = json.loads((folder / "job.json").read_text())
    text["problem"] = PROBLEM
    (folder / "job.json").write_text(json.dumps(text))
    assert kforge("judge", scratch / "jobs").status == 0
    assert not (folder / "error.json").exists()
    assert result(folder)["verdict"]["state"] == "correct"


def test_ctrl_c_leaves_nothing_half_and_the_rest_is_done_later(scratch):
    done = job(scratch / "jobs" / "a")
    slow = job(scratch / "jobs" / "b", "slow")
    rest = job(scratch / "jobs" / "c")
    process = start("judge", scratch / "jobs", "--jobs", 1)
    wait_for(lambda: (slow / "work" / "judge").exists(), "the slow job")
    process.send_signal(signal.SIGINT)
    run = finish(process)
    assert run.status == EXIT["canceled"] and "1 of 3" in run.err, run
    rows = {line.split()[0][-1]: line for line in run.out.splitlines()[1:]}
    for name in "bc":       # nothing is wrong with the one under way
        assert "not judged" in rows[name], run
    assert (done / "result.json").exists()
    for folder in (slow, rest):
        names = {path.name for path in folder.iterdir()}
        assert names <= {"job.json", "program.c", "lock"}, names
    (slow / "program.c").write_text(program())
    run = kforge("judge", scratch / "jobs", "--json")
    assert ends(run) == {"a": "had_result", "b": "done", "c": "done"}, run


def test_two_judges_share_the_work(scratch):
    names = [f"job{i}" for i in range(6)]
    for name in names:
        job(scratch / "jobs" / name)
    both = [start("judge", scratch / "jobs", "--jobs", 1, "--json")
            for _ in range(2)]
    runs = [finish(process) for process in both]
    assert all(run.status == 0 for run in runs), runs
    for name in names:
        told = sorted(ends(run)[name] for run in runs)
        assert told == ["done", "had_result"], (name, runs)


def test_a_worker_goes_on_with_its_problem(scratch):
    other = str(ROOT / "problems" / "c" / "rms_norm_c")
    for i, problem in enumerate((PROBLEM, other, PROBLEM, other)):
        job(scratch / "jobs" / f"job{i}", problem=problem)
    run = kforge("judge", scratch / "jobs", "--jobs", 1, "--json")
    assert list(ends(run)) == ["job0", "job2", "job1", "job3"], run


def test_no_job_waits_for_all_of_another_problem(scratch):
    other = str(ROOT / "problems" / "c" / "rms_norm_c")
    for i in range(70):
        job(scratch / "jobs" / f"job{i:02}", "broken",
            problem=other if i == 1 else PROBLEM)
    run = kforge("judge", scratch / "jobs", "--jobs", 1, "--json")
    begun = list(ends(run))
    assert len(begun) == 70 and begun.index("job01") == 65, begun


def test_a_job_that_another_holds_is_waited_for(scratch):
    held = job(scratch / "jobs" / "a")
    free = job(scratch / "jobs" / "b")
    with open(held / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = start("judge", scratch / "jobs", "--jobs", 1)
        wait_for(lambda: (free / "result.json").exists(), "the free job")
        assert not (held / "result.json").exists()
    run = finish(process)
    assert run.status == 0, run
    assert result(held)["verdict"]["state"] == "correct"


def test_a_runs_jobs_can_be_judged_elsewhere(scratch):
    (scratch / "reply.md").write_text("```c program.c\n" + program() +
                                      "```\n")
    run = kforge("run", PROBLEM, "--size", "test", "-n", 1, "-o",
                 scratch / "run", "--baseline", "none", "--calls", 40,
                 "--model", f"exec:cat >/dev/null; cat {scratch}/reply.md")
    assert run.status == 0, run
    folder = scratch / "elsewhere"
    (scratch / "run" / "work" / "axpby-1").rename(folder)
    before = result(folder)["verdict"]
    assert ends(kforge("judge", folder, "--json")) == {
        "elsewhere": "had_result"}
    assert kforge("judge", "--again", folder).status == 0
    after = result(folder)["verdict"]
    assert before["state"] == after["state"] == "correct", (before, after)
    assert before["seed"] == after["seed"]


def test_wrong_use_is_one_sentence(scratch):
    (scratch / "empty").mkdir()
    for arguments, word in (
            (("judge",), "--jsonl"),
            (("judge", scratch / "empty"), "job.json"),
            (("judge", scratch / "nowhere"), "nowhere"),
            (("judge", "--jsonl", "a", "b"), "one problem"),
            (("judge", "--jsonl", "--again"), "--again"),
            (("build", scratch / "none.c", "-o", scratch / "x"), "none.c"),
            (("build", scratch / "none.c"), "--out")):
        run = kforge(*arguments)
        assert run.status in (EXIT["input"], EXIT["io"]), (arguments, run)
        assert word in run.err and run.out == "", (arguments, run)
        assert len(run.err.strip().splitlines()) == 1, run


# --- lines -------------------------------------------------------------------

def request(ident, name="good", **members):
    return json.dumps({"id": ident, "files": {"program.c": program(name)},
                       **members})


def answers(run):
    return [json.loads(line) for line in run.out.splitlines()]


def test_lines_are_answered_with_their_ids(_):
    ids = ["a", 7, None, {"step": 1}]
    text = "\n".join(request(i, "wrong" if i == 7 else "good") for i in ids)
    run = kforge(*LINES, "--jobs", 2, stdin=text)	# no newline at the end
    got = answers(run)
    assert run.status == 0 and len(got) == len(ids), run
    for answer in got:
        assert answer["id"] == ids[answer["line"] - 1], answer
        wanted = "mismatch" if answer["id"] == 7 else "correct"
        assert answer["state"] == wanted, answer
        assert answer["problem"] == "axpby" and answer["seed"], answer
        assert answer["judge"]["hash"] and answer["sandbox"], answer


def test_a_reply_is_judged_as_a_models(_):
    text = json.dumps({"id": 1, "reply": "No code here."}) + "\n" + \
        json.dumps({"id": 2, "reply": "Here:\n\n```c program.c\n" +
                    program() + "```\n"}) + "\n"
    got = {a["id"]: a for a in answers(kforge(*LINES, stdin=text))}
    assert got[1]["state"] == "generation_failure", got
    assert got[1]["reason"] == "no_code" and got[2]["state"] == "correct"


def test_what_cannot_be_judged_is_answered_and_ends_nothing(_):
    lines = ["garbage", "", "[1]", '{"id": 4, "fils": {}}',
             '{"id": 5, "problem": "nowhere.py", "reply": "x"}',
             '{"id": 6, "files": {"other.f90": "x"}}', "x" * (17 << 20),
             request(8)]
    run = kforge(*LINES, "--jobs", 1, stdin="\n".join(lines) + "\n")
    got = {a["line"]: a for a in answers(run)}
    assert run.status == 0 and set(got) == {1, 3, 4, 5, 6, 7, 8}, run.err
    for line, kind, word in ((1, "input", "line 1"), (3, "input", "object"),
                             (4, "input", "fils"), (5, "input", "nowhere.py"),
                             (6, "input", "other.f90"),
                             (7, "limit", "line 7")):
        error = got[line]["error"]
        assert error["kind"] == kind and word in error["text"], got[line]
    assert got[4]["id"] == 4 and got[8]["state"] == "correct", got[8]


def test_how_far_to_go_can_be_said_by_line(_):
    lines = [request(1, stop_after="build"), request(2, stop_after="values"),
             request(3, stop_after="time", calls=40, seed=9),
             request(4, "broken", stop_after="build")]
    run = kforge(*LINES, stdin="\n".join(lines) + "\n")
    got = {a["id"]: a for a in answers(run)}
    assert [got[i]["reached"] for i in (1, 2, 3, 4)] == [
        "build", "values", "time", "none"], got
    assert got[1]["state"] == "none" and got[1]["calls"] == 0, got[1]
    assert got[2]["time_ns"] is None and got[2]["state"] == "correct"
    assert got[3]["time_ns"] > 0 and got[3]["seed"] == 9, got[3]
    assert got[4]["state"] == "compilation_failure", got[4]


def converse(*arguments, env=None):
    return subprocess.Popen([KFORGE, *arguments], env=environment(env),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def say(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()


def slow(ident):
    return request(ident, "slow", limits={"call_s": 600})


def test_answers_come_when_they_are_there_and_sigterm_ends_it(_):
    process = converse(*LINES, "--jobs", "2")
    say(process, slow("slow"))
    say(process, request("quick"))
    assert json.loads(process.stdout.readline())["id"] == "quick"
    process.send_signal(signal.SIGTERM)
    last = json.loads(process.stdout.readline())
    assert last["id"] == "slow", last
    assert last["error"]["kind"] == "canceled", last
    run = finish(process)
    assert run.status == EXIT["canceled"], run


def workers(process):
    path = f"/proc/{process.pid}/task/{process.pid}/children"
    return [int(pid) for pid in
            pathlib.Path(path).read_text(encoding="ascii").split()]


def test_input_that_cannot_be_read_is_no_end_of_input(scratch):
    folder = os.open(scratch, os.O_RDONLY)
    with subprocess.Popen([KFORGE, *LINES], env=environment(), stdin=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        os.close(folder)
        run = finish(process)
    assert run.status == EXIT["io"] and not run.out, run
    assert "cannot read standard input after line 0: Is a dir" in run.err, run

    listening = socket.create_server(("127.0.0.1", 0))
    far = socket.create_connection(listening.getsockname())
    near, _ = listening.accept()
    with subprocess.Popen([KFORGE, *LINES], env=environment(), stdin=near,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        near.close()
        far.sendall(f"{request('whole')}\n{request('cut')[:-9]}".encode())
        answer = json.loads(process.stdout.readline())
        assert answer["id"] == "whole", answer
        far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                       struct.pack("ii", 1, 0))
        far.close()     # a reset, not an end
        run = finish(process)
    listening.close()
    assert run.status == EXIT["io"] and not run.out, run
    assert "after line 1: Connection reset" in run.err, run


def test_a_worker_that_dies_takes_only_its_own_line(scratch):
    process = converse(*LINES, "--jobs", "1", env={"TMPDIR": str(scratch)})
    say(process, slow("doomed"))
    wait_for(lambda: list(scratch.glob("kforge-judge*/line-*")),
             "the doomed line")
    os.kill(workers(process)[0], signal.SIGKILL)
    dead = json.loads(process.stdout.readline())
    assert dead["id"] == "doomed" and dead["error"]["kind"] == "io", dead
    say(process, request("next"))
    assert json.loads(process.stdout.readline())["state"] == "correct"
    run = finish(process)
    assert run.status == 0, run


def kill_who_judges(process, folder):
    """Once it has begun with this job."""
    wait_for(lambda: workers(process) and (folder / "work").exists(),
             "a process that judges the job")
    os.kill(workers(process)[0], signal.SIGKILL)
    shutil.rmtree(folder / "work", ignore_errors=True)


def test_a_job_that_kills_its_judges_is_given_up(scratch):
    doomed = job(scratch / "jobs" / "doomed", "slow")
    process = start("judge", scratch / "jobs", "--watch", "--jobs", "1")
    for _ in range(2):
        assert not (doomed / "error.json").exists()
        kill_who_judges(process, doomed)
    wait_for((doomed / "error.json").exists, "the end of trying")
    error = json.loads((doomed / "error.json").read_text())
    assert error["kind"] == "io" and "died 2 times" in error["text"], error
    shutil.rmtree(doomed / "work", ignore_errors=True)
    good = job(scratch / "jobs" / "good")
    wait_for((good / "result.json").exists, "the next job")
    assert not (doomed / "work").exists()
    process.send_signal(signal.SIGINT)
    run = finish(process)
    assert run.err.count("died 2 times") == 1, run


def stop(process):
    process.send_signal(signal.SIGINT)
    return finish(process)


def test_a_job_that_is_still_being_copied_is_waited_for(scratch):
    """In the order of names, as what copies folders goes: job.json before the
    program, and the problem last."""
    whole = job(scratch / "whole", problem="problem/axpby")
    copied_problem(whole)
    process = start("judge", scratch / "jobs", "--watch", "--jobs", "1", "-v")
    late = scratch / "jobs" / "late"
    late.mkdir(parents=True)

    def bring(name):
        (late / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(whole / name, late / name)
        # It has looked for jobs since: this one is judged, and late is not.
        other = job(scratch / "jobs" / f"after-{pathlib.Path(name).name}")
        wait_for((other / "result.json").exists, "the job that came later")
        return sorted(path.name for path in late.iterdir())

    assert bring("job.json") == ["job.json"]
    assert bring("program.c") == ["job.json", "program.c"]
    assert "error.json" not in bring("problem/axpby/problem.json")
    bring("problem/axpby/reference.c")
    wait_for((late / "result.json").exists, "the job that is whole now")
    assert result(late)["verdict"]["state"] == "correct"
    run = stop(process)
    assert run.err.count("not all of its files are there yet") == 1, run
    assert "there is no file" not in run.err, run


def test_a_job_that_is_renamed_while_it_comes_is_one_job(scratch):
    coming = job(scratch / "jobs" / "coming")
    (coming / "program.c").rename(scratch / "program.c")
    process = start("judge", scratch / "jobs", "--watch", "--jobs", "1")
    first = job(scratch / "jobs" / "first")
    wait_for((first / "result.json").exists, "another job")
    (scratch / "program.c").rename(coming / "program.c.new")
    coming.rename(scratch / "jobs" / ".hidden")
    second = job(scratch / "jobs" / "second")
    wait_for((second / "result.json").exists, "a job that came later")
    hidden = scratch / "jobs" / ".hidden"
    (hidden / "program.c.new").rename(hidden / "program.c")
    hidden.rename(scratch / "jobs" / "whole")
    wait_for((scratch / "jobs" / "whole" / "result.json").exists, "its result")
    run = stop(process)
    names = [line.split()[0].rsplit("/", 1)[-1]
             for line in run.out.splitlines()[1:]]
    assert sorted(names) == ["first", "second", "whole"], run


def test_folders_with_a_dot_are_not_looked_into(scratch):
    hidden = job(scratch / "jobs" / ".one")
    process = start("judge", scratch / "jobs", "--watch", "--jobs", "1")
    other = job(scratch / "jobs" / "other")
    wait_for((other / "result.json").exists, "the other job")
    assert not (hidden / "lock").exists()
    hidden.rename(scratch / "jobs" / "one")
    wait_for((scratch / "jobs" / "one" / "result.json").exists, "its result")
    stop(process)


def test_without_watch_what_is_not_there_is_told_at_once(scratch):
    folder = job(scratch / "one")
    (folder / "program.c").rename(scratch / "program.c")
    run = kforge("judge", folder)
    assert run.status == EXIT["not_all"] and "program.c" in run.err, run
    assert (folder / "error.json").exists()
    (scratch / "program.c").rename(folder / "program.c")
    assert kforge("judge", folder).status == 0
    assert not (folder / "error.json").exists()


def test_a_reader_that_leaves_ends_it_quietly(_):
    process = converse(*LINES, "--jobs", "1")
    say(process, request(1))
    assert json.loads(process.stdout.readline())["id"] == 1
    process.stdout.close()
    say(process, slow(2))
    status = process.wait(timeout=60)
    assert status == EXIT["io"], status
    assert process.stderr.read() == ""


# --- build -------------------------------------------------------------------

def test_build_makes_a_job_that_can_be_judged(scratch):
    (scratch / "program.c").write_text(program())
    out = scratch / "job"
    run = kforge("build", PROBLEM, scratch / "program.c", "--size", "test",
                 "-o", out, "--json")
    assert run.status == 0 and run.json()["end"] == "built", run
    assert (out / "program.so").stat().st_size > 0
    text = json.loads((out / "job.json").read_text())
    text.update(stop_after="values", baseline="none")
    (out / "job.json").write_text(json.dumps(text))
    assert kforge("judge", out).status == 0
    assert result(out)["verdict"]["state"] == "correct"


def test_build_says_what_the_compiler_says(scratch):
    (scratch / "program.c").write_text(program("broken"))
    run = kforge("build", scratch / "program.c", "-o", scratch / "out")
    assert run.status == EXIT["compilation_failure"], run
    assert "error" in run.out and not (scratch / "out/program.so").exists()
    about = json.loads((scratch / "out" / "build.json").read_text())
    assert about["end"] == "refused" and "error" in about["log"], about


def test_build_touches_no_folder_of_somebody_elses(scratch):
    """Only one that is empty, or that a build or a job has made."""
    (scratch / "program.c").write_text(program())
    mine = scratch / "mine"
    (mine / "work").mkdir(parents=True)
    (mine / "work" / "thesis.txt").write_text("years")
    (mine / "program.c").write_text("mine")
    for given in ((), (PROBLEM,)):
        run = kforge("build", *given, scratch / "program.c", "-o", mine)
        assert run.status == EXIT["input"] and "--out" in run.err, run
        assert len(run.err.strip().splitlines()) == 1, run
    assert (mine / "work" / "thesis.txt").read_text() == "years"
    assert (mine / "program.c").read_text() == "mine"
    run = kforge("build", scratch / "program.c", "-o",
                 scratch / "program.c" / "x")
    assert run.status != 0 and len(run.err.strip().splitlines()) == 1, run


def test_build_again_into_its_own_folder(scratch):
    (scratch / "program.c").write_text(program())
    out = scratch / "out"
    (out / "build.tmp-abcdef" / "source").mkdir(parents=True)  # one was killed
    for name in ("good", "broken", "good"):
        (scratch / "program.c").write_text(program(name))
        run = kforge("build", scratch / "program.c", "-o", out)
        assert (run.status == 0) == (name == "good"), run
        assert (out / "program.so").exists() == (name == "good")
        assert (out / "program.c").read_text() == program(name)
    assert not list(out.glob("*.tmp-*"))


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
