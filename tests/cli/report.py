#!/usr/bin/env python3
"""kforge report: what runs came to."""

import sys

from harness import (C_PROBLEM, EXIT, kforge, reply, run_tests, script_model)


def make_run(scratch, name, programs, *more):
    model = script_model(scratch, [reply(p) for p in programs])
    result = kforge("run", C_PROBLEM, "--model", model, "--out",
                    scratch / name, "-n", str(len(programs)), *more)
    assert (scratch / name / "run.db").exists(), result
    return scratch / name


def test_states_and_figures(scratch):
    run = make_run(scratch, "run", ["broken.c", "wrong.c", "good.c"])
    told = kforge("report", run, "--json").json()["runs"][0]
    problem, = told["problems"]
    assert problem["states"] == ["b", "m", "c"], told
    assert problem["eager"] == problem["faster"] > 0
    assert problem["compile"] is None
    by = {row["attempts"]: row for row in told["by_attempt"]}
    assert sorted(by) == [1, 2, 3]
    assert [by[n]["correct"] for n in (1, 2, 3)] == [0, 0, 1]
    fast = 1.0 if problem["faster"] > 1 else 0.0
    assert by[3]["faster"]["fast_1"] == fast, told
    assert abs(by[3]["eager"]["geomean"] - problem["eager"]) < 1e-9
    assert by[3]["eager"]["geomean_without_two_largest"] is None
    text = kforge("report", run).out
    assert "| `scale_shift` | b m c | 3 |" in text, text
    assert "| 3 | 1 of 1 |" in text, text


def test_several_runs_one_after_the_other(scratch):
    quick = ("--baseline", "none", "--calls", "20")
    one = make_run(scratch, "one", ["wrong.c"], *quick)
    (scratch / "two_scripts").mkdir()
    two = make_run(scratch / "two_scripts", "two", ["good.c"], *quick)
    told = kforge("report", one, two, "--json").json()["runs"]
    assert [t["problems"][0]["states"] for t in told] == [["m"], ["c"]], told
    text = kforge("report", one, two).out
    assert text.index(str(one)) < text.index(str(two))
    # Without a baseline there are no ratios, and no shares of them.
    assert "| 1 | 0 of 1 | 0 of 1 | | | | | |" in text, text
    assert "| 1 | 1 of 1 | 1 of 1 | | | | | |" in text, text
    assert told[1]["problems"][0]["faster"] is None
    assert told[1]["by_attempt"][0]["faster"]["fast_1"] is None
    both, = kforge("report", "--merge", one, two, "--json").json()["runs"]
    assert len(both["models"]) == 2, both["models"]
    text = kforge("report", "--merge", one, two).out
    assert all("%s, " % model in text for model in both["models"]), text


def test_no_such_run(scratch):
    result = kforge("report", scratch / "nowhere")
    assert result.status == EXIT["input"] and "nowhere" in result.err, result


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
