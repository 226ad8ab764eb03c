#!/usr/bin/env python3
"""The analysis agent end to end: replies of both agents out of one recording,
advice that is mended or replaced, what is kept of it, and a resume."""

import json
import sqlite3
import sys

from harness import PNG, C_PROBLEM, EXIT, ROOT, asked, kforge, run_tests

PROBLEM = ROOT / "problems" / "c" / "axpby"
PROGRAM = """#include <kforge/program.h>
/* %d */
int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data, *y = c->in[1].data;
	float a = (float)c->scalar[0].f, b = (float)c->scalar[1].f;
	float *z = c->out[0].data;

	for (int64_t i = 0; i < c->out[0].shape[0]; i++)
		z[i] = a * x[i] + b * y[i];
	return 0;
}
"""
ADVICE = {"bottleneck": "latency", "evidence": [{"line": "program.c:9"}],
          "change": "Keep eight partial results.", "expected_gain": 1.25,
          "keep": "the formula", "algorithm": "one pass over both vectors"}


def record(scratch, advice):
    """A recording with five programs and {(attempt, agent): reply}."""
    rows = [{"kforge_replay": 1}]
    rows += [{"problem": "axpby", "attempt": n,
              "text": f"Plan {n}.\n\n```c program.c\n{PROGRAM % n}```\n"}
             for n in range(1, 6)]
    rows += [{"problem": "axpby", "attempt": n, "agent": agent,
              "text": text if isinstance(text, str) else json.dumps(text)}
             for (n, agent), text in advice.items()]
    path = scratch / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def words(scratch, attempts, advisor, *more):
    return ("run", PROBLEM, "--size", "test", "--model",
            f"replay:{scratch / 'replies.jsonl'}", "--advisor", advisor,
            "-n", attempts, "--out", scratch / "run", "--baseline", "none",
            "--calls", "20", "--threads", "1", *more)


def stored(scratch, name):
    return (scratch / "run" / "objects" / name[:2] / name).read_bytes()


def show(scratch, number):
    result = kforge("show", scratch / "run", number, "--json")
    assert result.status == 0, result
    return result.json()


def test_a_model_advises_out_of_the_same_recording(scratch):
    path = record(scratch, {(2, "advisor"): f"```json\n{json.dumps(ADVICE)}"
                                            "\n```"})
    result = kforge(*words(scratch, 2, f"replay:{path}", "--record",
                           scratch / "again.jsonl"))
    assert result.status == 0, result
    assert "1.25x expected" in result.err, result
    prompt = show(scratch, 2)["prompt"]["user"]
    for part in ("Keep eight partial results.", "Leave alone: the formula",
                 "program.c:9", "about 1.25 times as fast"):
        assert part in prompt, prompt
    lines = (scratch / "again.jsonl").read_text().splitlines()[1:]
    assert [json.loads(line).get("agent") for line in lines] == \
        [None, "advisor", None], lines


def test_bad_advice_is_mended_once_and_then_replaced(scratch):
    path = record(scratch, {
        (2, "advisor"): "I have no idea.", (2, "advisor_again"): ADVICE,
        (3, "advisor"): dict(ADVICE, expected_gain=0.5),
        (3, "advisor_again"): dict(ADVICE, evidence=[{"counter": "made_up"}])})
    result = kforge(*words(scratch, 3, f"replay:{path}"))
    assert result.status == 0, result
    assert 'the rules advise, not the model: there is no counter "made_up"' \
        in result.err, result
    assert "Keep eight partial results." in \
        show(scratch, 2)["prompt"]["user"]
    assert "Keep eight partial results." not in \
        show(scratch, 3)["prompt"]["user"].split("## What to do")[0] \
        .split("## The change")[-1]


def test_a_name_cut_within_a_character_is_told_to_the_model(scratch):
    cut = dict(ADVICE, evidence=[{"counter": "x" * 79 + "\u00b5"}])
    path = record(scratch, {(2, "advisor"): cut,
                            (2, "advisor_again"): ADVICE})
    result = kforge(*words(scratch, 2, f"replay:{path}"))
    assert result.status == 0, result
    assert "Keep eight partial results." in \
        show(scratch, 2)["prompt"]["user"]


