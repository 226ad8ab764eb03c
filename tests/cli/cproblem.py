#!/usr/bin/env python3
"""C problems on the command line, where there is no Python at all."""

import json
import pathlib
import shutil
import sys

from harness import (EXIT, ROOT, asked, kforge, run_tests, script_model,
                     states)

SOFTMAX = ROOT / "tests" / "data" / "cproblem" / "softmax"
PROGRAM = ROOT / "tests" / "data" / "cproblem" / "program" / "program.c"
FAST = ("--size", "test", "--baseline", "none", "--calls", "20")


def tools(folder):
    """A PATH with the programs that kforge itself starts, and no Python."""
    folder = folder / "bin"
    folder.mkdir()
    for name in ("bwrap", "gcc", "clang", "cat", "sh"):
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    assert not list(folder.glob("python*"))
    return {"PATH": str(folder), "KFORGE_PYTHON": "/nonexistent/python"}


def reply(path):
    return f"A plan.\n\n```c program.c\n{pathlib.Path(path).read_text()}```\n"


def test_a_new_problem_works_out_of_the_box(scratch):
    env = tools(scratch)
    made = kforge("problem", "new", "mine", cwd=scratch, env=env)
    assert made.status == 0 and "kforge verify mine mine/program.c" in \
        made.out, made
    names = sorted(p.name for p in (scratch / "mine").iterdir())
    assert names == ["problem.json", "program.c", "reference.c"], names
    result = kforge("verify", "mine", "mine/program.c", "--size", "test",
                    "--calls", "40", "--json", "--cache", "cache",
                    cwd=scratch, env=env)
    assert result.status == 0, result
    verdict = result.json()
    assert verdict["state"] == "correct" and verdict["problem"] == "mine"
    assert verdict["baseline"] == "reference" and verdict["baseline_live"]
    assert verdict["speedup"]["ratio"] > 0, verdict


def test_nothing_is_written_over(scratch):
    for kind, name in (("c", "mine"), ("python", "mine.py")):
        first = kforge("problem", "new", "mine", "--kind", kind, cwd=scratch)
        again = kforge("problem", "new", "mine", "--kind", kind, cwd=scratch)
        assert first.status == 0, first
        assert again.status == EXIT["input"], again
        assert f"{name} is there already" in again.err, again
    for name in ("two words", ".hidden", "", "a/../.."):
        result = kforge("problem", "new", name, cwd=scratch)
        assert result.status == EXIT["input"], result


def test_show_tells_what_a_problem_is(scratch):
    env = tools(scratch)
    result = kforge("problem", "show", SOFTMAX, "--size", "test", env=env)
    assert result.status == 0, result
    for words in ("softmax: a C problem", "sizes: ROWS = 4, COLS = 30",
                  "preset test: ROWS = 4, COLS = 30",
                  "input x: float32(4, 30), ", "weight gamma: float32(30)",
                  "output y: float32(4, 30)", "operations: 600",
                  "bytes: 1080", "zero_mean", "64 fresh inputs"):
        assert words in result.out, (words, result)
    shown = kforge("problem", "show", SOFTMAX, "--size", "test", "--set",
                   "COLS=31", "--dtype", "float64", "--json", env=env).json()
    assert shown["kind"] == "c" and shown["sizes"]["COLS"] == 31, shown
    assert shown["presets"] == {"test": {"ROWS": 4, "COLS": 30}}, shown
    assert shown["bundle"]["outputs"][0]["dtype"] == "float64", shown


def test_show_says_what_was_left_out(scratch):
    masked = SOFTMAX.parent / "masked"
    result = kforge("problem", "show", masked, env=tools(scratch))
    assert "left out: wide, input x leaves its domain" in result.out, result
    assert "input idle: float32(3)" in result.out, result
    assert "does not matter" in result.out, result


def test_the_prompt_speaks_of_c(scratch):
    result = kforge("prompt", SOFTMAX, "--size", "test", env=tools(scratch))
    assert result.status == 0, result
    for words in ("Rewrite the C reference below", "```json problem.json",
                  "```c reference.c", "Sizes: ROWS = 4, COLS = 30.",
                  "`kf_real` in it is float", "faster than the reference"):
        assert words in result.out, words
    before = result.out.split("## Example")[0]
    assert "PyTorch" not in before and "get_inputs()`" not in \
        before.split("What a program is")[0], before


