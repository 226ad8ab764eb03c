#!/usr/bin/env python3
"""kforge export for programs of two parts: a C library with the kernels inside,
on an OpenCL device (PoCL) and on the stand-in for NVIDIA's driver; sources for
nvcc, which are compiled where there is one."""

import ctypes
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from harness import (BUILD, C_PROBLEM, EXIT, PROBLEM, ROOT, kforge, run_tests)

AXPBY = ROOT / "problems" / "c" / "axpby"
CUDA_PROGRAM = ROOT / "tests" / "data" / "programs" / "axpby"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
STANDIN = {"KFORGE_CUDA_DRIVER":
           str(BUILD / "tests" / "standin" / "libcuda.so.1")}

# Everything that launch.h has, on the way to max(x * scale + shift, 0): what
# kf_prepare keeps comes through scratch, a fill and two copies.
KERNELS = r"""
__kernel void twice(__global const float *from, __global float *to, long n)
{
	long i = get_global_id(0);

	if (i < n)
		to[i] = 2.0f * from[i];
}

struct numbers { float factor, zero; };

__kernel void apply(__global const float *x, __global const float *kept,
		    __global const float *shift, __global const float *base,
		    __global float *y, struct numbers s, int columns, long n,
		    __local float *row)
{
	long i = get_global_id(0);

	if (i >= n)
		return;
	row[get_local_id(0)] = x[i] * kept[i % columns] * s.factor;
	y[i] = fmax(row[get_local_id(0)] + shift[i % columns] + base[i], s.zero);
}
"""

HOST_TEXT = r"""
#include <kforge/launch.h>

#define COLUMNS 96
#define SPACE 4096	/* bytes: buffers' parts begin at such places */

struct numbers { float factor, zero; };

int kf_prepare(struct kf_call *c)
{
	char *kept = kf_keep(c, 0, 2 * SPACE);
	void *scratch = kf_temp(c, COLUMNS * sizeof(float));

	kf_launch(c, "twice", KF_DIM(COLUMNS / 32), KF_DIM(32), 0,
		  KF_BUF(kf_weight(c, "scale")), KF_BUF(scratch),
		  KF_I64(COLUMNS));
	kf_copy(c, kept, scratch, COLUMNS * sizeof(float));
	return kf_copy(c, kf_at(kept, SPACE), kf_weight(c, "shift"),
		       COLUMNS * sizeof(float));
}

int kf_forward(struct kf_call *c)
{
	int64_t n = kf_numel(&c->out[0]);
	void *kept = kf_keep(c, 0, 0);
	void *base = kf_temp(c, (size_t)n * sizeof(float));
	struct numbers s = { 0.5f, 0.0f };

	kf_fill32(c, base, 0, n);
	kf_zero(c, base, n);
	return LAUNCH(c, "apply", KF_DIM((n + 63) / 64), KF_DIM(64), OPTIONS,
		      KF_BUF(c->in[0]), KF_BUF(kept), KF_BUF_AT(kept, SPACE),
		      KF_BUF(base), KF_BUF(c->out[0]),
		      KF_BYTES(&s, sizeof(s)), KF_I32(COLUMNS),
		      KF_I64(n) LAST);
}
"""

HOST = HOST_TEXT.replace("LAUNCH", "kf_launch").replace("OPTIONS", "0").replace(
    "LAST", ", KF_LOCAL(64 * sizeof(float))")


def run(*command, cwd=None, env=None):
    return subprocess.run([str(c) for c in command], cwd=cwd, text=True,
                          env=dict(os.environ, **(env or {})), check=False,
                          capture_output=True, timeout=300)


def good(*command, cwd=None, env=None):
    done = run(*command, cwd=cwd, env=env)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def export(out, problem, *program, options=(), form="c", env=None):
    result = kforge("export", problem, *program, "--as", form, "-o", out,
                    "--json", *options, env=env, timeout=300)
    assert result.status == 0, result
    return result.json()["exports"][0]


