#!/usr/bin/env python3
"""How far verdicts on a CUDA device can be trusted: programs that cheat
(tests/gpu/cheats), correct ones (tests/gpu/honest, and a large language model's),
and those that mean to do harm (tests/gpu/hostile), after each of which a correct
one must still be correct. Ends with a table as of tests/trust-run.

Usage: tests/gpu/trust.py [NAME...]

Those in Python are left out where there is no PyTorch, those of form cu where
there is no nvcc; both are named.
"""

import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
os.environ.setdefault("KF_BUILD", "build")
FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

import trust  # noqa: E402

# Answered cold, and correct on an H100; of eight of our own problems the six whose
# data are made quickest. They fit the sizes of the preset "gpu" alone.
REPLIES = trust.ROOT / "bench" / "results" / "h100" / "replies.jsonl"
MODELS = ("attention", "gemm_logsumexp", "lstm", "self_attention", "small_cnn",
          "transformer_block")
# Several gigabytes each.
MODELS_JOBS = 2
# Judges without a defence; they take turns where times are taken.
WEAK_AT_ONCE = 4
# Judged after each program that was on the device.
NEXT = FOLDER / "honest" / "reversed_sums.cu"
VALUES = {"stop_after": "values", "calls": None}


def load(name):
    path = FOLDER.parent / name / "run"
    loader = importlib.machinery.SourceFileLoader(name, str(path))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


cheats = load("cheats")


class Results:
    """TAP, and which programs are asked for."""

    def __init__(self, names):
        self.names, self.number, self.good = names, 0, True

    def __call__(self, line, good):
        self.number += 1
        self.good &= good
        first, *more = line.splitlines()
        print(f"{'ok' if good else 'not ok'} {self.number} - {first}")
        for words in more:
            print(f"# {words}")
        sys.stdout.flush()

    def skip(self, name, why):
        self.number += 1
        print(f"ok {self.number} - {name} # SKIP needs {why}", flush=True)

    def chosen(self, name):
        return not self.names or name in self.names


def has_torch():
    for python in (os.environ.get("KFORGE_PYTHON"), "python3",
                   "/usr/bin/python3", sys.executable):
        if python and shutil.which(python) and subprocess.run(
                [python, "-c", "import torch"], capture_output=True,
                check=False).returncode == 0:
            return True
    return False


class Able:
    """What this machine can judge."""

    def __init__(self):
        self.absent = {file: tool for file, tool, there in (
            ("solution.py", "PyTorch", has_torch()),
            ("program.cu", "nvcc", trust.has_nvcc())) if not there}

    def lacks(self, program):
        return next((tool for file, tool in self.absent.items()
                     if file in program.files()), None)


def programs(folder, able, tell):
    found = []
    for program in cheats.cheats(FOLDER / folder):
        if not tell.chosen(program.name):
            continue
        if able.lacks(program):
            tell.skip(f"{folder}/{program.name}", able.lacks(program))
        else:
            found.append(program)
    return found


def without_none(request):
    return {k: v for k, v in request.items() if v is not None}


def of_models(able, tell):
    """[(name, request)]"""
    names = [name for name in MODELS if tell.chosen(name)]
    if "solution.py" in able.absent:
        for name in names:
            tell.skip(f"model/{name}", able.absent["solution.py"])
        return []
    found = []
    for line in REPLIES.read_text(encoding="utf-8").splitlines():
        reply = json.loads(line)
        if reply.get("problem") in names:
            path = next((trust.ROOT / "problems").glob(
                f"level*/{reply['problem']}.py"))
            found.append((f"model/{reply['problem']}", {
                "problem": str(path), "size": "gpu", "platform": "cuda",
                "reply": reply["text"], "baseline": "none",
                "stop_after": "values"}))
    return found


def judge_honest(able, tell):
    own = [(f"honest/{program.name}", request)
           for program in programs("honest", able, tell)
           for request in program.requests()]
    models = of_models(able, tell)
    verdicts = trust.judge([request for _, request in own]) + \
        trust.judge([request for _, request in models], jobs=MODELS_JOBS)
    figures = {"honest": 0, "accepted": 0, "of_models": len(models)}
    for (name, _), verdict in zip(own + models, verdicts):
        good = verdict["state"] == "correct"
        figures["honest"] += 1
        figures["accepted"] += good
        tell(f"{name}: {trust.words(verdict)}" +
             ("" if good else f"\n{verdict.get('text', '')}"), good)
    return figures


def judge_hostile(able, tell):
    """One after the other, and a correct one after each."""
    found = programs("hostile", able, tell)
    after = next(trust.Program(NEXT).requests(**VALUES))
    requests = []
    for program in found:
        requests += [next(program.requests(**VALUES)), after]
    verdicts = trust.judge([without_none(r) for r in requests], jobs=1)
    figures = {"hostile": len(found), "contained": 0}
    for program, verdict, following in zip(found, verdicts[::2],
                                           verdicts[1::2]):
        unharmed = following["state"] == "correct"
        good = program.is_found(verdict) and unharmed
        figures["contained"] += good
        tell(f"hostile/{program.name}: expected {program.fact('found')}, found "
             f"{trust.words(verdict)}; the next one is "
             f"{trust.words(following)}", good)
    return figures


def table(figures):
    rows = (
        ("programs, on a CUDA device", "how many", "as they should", "else"),
        ("---",) * 4,
        ("that cheat", figures["cheats"], f"{figures['caught']} found",
         f"{figures['falsely_accepted']} accepted"),
        ("the same without the defence that finds them",
         figures["to_be_shown"], f"{figures['shown_real']} accepted", ""),
        (f"that are correct, {figures['of_models']} of them a model's",
         figures["honest"], f"{figures['accepted']} accepted",
         f"{figures['honest'] - figures['accepted']} refused"),
        ("that mean to do harm, a correct one after each", figures["hostile"],
         f"{figures['contained']} contained",
         f"{figures['hostile'] - figures['contained']} not"))
    return [f"| {' | '.join(map(str, row))} |" for row in rows]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*")
    tell = Results(parser.parse_args().name)
    able = Able()
    start = time.monotonic()
    figures = cheats.run(programs("cheats", able, tell), tell, WEAK_AT_ONCE)
    figures["falsely_accepted"] = figures.pop("accepted")
    figures.update(judge_honest(able, tell))
    figures.update(judge_hostile(able, tell))
    figures.pop("good")
    figures["seconds"] = round(time.monotonic() - start, 1)
    for line in table(figures):
        print(f"# {line}")
    for name, value in figures.items():
        print(f"# measure trust/{name} {value} "
              f"{'s' if name == 'seconds' else ''}")
    print(f"1..{tell.number}")
    return 0 if tell.good and tell.number else 1


if __name__ == "__main__":
    sys.exit(main())
