"""What the tests that interfere with single system calls share: a small run
whose every call is known, and what must hold after it. Not a test itself.

A point is a counted call (see trace.c) and a side of it: before it happens, or
after it returned. What lies on disk changes only at such calls, so these
points are left out, by rule:

- calls that failed, and those on memory that ends with the process (memfd);
- of a row of calls of one name on one file, all but the first and the last;
- before a call, where the call before it is a point: nothing on disk changes
  in between, unless a child was at work, so the side before stays where the
  call before it started one or wrote to one (clone, a pipe, a socket).
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

# pylint: disable=wrong-import-position
from harness import (BUILD, KFORGE, ROOT, Result, environment,  # noqa: E402
                     kforge, script_model)

TRACE = str(BUILD / "tests" / "kill" / "trace")
JOBS = 4        # most of a run is waiting for its children
PROBLEM = str(ROOT / "problems" / "c" / "axpby" / "problem.json")
PROGRAM = """#include <kforge/program.h>

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
ANSWER = f"```c program.c\n{PROGRAM}```\n"
NO_ANSWER = "I cannot see how.\n"
TEMPORARY = re.compile(r"\.tmp-|\.XXXXXX")
SPAWN = ("clone", "clone3", "fork", "vfork")


class Call:
    """A counted call: its number, name, result (None: never returned) and
    the file or argument that it is about."""

    def __init__(self, line):
        number, self.name, result, self.about = line.split("\t", 3)
        self.number = int(number)
        self.result = None if result.strip() == "-" else int(result)

    def __repr__(self):
        return f"call {self.number}, {self.name} {self.about}"

    def is_about_children(self):
        return self.name in SPAWN or \
            self.about.startswith(("pipe:", "socket:"))


class Traced:
    """How a traced kforge ended."""

    def __init__(self, status, out, err, report):
        self.result = Result(status, out, err)
        self.status = status
        lines = report.splitlines()
        self.calls = [Call(line) for line in lines
                      if not line.startswith("orphan")]
        self.orphans = [line for line in lines if line.startswith("orphan")]


class Play:
    """What is run: on which platform, with which replies; and what becomes of
    it undisturbed."""

    def __init__(self, scratch, platform, replies, states, advice=None,
                 rejudge=0):
        self.platform, self.replies = platform, replies
        self.rejudge = rejudge  # so many are judged again at the end
        self.advice = advice    # the analysis agent's reply; None: it is not
        self.scratch = pathlib.Path(scratch)
        self.cache = self.scratch / "cache"
        # Whatever the first run makes for all later ones is not looked at.
        warm = Scene(self, "warm")
        begun = warm.kforge(*warm.words())
        assert begun.status in (0, 1), begun
        whole = Scene(self, "whole")
        done = whole.traced()
        assert done.status in (0, 1), done.result
        assert not done.orphans, done.orphans
        self.status, self.calls = done.status, done.calls
        self.outcome = whole.outcome()
        attempts, got = self.outcome
        assert [a[2] for a in attempts] == states, attempts
        assert got == [r.rstrip("\n") for r in replies] or got == replies, got
        assert not whole.leftovers(), whole.leftovers()
        self.best = whole.best()


class Scene:
    """A folder with a run of a play, its model and its own TMPDIR."""

    def __init__(self, play, name):
        self.play = play
        self.folder = play.scratch / name
        self.run = self.folder / "run"
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.model = script_model(self.folder, play.replies)
        self.advisor = "none"
        if play.advice is not None:
            (self.folder / "advice").write_text(play.advice)
            self.advisor = (f"exec:cat > /dev/null; echo $KFORGE_AGENT >> "
                            f"{self.folder}/advised; cat {self.folder}/advice")
        # Leaks cannot be looked for under a tracer.
        self.env = {"TMPDIR": str(self.temporary),
                    "ASAN_OPTIONS": "detect_leaks=0"}

    def words(self):
        return ["run", PROBLEM, "--model", self.model, "--out",
                str(self.run), "-n", str(len(self.play.replies)), "--size",
                "test", "--platform", self.play.platform, "--baseline",
                "none", "--calls", "20", "--threads", "1", "--seed", "7",
                "--cache", str(self.play.cache), "-q", "--profile", "none",
                "--advisor", self.advisor, "--rejudge",
                str(self.play.rejudge)]

    def traced(self, *plan, words=None):
        """Runs kforge under the tracer; plan: its options."""
        report = self.folder / "report"
        done = subprocess.run(
            [TRACE, "--report", str(report), *map(str, plan), KFORGE,
             *(words or self.words())],
            env=environment(self.env), stdin=subprocess.DEVNULL, text=True,
            capture_output=True, timeout=120, check=False)
        return Traced(done.returncode, done.stdout, done.stderr,
                      report.read_text(errors="replace"))

    def kforge(self, *words):
        return kforge(*words, env=self.env)

    def asked(self):
        path = self.folder / "asked"
        return path.read_text().split() if path.exists() else []

    def advised(self):
        path = self.folder / "advised"
        return path.read_text().split() if path.exists() else []

    def outcome(self):
        """What must not depend on where a run was stopped."""
        shown = self.kforge("show", self.run, "--json")
        assert shown.status == 0, shown
        attempts = shown.json()["problems"][0]["attempts"]
        replies = []
        for attempt in attempts:
            one = self.kforge("show", self.run, attempt["number"], "--json")
            assert one.status == 0, one
            replies.append(one.json()["reply"])
        return ([(a["number"], a["kind"], a["state"], a["reason"])
                 for a in attempts], replies)

    def best(self):
        """The names and texts in best/, without times."""
        return {str(p.relative_to(self.run)): p.read_text()
                for p in sorted(self.run.glob("best/*/*"))
                if p.name != "verdict.json"}

    def leftovers(self):
        """Files that nobody needs any more."""
        found = [str(p) for p in self.temporary.rglob("*")]
        found += [str(p) for p in (self.run / "work").glob("*/work")]
        found += [str(p) for p in self.run.rglob("*")
                  if TEMPORARY.search(p.name)]
        found += [str(p) for p in self.run.glob("run.db-*")]
        return found


def points(calls):
    """[(number, "--before" or "--after")], as the rules above have it."""
    real = [c for c in calls if c.result >= 0 and
            not c.about.startswith("/memfd:")]
    kept = [c for i, c in enumerate(real)
            if not 0 < i < len(real) - 1 or
            not all((n.name, n.about) == (c.name, c.about)
                    for n in (real[i - 1], real[i + 1]))]
    found = []
    for i, call in enumerate(kept):
        if i == 0 or kept[i - 1].is_about_children():
            found.append((call.number, "--before"))
        found.append((call.number, "--after"))
    return found


def each(work, items):
    """Calls work(item) for all, several at once; the sentences of those that
    failed."""
    def one(item):
        try:
            work(item)
        except AssertionError as error:
            return f"{item}: {error}"
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return f"{item}: {type(error).__name__} {error}"
        return None

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return [words for words in pool.map(one, items) if words]


__all__ = ["ANSWER", "NO_ANSWER", "PROGRAM", "SPAWN", "Play", "Scene", "each",
           "points"]
