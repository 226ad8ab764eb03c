#!/usr/bin/env python3
"""Forms of programs beside each other on CUDA: ten problems of KernelBench, one
first reply of the same large language model in each form, of two parts and cu
another one.

    bench/forms.py make DIR     job folders DIR/COLUMN/PROBLEM (docs/jobs.md) of
                                replies that have no verdict yet; a column is a
                                form, two-part-again or cu-again
    bench/forms.py take DIR     what became of those that are judged is kept; the
                                machine that judged need not be this one
    bench/forms.py table        what is kept, as a table
    bench/forms.py              all of them judged here, as a table and as JSON;
                                nothing is kept

KERNELBENCH=FOLDER is a checkout of KernelBench. Without it, or without a CUDA
device and a Python with torch that sees it, the last one says so. Judging twice
as fast, with the reference timed beside two forms alone:

    kforge judge DIR/two-part* DIR/cu* --jobs 2
    kforge judge DIR/torch DIR/triton --jobs 2 --baseline stored

The replies are in bench/results/h200: second-replies-FORM.jsonl, whose prompts had
notes that say the same to all forms, and third-replies-FORM.jsonl, the others; those
of first-replies-FORM.jsonl had notes that did not, so they are no comparison
(first-forms.json has their verdicts). Tokens are those of the
reply, two for seven bytes, as kforge counts where a provider tells none. A two-part
program's time is its device's, the other forms' is kforge's and has the launching in
it.
"""

import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

KFORGE = os.path.join(os.environ.get("KF_BUILD", "build"), "kforge")
REPLIES = pathlib.Path("bench/results/h200")
FORMS = ("two-part", "cu", "torch", "triton")
AGAIN = "-again"
FILES = {**{form: f"second-replies-{form}.jsonl" for form in FORMS},
         **{form + AGAIN: f"third-replies-{form}.jsonl"
            for form in ("two-part", "cu")}}
MARK = {"correct": "c", "mismatch": "m", "runtime_error": "r",
        "compilation_failure": "b", "generation_failure": "g"}
BYTES_A_TOKEN = 3.5


# --- job folders --------------------------------------------------------------


def first_replies(path):
    """{problem: text} of the generation agent's first attempts."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {line["problem"]: line["text"] for line in lines
            if line.get("attempt") == 1 and not line.get("agent")}


def write_job(folder, problem, reply, **members):
    """One that needs nothing but itself."""
    (folder / "problem").mkdir(parents=True)
    (folder / "problem" / problem.name).write_text(
        problem.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "reply.md").write_text(reply, encoding="utf-8")
    job = {"kforge_job": 1, "problem": f"problem/{problem.name}",
           "reply": "reply.md", "platform": "cuda", **members}
    (folder / "job.json").write_text(json.dumps(job, indent=2) + "\n",
                                     encoding="utf-8")


def checkout():
    """{name: path} of KernelBench's problems."""
    folder = os.environ.get("KERNELBENCH")
    if not folder:
        sys.exit("KERNELBENCH must name a checkout of KernelBench")
    return {path.stem: path
            for path in pathlib.Path(folder).glob("**/level[1-3]/*.py")}


def make(folder, done=frozenset()):
    problems = checkout()
    replies = {column: first_replies(REPLIES / name)
               for column, name in FILES.items()}
    for name in sorted(set.intersection(*map(set, replies.values()))):
        for column, texts in replies.items():
            if name not in problems:
                sys.exit(f"{os.environ['KERNELBENCH']} has no problem {name}")
            if (name, column) not in done:
                write_job(folder / column / name, problems[name], texts[name],
                          form=column.removesuffix(AGAIN))


# --- what became of them ------------------------------------------------------


def row(folder):
    """Facts of one job; without "state" it is not judged."""
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    facts = {"problem": pathlib.Path(job["problem"]).stem,
             "form": job.get("form", "two-part") + (
                 AGAIN if folder.parent.name.endswith(AGAIN) else ""),
             "tokens": round((folder / "reply.md").stat().st_size /
                             BYTES_A_TOKEN)}
    path = folder / "result.json"
    if not path.exists():
        return facts
    result = json.loads(path.read_text(encoding="utf-8"))
    verdict = result["verdict"]
    took = verdict["took"]
    evidence = verdict["evidence"] or {}
    return {**facts, "device": result["device"]["name"],
            "machine_threads": result["threads"],
            **{key: verdict.get(key) for key in (
                "state", "reason", "time_ns", "baseline_ns", "baseline_live",
                "baseline_ways", "conclusive", "kernelbench_good", "trust")},
            "libraries": [used["name"] for used in
                          (verdict.get("libraries") or {}).get("used", [])],
            "clocks": (evidence.get("timing") or {}).get("clocks"),
            "bundle_ns": verdict.get("bundle_ns"), "took": took,
            "judging_ns": took["all_ns"] - took["baseline_ns"]}


def fastest(facts):
    """The reference's faster way, beside this program, or None."""
    ways = [ns for ns in (facts.get("baseline_ways") or {}).values() if ns]
    return min(ways) if ways else facts.get("baseline_ns")


def rows(folder):
    found = [row(path.parent) for path in sorted(folder.glob("**/job.json"))]
    if not found:
        sys.exit(f"there are no jobs below {folder}")
    return found


def with_speedups(found):
    """Against the reference beside each; else as others of its problem had it."""
    by_problem = {}
    for facts in found:
        if fastest(facts):
            by_problem.setdefault(facts["problem"], []).append(fastest(facts))
    for facts in found:
        known = by_problem.get(facts["problem"])
        reference = fastest(facts) or (known and statistics.median(known))
        if facts.get("state") == "correct" and reference:
            facts["speedup"] = reference / facts["time_ns"]
    return found


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values \
        else None


