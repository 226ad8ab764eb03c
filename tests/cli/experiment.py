#!/usr/bin/env python3
"""kforge experiment: arms over problems, models and repeats."""

import json
import math
import os
import re
import shutil
import sys

from harness import (C_PROBLEM, EXIT, ROOT, asked, finish, kforge, reply,
                     run_tests, signal, start, wait_for)

FAST = {"calls": 20, "rejudge": 0, "baseline": "none", "profile": "none",
        "threads": 1}
EXAMPLE = "docs/experiments/example.json"


def model(scratch, replies):
    """Answers attempt N with replies[N - 1] and appends ARM:N to scratch/asked,
    once that has fewer lines than scratch/allowed says."""
    for number, name in enumerate(replies, 1):
        (scratch / f"reply.{number}").write_text(reply(name))
    return (f"exec:cat > /dev/null; cd {scratch}; echo >> waiting; until test "
            "`cat asked 2> /dev/null | wc -l` -lt `cat allowed`; do sleep 0.05;"
            " done; echo {arm}:$KFORGE_ATTEMPT >> asked; "
            "cat reply.$KFORGE_ATTEMPT")


def asks(scratch):
    path = scratch / "waiting"
    return len(path.read_text().splitlines()) if path.exists() else 0


def describe(scratch, replies=("good.c",), **members):
    """Writes scratch/arms.json; returns the words that run it."""
    (scratch / "allowed").write_text("100")
    file = {"problems": [C_PROBLEM], "models": {"m": model(scratch, replies)},
            "options": FAST, "arms": {"one": {"attempts": 1}}}
    file.update(members)
    (scratch / "arms.json").write_text(json.dumps(file))
    return ("experiment", scratch / "arms.json", "--out", scratch / "out")


def logarithms(told, arm):
    """{problem: mean over repeats of the logarithm of the best speed-up}."""
    found = {}
    for run in told["runs"]:
        if run["arm"] == arm and run["faster"]:
            found.setdefault(run["problem"], []).append(
                math.log(run["faster"]))
    return {name: sum(all_) / len(all_) for name, all_ in found.items()}


def check_means(told):
    """Means of arms and pairs, computed anew from the runs."""
    by_arm = {a["arm"]: logarithms(told, a["arm"]) for a in told["arms"]}
    for arm in told["arms"]:
        values = by_arm[arm["arm"]].values()
        mean = math.exp(sum(values) / len(values))
        assert math.isclose(arm["speed"]["faster"]["geomean"]["mean"], mean)
    for pair in told["pairs"]:
        a, b = by_arm[pair["arm"]], by_arm[pair["against"]]
        both = [a[name] - b[name] for name in a if name in b]
        assert pair["speed"]["problems"] == len(both), pair
        assert math.isclose(pair["speed"]["mean"],
                            math.exp(sum(both) / len(both))), pair
        low, high = pair["speed"]["low"], pair["speed"]["high"]
        assert math.isclose(low, math.exp(min(both))), (pair, both)
        assert math.isclose(high, math.exp(max(both))), (pair, both)


def test_the_example_of_the_documentation(scratch):
    os.chdir(ROOT)
    page = (ROOT / "docs" / "experiments.md").read_text()
    shown = re.search(r"^    \{\n.*?^    \}\n", page, re.M | re.S)[0]
    assert json.loads(shown) == json.loads((ROOT / EXAMPLE).read_text())
    words = ("experiment", EXAMPLE, "--out", scratch / "out")
    result = kforge(*words, "--dry-run", "--json")
    told = result.json()
    assert (told["runs"], told["done"]) == (20, 0), told
    assert told["programs"] == 4 * (1 + 3 + 3 + 3 + 3), told
    assert told["advice"] == 4 * 2 * 2, told
    result = kforge(*words, "--jobs", "2", timeout=600)
    assert result.status == 0, result
    assert "| single-shot | by-hand | 4 of 4 | 0.50 (" in result.out, result
    assert "| from-start | by-hand | its start |" in result.out, result
    assert "too few problems" in result.out, result
    told = kforge(*words, "--table", "--json").json()
    arms = {arm["arm"]: arm for arm in told["arms"]}
    assert [by["mean"] for by in arms["iterative"]["correct"]] == [0.5, 1, 1]
    assert [by["mean"] for by in arms["from-start"]["correct"]] == [1, 1, 1]
    assert arms["single-shot"]["replies"]["mean"] == 1
    assert arms["agent"]["advice"]["mean"] == 1.5, arms["agent"]
    assert arms["agent"]["tokens"]["mean"] > arms["rules"]["tokens"]["mean"]
    assert arms["iterative"]["speed"]["eager"]["geomean"]["mean"] > 0
    assert arms["iterative"]["speed"]["compile"]["fast_1"]["mean"] is None
    check_means(told)
    pairs = {(p["arm"], p["against"]): p for p in told["pairs"]}
    assert len(pairs) == 10, pairs
    assert pairs["agent", "single-shot"]["correct"]["mean"] == 0.5
    assert pairs["agent", "rules"]["speed"]["problems"] == 2
    again = kforge(*words)
    assert again.out.startswith("5 arms, 1 model, 2 problems, 2 repeats\n")
    assert again.err == "", again
    told = kforge(*words, "--dry-run", "--json").json()
    assert (told["done"], told["programs"]) == (20, 0), told


