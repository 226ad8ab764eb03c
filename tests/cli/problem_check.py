#!/usr/bin/env python3
"""kforge problem check; what a run, a verdict and a report make of health."""

import json
import pathlib
import sys

from harness import (CACHE, DATA, EXIT, PROBLEM, asked, finish, kforge, reply,
                     run_tests, script_model, signal, start, wait_for)

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
FAST = ("--baseline", "none", "--calls", "20")


def problem(folder, name, forward, init="", more="",
            inputs="torch.randn(8, 40)", head=""):
    """A small problem of our own in a file NAME.py."""
    path = folder / f"{name}.py"
    path.write_text(f"""{HEAD}{head}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init or 'pass'}
    def forward(self, x{more}):
        return {forward}
def get_inputs():
    return [{inputs}]
def get_init_inputs():
    return []
""")
    return path


def check(*arguments):
    """Rows of the table by problem, and the result."""
    result = kforge("problem", "check", "--json", *arguments)
    rows = [json.loads(line) for line in result.out.splitlines()]
    return {row["problem"]: row for row in rows}, result


def noted(row, words):
    return any(words in note for note in row["notes"])


def test_a_group_lists_its_commands(_):
    for words in (["problem", "--help"], ["help", "problem"],
                  ["problem", "-h"], ["problem", "help"]):
        result = kforge(*words)
        assert result.status == EXIT["good"], result
        assert "kforge problem - " in result.out
        assert "problem check" in result.out
    result = kforge("problem")
    assert result.status == EXIT["input"] and not result.out, result
    assert "problem check" in result.err


def test_a_command_of_a_group_has_its_own_help(_):
    for words in (["problem", "check", "--help"],
                  ["help", "problem", "check"]):
        result = kforge(*words)
        assert result.status == EXIT["good"], result
        assert result.out.startswith("kforge problem check "), result


def test_misspelt_commands_of_a_group_are_corrected(_):
    for words in (["problem", "chekc"], ["help", "problem", "chekc"]):
        result = kforge(*words)
        assert result.status == EXIT["input"], result
        assert "did you mean problem check?" in result.err, result
    result = kforge("problem", "xyzzyxyzzy")
    assert "`kforge help problem`" in result.err, result


def test_a_healthy_problem_passes(_):
    result = kforge("problem", "check", PROBLEM)
    assert result.status == EXIT["good"], result
    assert "scale_shift" in result.out
    assert "1 healthy, 0 unhealthy" in result.out


def test_each_way_of_being_unhealthy_is_a_row_with_its_reason(scratch):
    problem(scratch, "zero", "(x - x.max(1, keepdim=True)[0]).clamp(min=0)")
    problem(scratch, "mean_of_softmax", "F.softmax(x, -1).mean(-1)")
    problem(scratch, "asleep", "x * self.g", init="self.g = "
            "nn.Parameter(torch.zeros(40))")
    problem(scratch, "dropout", "F.dropout(x, 0.2)")
    problem(scratch, "clock", "x * (time.perf_counter_ns() % 99991)", head="import time")
    problem(scratch, "infinite", "torch.log(x)")
    problem(scratch, "copied", "x + self.b", init="self.b = "
            "nn.Parameter(torch.zeros(40))")
    problem(scratch, "broken", "x +")
    rows, result = check(scratch)
    assert result.status == EXIT["not_all"], result
    found = {name: (row["status"], row["reason"])
             for name, row in rows.items()}
    assert found == {
        "zero": ("unhealthy", "zeros"),
        "mean_of_softmax": ("unhealthy", "constant"),
        "asleep": ("unhealthy", "zeros"),
        "dropout": ("unhealthy", "random"),
        "clock": ("unhealthy", "nondeterministic"),
        "infinite": ("unhealthy", "non_finite"),
        "copied": ("unhealthy", "copy"),
        "broken": ("refused", "syntax"),
    }, result
    assert "that have the problem's own weights" in rows["asleep"]["text"]
    assert "0 healthy, 7 unhealthy, 1 refused" in result.err
    assert "8 of 8 problems" in result.err


