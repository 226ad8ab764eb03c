#!/usr/bin/env python3
"""kforge run and resume: the loop, with models that are scripts."""

import json
import os
import pathlib
import pty
import shlex
import subprocess
import sys

from harness import (C_PROBLEM, DATA, EXIT, KFORGE, PROBLEM, asked, environment,
                     finish, kforge, reply, run_tests, script_model, signal,
                     start, states, wait_for)

FAST = ("--baseline", "none", "--calls", "20")


def run(scratch, model, *more):
    return kforge("run", C_PROBLEM, "--model", model, "--out", scratch / "run",
                  *FAST, "--json", *more)


def test_the_last_words_fit_what_came_out(scratch):
    result = kforge("run", C_PROBLEM, "--model", "exec:true", "--attempts",
                    "1", "--out", "run", "--baseline", "none", cwd=scratch)
    assert result.status == EXIT["not_all"], result
    assert "1 reply, " in result.err and "~" not in result.out, result


def test_a_program_is_repaired_then_improved(scratch):
    model = script_model(scratch, [
        (DATA / "no_code.md").read_text(), reply("broken.c"),
        reply("crash.c"), reply("wrong.c"), reply("good.c")])
    result = run(scratch, model)
    assert result.status == 0, result
    assert states(result) == ["generation_failure", "compilation_failure",
                              "runtime_error", "mismatch", "correct"], result
    best = scratch / "run" / "best" / "scale_shift"
    assert (best / "program.c").read_text() == (DATA / "good.c").read_text()
    verdict = json.loads((best / "verdict.json").read_text())
    assert verdict["state"] == "correct" and verdict["attempt"] == 5


def test_each_prompt_carries_what_went_wrong(scratch):
    model = script_model(scratch, [reply("broken.c"), reply("wrong.c"),
                                   reply("good.c")])
    result = run(scratch, model, "-n", "3")
    assert result.status == 0, result
    second = kforge("show", scratch / "run", "2").out
    why = kforge("show", scratch / "run", "2", "--explain").out
    assert "What was done" in why and "prompt" not in why, why
    third = kforge("show", scratch / "run", "3").out
    assert "did not compile" in second
    assert "has no member named 'inputs'" in second, second
    assert "elements are wrong" in third and "expected, got" in third, third


def test_a_program_for_another_platform_is_told_so(scratch):
    cuda = "__global__ void scale(float *x) { *x *= 2; }\n"
    good = (DATA / "good.c").read_text()
    opencl = good + "__kernel void scale(__global float *x) {}\n"
    rows = ((f"One.\n\n```cuda kernels.cu\n{cuda}```\n", "cuda"),
            (f"Two.\n\n```c program.c\n{cuda}```\n", "cuda"),
            (f"Three.\n\n```c program.c\n{opencl}```\n", "opencl"),
            (f"Four: {cuda}", None),
            (f"Five.\n\n```c program.c\n// {cuda}int x = y;\n```\n", None),
            (reply("broken.c"), None), (reply("good.c"), None))
    result = run(scratch, script_model(scratch, [text for text, _ in rows]),
                 "-n", str(len(rows)))
    assert states(result) == ["generation_failure"] * 2 + [
        "compilation_failure"] + ["generation_failure"] * 2 + [
        "compilation_failure", "correct"], result
    hint = "this looks like a program for {}: write one for the platform cpu"
    for number, (_, there) in enumerate(rows[:-1], 1):
        prompt = kforge("show", scratch / "run", str(number + 1)).out
        assert ("this looks like" in prompt) == bool(there), (number, prompt)
        assert not there or hint.format(there) in prompt, (number, prompt)
        told = (f"{number}/{len(rows)}: this looks like a program for {there},"
                " and the run's --platform is cpu")
        assert (told in result.err) == bool(there), (number, result)


def test_without_a_correct_program_the_status_tells(scratch):
    result = run(scratch, script_model(scratch, [reply("wrong.c")]), "-n", "1")
    assert result.status == EXIT["not_all"], result
    assert not (scratch / "run" / "best").exists()


