#!/usr/bin/env python3
"""Exports of CUDA programs on a device: the C library's example, the sources as
nvcc builds them, the PyTorch module against its reference (streams, weights that
change, graphs), KernelBench's own evaluator, and compute-sanitizer. Part of
tests/gpu/run.

The Python with torch is the one that kforge finds (KFORGE_PYTHON names another);
KERNELBENCH=FOLDER is a checkout of KernelBench, without which its evaluator is
skipped.

    tests/gpu/export.py --torch FOLDER MODE     (for itself) one check in that
                                                Python
"""

import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

PROGRAMS = {"example": ("platforms/cuda/example", "example.py"),
            "mixed": ("tests/data/cuda/export", "mixed.py")}


# --- in the Python that has torch ---------------------------------------------


def load(folder):
    """(package, reference, model) as KernelBench's evaluator makes them."""
    import importlib
    import torch
    folder = pathlib.Path(folder)
    sys.path.insert(0, str(folder.parent))
    package = importlib.import_module(folder.name)
    problem = package.module.reference
    models = []
    for kind in (problem.Model, package.ModelNew):
        torch.manual_seed(42)
        models.append(kind(*problem.get_init_inputs()).cuda())
    return package, *models


def inputs(package, seed):
    import torch
    torch.manual_seed(seed)
    return [t.cuda() if isinstance(t, torch.Tensor) else t
            for t in package.module.reference.get_inputs()]


def agree(want, got):
    import torch
    scale = float(want.abs().max())
    assert torch.allclose(want, got, rtol=1e-4, atol=1e-4 * scale), \
        float((want - got).abs().max())


def check_values(folder):
    import torch
    package, reference, model = load(folder)
    with torch.no_grad():
        for seed in (1, 2, 3):
            given = inputs(package, seed)
            agree(reference(*given), model(*given))
        for parameter, other in zip(reference.parameters(),
                                    model.parameters()):
            parameter.mul_(1.5)
            other.mul_(1.5)
        agree(reference(*given), model(*given))


def check_streams(folder):
    """On a stream of its own, behind work that takes its time: a launch on
    another stream would read what is not there yet."""
    import torch
    package, reference, model = load(folder)
    with torch.no_grad():
        given = inputs(package, 1)
        model(*given)
        stream = torch.cuda.Stream()
        other = inputs(package, 2)
        want = reference(*other)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            for to, source in zip(given, other):
                to.copy_(source)
            got = model(*given)
        stream.synchronize()
        agree(want, got)


def check_guard(folder):
    """The tensors' device counts, whichever is the current one, and that one
    stays as it is."""
    import torch
    package, reference, model = load(folder)
    with torch.no_grad():
        for there, current in ((1, 0), (0, 1)):
            torch.cuda.set_device(current)
            given = [t.to(f"cuda:{there}") if isinstance(t, torch.Tensor)
                     else t for t in inputs(package, 1)]
            want = reference.to(f"cuda:{there}")(*given)
            got = model.to(f"cuda:{there}")(*given)
            assert got.device.index == there, got.device
            assert torch.cuda.current_device() == current
            agree(want, got)


def check_graph(folder):
    import torch
    package, reference, model = load(folder)
    with torch.no_grad():
        given = inputs(package, 1)
        model(*given)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = model(*given)
        for seed in (2, 3):
            for to, source in zip(given, inputs(package, seed)):
                to.copy_(source)
            graph.replay()
            torch.cuda.synchronize()
            agree(reference(*given), got)


def check_compile(folder):
    import torch
    package, reference, model = load(folder)
    with torch.no_grad():
        given = inputs(package, 1)
        agree(reference(*given), torch.compile(model)(*given))


def check_overhead(folder):
    """How long the processor takes to queue a call."""
    import time
    import torch
    package, _, model = load(folder)
    with torch.no_grad():
        given = inputs(package, 1)
        for _ in range(50):
            model(*given)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(200):
            model(*given)
        took = (time.perf_counter() - start) / 200
        torch.cuda.synchronize()
    print(f"# measure export_torch_queue {took * 1e6:.1f} us")


def check_kernelbench(folder):
    """The evaluator has the last word, on the one file's text."""
    import importlib
    import inspect
    import torch
    checkout = pathlib.Path(os.environ["KERNELBENCH"])
    for place, name in (("src", "kernelbench.eval"), ("", "src.eval")):
        if (checkout / place / (name.replace(".", "/") + ".py")).exists():
            sys.path.insert(0, str(checkout / place))
            evaluate = importlib.import_module(name).eval_kernel_against_ref
            break
    else:
        raise SystemExit(f"{checkout} holds no evaluator")
    folder = pathlib.Path(folder)
    options = {"num_correct_trials": 5, "num_perf_trials": 100,
               "measure_performance": True, "device": torch.device("cuda:0"),
               "backend": "cuda", "precision": torch.float32}
    known = inspect.signature(evaluate).parameters
    result = evaluate((folder / "problem.py").read_text(),
                      (folder / "kernelbench.py").read_text(),
                      **{k: v for k, v in options.items() if k in known})
    assert result is not None and result.compiled, result
    assert result.correctness, result
    assert result.runtime > 0, result.metadata      # else it gave up timing
    print(f"# measure kernelbench_runtime_{folder.name} {result.runtime} "
          f"as it says")
    reference = getattr(result, "ref_runtime", None)
    if reference:
        print(f"# measure kernelbench_speedup_{folder.name} "
              f"{reference / result.runtime} as it says")