def summary(found):
    """Where a form has no correct program its speed-up counts as 1 in
    geometric_mean: one would keep PyTorch."""
    judged = [facts for facts in found if "state" in facts]
    ratios = [facts["speedup"] for facts in judged if facts.get("speedup")]
    good = sum(facts["state"] == "correct" for facts in judged)
    return {"jobs": len(found), "judged": len(judged), "correct": good,
            "by_the_benchmarks_rule": sum(
                bool(facts["kernelbench_good"]) for facts in judged),
            "geometric_mean_of_correct": mean(ratios),
            "geometric_mean": mean(
                ratios + [1] * (len(judged) - good)),
            "judging_median_ns": statistics.median(
                facts["judging_ns"] for facts in judged) if judged else None,
            "compiler_median_ns": statistics.median(
                facts["took"]["compiler_ns"] for facts in judged)
            if judged else None,
            "tokens_median": statistics.median(
                facts["tokens"] for facts in found)}


def number(value, form, scale=1):
    return "-" if value is None else form.format(value / scale)


def by_form(found):
    forms = [form for form in FILES if any(f["form"] == form for f in found)]
    return {form: [f for f in found if f["form"] == form] for form in forms}


def cell(facts):
    if "state" not in facts:
        return "not judged"
    text = MARK[facts["state"]]
    return text if not facts.get("speedup") else \
        f"{text} {facts['time_ns'] / 1e3:.0f} us {facts['speedup']:.2f}x"


def by_level(name):
    digits = re.match(r"\d+", name)
    return (int(digits[0]) if digits else 0, name)


def show(found, out=sys.stderr):
    forms = by_form(found)
    print("| problem | " + " | ".join(forms) + " |\n" +
          "|---" * (len(forms) + 1) + "|", file=out)
    for name in sorted({f["problem"] for f in found}, key=by_level):
        cells = [next((cell(f) for f in group if f["problem"] == name), "-")
                 for group in forms.values()]
        print(f"| `{name}` | " + " | ".join(cells) + " |", file=out)
    print("\n| form | correct | by the benchmark's rule | geometric mean | of "
          "the correct | judging, median | of it the compiler | tokens, median "
          "|\n" + "|---" * 8 + "|", file=out)
    for form, group in forms.items():
        s = summary(group)
        print(f"| {form} | {s['correct']} of {s['judged']} "
              f"| {s['by_the_benchmarks_rule']} "
              f"| {number(s['geometric_mean'], '{:.2f}x')} "
              f"| {number(s['geometric_mean_of_correct'], '{:.2f}x')} "
              f"| {number(s['judging_median_ns'], '{:.1f} s', 1e9)} "
              f"| {number(s['compiler_median_ns'], '{:.1f} s', 1e9)} "
              f"| {s['tokens_median']:.0f} |", file=out)
    print("\nc correct, m mismatch, r runtime error, b does not compile, g no "
          "program in the reply. Speed-ups are against the faster of eager "
          "PyTorch and torch.compile; judging is without the time that these "
          "took, and without making the bundle.", file=out)


def whole(found):
    return {
        "devices": sorted({f["device"] for f in found if "device" in f}),
        "by_form": {form: summary(group)
                    for form, group in by_form(found).items()},
        "jobs": found}


def kept(path):
    return json.loads(path.read_text(encoding="utf-8")) \
        if path.exists() else {}


def kept_in(path):
    return kept(path).get("jobs", [])


def key(facts):
    return facts["problem"], facts["form"]


def take(folder, path):
    """Adds what is judged there; one that was kept before gives way. What is
    said of all of them stays."""
    known = {key(facts): facts for facts in kept_in(path)}
    known.update((key(facts), facts) for facts in rows(folder)
                 if "state" in facts)
    found = with_speedups([known[name] for name in sorted(known)])
    path.write_text(json.dumps({**kept(path), **whole(found)}, indent=1) +
                    "\n", encoding="utf-8")


# --- all of it here -----------------------------------------------------------


def has_device():
    done = subprocess.run([KFORGE, "platforms", "--json"], check=True,
                          capture_output=True, text=True, timeout=120)
    return any(p["name"] == "cuda" and p["devices"]
               for p in json.loads(done.stdout))


def everything(make_jobs, missing=()):
    missing = [*missing, *([] if has_device() else ["a CUDA device"])]
    if missing:
        print(f"nothing is judged, for want of {'; '.join(missing)}",
              file=sys.stderr)
        print(json.dumps({"good": True, "missing": missing}))
        return
    with tempfile.TemporaryDirectory() as folder:
        make_jobs(pathlib.Path(folder))
        done = subprocess.run([KFORGE, "judge", folder, "--jobs", "2"],
                              stdout=subprocess.DEVNULL, timeout=3600,
                              check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"kforge judge ended with status {done.returncode}")
        found = with_speedups(rows(pathlib.Path(folder)))
        show(found)
        print(json.dumps({"good": all("state" in f for f in found),
                          **whole(found)}))


def main(path, make_jobs=make, missing=()):
    words = sys.argv[1:]
    if not words:
        everything(make_jobs, missing)
    elif len(words) == 2 and words[0] == "make":
        make_jobs(pathlib.Path(words[1]),
                  {key(f) for f in kept_in(path) if "state" in f})
    elif len(words) == 2 and words[0] == "take":
        take(pathlib.Path(words[1]), path)
    elif words == ["table"]:
        show(kept_in(path), sys.stdout)
    else:
        sys.exit(f"usage: {sys.argv[0]} [make DIR | take DIR | table]")


if __name__ == "__main__":
    main(REPLIES / "forms.json",
         missing=[] if os.environ.get("KERNELBENCH") else
         ["a checkout of KernelBench (KERNELBENCH)"])
