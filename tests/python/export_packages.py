#!/usr/bin/env python3
"""kforge export --as torch: several packages in one process and one cache,
weights that move, inputs by name, names of every kind, one shape of several.

    tests/python/export_packages.py [TEST...]
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("1..0 # SKIP this Python has no torch")
    sys.exit(0)

from packages import (agree, export, fresh, kforge, load, pair, raises,
                      run_cases)

SCALED = """
import torch

ROWS = 8
FACTOR = 2.0


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(32) + 0.5)

    def forward(self, x, factor):
        return x * self.weight * factor


def get_inputs():
    return [torch.randn(ROWS, 32), FACTOR]


def get_init_inputs():
    return []
"""

# Keeps a copy of the weight, so that stale ones show.
SCALED_C = """
#include <kforge/program.h>

#include <string.h>

int kf_prepare(struct kf_call *c)
{
	float *kept = kf_keep(c, 0, 32 * sizeof(float));

	if (!kept)
		return 1;
	memcpy(kept, c->weight[0].data, 32 * sizeof(float));
	return 0;
}

int kf_forward(struct kf_call *c)
{
	const float *kept = kf_keep(c, 0, 32 * sizeof(float));
	const float *x = c->in[0].data;
	float *y = c->out[0].data;

	for (int64_t i = 0; i < 32 * c->in[0].shape[0]; i++)
		y[i] = x[i] * kept[i % 32] * (float)c->scalar[0].f;
	return 0;
}
"""

NAMED = """
import torch


class Model(torch.nn.Module):
    def forward(self, a, b, rest):
        return a - 2 * b + 3 * rest["x"] - 4 * rest["y"]


def get_inputs():
    return {"rest": {"y": torch.randn(32), "x": torch.randn(32)},
            "b": torch.randn(32), "a": torch.randn(32)}


def get_init_inputs():
    return []
"""

NAMED_C = """
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *y = c->in[0].data, *x = c->in[1].data;
	const float *b = c->in[2].data, *a = c->in[3].data;
	float *out = c->out[0].data;

	for (int i = 0; i < 32; i++)
		out[i] = a[i] - 2 * b[i] + 3 * x[i] - 4 * y[i];
	return 0;
}
"""

# Words of C and C++, of the generated files, of Python and of PyTorch.
WORDS = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("class", "lambda", "none", "template"):
            self.register_parameter(name, torch.nn.Parameter(torch.rand(32)))

    def forward(self, double, printf, e, d, i, out, inner, out0, context):
        return sum(self.parameters()) + double + printf + e + d + i + out + \\
            inner + out0 + context


def get_inputs():
    return [torch.randn(32) for _ in range(9)]


def get_init_inputs():
    return []
"""

WORDS_C = """
#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	float *out = c->out[0].data;

	for (int k = 0; k < 32; k++) {
		out[k] = 0;
		for (int i = 0; i < 9; i++)
			out[k] += ((const float *)c->in[i].data)[k];
		for (int i = 0; i < 4; i++)
			out[k] += ((const float *)c->weight[i].data)[k];
	}
	return 0;
}
"""

# (package, problem's file, its text, program, options of export)
PACKAGES = (
    ("small", "scaled", SCALED, SCALED_C, ()),
    ("large", "scaled", SCALED, SCALED_C, ("--set", "ROWS=16")),
    ("tripled", "scaled", SCALED, SCALED_C, ("--set", "FACTOR=3.0")),
    ("named", "named", NAMED, NAMED_C, ()),
    ("words", "name", WORDS, WORDS_C, ()),
)
SCALED_PACKAGES = [row[0] for row in PACKAGES if row[1] == "scaled"]


def prepare(folder, name, file, problem, program, options):
    """Exports it; what went wrong, or None."""
    source = folder / ("of_" + name)
    source.mkdir()
    (source / (file + ".py")).write_text(problem)
    (source / "program.c").write_text(program)
    status, words = export(source / (file + ".py"), source / "program.c",
                           folder / name, *options)
    return words if status else None


class Packages:
    """A folder of exports that are being made."""

    def __init__(self, folder, pool):
        self.folder = folder
        self._ready = {row[0]: pool.submit(prepare, folder, *row)
                       for row in PACKAGES}

    def path(self, name):
        words = self._ready[name].result()
        assert not words, words
        return self.folder / name

    def load(self, name):
        self.path(name)
        return load(self.folder, name)


# --- several in one process ---------------------------------------------------


def run_source(path):
    """ModelNew as KernelBench's evaluator takes it out of a text."""
    scope = {}
    exec(compile(path.read_text(), "<string>", "exec"), scope)
    return scope["ModelNew"]


# Loads the packages whose names it is given, each against its reference.
LOADER = """
import sys
import torch
from packages import agree, fresh, load, pair
for name in sys.argv[2:]:
    package = load(sys.argv[1], name)
    reference, new = pair(package)
    with torch.no_grad():
        agree(reference(*fresh(package)), new(*fresh(package)))
    print(name, package.op)
"""


def load_elsewhere(packages, cache, *names):
    """(status, output) of a process that loads copies of these packages, whose
    libraries are of another machine, and has that folder as its cache."""
    with tempfile.TemporaryDirectory(dir=packages.folder) as scratch:
        for name in names:
            copy = pathlib.Path(scratch) / name
            shutil.copytree(packages.path(name), copy)
            (copy / "c" / "libscaled.so").write_bytes(b"of another machine")
        env = dict(os.environ, XDG_CACHE_HOME=str(cache),
                   PYTHONPATH=str(pathlib.Path(__file__).parent))
        done = subprocess.run(
            [sys.executable, "-c", LOADER, scratch, *names], env=env,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=200, check=False)
    return done.returncode, done.stdout


