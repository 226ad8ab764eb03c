#!/usr/bin/env python3
"""What judging costs on a CUDA device, and whether its times are right.

    verdict   from source to verdict, the bundle and the baseline made before, of
              two parts and of free form; and the next verdict of a judge that
              stays (--jsonl)
    python    from source to verdict of PyTorch modules
    repeat    one program judged five times: how far apart are its times?
    events    the same program, exported as a PyTorch module and timed by PyTorch's
              CUDA events on fresh inputs with a cold L2 cache
    opencl    three problems by the vendor's OpenCL on the same card
    large     an elementwise problem of 6.4 GB

    bench/gpu.py [--limit SECONDS] [--out FILE] [PART...]

FILE is written anew after each measurement, so that one that is stopped keeps
what it has. Without a CUDA device that is said. KFORGE_PYTHON is a Python with
torch that sees it.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import forms

KFORGE = os.path.join(os.environ.get("KF_BUILD", "build"), "kforge")
CUDA = pathlib.Path("platforms/cuda")
EXAMPLE = CUDA / "example/example.py"       # in all forms the same problem
# The file in which programs differ comes first; then how often.
FORMS = {"two-part": (["example/kernels.cu", "example/host.c"], 7),
         "cu": (["forms/cu/example/program.cu"], 5),
         "triton": (["forms/triton/example/solution.py"], 3),
         "torch": (["forms/torch/example/solution.py"], 1)}
DIFFERENCE = {".cu": "\n__device__ int unused_{0}(int x) "
                     "{{ return {0} * x; }}\n",
              ".py": "\nUNUSED = {0}\n"}
CALLS = 100
RESIDENT = 7
SMALL = ("--set", "rows=64")		# 263 kB in and out
WHOLE = "two-part, 8.4 MB in and out"	# the example as it is
# Programs whose times are compared, with the sizes at which they take over 50 us:
# the example and first replies of a model (bench/results/h100).
EXAMPLE_SIZE = ("--set", "rows=32768")
TIMED = ("example", "attention", "small_cnn", "self_attention",
         "gemm_logsumexp", "transformer_block")
REPEATED, REPEATS = ("example", "attention"), 5
EVENTS = 60
OPENCL = ("rms_norm", "group_norm", "max_pool")
LARGE = pathlib.Path("bench/large")
GOAL_NS = {"two-part": 1e9, "cu": 3e9, "large": 6e9}
GOAL_APART = 0.02


class Figures:
    """What was measured so far, and how much time is left."""

    def __init__(self, path, limit_s):
        self.parts = {}
        self._path = path
        self._end = time.monotonic() + limit_s

    def left(self, at_most=600):
        return max(1, min(at_most, self._end - time.monotonic()))

    def is_over(self):
        return time.monotonic() > self._end

    def keep(self, part, name, facts):
        self.parts.setdefault(part, {})[name] = facts
        print(f"{part} {name}: {words_of(facts)}", file=sys.stderr)
        if self._path:
            partial = self._path.with_suffix(".partial")
            partial.write_text(json.dumps(self.parts, indent=1) + "\n",
                               encoding="utf-8")
            partial.replace(self._path)


def words_of(facts):
    return ", ".join(f"{key} {value}" for key, value in facts.items()
                     if not isinstance(value, (list, dict)))


def run(figures, command, **options):
    """(what it printed as JSON, or None; nanoseconds; its words)"""
    started = time.monotonic_ns()
    try:
        done = subprocess.run([str(word) for word in command], text=True,
                              capture_output=True, check=False,
                              timeout=figures.left(), **options)
        out, err = done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return None, time.monotonic_ns() - started, "there was no time left"
    took = time.monotonic_ns() - started
    try:
        return json.loads(out), took, err[-1000:]
    except ValueError:
        return None, took, (out + err)[-2000:]


def verify(figures, problem, files, *options):
    """The verdict with "command_ns", or {"trouble": words}."""
    verdict, took, words = run(figures, [KFORGE, "verify", problem, *files,
                                         *options, "--json"])
    if not verdict or "state" not in verdict:
        return {"trouble": words}
    return {**verdict, "command_ns": took}


def facts_of(verdict):
    """What is kept of one."""
    if "trouble" in verdict:
        return verdict
    return {key: verdict.get(key) for key in (
        "command_ns", "state", "reason", "time_ns", "baseline_ns", "calls",
        "conclusive", "threads", "bundle_ns", "bundle_made", "took")}


# --- from source to verdict ---------------------------------------------------


def sources(scratch, form, number):
    """The example's files, unlike any before."""
    names, _ = FORMS[form]
    paths = []
    for path in (CUDA / name for name in names):
        text = path.read_text(encoding="utf-8")
        if not paths:
            text += DIFFERENCE[path.suffix].format(number)
        paths.append(scratch / path.name)
        paths[-1].write_text(text, encoding="utf-8")
    return paths