def test_what_is_no_fault_is_a_note(scratch):
    problem(scratch, "idle", "x * 2", more=", y",
            inputs="torch.randn(8, 40), torch.randn(3)")
    (scratch / "hidden.py").write_text(HEAD + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("h", torch.zeros(8, 40))
    def forward(self, x):
        self.h = torch.tanh(x + 0.5 * self.h)
        return self.h
def get_inputs():
    return [torch.randn(8, 40)]
""")
    problem(scratch, "tiny", "F.softmax(x, -1) * 1e-6")
    rows, result = check(scratch)
    assert result.status == EXIT["good"], result
    assert noted(rows["idle"], "input y does not matter"), rows
    assert noted(rows["hidden"], "keeps a state"), rows
    assert rows["tiny"]["kernelbench"] == [
        "zeros", "constant", "same", "mean", "row_mean"], rows
    assert noted(rows["tiny"], "KernelBench's tolerance would let pass: zeros")
    table = kforge("problem", "check", scratch).out
    assert "    input y does not matter\n" in table, table


def test_what_is_known_is_not_found_out_again(scratch):
    # A cache of its own: other suites have been here, or are here now.
    cache = scratch / "cache"

    def bundles():
        return [p.name for p in (cache / "bundles").iterdir()
                if "." not in p.name]

    path = problem(scratch, "known", "x * 3")
    first, _ = check(path, "--cache", cache)
    assert first["known"]["cached"] is False
    again, _ = check(path, "--cache", cache)
    assert again["known"]["cached"] is True
    assert not bundles()    # it was made for the check alone
    check(problem(scratch, "kept", "x * 5"), "--keep", "--cache", cache)
    assert len(bundles()) == 1, bundles()
    check(problem(scratch, "gone", "x * 7"), "--cache", cache)
    assert len(bundles()) == 1, bundles()


def test_what_is_too_large_is_a_row_and_can_be_made_to_fit(scratch):
    # A small input and a large output, more than its memory may hold.
    path = problem(scratch, "large", "x * torch.arange(1.0, 65.0)",
                   head="batch_size = 1024 * 1024",
                   inputs="torch.randn(batch_size, 1)")
    limited = [path, "--memory", "0.5", "--cache", scratch / "cache"]
    rows, result = check(*limited)
    assert result.status == EXIT["not_all"]
    assert rows["large"]["status"] == "too_large", result
    assert "choose smaller sizes with --set" in rows["large"]["text"]
    rows, result = check(*limited, "--fit")
    assert result.status == EXIT["good"], result
    assert rows["large"]["size"].startswith("at batch_size="), result
    assert rows["large"]["size"].endswith(", published 1048576"), result


def test_a_deadline_is_for_one_problem(scratch):
    problem(scratch, "slow", "(time.sleep(8), x * 2)[1]", head="import time")
    problem(scratch, "quick", "x * 11")
    rows, result = check(scratch, "--timeout", "20")
    assert result.status == EXIT["not_all"]
    assert rows["slow"]["status"] == "not_checked", result
    assert rows["slow"]["reason"] == "time"
    assert rows["quick"]["status"] == "healthy"


def test_a_crash_does_not_end_the_table(scratch):
    problem(scratch, "crash", "x if os.kill(os.getpid(), 11) else x",
            head="import os")
    problem(scratch, "later", "x * 13")
    rows, result = check(scratch)
    assert rows["crash"]["status"] == "refused", result
    assert rows["later"]["status"] == "healthy"


def test_ctrl_c_prints_what_is_done(scratch):
    problem(scratch, "a", "x * 17")
    problem(scratch, "b", "(time.sleep(60), x)[1]", head="import time")
    check(scratch / "a.py")
    process = start("problem", "check", scratch, "-vv")
    seen = []

    def begun():
        seen.append(process.stderr.readline())
        return "running the reference" in seen[-1]
    wait_for(begun, "the second problem")
    process.send_signal(signal.SIGINT)
    result = finish(process)
    assert result.status == EXIT["canceled"], result
    assert "a   " in result.out and "; 1 of 2 problems" in result.out, result


def test_what_is_no_problem_is_named(scratch):
    result = kforge("problem", "check", scratch / "nothing.py")
    assert result.status == EXIT["input"], result
    assert "nothing.py" in result.err
    result = kforge("problem", "check", scratch)
    assert result.status == EXIT["input"] and "no problem in" in result.err
    result = kforge("problem", "check", PROBLEM, "--timeout", "0")
    assert result.status == EXIT["input"] and "--timeout" in result.err


# --- runs ---------------------------------------------------------------------

def test_an_unhealthy_problem_costs_no_token(scratch):
    path = problem(scratch, "zeros", "x * 0")
    model = script_model(scratch, [reply("good.c")])
    for more in ([], ["--dry-run"]):
        result = kforge("run", path, "--model", model, *more, cwd=scratch)
        assert result.status == EXIT["input"], result
        assert ("problem zeros is unhealthy: all zeros would be judged "
                "correct on all 7 sets; --force works on it all the same"
                ) in result.err, result
    assert asked(scratch) == []
    assert not list(scratch.glob("kforge-runs/*"))


def test_force_works_on_it_and_the_verdict_says_so(scratch):
    path = problem(scratch, "zeros", "x * 0")
    model = script_model(scratch, [reply("wrong.c")])
    result = kforge("run", path, "--model", model, "--force", "-n", "1",
                    "--out", scratch / "run", "--json", *FAST)
    row = result.json()["problems"][0]
    assert asked(scratch) == ["1"], result
    assert row["healthy"] is False and row["health"]["reason"] == "zeros"
    assert row["health"]["skipped"] is False
    judged = kforge("verify", path, DATA / "good.c", "--json", *FAST)
    verdict = judged.json()
    assert verdict["healthy"] is False and verdict["unhealthy"] == "zeros"
    words = kforge("verify", path, DATA / "good.c", *FAST)
    assert "the problem is unhealthy: all zeros would be" in words.out


def test_a_suite_leaves_unhealthy_problems_out(scratch):
    folder = scratch / "suite"
    folder.mkdir()
    problem(folder, "random_one", "F.dropout(x, 0.5)")
    problem(folder, "zeros", "x * 0")
    (folder / "scale_shift.py").write_text(
        pathlib.Path(PROBLEM).read_text())
    model = script_model(scratch, [reply("good.c")])
    result = kforge("run", folder, "--model", model, "-n", "1", "--out",
                    scratch / "run", "--json", *FAST)
    assert result.status == EXIT["good"], result
    assert asked(scratch) == ["1"]
    assert "problem zeros is unhealthy" in result.err
    rows = {row["problem"]: row for row in result.json()["problems"]}
    assert rows["zeros"]["state"] == "skipped"
    assert rows["random_one"]["health"]["reason"] == "random"
    assert rows["scale_shift"]["healthy"] is True
    scores = result.json()["scores"]
    assert (scores["all"]["problems"], scores["all"]["correct"]) == (3, 1)
    assert scores["healthy"]["problems"] == 1
    table = kforge("show", scratch / "run").out
    assert "all as published: 3 problems, 1 correct" in table, table
    assert "healthy: 1 problem, 1 correct" in table
    assert "skipped" in table and "unhealthy: zeros" in table


def test_a_suite_of_unhealthy_problems_is_no_success(scratch):
    problem(scratch, "zeros", "x * 0")
    problem(scratch, "ones", "x * 0 + 1")
    result = kforge("run", scratch, "--model",
                    script_model(scratch, [reply("good.c")]), "--out",
                    scratch / "run", *FAST)
    assert result.status == EXIT["not_all"] and asked(scratch) == [], result


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
