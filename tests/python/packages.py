"""What the tests of exported PyTorch packages share. Not a test itself."""

import importlib
import os
import pathlib
import random
import subprocess
import sys
import traceback

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("KF_BUILD", "build")
CACHE = str(ROOT / "build" / "tests" / "cache")


def kforge(*arguments, env=None):
    """(status, words) of a command."""
    own = {"KFORGE_HOME": str(ROOT), "XDG_CACHE_HOME": CACHE,
           "KFORGE_PYTHON": os.environ.get("KFORGE_PYTHON", sys.executable)}
    env = {**os.environ, **own, **(env or {})}
    done = subprocess.run([str(BUILD / "kforge"), *map(str, arguments)],
                          env=env, text=True, capture_output=True,
                          timeout=200, check=False)
    assert "Sanitizer" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def export(problem, program, out, *options):
    """(status, words) of kforge export --as torch."""
    return kforge("export", problem, program, "--as", "torch", "-o", out,
                  *options)


def load(folder, name):
    """The package in that folder, under a name of its own."""
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.pop(0)


def pair(package, **options):
    """Reference and ModelNew as KernelBench's evaluator makes them."""
    reference = package.module.reference
    models = []
    for kind, extra in ((reference.Model, {}), (package.ModelNew, options)):
        torch.manual_seed(42)
        random.seed(42)
        arguments = reference.get_init_inputs()
        torch.manual_seed(42)
        models.append(kind(*arguments, **extra))
    return models


def fresh(package, seed=7):
    torch.manual_seed(seed)
    return package.module.reference.get_inputs()


def listed(outputs):
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def agree(want, got):
    want, got = listed(want), listed(got)
    assert len(want) == len(got), (len(want), len(got))
    for a, b in zip(want, got):
        assert a.shape == b.shape and a.dtype == b.dtype, (a, b)
        assert b.is_contiguous() and b.storage_offset() == 0
        tight = 1e-10 if a.dtype == torch.float64 else 1e-4
        scale = float(a[torch.isfinite(a)].abs().max()) if a.numel() else 1.0
        assert torch.allclose(a, b, rtol=tight, atol=tight * (scale + 1e-6),
                              equal_nan=True), float((a - b).abs().max())


def raises(package, word, function, *arguments):
    try:
        function(*arguments)
    except package.Mismatch as error:
        assert word in str(error), error
        return
    raise AssertionError("nothing was raised: " + word)


def run_cases(cases):
    """[(title, function, arguments)], as TAP; what a function returns is why
    it was skipped. The exit status."""
    failed = 0
    print("1..%d" % len(cases))
    for number, (title, function, arguments) in enumerate(cases, 1):
        try:
            skip = function(*arguments)
            print("ok %d - %s%s" % (number, title,
                                    " # SKIP " + skip if skip else ""))
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print("not ok %d - %s" % (number, title))
            for line in traceback.format_exc().splitlines():
                print("# " + line)
        sys.stdout.flush()
    return 1 if failed else 0