def test_the_target_stops_the_run(scratch):
    model = script_model(scratch, [reply("good.c")] * 3)
    result = kforge("run", C_PROBLEM, "--model", model, "--out",
                    scratch / "run", "--target", "0.0001", "--json")
    assert result.status == 0 and asked(scratch) == ["1"], result


def test_a_given_program_is_where_the_run_begins(scratch):
    model = script_model(scratch, [reply("wrong.c")])
    result = run(scratch, model, "-n", "1", "--start", DATA / "good.c")
    assert states(result) == ["correct", "mismatch"], result
    prompt = kforge("show", scratch / "run", "1").out
    assert "v > 0 ? v : 0" in prompt
    assert "attempt 0 of 1 " in kforge("show", scratch / "run").out


def test_the_budget_is_never_exceeded(scratch):
    model = script_model(scratch, [reply("wrong.c")] * 5)
    result = run(scratch, model, "--budget-tokens", "100")
    assert asked(scratch) == [] and "budget" in result.err, result


def test_a_dry_run_asks_nothing(scratch):
    model = script_model(scratch, [reply("good.c")])
    result = kforge("run", C_PROBLEM, "--model", model, "--dry-run", "-n", "4",
                    cwd=scratch)
    assert result.status == 0 and "at most 4 calls" in result.out, result
    assert asked(scratch) == []
    assert not (scratch / "kforge-runs").exists()


def test_a_recording_answers_again(scratch):
    model = script_model(scratch, [reply("broken.c"), reply("good.c")])
    tape = scratch / "tape.jsonl"
    first = run(scratch, model, "-n", "2", "--record", tape)
    again = kforge("run", C_PROBLEM, "--model", f"replay:{tape}", "--out",
                   scratch / "again", *FAST, "--json", "-n", "2")
    assert states(first) == states(again) == ["compilation_failure",
                                              "correct"], (first, again)


def test_a_model_by_hand_reads_and_writes_files(scratch):
    desk = scratch / "desk"
    process = start("run", C_PROBLEM, "--model", f"manual:{desk}", "--out",
                    scratch / "run", *FAST, "--json", "-n", "1")
    prompt = desk / "scale_shift.1.prompt.md"
    wait_for(prompt.exists, "the prompt")
    assert "kf_forward" in prompt.read_text()
    (desk / "reply.tmp").write_text(reply("good.c"))
    os.rename(desk / "reply.tmp", desk / "scale_shift.1.reply.md")
    result = finish(process)
    assert result.status == 0 and states(result) == ["correct"], result


def test_resume_after_a_kill_asks_no_reply_again(scratch):
    slow = script_model(scratch, [reply("broken.c"), reply("good.c")])
    process = start("run", C_PROBLEM, "--model", slow, "--out",
                    scratch / "run", *FAST, "-n", "2")
    wait_for(lambda: asked(scratch) == ["1", "2"], "the second question")
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    process.stderr.close()
    result = kforge("resume", scratch / "run", "--json")
    assert result.status == 0, result
    assert states(result) == ["compilation_failure", "correct"], result
    assert asked(scratch).count("1") == 1


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(scratch):
    model = script_model(scratch, [reply("broken.c")])
    hanging = model + "; case $KFORGE_ATTEMPT in 2) sleep 60;; esac"
    process = start("run", C_PROBLEM, "--model", hanging, "--out",
                    scratch / "run", *FAST)
    wait_for(lambda: asked(scratch) == ["1", "2"], "the second question")
    process.send_signal(signal.SIGINT)
    result = finish(process, timeout=10)
    assert result.status == EXIT["canceled"], result
    assert f"kforge resume {scratch}/run" in result.err, result
    shown = kforge("show", scratch / "run", "--json")
    assert states(shown)[0] == "compilation_failure", shown


