#!/usr/bin/env python3
"""kforge report: what runs came to."""

import json
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


def test_the_memory_bound_and_its_median(scratch):
    run = make_run(scratch, "run", ["good.c", "wrong.c"])
    told = kforge("report", run, "--json").json()["runs"][0]
    bound = told["problems"][0]["memory_bound"]
    assert bound["bytes"] > 0 and bound["bytes_per_s"] > 0, bound
    assert abs(bound["memory_ns"] - 1e9 * bound["bytes"] /
               bound["bytes_per_s"]) < 1e-6 * bound["memory_ns"], bound
    best = kforge("show", run, 1, "--json").json()["verdict"]["time_ns"]
    assert bound["time_ns"] == best, (bound, best)
    assert abs(bound["share"] - bound["memory_ns"] / best) < 1e-9, bound
    # A few KiB are in the cache.
    assert bound["cached"] is True, bound
    assert told["memory_share"] == {
        "all": {"problems": 1, "median": bound["share"]},
        "not_cached": {"problems": 0, "median": None}}, told
    text = kforge("report", run).out
    share = f"{100 * bound['share']:.3g} %"
    assert f"{share} * |" in text and f"Median share: {share} (1" in text, text
    assert "all tensors fit in the cache" in text, text
    # Without a correct program nothing is known of it.
    (scratch / "more").mkdir()
    none = make_run(scratch / "more", "none", ["wrong.c"])
    told = kforge("report", none, "--json").json()["runs"][0]
    assert told["problems"][0]["memory_bound"] is None, told
    assert "memory bound" not in kforge("report", none).out
    both = kforge("report", "--merge", run, none, "--json").json()["runs"][0]
    assert both["memory_share"]["all"]["problems"] == 1, both


def test_tokens_by_agent(scratch):
    rows = [{"kforge_replay": 1}]
    for number, text in ((1, reply("good.c")), (2, reply("wrong.c"))):
        rows.append({"problem": "scale_shift", "attempt": number,
                     "text": text, "tokens_in": 100 * number,
                     "tokens_out": number, "model": "m"})
    rows.append({"problem": "scale_shift", "attempt": 2, "agent": "advisor",
                 "text": json.dumps({
                     "bottleneck": "latency", "keep": "the formula",
                     "change": "Keep eight partial results.",
                     "evidence": [{"line": "program.c:1"}],
                     "expected_gain": 2, "algorithm": "a"}),
                 "tokens_in": 7, "tokens_out": 3})
    path = scratch / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = kforge("run", C_PROBLEM, "--model", f"replay:{path}",
                    "--advisor", f"replay:{path}", "-n", "2", "--out",
                    scratch / "run", "--baseline", "none", "--calls", "20")
    assert result.status == 0, result
    told = kforge("report", scratch / "run", "--json").json()["runs"][0]
    agents = {"generator": {"replies": 2, "in": 300, "out": 3},
              "advisor": {"replies": 1, "in": 7, "out": 3}}
    assert told["tokens_by_agent"] == agents, told
    assert told["problems"][0]["tokens"] == agents, told
    assert told["tokens"] == 313, told
    text = kforge("report", scratch / "run").out
    assert "| generator | 2 | 300 | 3 |" in text, text
    assert "| advisor | 1 | 7 | 3 |" in text, text
    # What was expected, and what came of it, by class.
    assert "| model | latency | 1 | 0 | 2.00x | |" in text, text


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