MISTAKES = [
    ({"problms": []}, '"problms": an experiment has no member of this name; '
                      'did you mean "problems"?'),
    ({"xyzzy": 1}, "it has problems, models, arms, options, repeats"),
    ({"models": ["openai:x"]}, '"models" must be an object'),
    ({"models": {}}, '"models" is empty'),
    ({"models": {"a b": "exec:true"}}, '"models.a b": a name has letters'),
    ({"models": {"none": "exec:true"}}, 'no model can be called "none"'),
    ({"models": {"m": ""}}, '"models.m" must be a string'),
    ({"arms": {}}, '"arms" is empty'),
    ({"arms": {"../x": {}}}, '"arms.../x": a name has letters'),
    ({"arms": {"x": []}}, '"arms.x" must be an object'),
    ({"arms": {"x": {"atempts": 1}}}, '"arms.x.atempts": there is no option '
                                      'of this name; did you mean "attempts"'),
    ({"arms": {"x": {"attempts": 0}}}, '"arms.x.attempts": --attempts wants'),
    ({"arms": {"x": {"model": "exec:true"}}}, 'belongs under "models"'),
    ({"arms": {"x": {"json": True}}}, "is for the command line only"),
    ({"arms": {"x": {"explain": True}}}, "`kforge run` has no option "
                                         "--explain"),
    ({"arms": {"x": {"start": "none.c"}}}, "there is no file none.c"),
    ({"arms": {"x": {"hide": "nothing"}}}, "--hide 'nothing' is not one of"),
    ({"options": {"out": "x"}}, '"options.out": --out is for the command'),
    ({"repeats": 0}, '"repeats" can be 1 to 1000, not 0'),
    ({"repeats": 1.5}, '"repeats" must be a whole number'),
    ({"against": "two"}, 'there is no arm "two"'),
    ({"problems": []}, '"problems" is empty'),
    ({"problems": ["nowhere"]}, "nowhere"),
    ({"problems": [C_PROBLEM, C_PROBLEM]}, "would both be called"),
]


def test_mistakes_name_the_member_and_cost_nothing(scratch):
    for members, words in MISTAKES:
        result = kforge(*describe(scratch, **members), cwd=scratch)
        assert result.status == EXIT["input"], (members, result)
        assert words in result.err, (members, result)
        assert result.err.count("\n") == 1, (members, result)
    (scratch / "arms.json").write_text("{}")
    result = kforge("experiment", scratch / "arms.json")
    assert '"problems" is missing: a list of paths' in result.err, result
    assert asked(scratch) == [], asked(scratch)


def test_a_kill_at_any_time_pays_for_nothing_twice(scratch):
    words = describe(scratch, ("wrong.c", "good.c"), repeats=2,
                     arms={"a": {"attempts": 1}, "b": {"attempts": 2}})
    for replies in (0, 2, 3):
        (scratch / "allowed").write_text(str(replies))
        already = asks(scratch)
        process = start(*words)
        # The next question comes when what the last one brought is stored.
        more = replies - len(asked(scratch)) + 1
        wait_for(lambda: asks(scratch) == already + more, "a question")
        if replies == 3:
            process.send_signal(signal.SIGINT)
            stopped = finish(process)
            assert stopped.status == EXIT["canceled"], stopped
            assert "the same command goes on" in stopped.err, stopped
        else:
            process.kill()
            finish(process)
        left = kforge(*words, "--dry-run", "--json").json()
        assert left["programs"] == 6 - replies, left
    (scratch / "allowed").write_text("100")
    result = kforge(*words, "--json")
    assert result.status == 0, result
    assert sorted(asked(scratch)) == ["a:1"] * 2 + ["b:1"] * 2 + ["b:2"] * 2
    assert [a["runs"] for a in result.json()["arms"]] == [2, 2]
    more = describe(scratch, ("wrong.c", "good.c"), repeats=3,
                    arms={"a": {"attempts": 1}, "b": {"attempts": 2},
                          "c": {"attempts": 1}})
    result = kforge(*more)
    assert result.status == 0 and len(asked(scratch)) == 12, result