def test_ctrl_c_in_a_dry_run_leaves_no_half_bundle(scratch):
    process = start("run", PROBLEM, "--model", "exec:true", "--dry-run",
                    "--cache", scratch / "cache")
    bundles = scratch / "cache" / "bundles"
    wait_for(lambda: list(bundles.glob("*.tmp-*")), "the bundle's making")
    process.send_signal(signal.SIGINT)
    result = finish(process, timeout=10)
    assert result.status == EXIT["canceled"], result
    assert not list(bundles.glob("*.tmp-*")), result


def test_two_at_once_on_one_run_is_refused(scratch):
    model = script_model(scratch, [])
    process = start("run", C_PROBLEM, "--model", model + "; sleep 60",
                    "--out", scratch / "run", *FAST)
    wait_for(lambda: asked(scratch) == ["1"], "the first question")
    second = kforge("resume", scratch / "run")
    process.send_signal(signal.SIGINT)
    finish(process, timeout=10)
    assert second.status == EXIT["unavailable"], second
    assert str(process.pid) in second.err, second


def test_mistakes_are_sentences(scratch):
    rows = (
        (("run", C_PROBLEM), "input", "--model"),
        (("run", C_PROBLEM, "--model", "oracle:x", "--out", scratch / "a"),
         "input", "oracle"),
        (("run", scratch / "none.py", "--model", "exec:true"), "input",
         "none.py"),
        (("run", scratch, "--model", "exec:true"), "input", "no problem in"),
        (("run", C_PROBLEM, "--model", "exec:false", "--out", scratch / "b"),
         "unavailable", "the model's command ended with status 1"),
        (("resume", scratch / "nowhere"), "input", "nowhere"),
        (("show", scratch / "nowhere"), "input", "nowhere"),
        (("rum", C_PROBLEM), "input", "did you mean run?"),
    )
    for arguments, status, words in rows:
        result = kforge(*arguments, cwd=scratch)
        assert result.status == EXIT[status], (arguments, result)
        assert words in result.err, (arguments, result)


def test_a_run_that_never_asked_leaves_nothing(scratch):
    good = script_model(scratch, [])
    missing = scratch / "missing"
    rows = (
        ("--model", "oracle:x"),
        ("--model", f"replay:{missing}"),
        ("--model", good, "--start", missing),
        ("--model", good, "--prompts", missing),
        ("--model", good, "--platform", "abacus"),
        ("--model", good, "--python", "/bin/true"),
    )
    for row in rows:
        result = kforge("run", PROBLEM, *row, cwd=scratch)
        assert result.status in (EXIT["input"], EXIT["unavailable"]), result
        assert "resume" not in result.err, (row, result)
        assert not list((scratch / "kforge-runs").iterdir()), (row, result)
    assert asked(scratch) == []


def test_runs_begun_in_one_second_have_folders_of_their_own(scratch):
    model = script_model(scratch, [reply("wrong.c")])
    runs = [start("run", C_PROBLEM, "--model", model, *FAST, "-n", "1",
                  cwd=scratch) for _ in range(2)]
    for result in [finish(process) for process in runs]:
        assert result.status == EXIT["not_all"], result
    assert len(list((scratch / "kforge-runs").iterdir())) == 2


def test_a_refused_problem_does_not_stop_the_others(scratch):
    folder = scratch / "problems"
    folder.mkdir()
    text = pathlib.Path(PROBLEM).read_text()
    for name in ("a", "c"):
        (folder / f"{name}.py").write_text(text)
    (folder / "b.py").write_text(text + "\nraise ValueError('no')\n")
    model = script_model(scratch, [reply("good.c")])
    result = kforge("run", folder, "--model", model, "--out",
                    scratch / "run", *FAST, "--json", "-n", "1")
    assert result.status == EXIT["not_all"], result
    correct = [p["correct"] for p in result.json()["problems"]]
    assert correct == [True, False, True], result
    assert "problem b" in result.err and "left out" in result.err, result
    plan = kforge("run", folder, "--model", model, "--dry-run", "-n", "3")
    assert plan.status == 0 and "at most 6 calls" in plan.out, plan