def median_of(rows):
    good = [row["command_ns"] for row in rows if row.get("state") == "correct"]
    return {"median_ns": statistics.median(good) if good else None,
            "rows": rows}


def in_turn(figures, scratch, names):
    rows = {form: [] for form in names}
    for turn in range(max(FORMS[form][1] for form in names)):
        for form in names:
            if turn >= FORMS[form][1]:
                continue
            rows[form].append(facts_of(verify(
                figures, EXAMPLE, sources(scratch, form, turn + 1), *SMALL,
                "-p", "cuda", "--calls", CALLS, "--baseline", "stored")))
            yield form, median_of(rows[form])


def python_part(figures, scratch):
    return in_turn(figures, scratch, ("triton", "torch"))


def verdict_part(figures, scratch):
    for name, size in (("first, with bundle and baseline", SMALL),
                       (f"first, {WHOLE}", ())):
        yield name, facts_of(verify(
            figures, EXAMPLE, sources(scratch, "two-part", 0), *size, "-p",
            "cuda", "--calls", CALLS))
    yield from in_turn(figures, scratch, ("two-part", "cu"))
    whole = []
    for turn in range(FORMS["two-part"][1]):
        whole.append(facts_of(verify(
            figures, EXAMPLE, sources(scratch, "two-part", 100 + turn), "-p",
            "cuda", "--calls", CALLS, "--baseline", "stored")))
        yield WHOLE, median_of(whole)
    for form in ("two-part", "cu"):
        yield f"{form}, resident", resident(figures, scratch, form)