def test_what_has_changed_is_not_mixed(scratch):
    assert kforge(*describe(scratch)).status == 0
    changed = describe(scratch, arms={"one": {"attempts": 2}})
    result = kforge(*changed)
    assert result.status == EXIT["input"], result
    assert "one/m/scale_shift/1 was begun in" in result.err, result
    assert "another name" in result.err and "--out" in result.err, result
    problem = scratch / "own"
    shutil.copytree(C_PROBLEM, problem)
    words = describe(scratch, problems=[str(problem)])
    assert kforge(*words).status == 0
    with open(problem / "reference.c", "a", encoding="ascii") as file:
        file.write("/* changed */\n")
    for more in ((), ("--table",), ("--dry-run",)):
        result = kforge(*words, *more)
        assert result.status == EXIT["input"], result
        assert "begun in" in result.err and "another problem" in result.err
    assert len(asked(scratch)) == 2


def test_what_fails_is_told_and_tried_again(scratch):
    missing = {"m": f"replay:{scratch}/{{arm}}.jsonl"}
    text = json.dumps({"kforge_replay": 1}) + "\n" + json.dumps(
        {"problem": "scale_shift", "attempt": 1, "text": reply("good.c")})
    (scratch / "b.jsonl").write_text(text)
    words = describe(scratch, models=missing, options=dict(FAST, attempts=1),
                     arms={"a": {}, "b": {}})
    result = kforge(*words)
    assert result.status == EXIT["not_all"], result
    assert "a/m/scale_shift/1: " in result.err and "a.jsonl" in result.err
    assert "| a | m | 0 of 1 | |" in result.out, result
    assert "| b | m | 1 of 1 | 1.00 |" in result.out, result
    (scratch / "a.jsonl").write_text(text)
    assert kforge(*words).status == 0
    words = describe(scratch, models={"m": "exec:exit 1"}, repeats=9,
                     options=dict(FAST, attempts=1))
    result = kforge(*words[:-1], scratch / "other")
    assert result.status == EXIT["unavailable"], result
    assert "the last 3 runs have failed" in result.err, result


def test_another_machine_judges(scratch):
    words = describe(scratch, repeats=2)
    (scratch / "jobs").mkdir()
    judge = start("judge", scratch / "jobs", "--watch")
    try:
        result = kforge(*words, "--executor", f"folder:{scratch}/jobs",
                        "--jobs", "2")
    finally:
        judge.send_signal(signal.SIGINT)
        finish(judge)
    assert result.status == 0, result
    assert "| one | m | 2 of 2 | 1.00 |" in result.out, result


def test_templates_and_counters_of_an_arm(scratch):
    plain = str(ROOT / "docs" / "experiments" / "plain")
    words = describe(scratch, ("wrong.c", "good.c", "good.c"), arms={
        "ours": {"attempts": 1}, "plain": {"attempts": 3, "prompts": plain},
        "less": {"attempts": 1, "hide": ["times", "kernels"]}},
        against="ours")
    result = kforge(*words, "--json")
    assert result.status == 0, result
    pairs = [(p["arm"], p["against"]) for p in result.json()["pairs"]]
    assert pairs == [("plain", "ours"), ("less", "ours")], pairs
    runs = {run["arm"]: run for run in result.json()["runs"]}
    assert runs["plain"]["states"][:2] == ["m", "c"], runs
    for number, sentence in ((1, "the same as the C reference below, faster"),
                             (2, "below is wrong. Correct it."),
                             (3, "Make the program below faster.")):
        prompt = kforge("show", runs["plain"]["run"], number, "--only",
                        "prompt").out
        assert sentence in prompt and "## Device" not in prompt, prompt
    settings = kforge("report", runs["less"]["run"], "--json").json()
    assert settings["runs"][0]["settings"]["hide"] == ["times", "kernels"]


def test_all_arms_of_the_documentation(scratch):
    os.chdir(ROOT)
    told = kforge("experiment", "docs/experiments/arms.json", "--dry-run",
                  "--json", "--out", scratch / "out").json()
    runs = {arm["arm"]: arm for arm in told["arms"]}
    each = runs["rules"]["runs"]
    assert each > 30 and told["runs"] == each * len(runs) == each * 13, told
    assert runs["rules"]["programs"] == 5 * each and \
        runs["single-shot"]["programs"] == each, told
    assert runs["agent"]["advice"] == 8 * each, told
    assert told["advice"] == 8 * runs["agent"]["advice"], told


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