def test_packages_of_one_program_share_process_and_cache(packages):
    """All are built again there; the smaller one first, whose library would be
    the wrong one for the larger."""
    cache = packages.folder / "shared cache"
    status, words = load_elsewhere(packages, cache, *SCALED_PACKAGES)
    assert status == 0, words
    lines = dict(line.split() for line in words.splitlines())
    assert sorted(lines) == sorted(SCALED_PACKAGES), words
    assert len(set(lines.values())) == 3, words
    assert len(list(cache.glob("kforge/exports/*/libscaled.so"))) == 3


def test_a_cache_that_cannot_be_written_is_named(packages):
    """By permission, which does not stop root, and where nobody can."""
    closed = packages.folder / "closed"
    closed.mkdir(mode=0o555)
    for cache in [pathlib.Path("/proc/kforge")] + [closed] * (os.getuid() > 0):
        status, words = load_elsewhere(packages, cache, "small")
        assert status == 1, words
        last = words.strip().splitlines()[-1]
        assert last.startswith("ImportError: "), words
        for word in (str(cache), "XDG_CACHE_HOME", "libscaled.so"):
            assert word in last, words


def test_source_files_of_one_program_share_a_process(packages):
    for name in SCALED_PACKAGES:
        package = packages.load(name)
        reference, _ = pair(package)
        torch.manual_seed(42)
        new = run_source(packages.path(name) / "kernelbench.py")()
        with torch.no_grad():
            agree(reference(*fresh(package)), new(*fresh(package)))


# --- weights ------------------------------------------------------------------


def test_a_weight_at_an_address_that_was_free_is_seen(packages):
    """A weight that leaves its memory and moves on leaves an address that the
    next one may get."""
    package = packages.load("small")
    reference, new = pair(package)
    inputs = fresh(package)
    with torch.no_grad():
        for value in range(100):
            agree(reference(*inputs), new(*inputs))
            for step in (0.5, 0.25):
                new.weight.data = torch.full((32,), value + step)
            reference.weight.data = torch.full((32,), value + 0.25)


def test_a_weight_that_comes_back_to_its_memory_is_prepared_again(packages):
    package = packages.load("small")
    reference, new = pair(package)
    inputs = fresh(package)
    first = new.weight.data
    with torch.no_grad():
        new(*inputs)
        new.weight.data = torch.ones(32)
        new(*inputs)
        first.fill_(7)
        new.weight.data = first
        reference.weight.fill_(7)
        agree(reference(*inputs), new(*inputs))


# --- inputs -------------------------------------------------------------------


def test_inputs_go_by_name_whatever_their_order(packages):
    """The problem gives them in another order than forward takes them."""
    package = packages.load("named")
    reference, new = pair(package)
    given = fresh(package)
    assert list(given) == ["rest", "b", "a"]
    with torch.no_grad():
        want = reference(**given)
        agree(want, new(**given))
        agree(want, new(**{name: given[name] for name in sorted(given)}))
        rest = {name: given["rest"][name] for name in ("x", "y")}
        agree(want, new(given["a"], given["b"], rest))
        agree(want, new(given["a"], rest=rest, b=given["b"]))
        raises(package, "rest.x", new, given["a"], given["b"],
               {"y": rest["y"], "z": rest["x"]})


# --- shapes -------------------------------------------------------------------


def test_a_package_is_for_one_shape_of_a_run(packages):
    folder = packages.folder
    (folder / "shapes.json").write_text(json.dumps([
        {"name": "few", "set": {"ROWS": 3}},
        {"name": "many", "set": {"ROWS": 5}}]))
    (folder / "reply").write_text("```c program.c\n%s```\n" % SCALED_C)
    problem = packages.path("small").parent / "of_small" / "scaled.py"
    status, words = kforge(
        "run", problem, "--model", "exec:cat > /dev/null; cat %s" %
        (folder / "reply"), "--shapes", folder / "shapes.json", "--attempts",
        "1", "--baseline", "none", "--calls", "20", "-o", folder / "run")
    assert status == 0, words
    found = {}
    for name in ("few", "many"):
        status, words = kforge("export", folder / "run", "--as", "torch",
                               "--shape", name, "-o", folder / name)
        assert status == 0, words
        found[name] = load(folder, name)
        reference, new = pair(found[name])
        with torch.no_grad():
            agree(reference(*fresh(found[name])), new(*fresh(found[name])))
    assert found["many"].op is torch.ops.kforge.scaled_many.default
    with torch.no_grad():
        raises(found["many"], "made for the shape many", new,
               *fresh(found["few"]))


# --- names --------------------------------------------------------------------


def test_no_name_breaks_the_package(packages):
    package = packages.load("words")
    reference, new = pair(package)
    inputs = fresh(package)
    with torch.no_grad():
        agree(reference(*inputs), new(*inputs))
        weights = [reference.get_parameter(w["name"])
                   for w in package.FACTS["weights"]]
        agree(reference(*inputs), package.op(*inputs, *weights))
    assert package.op is torch.ops.kforge.op_name.default


def main():
    names = sys.argv[1:] or sorted(n for n in globals()
                                   if n.startswith("test_"))
    with tempfile.TemporaryDirectory(prefix="kforge-export-") as scratch, \
            concurrent.futures.ThreadPoolExecutor(2) as pool:
        packages = Packages(pathlib.Path(scratch), pool)
        return run_cases([(n, globals()[n], (packages,)) for n in names])


if __name__ == "__main__":
    sys.exit(main())