def test_a_reply_cannot_steer_a_terminal(scratch):
    model = script_model(scratch, ["\033[2Jno program\n"])
    assert run(scratch, model, "-n", "1").status == EXIT["not_all"]
    show = ("show", scratch / "run", "1")
    assert "\033[2Jno program" in kforge(*show).out
    ours, theirs = pty.openpty()
    with subprocess.Popen([KFORGE, *map(str, show)], stdout=theirs,
                          stdin=subprocess.DEVNULL, env=environment()) as p:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:     # the terminal has gone
            pass
        assert p.wait(10) == 0
    os.close(ours)
    assert b"[2Jno program" in shown and b"\033" not in shown, shown


def test_a_run_can_be_resumed_from_another_folder(scratch):
    model = script_model(scratch, [reply("broken.c"), reply("good.c")])
    there, here = scratch / "there", scratch / "here"
    there.mkdir()
    here.mkdir()
    record = kforge("run", C_PROBLEM, "--model", model, "--record", "tape",
                    "--out", "first", *FAST, "-n", "2", cwd=there)
    tape = (there / "tape").read_text()
    (there / "tape").write_text(tape[:tape.rindex("{")])
    half = kforge("run", C_PROBLEM, "--model", "replay:tape", "--out", "run",
                  *FAST, "-n", "2", cwd=there)
    assert half.status == EXIT["unavailable"], (record, half)
    (there / "tape").write_text(tape)
    whole = kforge("resume", there / "run", "--json", cwd=here)
    assert states(whole) == ["compilation_failure", "correct"], whole


def test_too_few_calls_are_refused_before_anything_is_asked(scratch):
    model = script_model(scratch, [reply("good.c")])
    result = kforge("run", C_PROBLEM, "--model", model, "--out",
                    scratch / "run", "--calls", "3")
    assert result.status == EXIT["input"] and "at least" in result.err, result
    assert asked(scratch) == [] and not (scratch / "run").exists()


def test_the_way_to_go_on_can_be_copied(scratch):
    folder = scratch / "a run's folder"
    result = kforge("run", C_PROBLEM, "--model", "exec:false", "--out", folder)
    command = result.err.split("go on with: ")[1]
    words = shlex.split(command)
    assert words == ["kforge", "resume", str(folder)], result


def test_an_existing_run_is_not_written_over(scratch):
    model = script_model(scratch, [reply("good.c")])
    assert run(scratch, model, "-n", "1").status == 0
    again = run(scratch, model, "-n", "1")
    assert again.status == EXIT["input"] and "resume" in again.err, again


def test_a_new_run_takes_no_folder_of_somebody_elses(scratch):
    model = script_model(scratch, [reply("good.c")])
    mine = scratch / "run" / "work" / "thesis"
    mine.mkdir(parents=True)
    (mine / "text").write_text("years")
    result = run(scratch, model, "-n", "1")
    assert result.status == EXIT["input"], result
    assert "--out" in result.err and "work" in result.err, result
    assert (mine / "text").read_text() == "years" and asked(scratch) == []
    assert [f.name for f in (scratch / "run").iterdir()] == ["work"]


def test_a_new_run_takes_what_a_kill_at_its_beginning_left(scratch):
    model = script_model(scratch, [reply("good.c")])
    (scratch / "run" / "objects").mkdir(parents=True)
    for name in ("lock", "run.db"):
        (scratch / "run" / name).write_text("")
    assert run(scratch, model, "-n", "1").status == 0


def test_resume_takes_the_latest_run_here(scratch):
    model = script_model(scratch, [reply("good.c")])
    first = kforge("run", C_PROBLEM, "--model", model, *FAST, "-n", "1",
                   cwd=scratch)
    assert first.status == 0, first
    again = kforge("resume", "--json", cwd=scratch)
    assert again.status == 0 and states(again) == ["correct"], again
    assert asked(scratch) == ["1"]


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
