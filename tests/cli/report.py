#!/usr/bin/env python3
"""kforge report: what runs came to."""

import json
import sqlite3
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


def set_verdict(run, **members):
    """As a device would have told it."""
    with sqlite3.connect(run / "run.db") as db:
        verdict, = db.execute("SELECT verdict FROM attempt "
                              "WHERE state = 'correct'").fetchone()
        db.execute("UPDATE attempt SET verdict = ? WHERE state = 'correct'",
                   (json.dumps({**json.loads(verdict), **members}),))


def cells(text, begins):
    row, = (line for line in text.splitlines() if line.startswith(begins))
    return [cell.strip() for cell in row.strip("|").split("|")]


def words(ns):
    """A time as the tables have it."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1)):
        if ns >= scale:
            return f"{ns / scale:.3g} {unit}"
    return "-"


def test_json_has_each_figure_of_the_table(scratch):
    run = make_run(scratch, "run", ["wrong.c", "good.c"])
    verdict = kforge("show", run, 2, "--json").json()["verdict"]
    about = {"version": "2.11.0", "driver": "610.43", "launches": 3,
             "memory_bytes_peak": 9_500_000_000, "eager_tf32_ns": 1.5e6,
             "compile_tf32_ns": 1.25e6}
    set_verdict(run, baseline="eager", baseline_about=about,
                baseline_ways={"eager": 2e6, "compile": 4e6})
    told = kforge("report", run, "--json").json()["runs"][0]["problems"][0]
    best = told["best"]
    name, marks, attempt, time, baseline, eager, compiled, faster, interval = \
        cells(kforge("report", run).out, "| `scale_shift` | m c")
    assert (name, marks) == (f"`{told['problem']}`", " ".join(told["states"]))
    assert attempt == str(best["attempt"]) == "2", best
    assert time == words(best["time_ns"]), (time, best)
    assert baseline.startswith(
        f"{best['baseline']} {words(best['baseline_ns'])} ("), baseline
    assert best["baseline_about"] == about, best
    assert best["baseline_ways"] == {"eager": 2e6, "compile": 4e6}, best
    for word in ("torch 2.11.0", "driver 610.43", "3 launches", "9.5 GB",
                 "eager 1.5 ms and torch.compile 1.25 ms"):
        assert word in baseline, (word, baseline)
    for cell, key in ((eager, "eager"), (compiled, "compile"),
                      (faster, "faster")):
        assert cell == f"{told[key]:.2f}x", (cell, told)
    assert interval == (
        f"{best['speedup']['low']:.2f} to {best['speedup']['high']:.2f}" +
        ("" if best["conclusive"] else " ~")), (interval, best)
    for key in ("time_ns", "baseline_ns", "conclusive", "kernelbench_good",
                "memory_bytes_peak"):
        assert best[key] == verdict[key], (key, best)
    assert best["speedup"] == {
        key: verdict["speedup"][key] for key in best["speedup"]}, best
    assert [(a["attempt"], a["state"], a["kernelbench_good"])
            for a in told["attempts"]] == [
                (1, "mismatch", False), (2, "correct", True)], told


def test_json_of_what_was_judged_again(scratch):
    run = make_run(scratch, "run", ["good.c"], "--rejudge", "1")
    told = kforge("report", run, "--json").json()["runs"][0]["problems"][0]
    again, = told["judged_again"]
    _, number, place, first, time, ratio, interval = \
        cells(kforge("report", run).out, "| `scale_shift` | 1 | 1 of 1")
    assert number == str(again["attempt"]), again
    assert place == f"{again['place']} of {again['of']}", again
    assert first == f"{again['at_first']:.2f}x", (first, again)
    assert time == words(again["time_ns"]), (time, again)
    assert ratio == f"{again['speedup']:.2f}x", (ratio, again)
    assert interval == f"{again['low']:.2f} to {again['high']:.2f}" + (
        "" if again["conclusive"] else " ~"), (interval, again)
    assert told["best"]["time_ns"] == again["time_ns"], told


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
    assert told["problems"][0]["best"] is None, told
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
    # Of no correct program none is fast; without a baseline nobody knows.
    assert ("| 1 | 0 of 1 | 0 of 1 | eager | 0.00 | 0.00 | 0.00 | | |" in
            text), text
    assert told[0]["by_attempt"][0]["compile"]["fast_1"] == 0, told
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
