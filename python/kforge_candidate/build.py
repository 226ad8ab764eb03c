"""Compiles what a program has inside, by loading it and calling it once on
inputs of the problem's own making."""

import os
import sys

from kforge_reference.failure import is_trouble

from . import artefact
from .words import of_error

# A source without any of these has nothing inside that is compiled; if it does
# all the same, the runner compiles it, each time.
COMPILES = ("cpp_extension", "compile", "triton", "jit", "tilelang", "cutlass")
INPUT_SEED = 20260101

REFUSED = 1


def main(device_name, output, problem_path, source_path):
    with open(source_path, encoding="utf-8") as file:
        text = file.read()
    try:
        compile(text, artefact.SOURCE, "exec")
    except (SyntaxError, ValueError) as error:
        print("%s:%d: error: %s: %s" % (
            artefact.SOURCE, getattr(error, "lineno", None) or 1,
            type(error).__name__, getattr(error, "msg", None) or error))
        print(getattr(error, "text", None) or "")
        return REFUSED
    folder = artefact.folder()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, artefact.SOURCE), "w",
              encoding="utf-8") as file:
        file.write(text)
    manifest = {"warm": any(word in text for word in COMPILES),
                "extensions": {}}
    status = 0
    if manifest["warm"]:
        status = _warm(device_name, problem_path, folder, manifest)
    if not status:
        artefact.pack(folder, manifest, output)
    return status


def _warm(device_name, problem_path, folder, manifest):
    cache = artefact.set_caches(folder)
    try:
        from kforge_reference import device
        from kforge_reference.problem import Problem, prepare_torch
        from . import program
        from .extensions import Extensions
        prepare_torch(int(os.environ.get("OMP_NUM_THREADS", "1")),
                      device_name)
        problem = Problem(problem_path)
        inputs = problem.inputs(INPUT_SEED)
        arguments = problem.init_arguments()
        device.leave_default()
    except Exception as error:  # the runner will say it, and not of a program
        print("not compiled ahead: %s" % error)
        return 0
    extensions = Extensions(cache)
    extensions.install()
    try:
        found = program.load(folder)
    except BaseException as error:
        # Trouble with the device the runner meets too, or it is over.
        return 0 if is_trouble(error) else _refuse(folder, error)
    try:
        program.call(program.construct(found, arguments, problem.dtype), inputs,
                     inputs.leaves)
    except BaseException as error:
        if _is_compilers(error) and not is_trouble(error):
            return _refuse(folder, error)
    manifest["extensions"] = extensions.made
    return 0


def _is_compilers(error):
    kind = type(error)
    return "Error building extension" in str(error) or \
        "Compil" in kind.__name__ or kind.__module__.startswith(
            ("triton", "torch._dynamo", "torch._inductor"))


def _refuse(folder, error):
    """The program's line as compilers name it; then all that was said."""
    lines = of_error(folder, error).split("\n")
    print("%s: error: %s" % (artefact.SOURCE, lines[0]))
    print("\n".join(lines[1:]))
    print(error)
    sys.stdout.flush()
    return REFUSED
