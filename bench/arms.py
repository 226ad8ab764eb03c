#!/usr/bin/env python3
"""Programs of the experiments' arms (bench/results/h200/README.md, "Which arm
brings speed?" and "Which counters?"), judged from the replies of a large language
model that are kept.

    bench/arms.py make DIR     job folders (docs/jobs.md) of replies that have no
                               verdict yet: DIR/KIND/ARM/PROBLEM-ATTEMPT, where
                               KIND is arms, sets or newest; to be judged by
                               kforge judge DIR
    bench/arms.py take DIR     what became of them goes to KIND.json
    bench/arms.py table        all as tables, with what each arm brings

KERNELBENCH=FOLDER is a checkout of KernelBench, for make. Speed-ups are against the
faster of eager and compiled PyTorch, timed beside each program; attempt 0 is the
program from which all arms start, where it was judged with them; ~: the times were
not steady. "Brings" is the geometric mean of how many times
as fast as the start the best program so far is, over the problems that all compared
arms have, where a wrong program leaves the start. Its interval is of 95 %, from
problems drawn anew (2,000 times).
"""

import json
import pathlib
import random
import sys

import forms

FOLDER = pathlib.Path("bench/results/h200")
KINDS = {"arms": 2, "sets": 1, "newest": 1}     # attempts of each arm
DRAWS = 2000
FEWEST = 3      # problems, for an interval
SEED = 5


def replies(kind):
    """[(arm, problem, attempt, text)] of the generation agent."""
    lines = (FOLDER / f"{kind}-replies.jsonl").read_text(encoding="utf-8")
    return [(line["arm"], line["problem"], line["attempt"], line["text"])
            for line in map(json.loads, lines.splitlines())
            if "arm" in line and not line.get("agent")]


def read(kind):
    path = FOLDER / f"{kind}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() \
        else {"about": "as arms.json, of the arms in which a set of counters "
                       "is taken away", "verdicts": {}}


def verdict_of(verdicts, arm, problem, attempt):
    return verdicts.get(problem, {}).get(arm, {}).get(str(attempt))


def make(folder):
    problems = forms.checkout()
    for kind in KINDS:
        verdicts = read(kind)["verdicts"]
        for arm, problem, attempt, text in replies(kind):
            if problem not in problems:
                sys.exit(f"the checkout of KernelBench has no problem {problem}")
            if not verdict_of(verdicts, arm, problem, attempt):
                forms.write_job(folder / kind / arm / f"{problem}-{attempt}",
                                problems[problem], text)


def take(folder):
    for kind in KINDS:
        kept = read(kind)
        for arm, problem, attempt, _ in replies(kind):
            job = folder / kind / arm / f"{problem}-{attempt}"
            facts = forms.row(job) if (job / "job.json").exists() else {}
            if "state" not in facts:
                continue
            found = {"state": facts["state"], "reason": facts["reason"],
                     "time_ns": facts["time_ns"]}
            reference = forms.fastest(facts)
            if facts["state"] == "correct" and reference:
                found.update(baseline_ns=reference,
                             speedup=reference / facts["time_ns"])
                if not facts["conclusive"]:
                    found["conclusive"] = False
            kept["verdicts"].setdefault(problem, {}).setdefault(
                arm, {})[str(attempt)] = found
        (FOLDER / f"{kind}.json").write_text(
            json.dumps(kept, indent=1, sort_keys=True) + "\n",
            encoding="utf-8")


# --- tables -------------------------------------------------------------------


def starts(verdicts):
    """{problem: the start's speed-up}: the median of what the arms saw."""
    found = {}
    for problem, arms in verdicts.items():
        seen = sorted(arm["0"]["speedup"] for arm in arms.values()
                      if arm.get("0", {}).get("speedup"))
        if seen:
            found[problem] = seen[len(seen) // 2]
    return found


def best(verdicts, arm, problem, attempts, start):
    """The best speed-up after so many attempts, or None: not all are judged."""
    found = [verdict_of(verdicts, arm, problem, attempt)
             for attempt in range(1, attempts + 1)]
    if not all(found):
        return None
    return max([start, *(v["speedup"] for v in found if v.get("speedup"))])


def gains(verdicts, arm, attempts, start):
    """{problem: how many times as fast as the start}."""
    found = {problem: best(verdicts, arm, problem, attempts, start[problem])
             for problem in start}
    return {problem: value / start[problem]
            for problem, value in found.items() if value}


def interval(values):
    draw = random.Random(SEED)
    means = sorted(forms.mean(draw.choices(values, k=len(values)))
                   for _ in range(DRAWS))
    return means[DRAWS // 40], means[-DRAWS // 40 - 1]


def cell(verdicts, arm, problem, attempts):
    shown = []
    for attempt in range(1, attempts + 1):
        v = verdict_of(verdicts, arm, problem, attempt)
        doubt = " ~" if v and v.get("conclusive") is False else ""
        shown.append("." if not v else f"{v['speedup']:.2f}{doubt}"
                     if v.get("speedup") else forms.MARK[v["state"]])
    return "." if set(shown) == {"."} else " / ".join(shown)


def show(verdicts, arms, start, attempts):
    print("| problem | start | " + " | ".join(arms) + " |\n" +
          "|---" * (len(arms) + 2) + "|")
    for problem in sorted(start, key=forms.by_level):
        if any(verdict_of(verdicts, arm, problem, 1) for arm in arms):
            cells = [cell(verdicts, arm, problem, attempts) for arm in arms]
            print(f"| `{problem}` | {start[problem]:.2f} | " +
                  " | ".join(cells) + " |")


def compare(verdicts, arms, start, attempts):
    found = {arm: gains(verdicts, arm, attempts, start) for arm in arms}
    found = {arm: gain for arm, gain in found.items() if gain}
    if not found:
        return
    common = sorted(set.intersection(*map(set, found.values())))
    print(f"\nAfter {attempts} attempt{'s' * (attempts > 1)}:\n\n"
          f"| arm | problems | brings | on the {len(common)} that all have "
          "| interval |\n" + "|---" * 5 + "|")
    for arm, gain in found.items():
        values = [gain[problem] for problem in common]
        both = f"{forms.mean(values):.2f}" if values else "-"
        low, high = interval(values) if values else (0, 0)
        print(f"| {arm} | {len(gain)} | {forms.mean(list(gain.values())):.2f} "
              f"| {both} | " + (f"{low:.2f} to {high:.2f} |"
                                if len(values) >= FEWEST else "- |"))


def table():
    first = starts(read("arms")["verdicts"])
    for kind, attempts in KINDS.items():
        verdicts = read(kind)["verdicts"]
        start = {**first, **starts(verdicts)}
        arms = list(dict.fromkeys(arm for arm, *_ in replies(kind)))
        print(f"\n## {kind}\n")
        show(verdicts, arms, start, attempts)
        for number in range(1, attempts + 1):
            compare(verdicts, arms, start, number)


def main():
    words = sys.argv[1:]
    if len(words) == 2 and words[0] == "make":
        make(pathlib.Path(words[1]))
    elif len(words) == 2 and words[0] == "take":
        take(pathlib.Path(words[1]))
    elif words == ["table"]:
        table()
    else:
        sys.exit(f"usage: {sys.argv[0]} make DIR | take DIR | table")


if __name__ == "__main__":
    main()
