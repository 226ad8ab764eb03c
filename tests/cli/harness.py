"""What the tests of the command line share: a scratch folder, a cache that all
of them use, and TAP on standard output. Not a test itself."""

import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("KF_BUILD", "build")
KFORGE = str(BUILD / "kforge")
DATA = ROOT / "tests" / "data" / "cli"
PROBLEM = str(DATA / "scale_shift.py")
# The same in C: for tests that need some problem, and not PyTorch.
C_PROBLEM = str(DATA / "scale_shift")
# A picture of one element.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA"
    "60e6kgAAAABJRU5ErkJggg==")
# One cache for all runs of these tests: making a bundle takes seconds.
CACHE = str(ROOT / "build" / "tests" / "cache")

EXIT = {"good": 0, "not_all": 1, "input": 2, "limit": 3, "unavailable": 4,
        "timeout": 5, "io": 6, "generation_failure": 11,
        "compilation_failure": 12, "runtime_error": 13, "mismatch": 14,
        "canceled": 130}


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err
        assert "Sanitizer" not in err, self

    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"status {self.status}\nout: {self.out}\nerr: {self.err}"


def environment(extra=None):
    # The developer's own kforge.json is not asked.
    env = dict(os.environ, KFORGE_HOME=str(ROOT), XDG_CACHE_HOME=CACHE,
               KFORGE_DEVICE_LOCKS=os.path.join(CACHE, "locks"),
               XDG_CONFIG_HOME=os.path.join(CACHE, "no-config"))
    env.update(extra or {})
    return env


def command(arguments):
    """Profiles take seconds, and stop a run near the memory bound; second
    judgements take seconds: only tests that ask for them have them."""
    more = []
    for option, value in (("--profile", "none"), ("--rejudge", "0")):
        if arguments[:1] == ("run",) and option not in arguments:
            more += [option, value]
    return [KFORGE, *map(str, arguments), *more]


def kforge(*arguments, cwd=None, env=None, stdin="", timeout=120):
    done = subprocess.run(command(arguments), cwd=cwd,
                          env=environment(env), input=stdin, text=True,
                          capture_output=True, timeout=timeout, check=False)
    return Result(done.returncode, done.stdout, done.stderr)


def start(*arguments, cwd=None, env=None):
    return subprocess.Popen(command(arguments), cwd=cwd,
                            env=environment(env), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def finish(process, timeout=120):
    out, err = process.communicate(timeout=timeout)
    return Result(process.returncode, out, err)


def wait_for(condition, what, timeout=60):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen in {timeout} s")
        time.sleep(0.01)


def reply(name, language="c program.c"):
    """A reply that holds tests/data/cli/NAME."""
    return (f"One pass over the data.\n\n```{language}\n"
            f"{(DATA / name).read_text()}```\n")


def script_model(folder, replies):
    """--model exec:... that answers attempt N with replies[N - 1] and appends
    N to FOLDER/asked."""
    folder = pathlib.Path(folder)
    for number, text in enumerate(replies, 1):
        (folder / f"reply.{number}").write_text(text)
    return (f"exec:cat > /dev/null; echo $KFORGE_ATTEMPT >> {folder}/asked; "
            f"cat {folder}/reply.$KFORGE_ATTEMPT")


def asked(folder):
    path = pathlib.Path(folder) / "asked"
    return path.read_text().split() if path.exists() else []


def states(result):
    return [a["state"] for a in result.json()["problems"][0]["attempts"]]


def run_tests(module):
    """Runs every test_* function with a scratch folder of its own; one that
    has a skip attribute, a sentence, is only named."""
    names = [n for n in dir(module) if n.startswith("test_")]
    print(f"1..{len(names)}")
    failed = 0
    for number, name in enumerate(names, 1):
        skip = getattr(getattr(module, name), "skip", None)
        if skip:
            print(f"ok {number} - {name} # SKIP {skip}")
            continue
        scratch = tempfile.mkdtemp(prefix="kforge-cli-")
        began = time.monotonic()
        why = ""
        try:
            getattr(module, name)(pathlib.Path(scratch))
        except Exception:  # pylint: disable=broad-except
            failed += 1
            why = traceback.format_exc()
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        print(f"{'not ok' if why else 'ok'} {number} - {name}")
        print(f"# took {time.monotonic() - began:.1f} s")
        for line in why.splitlines():
            print(f"# {line}")
        sys.stdout.flush()
    return 1 if failed else 0


__all__ = ["BUILD", "CACHE", "C_PROBLEM", "DATA", "EXIT", "KFORGE", "PROBLEM",
           "ROOT", "asked", "finish", "kforge", "reply", "run_tests",
           "script_model", "signal", "start", "states", "wait_for"]