def resident(figures, scratch, form):
    """One request after another to a judge that stays; the first opens all."""
    command = [KFORGE, "judge", "--jsonl", EXAMPLE, *SMALL, "-p", "cuda",
               "--form", form, "--calls", CALLS, "--baseline", "stored",
               "--jobs", 1]
    took = []
    with subprocess.Popen([str(word) for word in command], text=True,
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as judge:
        limit = threading.Timer(figures.left(), judge.kill)
        limit.start()
        for number in range(RESIDENT + 1):
            files = {path.name: path.read_text(encoding="utf-8") for path in
                     sources(scratch, form, 1000 + number)}
            started = time.monotonic_ns()
            with contextlib.suppress(BrokenPipeError):
                print(json.dumps({"id": number, "files": files}),
                      file=judge.stdin, flush=True)
            answer = json.loads(judge.stdout.readline() or "{}")
            took.append(time.monotonic_ns() - started)
            if answer.get("state") != "correct" or figures.is_over():
                break
        limit.cancel()
        with contextlib.suppress(BrokenPipeError):
            judge.stdin.close()
    if answer.get("state") != "correct":
        return {"trouble": json.dumps(answer)[:1000]}
    return {"median_ns": statistics.median(took[1:] or took),
            "first_ns": took[0], "each_ns": took[1:]}


# --- are times right? ---------------------------------------------------------


def program(scratch, name):
    """(problem, files, options) of one of TIMED."""
    if name == "example":
        return EXAMPLE, sources(scratch, "two-part", 9), EXAMPLE_SIZE
    reply = scratch / f"{name}.md"
    reply.write_text(forms.first_replies(
        pathlib.Path("bench/results/h100/replies.jsonl"))[name],
        encoding="utf-8")
    return (next(pathlib.Path("problems").glob(f"level*/{name}.py")), [reply],
            ("--size", "gpu"))


def judged_time(figures, scratch, name):
    problem, files, options = program(scratch, name)
    return facts_of(verify(figures, problem, files, *options, "-p", "cuda",
                           "--baseline", "none"))


def repeat_part(figures, scratch):
    for name in REPEATED:
        rows = []
        for _ in range(REPEATS):
            rows.append(judged_time(figures, scratch, name))
            times = [row["time_ns"] for row in rows if row.get("time_ns")]
            middle = statistics.median(times) if times else None
            yield name, {"median_ns": middle, "apart": middle and
                         (max(times) - min(times)) / middle, "rows": rows}


def events_part(figures, scratch):
    for name in TIMED:
        before = figures.parts.get("repeat", {}).get(name, {})
        if before.get("median_ns"):
            facts = {"time_ns": before["median_ns"]}
        else:
            facts = judged_time(figures, scratch, name)
        if facts.get("time_ns"):
            facts.update(by_events(figures, scratch, name))
        if facts.get("events_ns"):
            facts["apart"] = facts["time_ns"] / facts["events_ns"] - 1
        yield name, facts


def torch_python():
    for path in (os.environ.get("KFORGE_PYTHON"), sys.executable,
                 shutil.which("python3")):
        if path and subprocess.run(
                [path, "-c", "import sys, torch; "
                 "sys.exit(not torch.cuda.is_available())"],
                capture_output=True, check=False).returncode == 0:
            return path
    return None


def by_events(figures, scratch, name):
    problem, files, options = program(scratch, name)
    folder = scratch / f"module_{name}"
    done, _, words = run(figures, [
        KFORGE, "export", problem, *files, *options, "-p", "cuda", "--as",
        "torch", "--unverified", "-o", folder, "--json"])
    if not done:
        return {"trouble": words}
    found, _, words = run(figures, [torch_python() or sys.executable, __file__,
                                    "--events", folder])
    return found or {"trouble": words}


def take_events(folder):
    """In a Python with torch: a module's calls between two events."""
    import importlib
    import torch
    folder = pathlib.Path(folder).resolve()
    sys.path.insert(0, str(folder.parent))
    package = importlib.import_module(folder.name)
    problem = package.module.reference
    torch.manual_seed(42)
    model = package.ModelNew(*problem.get_init_inputs()).cuda()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    cold = torch.empty(2 * cache, dtype=torch.uint8, device="cuda")
    times = []
    with torch.no_grad():
        given = []
        for seed in range(4):
            torch.manual_seed(seed)
            given.append([x.cuda() if isinstance(x, torch.Tensor) else x
                          for x in problem.get_inputs()])
        for number in range(EVENTS + 5):
            cold.fill_(number % 256)
            # The call is queued meanwhile: a millisecond or two.
            torch.cuda._sleep(3_000_000)
            begin.record()
            model(*given[number % len(given)])
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1e6)
    print(json.dumps({"events_ns": statistics.median(times[5:]),
                      "events_least_ns": min(times[5:]),
                      "events_each_ns": times[5:]}))


# --- the vendor's OpenCL ------------------------------------------------------


def devices(platform):
    done = subprocess.run([KFORGE, "platforms", "--json"], check=True,
                          capture_output=True, text=True, timeout=120)
    return next((p["devices"] for p in json.loads(done.stdout)
                 if p["name"] == platform), [])


def opencl_part(figures, scratch):
    names = {device["name"] for device in devices("cuda")}
    card = next((device["id"] for device in devices("opencl")
                 if device["name"] in names), None)
    if not card:
        yield "device", {"trouble": f"no OpenCL device is named "
                         f"{' or '.join(sorted(names))}"}
        return
    replies = forms.first_replies(
        pathlib.Path("bench/results/opencl/replies.jsonl"))
    for name in OPENCL:
        reply = scratch / f"{name}.md"
        reply.write_text(replies[name], encoding="utf-8")
        problem = next(pathlib.Path("problems").glob(f"level*/{name}.py"))
        yield name, {"device": card, **facts_of(verify(
            figures, problem, [reply], "-p", card))}