def in_torch(folder, mode):
    # Our profile.py hides Python's own from what PyTorch imports.
    here = pathlib.Path(__file__).resolve().parent
    sys.path[:] = [p for p in sys.path if pathlib.Path(p).resolve() != here]
    checks = {name[len("check_"):]: function
              for name, function in globals().items()
              if name.startswith("check_")}
    checks[mode](folder)
    return 0


# --- the tests ----------------------------------------------------------------


def run(*command, cwd=None):
    done = subprocess.run([str(c) for c in command], cwd=cwd, text=True,
                          capture_output=True, timeout=400, check=False)
    assert done.returncode == 0, (command, done.stdout[-3000:],
                                  done.stderr[-3000:])
    return done.stdout


def nvcc():
    return shutil.which("nvcc") or shutil.which(
        "nvcc", path="/usr/local/cuda/bin")


@functools.lru_cache(maxsize=None)
def place():
    return tempfile.TemporaryDirectory(prefix="kforge-cli-")


@functools.lru_cache(maxsize=None)
def export(name, form):
    from harness import ROOT, kforge
    folder, problem = PROGRAMS[name]
    out = pathlib.Path(place().name) / f"{name}_{form}"
    result = kforge("export", ROOT / folder / problem,
                    ROOT / folder / "kernels.cu", ROOT / folder / "host.c",
                    "-p", "cuda", "--as", form, "-o", out, timeout=400)
    assert result.status == 0, result
    return out, result


def test_the_c_librarys_example_agrees(_):
    for name in PROGRAMS:
        out, result = export(name, "c")
        assert "this agrees with the reference" in result.out, result
        assert "this agrees" in run("./example", cwd=out)


def test_nvcc_builds_what_agrees(_):
    for name in PROGRAMS:
        out, _ = export(name, "cuda")
        run("make", f"NVCC={nvcc()}", cwd=out)
        assert "this agrees" in run("./example", cwd=out)


def torch_checks(*modes):
    for name in PROGRAMS:
        out, _ = export(name, "torch")
        for mode in modes:
            said = run(PYTHON, __file__, "--torch", out, mode)
            print(said, end="")


def test_the_module_agrees_with_its_reference(_):
    torch_checks("values", "overhead")


def test_the_module_keeps_to_the_current_stream(_):
    torch_checks("streams")


def test_the_module_works_where_its_tensors_are(_):
    torch_checks("guard")


def test_the_module_can_be_captured_and_compiled(_):
    torch_checks("graph", "compile")


def test_kernelbenchs_evaluator_accepts_the_one_file(_):
    torch_checks("kernelbench")


def test_compute_sanitizer_finds_a_read_beyond(scratch):
    from harness import EXIT, ROOT, kforge
    folder, problem = PROGRAMS["mixed"]
    (scratch / "host.c").write_text((ROOT / folder / "host.c").read_text())
    kernels = (ROOT / folder / "kernels.cu").read_text()
    for text, status in ((kernels, "good"),
                         (kernels.replace("if (i < n)", "if (i < n + 9)", 1),
                          "runtime_error")):
        (scratch / "kernels.cu").write_text(text)
        result = kforge("verify", ROOT / folder / problem,
                        scratch / "kernels.cu", scratch / "host.c", "-p",
                        "cuda", "--sanitize", "--stop-after", "values",
                        timeout=400)
        assert result.status == EXIT[status], result
    assert "sanitizer" in result.out and "multiply" in result.out, result


def find_python():
    """One with torch that sees a device, or None."""
    for path in (os.environ.get("KFORGE_PYTHON"), sys.executable,
                 shutil.which("python3"), "/usr/bin/python3"):
        if path and os.path.exists(path) and subprocess.run(
                [path, "-c", "import sys, torch; "
                 "sys.exit(not torch.cuda.is_available())"],
                capture_output=True, check=False).returncode == 0:
            return path
    return None


def device_count():
    count = "import torch; print(torch.cuda.device_count())"
    return int(run(PYTHON, "-c", count)) if PYTHON else 0


PYTHON = None


def main():
    global PYTHON
    from harness import run_tests
    PYTHON = find_python()
    module = sys.modules[__name__]
    no_torch = "no Python with torch that sees a device: set KFORGE_PYTHON"
    skips = (
        ("test_", not PYTHON, no_torch),
        ("test_the_module_works", device_count() < 2, "one device alone"),
        ("test_nvcc", not nvcc(), "no nvcc on PATH"),
        ("test_kernelbench", not os.environ.get("KERNELBENCH"),
         "set KERNELBENCH to a checkout of KernelBench"),
        ("test_compute", not (shutil.which("compute-sanitizer") or
                              os.path.exists("/usr/local/cuda/bin/"
                                             "compute-sanitizer")),
         "no compute-sanitizer on PATH"),
    )
    if PYTHON:
        os.environ["KFORGE_PYTHON"] = PYTHON
    for name in [n for n in dir(module) if n.startswith("test_")]:
        for beginning, absent, why in skips:
            if absent and name.startswith(beginning):
                getattr(module, name).skip = why
    return run_tests(module)


if __name__ == "__main__":
    sys.exit(in_torch(*sys.argv[2:]) if sys.argv[1:2] == ["--torch"]
             else main())