def test_its_tokens_count_in_the_budget(scratch):
    path = record(scratch, {(2, "advisor"): ADVICE})
    result = kforge(*words(scratch, 2, f"replay:{path}"))
    total = kforge("status", scratch / "run", "--json").json()["tokens"]
    made = [show(scratch, n) for n in (1, 2)]
    assert total > sum(a["tokens_in"] + a["tokens_out"] for a in made), total
    assert f"{total} tokens" in result.err, result


def test_a_program_is_profiled_before_it_is_improved(scratch):
    record(scratch, {})
    result = kforge(*words(scratch, 2, "none", "--profile", "threads"))
    assert result.status == 0, result
    prompt = show(scratch, 2)["prompt"]["user"]
    assert "## Its profile" in prompt and "cpu_time" in prompt, prompt
    assert (scratch / "run" / "profiles" / "axpby-1").is_dir()
    assert not list((scratch / "run" / "work").glob("*-profile")), result


def test_counters_that_are_hidden_reach_no_prompt(scratch):
    record(scratch, {})
    quick = ("none", "--profile", "threads", "--hide")
    result = kforge(*words(scratch, 2, *quick, "time"))
    assert result.status == EXIT["input"], result
    assert "--hide 'time' is not one of: times, processor" in result.err
    result = kforge(*words(scratch, 2, *quick, "times"))
    assert result.status == 0, result
    prompt = show(scratch, 2)["prompt"]["user"]
    assert "## Its profile" in prompt and "cpu_time" not in prompt, prompt


def test_a_run_that_ended_near_its_bound_is_complete(scratch):
    """The store of one that ended after the last of its attempts is made that
    of one that had another left: the roofline alone says why it ended."""
    record(scratch, {})
    result = kforge(*words(scratch, 2, "none", "--profile", "threads"))
    assert result.status == 0, result
    best = kforge("status", scratch / "run",
                  "--json").json()["problems"][0]["best_attempt"]
    db = sqlite3.connect(scratch / "run" / "run.db")
    settings = json.loads(db.execute("SELECT settings FROM run").fetchone()[0])
    # Perhaps of another one, too, that was profiled to be improved.
    db.execute("DELETE FROM profile WHERE attempt_id <> "
               "(SELECT min(attempt_id) FROM profile)")
    roofline = json.loads(db.execute(
        "SELECT roofline FROM profile").fetchone()[0])
    assert {"time_ns", "memory_ns", "cached"} <= set(roofline), roofline
    number = "(SELECT id FROM attempt WHERE number = ?)"
    for left, profile, state in ((1.5, "threads", "stopped"),
                                 (1.04, "threads", "complete"),
                                 (1.04, "none", "stopped")):
        roofline.update(time_ns=1e6 * left, memory_ns=1e6, cached=False)
        settings.update(attempts=3, profile=profile)
        db.execute(f"UPDATE profile SET roofline = ?, attempt_id = {number}",
                   (json.dumps(roofline), best))
        db.execute("UPDATE run SET settings = ?", (json.dumps(settings),))
        db.commit()
        told = kforge("status", scratch / "run", "--json").json()
        assert told["state"] == state, (left, profile, told)
        assert (told["go_on"] is None) == (state == "complete"), told
    db.close()


def test_a_plateau_names_the_algorithm_and_asks_for_another(scratch):
    path = record(scratch, {(n, "advisor"): ADVICE for n in (2, 3, 4)})
    program = path.read_text()
    slow = PROGRAM.replace("for (int64_t i = 0;",
                           "for (volatile int w = 0; w < 200000; w++)\n\t\t;\n"
                           "\tfor (int64_t i = 0;")
    for number in (2, 3):
        fast = json.dumps(PROGRAM % number)[1:-1]
        assert fast in program
        program = program.replace(fast, json.dumps(slow % number)[1:-1])
    path.write_text(program)
    result = kforge(*words(scratch, 4, f"replay:{path}"))
    assert result.status == 0, result
    prompt = show(scratch, 4)["prompt"]["user"]
    assert "The last two changes have brought nothing." in prompt, prompt
    assert "The algorithm in use: one pass over both vectors" in prompt
    assert "Attempt 1:" in prompt.split("## The best program")[1], prompt