def test_a_run_goes_on_without_the_problems_files(scratch):
    env = tools(scratch)
    problem = scratch / "softmax"
    shutil.copytree(SOFTMAX, problem)
    model = script_model(scratch, ["no program", reply(PROGRAM)])
    stopped = kforge("run", problem, "--model", "exec:false", "--out",
                     scratch / "run", *FAST, "-n", "2", env=env)
    assert stopped.status == EXIT["unavailable"], stopped
    shutil.rmtree(problem)
    done = kforge("resume", scratch / "run", "--model", model, "--json",
                  env=env)
    assert done.status == 0 and asked(scratch) == ["1", "2"], done
    assert states(done) == ["generation_failure", "correct"], done
    best = scratch / "run" / "best" / "softmax"
    names = sorted(p.name for p in best.iterdir())
    assert {"problem.json", "reference.c", "program.c"} <= set(names), names
    # What was published is a whole problem, with the sizes of the run.
    sizes = json.loads((best / "problem.json").read_text())["sizes"]
    assert sizes == {"ROWS": 4, "COLS": 30}, sizes
    again = kforge("verify", best, best / "program.c", "--baseline", "none",
                   "--calls", "20", env=env)
    assert again.status == 0, again


def test_a_folder_of_problems_is_searched(scratch):
    plan = kforge("run", SOFTMAX.parent, "--model", "exec:true", "--dry-run",
                  "--size", "test", "-n", "1", env=tools(scratch))
    assert "softmax: first prompt" in plan.out, plan
    assert "masked" in plan.err and "no preset test" in plan.err, plan
    assert "refused" in plan.err, plan


def test_a_wrong_problem_is_one_sentence(scratch):
    env = tools(scratch)
    text = (SOFTMAX / "problem.json").read_text()
    reference = (SOFTMAX / "reference.c").read_text()
    rows = (
        (text.replace('"std": 1', '"std": -1'), reference, "input",
         'inputs[0].values" must have a "std" of at least 0'),
        (text.replace('"shape": ["ROWS"', '"shape": ["ROW"'), reference,
         "input", "there is no size ROW"),
        (text[:-3], reference, "input", "problem.json"),
        (text, reference.replace("sum = 0", "sum = zero"), "input",
         "the compiler refuses its reference: reference.c:"),
        (text, None, "input", "needs problem.json and reference.c"),
        (text.replace('"ROWS": 64', '"ROWS": 99999999'), reference, "limit",
         "choose smaller sizes"),
    )
    for json_text, c_text, status, words in rows:
        problem = scratch / "p"
        problem.mkdir()
        (problem / "problem.json").write_text(json_text)
        if c_text:
            (problem / "reference.c").write_text(c_text)
        result = kforge("verify", problem, PROGRAM, "--cache",
                        scratch / "cache", env=env)
        lines = result.err.strip().splitlines()
        assert result.status == EXIT[status], (words, result)
        assert len(lines) == 1 and words in lines[0], (words, result)
        shutil.rmtree(problem)


def test_a_stored_baseline_is_used(scratch):
    env = tools(scratch)
    common = ("verify", SOFTMAX, PROGRAM, "--size", "test", "--calls", "40",
              "--cache", scratch / "cache", "--json")
    none = kforge(*common, "--baseline", "stored", env=env)
    assert none.status == 0 and "no baseline of softmax" in none.err, none
    live = kforge(*common, env=env)
    assert live.status == 0, live
    stored = kforge(*common, "--baseline", "stored", env=env).json()
    assert stored["baseline_ns"] > 0 and not stored["baseline_live"], stored


def test_no_sandbox_holds_what_is_expected(scratch):
    """The bundle is split as all are; its secret part stays apart."""
    kforge("problem", "show", SOFTMAX, "--size", "test", "--cache",
           scratch / "cache", env=tools(scratch))
    bundles = [p for p in (scratch / "cache" / "bundles").iterdir()
               if p.is_dir()]
    assert len(bundles) == 1, bundles
    parts = sorted(p.name for p in bundles[0].iterdir())
    assert parts == ["inputs", "oracle", "public", "sum"], parts
    assert "seed" not in (bundles[0] / "public" / "bundle.json").read_text()


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