def export_opencl(scratch, kernels=KERNELS, host=HOST, options=()):
    (scratch / "kernels.cl").write_text(kernels)
    (scratch / "host.c").write_text(host)
    out = scratch / "out"
    made = export(out, C_PROBLEM, scratch / "kernels.cl", scratch / "host.c",
                  options=("-p", "opencl", *options))
    return out, made


@functools.lru_cache(maxsize=None)
def once():
    folder = tempfile.TemporaryDirectory(prefix="kforge-cli-")
    return folder, export_opencl(pathlib.Path(folder.name))


def copy_of(scratch):
    """The same export for every test that only looks at it."""
    _, (out, made) = once()
    shutil.copytree(out, scratch / "copy")
    return scratch / "copy", made


# --- OpenCL -------------------------------------------------------------------


class Library:
    """The exported scale_shift, with weights 2 and -1."""

    def __init__(self, folder):
        self.c = ctypes.CDLL(str(folder / "libscale_shift.so"))
        self.c.scale_shift_error.restype = ctypes.c_char_p
        self.weights = [(ctypes.c_float * 96)(*[v] * 96) for v in (2, -1)]
        self.x = (ctypes.c_float * (64 * 96 + 1))(*range(64 * 96 + 1))
        self.y = (ctypes.c_float * (64 * 96 + 1))()
        self.context = ctypes.c_void_p()

    def pointers(self):
        return (ctypes.c_void_p * 2)(*map(ctypes.addressof, self.weights))

    def create(self):
        return self.c.scale_shift_create(self.pointers(),
                                         ctypes.byref(self.context))

    def set_weights(self):
        return self.c.scale_shift_set_weights(self.context, self.pointers())

    def forward(self, shift=0):
        return self.c.scale_shift_forward(
            self.context, ctypes.c_void_p(ctypes.addressof(self.x) + shift),
            ctypes.c_void_p(ctypes.addressof(self.y) + shift))


def test_opencl_the_example_agrees_with_the_reference(scratch):
    out, made = copy_of(scratch)
    assert "this agrees with the reference" in made["example"], made
    assert made["verified"] is True and made["as"] == "c", made
    assert "this agrees" in good("./example", cwd=out)
    text = (out / "README.md").read_text() + (out / "scale_shift.h").read_text()
    assert "{{" not in text and "{%" not in text
    assert "KFORGE_EXPORT_DEVICE" in text
    assert (out / "kernels.cl").read_text() == KERNELS
    good("make", "-s", "clean", "all", cwd=out)
    assert "this agrees" in good("./example", cwd=out)


def test_opencl_the_language_is_the_judges(scratch):
    """A program of that version alone is judged, and tried as an export."""
    card = kforge("prompt", C_PROBLEM, "-p", "opencl").out
    version = re.search("language: OpenCL C (.)[.](.)", card).groups()
    guard = f"#if __OPENCL_C_VERSION__ != {''.join(version)}0\n#error\n" \
        "#endif\n"
    _, made = export_opencl(scratch, guard + KERNELS)
    assert "this agrees" in made["example"], made


def test_opencl_weights_change_and_calls_repeat(scratch):
    out, _ = copy_of(scratch)
    library = Library(out)
    assert library.create() == 0, library.c.scale_shift_error(None)
    for shift in (0, 0, 4):     # the last: memory of any alignment
        assert library.forward(shift) == 0
        number = 5 + shift // 4
        assert library.y[number] == 2 * number - 1, library.y[number]
    library.weights[0][5] = 10      # behind its back: the device has a copy
    assert library.forward() == 0 and library.y[5] == 9
    assert library.set_weights() == 0
    assert library.forward() == 0 and library.y[5] == 49
    library.c.scale_shift_free(library.context)


def test_opencl_only_its_own_functions_are_visible(scratch):
    out, _ = copy_of(scratch)
    library = ctypes.CDLL(str(out / "libscale_shift.so"))
    for name in ("kf_forward", "kforge_call", "kforge_device_open",
                 "kforge_code", "kforge_parts"):
        assert not hasattr(library, name), name