def test_advice_is_not_paid_for_again(scratch):
    """The analysis agent has replied, then the service of the other fails."""
    record(scratch, {})
    reply = json.dumps(ADVICE)
    (scratch / "advice").write_text(reply)
    advisor = (f"exec:cat > /dev/null; echo $KFORGE_AGENT >> {scratch}/asked;"
               f" cat {scratch}/advice")
    model = (f"exec:cat > /dev/null; test $KFORGE_ATTEMPT = 1 -o "
             f"-e {scratch}/up || exit 1; cat {scratch}/program")
    (scratch / "program").write_text(f"```c program.c\n{PROGRAM % 1}```\n")
    first = list(words(scratch, 2, advisor))
    first[first.index("--model") + 1] = model
    result = kforge(*first)
    assert result.status == EXIT["unavailable"], result
    assert asked(scratch) == ["advisor"], asked(scratch)
    (scratch / "up").write_text("")
    result = kforge("resume", scratch / "run")
    assert result.status == 0, result
    assert asked(scratch) == ["advisor"], asked(scratch)
    assert "Keep eight partial results." in \
        show(scratch, 2)["prompt"]["user"]


def drawing(scratch, draw):
    """A profiler that draws, beside the program."""
    tool = scratch / "draw"
    (scratch / "one.png").write_bytes(PNG)
    tool.write_text(f"#!/bin/sh\nout=$2\n{draw}\n"
                    "trap 'echo name,value; echo watts,3; exit 0' INT\n"
                    "while :; do sleep 0.02; done\n")
    tool.chmod(0o755)
    return f"command:{tool} {{pid}} {{out}}"


def seen(scratch, *more, draw=None):
    """What the analysis agent was asked, the recording of it, the run."""
    record(scratch, {})
    (scratch / "advice").write_text(json.dumps(ADVICE))
    draw = draw or f"cp {scratch}/one.png $out/timeline.png"
    result = kforge(*words(
        scratch, 2, f"exec:cat > {scratch}/prompt; cat {scratch}/advice",
        "--profile", drawing(scratch, draw), "--record",
        scratch / "recorded.jsonl", *more))
    assert result.status == 0, result
    rows = [json.loads(line) for line in
            (scratch / "recorded.jsonl").read_text().splitlines()[1:]]
    entry, = [row for row in rows if row.get("agent") == "advisor"]
    return (scratch / "prompt").read_text(), entry, result


def test_a_model_that_sees_gets_what_profilers_drew(scratch):
    prompt, entry, _ = seen(scratch, "--advisor-sees")
    assert "A picture of it, as a profiler drew it, goes with" in prompt
    path = prompt.strip().splitlines()[-1]
    assert path.endswith("/timeline.png") and path.startswith("/"), prompt
    picture, = entry["pictures"]
    assert picture["path"] == path and picture["bytes"] == len(PNG), entry
    # Kept with the question: its bytes are an object of the run.
    store = sqlite3.connect(scratch / "run" / "run.db")
    name, = store.execute("SELECT prompt_hash FROM advice_reply").fetchone()
    kept = json.loads(stored(scratch, name))
    assert kept["pictures"] == [picture], kept
    assert stored(scratch, picture["sha256"]) == PNG
    # The recording answers without a profiler that draws.
    once_more = list(words(scratch, 2, f"replay:{scratch}/recorded.jsonl",
                           "--advisor-sees"))
    once_more[once_more.index("--out") + 1] = scratch / "again"
    again = kforge(*once_more)
    assert again.status == 0 and "1.25x expected" in again.err, again


def test_no_other_model_gets_pictures(scratch):
    prompt, entry, _ = seen(scratch)
    assert "icture" not in prompt and "pictures" not in entry, prompt


def test_a_picture_that_is_too_large_is_told(scratch):
    draw = (f"cp {scratch}/one.png $out/large.png\n"
            "head -c 1100000 /dev/zero >> $out/large.png")
    prompt, entry, _ = seen(scratch, "--advisor-sees", draw=draw)
    assert "pictures" not in entry, entry
    assert "picture large.png (it is larger than 1 MiB" in prompt, prompt


def test_seeing_is_about_a_model(scratch):
    result = kforge("run", C_PROBLEM, "--model", "exec:true",
                    "--advisor-sees", "--out", scratch / "run")
    assert result.status == EXIT["input"], result
    assert "--advisor-sees is about a model" in result.err, result


def test_names_that_are_wrong_are_told_at_once(scratch):
    result = kforge("run", C_PROBLEM, "--model", "exec:true", "--advisor",
                    "rulez", "--out", scratch / "run")
    assert result.status == EXIT["input"], result
    assert "'rulez' names no known provider" in result.err, result


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
