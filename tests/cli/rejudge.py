#!/usr/bin/env python3
"""At the end of a run its best programs are judged again, on data drawn anew
(docs/judging.md)."""

import json
import sys

from harness import EXIT, ROOT, asked, kforge, run_tests, script_model

PROBLEM = ROOT / "problems" / "c" / "axpby" / "problem.json"
# Right for whatever comes; `how` makes it another text.
HONEST = """#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data, *y = c->in[1].data;
	float a = (float)c->scalar[0].f, b = (float)c->scalar[1].f;
	float *z = c->out[0].data;

	for (int64_t i = 0; i < c->out[0].shape[0]; i++)
		z[i] = HOW;
	return 0;
}
"""
SUM, OTHER_SUM = "a * x[i] + b * y[i]", "b * y[i] + a * x[i]"
# Right for the data that it knows, and 1 % off for all other.
LUCKY = """#include <string.h>

#include <kforge/program.h>

static const unsigned known[] = { KNOWN };

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data, *y = c->in[1].data;
	float a = (float)c->scalar[0].f, b = (float)c->scalar[1].f;
	float *z = c->out[0].data, off = 0.01f;
	unsigned first;

	memcpy(&first, x, sizeof(first));
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == first)
			off = 0;
	for (int64_t i = 0; i < c->out[0].shape[0]; i++)
		z[i] = (1 + off) * (a * x[i] + b * y[i]);
	return 0;
}
"""


def honest(how):
    return f"```c program.c\n{HONEST.replace('HOW', how)}```\n"


def lucky(cache):
    """The program that knows the first element of each input of the bundle
    that is in the cache: what a search among very many would come to."""
    first = []
    for path in cache.glob("bundles/*/inputs/*.safetensors"):
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        tensors = json.loads(data[8:8 + size])
        if "in.0" in tensors:
            at = 8 + size + tensors["in.0"]["data_offsets"][0]
            first.append(f"{int.from_bytes(data[at:at + 4], 'little')}u")
    assert len(first) > 12, first
    return f"```c program.c\n{LUCKY.replace('KNOWN', ', '.join(first))}```\n"


def run(scratch, replies, *more):
    model = script_model(scratch, replies)
    return kforge("run", PROBLEM, "--model", model, "-n", len(replies),
                  "--size", "test", "--threads", "1", "--out",
                  scratch / "run", "--cache", scratch / "cache",
                  "--advisor", "none", "--json", *more)


def again(result):
    """By attempt: what its second judgement came to, or None."""
    return {a["number"]: a.get("judged_again")
            for a in result.json()["problems"][0]["attempts"]}


def best(scratch):
    return scratch / "run" / "best" / "axpby"


def test_the_best_are_timed_in_turn_and_the_first_is_published(scratch):
    wrong = honest(SUM.replace("+", "-"))
    replies = [honest(SUM), wrong, honest(OTHER_SUM)]
    result = run(scratch, replies, "--rejudge", "3")
    assert result.status == 0, result
    seconds = again(result)
    assert seconds[2] is None, seconds
    assert sorted(seconds[n]["place"] for n in (1, 3)) == [1, 2], seconds
    assert all(seconds[n]["of"] == 2 and seconds[n]["time_ns"] > 0 and
               seconds[n]["speedup"] > 0 for n in (1, 3)), seconds
    first = 1 if seconds[1]["place"] == 1 else 3
    problem = result.json()["problems"][0]
    assert problem["best_attempt"] == first and problem["judged_again"]
    assert problem["time_ns"] == seconds[first]["time_ns"], problem
    assert "judged again, timed in turn: the best of 2" in result.err, result
    published = json.loads((best(scratch) / "verdict.json").read_text())
    assert published["attempt"] == first, published
    duel = published["judged_again"]["duel"]
    assert [s["name"] for s in duel["sides"]][-1] == "reference", duel
    assert (best(scratch) / "program.c").read_text() in replies[first - 1]
    assert not list((scratch / "run" / "work").glob("*-again*"))
    told = kforge("show", scratch / "run", "1", "--explain").out
    assert f"place {seconds[1]['place']} of 2, timed in turn" in told, told
    status = kforge("status", scratch / "run", "--json").json()
    assert status["state"] == "complete", status
    assert status["problems"][0]["judged_again"] == 2, status
    report = kforge("report", scratch / "run")
    assert "Judged again at the end" in report.out, report


def test_what_was_right_by_luck_loses_its_place(scratch):
    """First alone, so that its bundle is there to be known."""
    fixed = ("--rejudge", "1", "--calls", "20", "--baseline", "none")
    whole = scratch / "whole"
    whole.mkdir()
    done = run(whole, [honest(SUM)], *fixed, "--cache", scratch / "cache")
    assert done.status == 0 and again(done)[1]["place"] == 1, done
    assert "judged again, alone" in done.err, done

    only = scratch / "only"
    only.mkdir()
    trained = lucky(scratch / "cache")
    lost = run(only, [trained], *fixed, "--cache", scratch / "cache")
    assert lost.status == EXIT["not_all"], lost
    assert again(lost)[1]["state"] == "mismatch", lost
    assert not lost.json()["problems"][0]["correct"], lost
    assert "judged again, it is not correct (mismatch: values) and loses " \
        "its place" in lost.err, lost
    assert not best(only).exists()
    status = kforge("status", only / "run")
    assert "complete" in status.out and "1 no longer correct" in status.out

    # The next one has its turn, though only one was asked for.
    both = scratch / "both"
    both.mkdir()
    slow = "({ volatile float s = b * y[i]; for (int k = 0; k < 200; k++) " \
        "s = s; s + a * x[i]; })"
    result = run(both, [trained, honest(slow)], *fixed, "--cache",
                 scratch / "cache")
    assert result.status == 0, result
    seconds = again(result)
    assert seconds[1]["place"] == 0 and seconds[2]["place"] == 1, seconds
    assert result.json()["problems"][0]["best_attempt"] == 2, result
    assert "volatile" in (best(both) / "program.c").read_text()


def test_the_same_program_has_one_turn(scratch):
    result = run(scratch, [honest(SUM), honest(OTHER_SUM), honest(SUM)],
                 "--rejudge", "3", "--calls", "20", "--baseline", "none")
    assert result.status == 0, result
    judged = [n for n, second in again(result).items() if second]
    assert len(judged) == 2 and 2 in judged, result
    assert "judged again, one by one: the best of 2" in result.err, result


def test_none_are_judged_again_if_none_is_wanted(scratch):
    result = run(scratch, [honest(SUM)], "--rejudge", "0", "--calls", "20",
                 "--baseline", "none")
    assert result.status == 0 and again(result) == {1: None}, result
    # Whoever wants it later says so, and nobody is asked again.
    later = kforge("resume", scratch / "run", "--rejudge", "1", "--json")
    assert later.status == 0 and again(later)[1]["place"] == 1, later
    assert asked(scratch) == ["1"]
    wrong = kforge("run", PROBLEM, "--model", "exec:true", "--rejudge", "9")
    assert wrong.status == EXIT["input"] and "at most 8" in wrong.err, wrong


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
