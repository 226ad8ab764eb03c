#!/usr/bin/env python3
"""kforge is killed at every system call that writes, makes, renames, syncs or
spawns; resume goes on, asks again for no reply that had arrived, and ends as
if nothing had happened. points.py says which points are left out."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import types

from points import (ANSWER, NO_ANSWER, PROGRAM, SPAWN, Play, Scene, each,
                    points)
from harness import EXIT, run_tests

# bubblewrap has a moment of its own in which a kill of kforge leaves it waiting
# (docs/store.md), microseconds long. Whom kforge leaves behind it leaves behind
# at every try.
TRIES = 3
NO_RUN = ("nothing to go on with", "is not a run", "there is no run")


def arrived(calls, name="arrived.jsonl"):
    """How many replies were on disk when kforge was killed: each is one write
    into arrived.jsonl, the analysis agent's into advised.jsonl."""
    return sum(1 for c in calls if c.name == "write" and c.result and
               c.about.endswith(f"/{name}"))


def check_shown(scene):
    """At every instant there is a table, or a sentence."""
    for command in ("show", "status"):
        shown = scene.kforge(command, scene.run, "--json")
        if shown.status:
            assert shown.status == EXIT["input"], shown
            assert shown.err.startswith("kforge: ") and not shown.out, shown
            assert not scene.asked(), shown
        else:
            shown.json()


def check_asks(scene, safe):
    asks, count = scene.asked(), len(scene.play.replies)
    for number in range(1, count + 1):
        assert str(number) in asks, asks
    assert len(asks) <= count + 1, f"asked {asks}"
    for number in asks:
        if asks.count(number) > 1:
            assert int(number) > safe, f"asked {asks}, {safe} had arrived"


def check_advised(scene, safe):
    """The analysis agent is asked again only for what had not arrived."""
    if scene.play.advice is not None:
        assert scene.advised() == ["advisor"] or \
            not safe and scene.advised() == ["advisor"] * 2, scene.advised()


def go_on(scene, safe):
    """resume, or run anew where there is nothing to go on with."""
    play = scene.play
    result = scene.kforge("resume", scene.run, "-q")
    if result.status == EXIT["input"]:
        assert any(words in result.err for words in NO_RUN), result
        assert not scene.asked(), result
        result = scene.kforge(*scene.words())
    assert result.status == play.status, result
    assert scene.outcome() == play.outcome, scene.outcome()
    assert scene.best() == play.best, scene.best()
    check_asks(scene, safe)
    assert not scene.leftovers(), scene.leftovers()


def kill_everywhere(play, chosen):
    started = time.monotonic()

    def kill_at(point):
        number, side = point
        for again in range(TRIES):
            scene = Scene(play, f"{number}{side}-{again}")
            done = scene.traced("--at", number, side)
            if not done.orphans:
                break
        assert done.status == 128 + signal.SIGKILL, done.result
        try:
            assert not done.orphans, done.orphans
            check_shown(scene)
            go_on(scene, arrived(done.calls))
            check_advised(scene, arrived(done.calls, "advised.jsonl"))
        except AssertionError as error:
            raise AssertionError(f"{done.calls[-1]}: {error}") from error
        shutil.rmtree(scene.folder)

    failed = each(kill_at, chosen)
    print(f"# {len(play.calls)} calls, {len(chosen)} points, "
          f"{time.monotonic() - started:.0f} s")
    assert not failed, "\n".join(failed)


def test_a_kill_at_any_call_loses_nothing(scratch):
    play = Play(scratch, "null", [NO_ANSWER, ANSWER],
                ["generation_failure", "mismatch"])
    assert arrived(play.calls) == 2, play.calls
    kill_everywhere(play, points(play.calls))


def test_a_signal_at_any_kind_of_call_stops_cleanly(scratch):
    play = Play(scratch, "null", [NO_ANSWER, ANSWER],
                ["generation_failure", "mismatch"])
    kinds = {}      # the last call of each kind
    for call in play.calls:
        if call.result >= 0:
            kinds[call.name, pathlib.Path(call.about).suffix[:4]] = call.number

    def stop_at(number):
        number, sent = number
        scene = Scene(play, f"{number}-{sent}")
        done = scene.traced("--at", number, "--signal", int(sent))
        result = done.result
        # Before kforge catches signals, and when it is done already.
        if result.status not in (128 + sent, play.status):
            assert result.status == EXIT["canceled"], result
            assert "kforge resume" in result.err or not scene.asked(), result
        assert not done.orphans, done.orphans
        assert not list(scene.temporary.rglob("*")), scene.leftovers()
        go_on(scene, arrived(done.calls))
        shutil.rmtree(scene.folder)

    chosen = [(n, s) for n in kinds.values()
              for s in (signal.SIGTERM, signal.SIGINT)]
    failed = each(stop_at, chosen)
    print(f"# {len(chosen)} signals")
    assert not failed, "\n".join(failed)


def test_a_kill_while_the_best_is_published_loses_nothing(scratch):
    play = Play(scratch, "cpu", [ANSWER], ["correct"])
    assert len(play.best) == 3, play.best
    about = [c.number for c in play.calls if "/run/best" in c.about]
    chosen = [p for p in points(play.calls)
              if about[0] - 4 <= p[0] <= about[-1] + 4]
    assert len(chosen) > 20, chosen
    kill_everywhere(play, chosen)


