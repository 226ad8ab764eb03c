#!/usr/bin/env python3
"""Every system call that writes, makes, renames or syncs fails once, as on a
full or broken disk: one sentence and a documented exit status, or a run that
went on as if nothing had happened; and then resume ends as it would have."""

import errno
import shutil
import sys
import time

from points import ANSWER, NO_ANSWER, Play, Scene, each
from harness import EXIT, run_tests

SPACE = ("write", "pwrite64", "openat", "mkdir", "mkdirat", "fallocate",
         "ftruncate", "rename", "renameat2")
SYNC = ("fsync", "fdatasync", "syncfs")


def failures(calls):
    """[(number, error)]: calls on the run's own files that did something. Of
    a row of calls of one name on one file, the first and the last."""
    real = [c for c in calls if c.result >= 0 and "/run" in c.about and
            c.name in SPACE + SYNC]
    kept = [c for i, c in enumerate(real)
            if not 0 < i < len(real) - 1 or
            not all((n.name, n.about) == (c.name, c.about)
                    for n in (real[i - 1], real[i + 1]))]
    return [(c.number, errno.EIO if c.name in SYNC else errno.ENOSPC)
            for c in kept]


def check_end(scene, result):
    if result.status == scene.play.status:
        return
    assert result.status in (EXIT["io"], EXIT["unavailable"],
                             EXIT["input"]), result
    words = [line for line in result.err.splitlines()
             if line.startswith("kforge: ")]
    assert words and not result.out, result
    assert all(len(line) < 600 for line in words), result


def go_on(scene):
    """The disk is good again."""
    play = scene.play
    result = scene.kforge("resume", scene.run, "-q")
    if result.status == EXIT["input"]:
        assert not scene.asked(), result
        result = scene.kforge(*scene.words())
    assert result.status == play.status, result
    assert scene.outcome() == play.outcome, scene.outcome()
    assert scene.best() == play.best, scene.best()
    assert len(scene.asked()) == len(play.replies), scene.asked()
    assert not scene.leftovers(), scene.leftovers()


def fail_everywhere(play, chosen):
    started = time.monotonic()

    def fail_at(point):
        number, error = point
        scene = Scene(play, f"{number}")
        done = scene.traced("--at", number, "--errno", error)
        call = next(c for c in done.calls if c.number == number)
        try:
            check_end(scene, done.result)
            go_on(scene)
        except AssertionError as failed:
            raise AssertionError(f"{call}: {failed}\nit had said "
                                 f"{done.result}") from failed
        shutil.rmtree(scene.folder)

    failed = each(fail_at, chosen)
    print(f"# {len(play.calls)} calls, {len(chosen)} of them fail, "
          f"{time.monotonic() - started:.0f} s")
    assert not failed, "\n".join(failed)


def test_a_call_that_fails_loses_nothing(scratch):
    play = Play(scratch, "null", [NO_ANSWER, ANSWER],
                ["generation_failure", "mismatch"])
    fail_everywhere(play, failures(play.calls))


def test_a_call_that_fails_while_a_program_is_judged_is_no_verdict(scratch):
    """The full disk is met where programs are compiled and run."""
    play = Play(scratch, "cpu", [ANSWER], ["correct"])
    chosen = [(number, error) for number, error in failures(play.calls)
              if "/run/work/" in next(c.about for c in play.calls
                                      if c.number == number)]
    assert len(chosen) > 10, chosen
    fail_everywhere(play, chosen[::-(-len(chosen) // 14)])


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