def test_opencl_what_is_missing_is_told(scratch):
    out, _ = copy_of(scratch)
    (scratch / "empty").mkdir()
    for env, words in (({"OCL_ICD_VENDORS": str(scratch / "empty"),
                         "OCL_ICD_FILENAMES": ""}, "has no device"),
                       ({"KFORGE_EXPORT_DEVICE": "99"}, "counts to no device")):
        done = run("./example", cwd=out, env=env)
        assert done.returncode == 2 and words in done.stderr, done


def test_opencl_a_wrong_program_is_noticed(scratch):
    """A check that could not fail would be worth nothing."""
    wrong = KERNELS.replace("* s.factor", "* s.factor * 1.01f")
    out, made = export_opencl(scratch, wrong, options=("--unverified",))
    assert "differs" in made["example"], made
    assert run("./example", cwd=out).returncode == 1
    assert "NOT VERIFIED" in (out / "README.md").read_text()
    (scratch / "kernels.cl").write_text(wrong)
    result = kforge("export", C_PROBLEM, scratch / "kernels.cl",
                    scratch / "host.c", "-p", "opencl", "--as", "c", "-o",
                    scratch / "never")
    assert result.status == EXIT["mismatch"], result
    assert not (scratch / "never").exists()


def test_opencl_bad_input_is_one_sentence(scratch):
    (scratch / "kernels.cl").write_text(KERNELS)
    (scratch / "host.c").write_text(HOST)
    files = (scratch / "kernels.cl", scratch / "host.c")
    rows = (
        ("cannot be exported --as torch: say --as c", PROBLEM, *files, "-p",
         "opencl", "--as", "torch"),
        ("cannot be exported --as cuda: say --as c or --as torch", PROBLEM,
         scratch / "program.c", "--as", "cuda"),
    )
    for words, *arguments in rows:
        result = kforge("export", *arguments, "-o", scratch / "out")
        assert result.status == EXIT["input"], result
        assert words in result.err, (words, result)
        assert len(result.err.strip().splitlines()) == 1, result
        assert not (scratch / "out").exists()
    broken = HOST.replace('"apply"', '"apply", 1')
    (scratch / "host.c").write_text(broken)
    result = kforge("export", C_PROBLEM, *files, "-p", "opencl", "--as", "c",
                    "-o", scratch / "out", "--unverified")
    assert result.status == EXIT["unavailable"], result
    assert "does not compile here" in result.err, result


# --- CUDA ---------------------------------------------------------------------

# Device memory of the stand-in is the process's own, so that a caller's
# addresses are any: what forward_on does with them can be seen.
def test_cuda_the_example_agrees_and_streams_are_the_callers(scratch):
    out = scratch / "out"
    made = export(out, AXPBY, CUDA_PROGRAM / "kernels.cu",
                  CUDA_PROGRAM / "host.c", env=STANDIN,
                  options=("-p", "cuda", "--size", "test"))
    assert "this agrees with the reference" in made["example"], made
    assert "this agrees" in good("./example", cwd=out, env=STANDIN)
    facts = json.loads((out / "kforge-export.json").read_text())
    assert facts["kernels"] == ["axpby"] and facts["arch"], facts
    for source in sorted(out.glob("*.c")):
        if source.name != "host.c":
            good("gcc", "-std=c11", "-D_GNU_SOURCE", *WARNINGS, "-I.", "-c",
                 "-o", "/dev/null", source.name, cwd=out)
    (out / "on.c").write_text(ON)
    good("gcc", "-std=c11", "-I.", "-o", "on", "on.c", "libaxpby.so", "-ldl",
         "-Wl,-rpath,$ORIGIN", cwd=out)
    said = good("./on", STANDIN["KFORGE_CUDA_DRIVER"], cwd=out, env=STANDIN)
    assert said.split() == ["1", "0", "1"], said