# --- 6.4 GB -------------------------------------------------------------------


def large_part(figures, _):
    def judge(*options):
        return facts_of(verify(
            figures, LARGE / "relu.py", [LARGE / "kernels.cu",
                                         LARGE / "host.c"],
            "-p", "cuda", *options))

    yield "bundle and values", judge("--stop-after", "values")
    yield "values", judge("--stop-after", "values")
    for number in (1, 2):
        yield f"verdict {number}", judge("--baseline", "none")
    yield "verdict, baseline in turn", judge()


# --- all of it ----------------------------------------------------------------


PARTS = {"verdict": verdict_part, "python": python_part, "repeat": repeat_part,
         "events": events_part, "opencl": opencl_part, "large": large_part}


def goals(parts):
    """[(what, value, limit)] of the parts that were begun; a value of None was
    not measured."""
    def value(part, name, key):
        return parts[part].get(name, {}).get(key)

    found = []
    if "verdict" in parts:
        found += [(f"source to verdict, {form}",
                   value("verdict", form, "median_ns"), GOAL_NS[form])
                  for form in ("two-part", "cu")]
    if "repeat" in parts:
        found += [(f"{name} judged {REPEATS} times, largest less least",
                   value("repeat", name, "apart"), GOAL_APART)
                  for name in REPEATED]
    if "events" in parts:
        found += [(f"{name} beside events",
                   value("events", name, "apart"), GOAL_APART)
                  for name in TIMED]
    if "opencl" in parts:
        found += [(f"{name} by OpenCL is not correct",
                   value("opencl", name, "state") and
                   float(value("opencl", name, "state") != "correct"), 0)
                  for name in OPENCL]
    if "large" in parts:
        found += [("6.4 GB, source to verdict",
                   value("large", "verdict 2", "command_ns"),
                   GOAL_NS["large"])]
    return [(what, number if number is None else abs(number), limit)
            for what, number, limit in found]


def show(found):
    for what, value, limit in found:
        mark = "not measured" if value is None else \
            "good" if value <= limit else "missed"
        scale, unit = (1e9, "s") if limit > 1 else (1, "")
        number = "-" if value is None else f"{value / scale:.4g}"
        print(f"{what}: {number} {unit} (goal: at most {limit / scale:g}) "
              f"{mark}", file=sys.stderr)


def measure(figures, part):
    with tempfile.TemporaryDirectory() as scratch, \
            contextlib.closing(PARTS[part](figures,
                                           pathlib.Path(scratch))) as steps:
        for name, facts in steps:
            figures.keep(part, name, facts)
            if figures.is_over():
                return


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=1500)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--events", metavar="FOLDER",
                        help="(for itself) in the Python with torch")
    parser.add_argument("part", nargs="*", metavar="PART",
                        help=", ".join(PARTS))
    args = parser.parse_args()
    for part in args.part:
        if part not in PARTS:
            parser.error(f"there is no part {part}; there are "
                         f"{', '.join(PARTS)}")
    if args.events:
        return take_events(args.events)
    if not devices("cuda"):
        print("nothing is measured, for want of a CUDA device",
              file=sys.stderr)
        print(json.dumps({"good": True, "missing": ["a CUDA device"]}))
        return None
    figures = Figures(args.out, args.limit)
    for part in args.part or PARTS:
        if not figures.is_over():
            measure(figures, part)
    found = goals(figures.parts)
    show(found)
    print(json.dumps({
        "good": all(value is not None and value <= limit
                    for _, value, limit in found),
        "device": devices("cuda")[0]["name"],
        "cores": len(os.sched_getaffinity(0)),
        "goals": [{"what": what, "value": value, "limit": limit}
                  for what, value, limit in found],
        "parts": figures.parts}))
    return None


if __name__ == "__main__":
    main()
