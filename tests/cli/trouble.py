#!/usr/bin/env python3
"""Trouble with a run's files, two at once, and runs that moved: one sentence,
a documented exit status, and a run that goes on when the trouble is gone."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys

from harness import (EXIT, KFORGE, ROOT, Result, asked, environment, finish,
                     kforge, run_tests, script_model, signal, start, wait_for)

PROBLEM = ROOT / "problems" / "c" / "axpby" / "problem.json"
FAST = ("--platform", "null", "--size", "test", "--baseline", "none",
        "--calls", "20", "--threads", "1", "-q")
NONE = "no program\n"


def begin(scratch, count=1, *more, cwd=None):
    model = script_model(scratch, [NONE] * count)
    done = kforge("run", PROBLEM, "--model", model, "--out", scratch / "run",
                  "-n", count, *FAST, *more, cwd=cwd)
    assert done.status == EXIT["not_all"], done


def refused(result, status, *words):
    assert result.status == EXIT[status], result
    lines = [w for w in result.err.splitlines() if w.startswith("kforge: ")]
    assert lines and not result.out, result
    for word in words:
        assert word in result.err, result


def object_of(run, kind):
    db = sqlite3.connect(run / "run.db")
    name = db.execute(f"SELECT {kind}_hash FROM attempt").fetchone()[0]
    db.close()
    return run / "objects" / name[:2] / name


def test_a_missing_object_is_named_and_hides_nothing_else(scratch):
    begin(scratch)
    path = object_of(scratch / "run", "reply")
    path.rename(scratch / "kept")
    refused(kforge("resume", scratch / "run"), "io", path.name)
    refused(kforge("show", scratch / "run", 1, "--only", "reply"), "io",
            path.name)
    shown = kforge("show", scratch / "run", 1)
    assert path.name in shown.out and "prompt: user" in shown.out, shown
    assert kforge("status", scratch / "run").status == 0
    assert kforge("show", scratch / "run").status == 0
    (scratch / "kept").rename(path)
    assert kforge("resume", scratch / "run").status == EXIT["not_all"]
    assert asked(scratch) == ["1"]


def test_an_object_with_other_contents_is_damaged(scratch):
    begin(scratch)
    path = object_of(scratch / "run", "reply")
    path.write_text("something else")
    refused(kforge("resume", scratch / "run"), "io", path.name, "damaged")
    path.write_text(NONE)
    assert kforge("resume", scratch / "run").status == EXIT["not_all"]


def test_a_damaged_database_is_a_sentence_everywhere(scratch):
    begin(scratch)
    path = scratch / "run" / "run.db"
    good = path.read_bytes()
    rubbish = [good[:5000], b"no database", b"\xff" * len(good)]
    rubbish += [good[:at] + b"\xa5" * 64 + good[at + 64:]
                for at in range(4096, len(good), 4096)]
    for bad in rubbish:
        path.write_bytes(bad)
        for command in ("resume", "show", "status"):
            result = kforge(command, scratch / "run")
            if result.status not in (0, EXIT["not_all"]):
                refused(result, "io")
    path.write_bytes(good)
    assert kforge("resume", scratch / "run").status == EXIT["not_all"]
    assert asked(scratch) == ["1"]


def test_a_database_of_something_else_is_refused(scratch):
    (scratch / "run").mkdir()
    db = sqlite3.connect(scratch / "run" / "run.db")
    db.execute("CREATE TABLE mine (a)")
    db.commit()
    db.close()
    for command in ("resume", "show", "status"):
        refused(kforge(command, scratch / "run"), "input",
                "not a run of kforge")
    refused(kforge("run", PROBLEM, "--model", "exec:true", "--out",
                   scratch / "run", *FAST), "input", "not a run of kforge")


def test_a_newer_store_wants_a_newer_kforge(scratch):
    begin(scratch)
    db = sqlite3.connect(scratch / "run" / "run.db")
    db.execute("PRAGMA user_version = 999")
    db.commit()
    db.close()
    for command in ("resume", "show", "status"):
        refused(kforge(command, scratch / "run"), "input",
                "use a newer kforge")


def test_the_second_on_a_run_is_told_who_holds_it(scratch):
    model = script_model(scratch, [NONE]) + "; sleep 60"
    process = start("run", PROBLEM, "--model", model, "--out",
                    scratch / "run", *FAST, "-n", 1)
    wait_for(lambda: asked(scratch), "the question")
    refused(kforge("resume", scratch / "run"), "unavailable",
            f"in use by process {process.pid}")
    status = kforge("status", scratch / "run", "--json").json()
    assert status["state"] == "running", status
    assert status["process"] == process.pid, status
    assert status["problems"][0]["step"] == "asking", status
    process.send_signal(signal.SIGTERM)
    assert finish(process).status == EXIT["canceled"]
    status = kforge("status", scratch / "run", "--json").json()
    assert status["state"] == "stopped" and status["process"] is None, status
    assert status["go_on"] == f"kforge resume {scratch}/run", status


def test_status_tells_of_a_run_that_is_complete(scratch):
    begin(scratch, 2)
    words = kforge("status", scratch / "run").out
    assert "complete" in words and "2/2" in words, words
    status = kforge("status", scratch / "run", "--json").json()
    lane = status["problems"][0]
    assert (lane["done"], lane["of"], lane["step"]) == (2, 2, "done"), lane
    assert lane["state"] == "generation_failure", lane
    assert status["tokens"] == lane["tokens"] > 0, status


def test_status_lists_all_runs(scratch):
    (scratch / "kforge-runs").mkdir()
    begin(scratch)
    (scratch / "run").rename(scratch / "kforge-runs" / "one")
    (scratch / "kforge-runs" / "two").mkdir()
    (scratch / "kforge-runs" / "two" / "run.db").touch()
    words = kforge("status", "--all", cwd=scratch).out
    assert "kforge-runs/one" in words and "complete" in words, words
    assert "kforge-runs/two" in words and "unreadable" in words, words
    runs = kforge("status", "--all", "--json", cwd=scratch).json()["runs"]
    assert [r["state"] for r in runs] == ["complete", "unreadable"], runs


def test_a_run_that_moved_goes_on(scratch):
    begin(scratch)
    (scratch / "run").rename(scratch / "moved")
    result = kforge("resume", scratch / "moved", "--json", cwd="/")
    assert result.status == EXIT["not_all"], result
    assert asked(scratch) == ["1"]


def test_relative_paths_hold_from_another_folder(scratch):
    model = script_model(scratch, [NONE] * 2) + \
        f"; test $KFORGE_ATTEMPT = 1 -o -e {scratch}/go || sleep 60"
    (scratch / "sub").mkdir()
    shutil.copytree(PROBLEM.parent, scratch / "sub" / "axpby")
    process = start("run", "sub/axpby/problem.json", "--model",
                    model, "--out", "run", "--cache", "sub/cache", "-n", 2,
                    *FAST, cwd=scratch)
    wait_for(lambda: asked(scratch) == ["1", "2"], "the second question")
    process.send_signal(signal.SIGKILL)
    finish(process)
    (scratch / "go").touch()
    result = kforge("resume", scratch / "run", "--json", cwd="/")
    assert result.status == EXIT["not_all"], result
    assert (scratch / "sub" / "cache" / "bundles").is_dir()
    assert not os.path.exists("/sub")


def unprivileged():
    """Words before a command so that it obeys the modes of files, or None."""
    if os.geteuid():
        return []
    words = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    works = shutil.which("setpriv") and subprocess.run(
        [*words, "true"], check=False, capture_output=True).returncode == 0
    return words if works else None


def obedient(*arguments):
    done = subprocess.run([*unprivileged(), KFORGE, *map(str, arguments)],
                          env=environment(), text=True, check=False,
                          capture_output=True, timeout=60)
    return Result(done.returncode, done.stdout, done.stderr)


def set_modes(folder, file_mode, folder_mode):
    for path in [folder, *folder.rglob("*")]:
        path.chmod(folder_mode if path.is_dir() else file_mode)


def test_a_run_that_cannot_be_written_can_be_read(scratch):
    begin(scratch)
    set_modes(scratch / "run", 0o444, 0o555)
    try:
        refused(obedient("resume", scratch / "run"), "io",
                str(scratch / "run"))
        for command in ("show", "status"):
            shown = obedient(command, scratch / "run")
            assert shown.status == 0, shown
    finally:
        set_modes(scratch / "run", 0o644, 0o755)
    assert kforge("resume", scratch / "run").status == EXIT["not_all"]


def test_a_cache_that_cannot_be_written_is_named(scratch):
    cache = scratch / "cache"
    (cache / "bundles").mkdir(parents=True)
    set_modes(cache, 0o444, 0o555)
    try:
        refused(obedient("verify", PROBLEM, "-", *FAST, "--cache", cache),
                "io", str(cache))
    finally:
        set_modes(cache, 0o644, 0o755)


def read_only(folder):
    """Words before a command for which the folder is read-only, or None."""
    words = ["unshare", "-m", "sh", "-c", f"mount --bind {folder} {folder} && "
             f'mount -o remount,ro,bind {folder} && exec "$@"', "sh"]
    works = shutil.which("unshare") and subprocess.run(
        [*words, "true"], check=False, capture_output=True).returncode == 0
    return words if works else None


def test_a_cache_that_cannot_be_written_serves_what_it_has(scratch):
    cache = scratch / "cache"
    judge = ("verify", PROBLEM, ROOT / "tests" / "data" / "cli" / "broken.c",
             *FAST, "--cache", cache)
    first = kforge(*judge)
    done = subprocess.run([*read_only(cache), KFORGE, *map(str, judge)],
                          env=environment(), text=True, check=False,
                          capture_output=True, timeout=60)
    assert done.returncode == first.status == EXIT["mismatch"], done


if unprivileged() is None:
    for test in (test_a_run_that_cannot_be_written_can_be_read,
                 test_a_cache_that_cannot_be_written_is_named):
        test.skip = "root obeys no modes here, and setpriv does not work"
if read_only("/usr") is None:
    test_a_cache_that_cannot_be_written_serves_what_it_has.skip = \
        "nothing can be mounted here"


def test_two_make_one_bundle(scratch):
    two = [start("verify", PROBLEM, ROOT / "tests" / "data" / "cli" /
                 "broken.c", "--platform", "null", "--size", "test",
                 "--cache", scratch / "cache", "--calls", "20", "--baseline",
                 "none", "--json", "-q") for _ in range(2)]
    results = [finish(process) for process in two]
    made = [result.json()["bundle_made"] for result in results]
    assert sorted(made) == [False, True], results
    left = [p.name for p in (scratch / "cache").rglob("*.tmp-*")]
    assert not left, left


def test_leftovers_of_killed_ones_are_swept(scratch):
    base = scratch / "tmp"
    (base / "kforge-verify.tmp-abcdef" / "source").mkdir(parents=True)
    bundles = scratch / "cache" / "bundles"
    (bundles / "0123.tmp-abcdef" / "out").mkdir(parents=True)
    done = kforge("verify", PROBLEM, ROOT / "tests" / "data" / "cli" /
                  "broken.c", "--platform", "null", "--size", "test",
                  "--cache", scratch / "cache", "--calls", "20", "--baseline",
                  "none", "-q", env={"TMPDIR": str(base)})
    assert done.status in (0, 12, 14), done
    assert not list(base.iterdir()), list(base.iterdir())
    assert not list(bundles.glob("*.tmp-*")), list(bundles.iterdir())


def test_a_reply_of_many_megabytes_is_kept_and_judged(scratch):
    model = "exec:cat > /dev/null; head -c 20000000 /dev/zero | tr '\\0' x"
    done = kforge("run", PROBLEM, "--model", model, "--out", scratch / "run",
                  "-n", "1", *FAST, "--json")
    assert done.status == EXIT["not_all"], done
    attempt = done.json()["problems"][0]["attempts"][0]
    assert attempt["reason"] == "too_large", attempt
    reply = kforge("show", scratch / "run", 1, "--only", "reply").out
    assert len(reply) == 16 << 20, len(reply)


def test_show_has_the_difference_to_the_parent(scratch):
    texts = [f"```c program.c\nint kf_forward(struct kf_call *c)\n{{\n"
             f"\treturn {n};\n}}\n```\n" for n in (1, 2)]
    model = script_model(scratch, [texts[0], NONE, texts[1]])
    kforge("run", PROBLEM, "--model", model, "--out", scratch / "run", "-n",
           "3", *FAST)
    diff = kforge("show", scratch / "run", 3, "--only", "diff").out
    assert "-\treturn 1;\n+\treturn 2;\n" in diff, diff
    whole = json.loads(kforge("show", scratch / "run", 3, "--json").out)
    assert whole["parent"] == 1 and whole["diff"] == diff, whole
    source = kforge("show", scratch / "run", 3, "--only", "source").out
    assert source == texts[1].split("\n", 1)[1].rsplit("```", 1)[0], source
    refused(kforge("show", scratch / "run", 1, "--only", "diff"), "input",
            "no parent")
    refused(kforge("show", "--only", "diff"), "input", "name it")


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