# A stream of the caller's: refused if NULL; queued there, and done when the
# caller waits for it.
ON = r"""
#include "axpby.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static float x[AXPBY_X_COUNT], y[AXPBY_Y_COUNT], z[AXPBY_Z_COUNT];

int main(int argc, char **argv)
{
	void *driver = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW), *stream;
	struct axpby_context *context;
	int (*make)(void **, unsigned), (*wait)(void *);
	int refused, before;

	if (!driver || axpby_create(&context))
		return 1;
	*(void **)&make = dlsym(driver, "cuStreamCreate");
	*(void **)&wait = dlsym(driver, "cuStreamSynchronize");
	if (make(&stream, 1))
		return 1;
	x[7] = y[7] = 4;
	refused = axpby_forward_on(context, NULL, x, y, z);
	if (axpby_forward_on(context, stream, x, y, z))
		return 1;
	before = z[7] != 0;
	if (wait(stream))
		return 1;
	printf("%d %d %d\n", refused, before, z[7] == 1.5f * 4 - 0.75f * 4);
	axpby_free(context);
	return 0;
}
"""


# --- sources for nvcc ---------------------------------------------------------

NVCC_KERNELS = r"""
extern "C" __global__ void twice(const float *from, float *to, int64_t n)
{
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		to[i] = 2.0f * from[i];
}

struct numbers { float factor, zero; };

extern "C" __global__ void apply(const float *x, const float *kept,
				 const float *shift, const float *base, float *y,
				 numbers s, int columns, int64_t n)
{
	extern __shared__ float row[];
	asm volatile("wgmma.fence.sync.aligned;");
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n || s.factor > FLT_MAX)
		return;
	row[threadIdx.x] = x[i] * kept[i % columns] * s.factor;
	y[i] = fmaxf(row[threadIdx.x] + shift[i % columns] + base[i], s.zero);
}
"""


def export_sources(scratch):
    (scratch / "kernels.cu").write_text(NVCC_KERNELS)
    (scratch / "host.c").write_text(HOST_TEXT.replace(
        "LAUNCH", "kf_launch_with").replace(
            "OPTIONS", "64 * sizeof(float), ((struct kf_options) "
            "{ .cluster = KF_DIM(2) })").replace("LAST", ""))
    # The stand-in has not these kernels, so there is no verdict.
    made = export(scratch / "out", C_PROBLEM, scratch / "kernels.cu",
                  scratch / "host.c", form="cuda", env=STANDIN,
                  options=("-p", "cuda", "--unverified"))
    return scratch / "out", made


def test_cuda_sources_have_all_they_need(scratch):
    out, made = export_sources(scratch)
    assert made["library"] == str(out) and made["example"] == "", made
    assert (out / "kernels.cu").read_text() == NVCC_KERNELS
    text = "".join((out / n).read_text() for n in (
        "README.md", "scale_shift.h", "scale_shift.c", "example.c", "Makefile"))
    assert "{{" not in text and "{%" not in text
    assert "NOT VERIFIED" in text and "X(twice) X(apply)" in text, text


def test_nvcc_builds_what_is_exported(scratch):
    out, _ = export_sources(scratch)
    done = run("make", "ARCH=sm_90a", cwd=out)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "warning" not in done.stdout + done.stderr, done.stderr
    toolkit = pathlib.Path(shutil.which("nvcc")).resolve().parents[1]
    for source in ("scale_shift.c", "example.c"):
        good("gcc", "-std=c11", *WARNINGS, "-I.", "-isystem",
             toolkit / "include", "-c", "-o", "/dev/null", source, cwd=out)


# --- what is there ------------------------------------------------------------


def has(platform, env=None):
    listed = kforge("platforms", "--json", env=env)
    return listed.out, any(p["devices"] for p in listed.json()
                           if p["name"] == platform)


def skips():
    """(beginning of tests' names, why they are skipped)."""
    if not has("opencl")[1] and "opencl" not in os.environ.get(
            "KF_MUST_RUN", ""):
        yield "test_opencl", "OpenCL has no device here"
    if "compiler: none" in has("cuda", STANDIN)[0]:
        yield "test_cuda", "no NVRTC here: set CUDA_HOME"
        yield "test_nvcc", "no NVRTC here: set CUDA_HOME"
    if not shutil.which("nvcc"):
        yield "test_nvcc", "no nvcc on PATH"


if __name__ == "__main__":
    assert pathlib.Path(C_PROBLEM).exists()
    for beginning, reason in skips():
        for name in [n for n in dir() if n.startswith(beginning)]:
            globals()[name].skip = reason
    sys.exit(run_tests(sys.modules[__name__]))
