"""What the suites of programs share: a first comment that says what must become
of a program, and one process of kforge that judges many. Not a test itself.

A program begins with a comment: a story of a line or two, and below it lines
of NAME: VALUE.

    problem    a name below tests/cheats/problems, or a path
    size       a preset of its sizes; left out: as declared
    shapes     NAME=VALUE of each shape on which it is judged, in turn
    platform   left out: cpu, for CUDA's files cuda
    host       of kernels alone, NAME.cu: how tests/gpu/shared/host.c launches
               them, each or row; left out, the file is of form cu. A host.c
               alone, NAME.c with platform cuda, launches shared/kernels.cu
    libraries  whether a vendor's may do the work; left out: allow
    limits     NAME=NUMBER of each limit that is lowered (docs/jobs.md)
    found      what must be found: STATE REASON, reasons with | between them, - for
               none
    time       what a call must take at least by the judge's clock
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("KF_BUILD", "build")
KFORGE = str(BUILD / "kforge")
# A judge without some of its defences (tests/cheats/weaken.c).
WEAK_KFORGE = str(BUILD / "cheats" / "kforge")
# What a large language model answered cold, as it came.
REPLIES = ROOT / "bench" / "results" / "suite" / "replies.jsonl"
VECTORS = {"_mm512": "avx512f", "_mm256": "avx2"}
# Correct programs of ours, one for each problem.
PROGRAMS = ROOT / "tests" / "data" / "programs"
FENCE = re.compile(r"```c[^\n]*\n(.*?)```", re.S)
# Stands before every program of one file.
PREFIX = ROOT / "tests" / "trust.h"
# What launches kernels that stand alone.
HOST = ROOT / "tests" / "gpu" / "shared" / "host.c"
KERNELS = ROOT / "tests" / "gpu" / "shared" / "kernels.cu"
# One cache for all runs of the tests: making a bundle takes its time.
CACHE = str(ROOT / "build" / "tests" / "cache")
# The platform's default is another one.
FORM_OF = {"solution.py": "torch", "program.cu": "cu"}
CALLS = 30
TIME_LIMIT_S = 1500
UNIT_NS = {"us": 1e3, "ms": 1e6, "s": 1e9}


class Program:
    """One file, or a folder with the files of a program in parts."""

    def __init__(self, path, prefix=""):
        self.name = path.stem
        self.paths = sorted(path.iterdir()) if path.is_dir() else [path]
        head = next((p for p in self.paths if p.name == "host.c"),
                    self.paths[0])
        self.story, self.facts, self.text = read_comment(head)
        self.prefix = prefix

    def is_plain(self):
        """One file in C for the processor: needs no device and no PyTorch."""
        return len(self.paths) == 1 and self.paths[0].suffix == ".c"

    def fact(self, name, default=None):
        return self.facts.get(name, default)

    def platform(self):
        gpu = any(path.suffix == ".cu" for path in self.paths)
        return self.fact("platform", "cuda" if gpu else "cpu")

    def files(self):
        texts = {p.name: p.read_text(encoding="utf-8") for p in self.paths}
        if len(texts) > 1:
            return texts
        text = texts[self.paths[0].name]
        if self.paths[0].suffix == ".py":
            return {"solution.py": text}
        if self.paths[0].suffix == ".c":
            return self._of_c(text)
        if not self.fact("host"):
            return {"program.cu": text}
        return {"kernels.cu": text,
                "host.c": f"#define {self.fact('host').upper()}\n" +
                          HOST.read_text(encoding="utf-8")}

    def _of_c(self, text):
        if self.platform() == "cuda":
            return {"host.c": text,
                    "kernels.cu": KERNELS.read_text(encoding="utf-8")}
        return {"program.c": self.prefix + text}

    def requests(self, **more):
        """One for each of its shapes."""
        problem = self.fact("problem")
        if "/" not in problem:
            problem = f"tests/cheats/problems/{problem}"
        base = {"problem": problem, "files": self.files(), "calls": CALLS,
                "baseline": "none", "platform": self.platform()}
        for name in ("size", "libraries"):
            if self.fact(name):
                base[name] = self.fact(name)
        limits = [each.split("=") for each in self.fact("limits", "").split()]
        if limits:
            base["limits"] = {name: int(number) for name, number in limits}
        for file, form in FORM_OF.items():
            if file in base["files"]:
                base["form"] = form
        shapes = self.fact("shapes", "").split() or [None]
        for shape in shapes:
            one = dict(base, **more)
            if shape:
                one["set"] = [shape]
            yield one

    def is_found(self, verdict):
        """Is the verdict the one that its comment asks for?"""
        state, _, reasons = self.fact("found").partition(" ")
        if verdict["state"] != state:
            return False
        if reasons == "-":
            return self.takes_its_time(verdict)
        return verdict["reason"] in reasons.split("|")

    def takes_its_time(self, verdict):
        least = self.fact("time")
        if not least:
            return True
        number, unit = least.split()
        return (verdict.get("time_ns") or 0) >= float(number) * UNIT_NS[unit]

    def is_accepted(self, verdict):
        """Correct, and with the time that it would like to have. What must be
        correct and names no time wishes for nothing that could be accepted."""
        if self.fact("time"):
            return verdict["state"] == "correct" and \
                not self.takes_its_time(verdict)
        return verdict["state"] == "correct" and \
            not self.fact("found").startswith("correct")


def read_comment(path):
    """(story, {name: value}) of the comment that the file begins with, and the
    text after it."""
    text = path.read_text(encoding="utf-8")
    match = re.match(r'/\*(.*?)\*/', text, re.S) or \
        re.match(r'"""(.*?)"""', text, re.S)
    if not match:
        raise ValueError(f"{path} does not begin with a comment")
    lines = [line.strip().lstrip("*").strip()
             for line in match[1].splitlines()]
    facts, story = {}, []
    for line in lines:
        fact = re.match(r"(\w+): (.*)", line)
        if fact:
            facts[fact[1]] = fact[2]
        elif line and not facts:
            story.append(line)
    return " ".join(story), facts, text[match.end():].lstrip("\n")


def replies():
    """What REPLIES holds: problem, attempt, text."""
    for line in REPLIES.read_text(encoding="utf-8").splitlines():
        reply = json.loads(line)
        if "attempt" in reply:
            yield reply


def program_of(reply):
    """Its only block of C, or None."""
    blocks = FENCE.findall(reply["text"])
    return blocks[0] if len(blocks) == 1 else None


def problem_path(name):
    """The PyTorch file of that name, or the C problem."""
    files = sorted((ROOT / "problems").glob(f"level*/{name}.py"))
    return str(files[0] if files else ROOT / "problems" / "c" / name)


def processor_flags():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8",
                                                       errors="replace")
    except OSError:
        return set()
    return set(re.search(r"^flags\s*:(.*)$|\Z", text, re.M)[0].split())


def lacking(text, have):
    """Of the instructions that a program uses those that are not in have."""
    return [flag for word, flag in VECTORS.items()
            if word in text and flag not in have]


def has_nvcc():
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"),
             "/usr/local/cuda"]
    return bool(shutil.which("nvcc")) or any(
        os.path.exists(f"{home}/bin/nvcc") for home in homes if home)


def environment(without=""):
    env = dict(os.environ, KFORGE_HOME=str(ROOT), XDG_CACHE_HOME=CACHE,
               XDG_CONFIG_HOME=os.path.join(CACHE, "no-config"))
    if without:
        env["KFORGE_TEST_WITHOUT"] = without
    return env


def judge(requests, kforge=KFORGE, without="", jobs=None):
    """The verdicts of all requests, in their order, by one process."""
    if not requests:
        return []
    lines = [json.dumps(dict(request, id=i))
             for i, request in enumerate(requests)]
    options = ["--jobs", str(jobs)] if jobs else []
    done = subprocess.run([kforge, "judge", "--jsonl", *options],
                          input="\n".join(lines) + "\n", text=True, cwd=ROOT,
                          capture_output=True, env=environment(without),
                          timeout=TIME_LIMIT_S, check=False)
    if done.returncode or "Sanitizer" in done.stderr:
        raise RuntimeError(f"kforge judge --jsonl ended with status "
                           f"{done.returncode}: {done.stderr}")
    verdicts = [None] * len(requests)
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        verdicts[answer["id"]] = answer
    return [v if v else {"state": "none", "reason": "", "error": "no answer"}
            for v in map(with_state, verdicts)]


def with_state(verdict):
    """Trouble of the judge's own is no verdict."""
    if verdict and "error" in verdict:
        return dict(verdict, state="harness_error",
                    reason=verdict["error"]["kind"])
    return verdict


def words(verdict):
    text = verdict["state"]
    if verdict.get("reason"):
        text += f" {verdict['reason']}"
    if verdict["state"] == "harness_error":
        text += f" ({verdict['error']['text']})"
    return text