def test_a_kill_while_advice_is_kept_loses_nothing(scratch):
    """From before the analysis agent's reply until the next prompt is there."""
    advice = {"bottleneck": "latency", "evidence": [{"line": "program.c:9"}],
              "change": "Keep eight partial results.", "expected_gain": 1.5}
    wrong = ANSWER.replace("+ b * y[i]", "- b * y[i]")
    play = Play(scratch, "cpu", [ANSWER, wrong], ["correct", "mismatch"],
                json.dumps(advice))
    about = [c.number for c in play.calls
             if c.about.endswith("/advised.jsonl") and
             c.name in ("write", "ftruncate")]
    calls = {c.number: c for c in play.calls}
    chosen = [p for p in points(play.calls) if p[1] == "--after" and
              about[0] <= p[0] <= about[-1] + 12 and
              "/run/" in calls[p[0]].about]
    assert len(chosen) >= 8, (about, chosen)
    # Each is two judgements and more: eight of them, the first among them.
    kill_everywhere(play, chosen[::-(-len(chosen) // 8)])


def test_a_kill_while_the_best_are_judged_again_loses_nothing(scratch):
    """From the seed of the second judgements to the end of the run."""
    # 40 ms a call: which one is the best is no matter of chance, even where the
    # fast one waits some milliseconds for a processor.
    slow = ANSWER.replace("\t\tz[i] =", "\t\tfor (volatile int k = 0; k < "
                          "50000; k++)\n\t\t\tz[i] =")
    assert slow != ANSWER
    play = Play(scratch, "cpu", [ANSWER, slow], ["correct", "correct"],
                rejudge=2)
    begun = next(c.number for c in play.calls if "/axpby-again" in c.about)
    calls = {c.number: c for c in play.calls}
    chosen = [p for p in points(play.calls) if p[1] == "--after" and
              p[0] >= begun - 8 and "/run/" in calls[p[0]].about]
    stored = [p for p in chosen if "/run.db" in calls[p[0]].about or
              "/run/best" in calls[p[0]].about]
    assert len(chosen) > 20 and len(stored) > 4, (chosen, stored)
    # Each is four judgements and more: some of the work, and of the keeping.
    kill_everywhere(play, sorted({*chosen[::-(-len(chosen) // 5)],
                                  *stored[::-(-len(stored) // 5)]}))


def starting(scratch, **env):
    """A function build(name, *plan) that runs one sandbox, traced; and the
    calls from the start of bubblewrap until it has its filter."""
    play = types.SimpleNamespace(scratch=scratch, replies=[],
                                 advice=None)
    (scratch / "program.c").write_text(PROGRAM)

    def build(name, *plan):
        scene = Scene(play, name)
        scene.env.update(env)
        return scene.traced(*plan, words=[
            "build", str(scratch / "program.c"), "-q", "--out",
            str(scene.folder / "built")])

    build("first")      # sweeps what killed ones before it have left
    calls = build("whole").calls
    start = next(i for i, c in enumerate(calls) if c.name in SPAWN)
    gate = next(i for i, c in enumerate(calls) if i > start and
                c.about.startswith("socket:"))
    return build, calls[start:gate + 1]


def test_a_kill_while_a_sandbox_starts_leaves_nobody(scratch):
    build, calls = starting(scratch)
    hit = set()
    for call in calls:
        for side in ("--before", "--after"):
            for again in range(TRIES):
                name = f"{call.number}{side}-{again}"
                done = build(name, "--at", call.number, side)
                build(f"after-{name}")
                assert done.status == 128 + signal.SIGKILL, done.result
                hit.add(pathlib.Path(done.calls[-1].about).name)
                if not done.orphans:
                    break
            else:
                raise AssertionError((call, side, done.orphans))
    for call in calls[:-1]:
        assert pathlib.Path(call.about).name in hit, (call, hit)


# Of 8 bytes is bubblewrap's word to its first process to go on.
LATE = """
#include <sys/syscall.h>
#include <unistd.h>
ssize_t write(int fd, const void *bytes, size_t count)
{
	if (count == 8)
		usleep(100000);
	return syscall(SYS_write, fd, bytes, count);
}
"""


def test_nothing_is_done_before_the_first_process_goes_on(scratch):
    """On a busy machine bubblewrap may wait for a processor just before it
    lets its first process go on."""
    (scratch / "late.c").write_text(LATE)
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o",
                    scratch / "late.so", scratch / "late.c"], check=True)
    late = scratch / "bwrap"
    late.write_text(f"#!/bin/sh\nLD_PRELOAD={scratch}/late.so exec "
                    f"{shutil.which('bwrap')} \"$@\"\n")
    late.chmod(0o755)
    build, calls = starting(scratch, KFORGE_BWRAP=str(late))
    met = [c for c in calls if c.about.endswith("/cgroup.procs")] + calls[-1:]
    for call in met:
        done = build(f"{call.number}", "--at", call.number, "--before")
        assert done.status == 128 + signal.SIGKILL, done.result
        assert not done.orphans, (call, done.orphans)


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
