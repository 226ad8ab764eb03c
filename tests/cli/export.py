#!/usr/bin/env python3
"""kforge export --as c: the library, its header, its example, its DLPack
entries, and what is not exported."""

import concurrent.futures
import ctypes
import functools
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from harness import (C_PROBLEM as C_SCALE, DATA, EXIT, PROBLEM, ROOT, kforge, reply, run_tests,
                     script_model)

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
C_PROBLEM = ROOT / "problems" / "c" / "softmax_c"
PROGRAMS = ROOT / "tests" / "data" / "programs"
C_PROGRAM = PROGRAMS / "softmax"

# Uses everything that a context has to give: kept memory, scratch, threads.
BUSY = r"""
#include <kforge/program.h>

#include <string.h>

int kf_prepare(struct kf_call *c)
{
	float *kept = kf_keep(c, 0, 2 * 96 * sizeof(float));
	float *half = kf_temp(c, 96 * sizeof(float));

	if (!kept || !half)
		return 1;
	memcpy(half, kf_weight(c, "scale")->data, 96 * sizeof(float));
	memcpy(kept, half, 96 * sizeof(float));
	memcpy(kept + 96, kf_weight(c, "shift")->data, 96 * sizeof(float));
	return 0;
}

int kf_forward(struct kf_call *c)
{
	const float *kept = kf_keep(c, 0, 2 * 96 * sizeof(float));
	const float *x = c->in[0].data;
	float *y = c->out[0].data;
	float *product = kf_temp(c, 64 * 96 * sizeof(float));
	float *more = kf_temp(c, 1000);

	if (!kept || !product || !more || (uintptr_t)more % 256)
		return 1;
	#pragma omp parallel for
	for (int i = 0; i < 64 * 96; i++)
		product[i] = x[i] * kept[i % 96];
	for (int i = 0; i < 64 * 96; i++) {
		y[i] = product[i] + kept[96 + i % 96];
		y[i] = y[i] > 0 ? y[i] : 0;
	}
	return 0;
}
"""

# The same results by way of malloc, and a variable that calls share.
WASTEFUL = r"""
#include <kforge/program.h>

#include <stdlib.h>
#include <string.h>

static int calls;

int kf_forward(struct kf_call *c)
{
	const float *scale = kf_weight(c, "scale")->data;
	const float *shift = kf_weight(c, "shift")->data;
	float *x = malloc(64 * 96 * sizeof(float)), *y = c->out[0].data;

	if (!x)
		return 1;
	calls++;
	memcpy(x, c->in[0].data, 64 * 96 * sizeof(float));
	for (int i = 0; i < 64 * 96; i++) {
		y[i] = x[i] * scale[i % 96] + shift[i % 96];
		y[i] = y[i] > 0 ? y[i] : 0;
	}
	free(x);
	return calls < 0;
}
"""

# Counts what the library allocates: this program's malloc hides libc's.
COUNTER = r"""
#include "scale_shift.h"

#include <stdio.h>
#include <string.h>

#include "safetensors.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static long allocations;

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	allocations++;
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	allocations++;
	return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	allocations++;
	return __libc_memalign(alignment, size);
}

int main(void)
{
	static float x[64 * 96 + 1], y[64 * 96 + 1], scale[96], shift[96];
	struct scale_shift_weights weights = { scale, shift };
	struct scale_shift_context *made;
	long at_creation;

	if (scale_shift_create(&weights, &made) ||
	    scale_shift_forward(made, x, y))
		return 1;
	at_creation = allocations;
	for (int i = 0; i < 5; i++)	/* aligned, and not */
		if (scale_shift_forward(made, x + i % 2, y + i % 2))
			return 1;
	printf("%ld %ld\n", at_creation, allocations - at_creation);
	scale_shift_free(made);
	return 0;
}
"""


# Two exports in one program; ones as scale, twos as shift.
BOTH = r"""
#include <stdio.h>

#include "scale_shift_narrow.h"
#include "scale_shift_wide.h"

static float x[64 * 130], y[64 * 130], ones[130], twos[130];

int main(void)
{
	struct scale_shift_narrow_weights n = { ones, twos };
	struct scale_shift_wide_weights w = { twos, ones };
	struct scale_shift_narrow_context *narrow;
	struct scale_shift_wide_context *wide;

	for (int i = 0; i < 130; i++) {
		ones[i] = 1;
		twos[i] = 2;
	}
	x[64 * 130 - 1] = 5;
	x[24 * 96 - 1] = 5;
	if (scale_shift_narrow_create(&n, &narrow) ||
	    scale_shift_narrow_forward(narrow, x, y))
		return 1;
	printf("%g", (double)y[24 * 96 - 1]);
	if (scale_shift_wide_create(&w, &wide) ||
	    scale_shift_wide_forward(wide, x, y))
		return 1;
	printf(" %g\n", (double)(4 - y[64 * 130 - 1]));
	scale_shift_narrow_free(narrow);
	scale_shift_wide_free(wide);
	return 0;
}
"""


def export(scratch, program, *options, problem=PROBLEM):
    out = scratch / "out"
    source = scratch / "program.c"
    if isinstance(program, str):
        source.write_text(program)
        program = source
    result = kforge("export", problem, program, "--as", "c", "-o", out,
                    "--json", *options)
    assert result.status == 0, result
    return out, result.json()["exports"][0]


@functools.lru_cache(maxsize=None)
def busy_once():
    folder = tempfile.TemporaryDirectory(prefix="kforge-cli-")
    return folder, export(pathlib.Path(folder.name), BUSY)[1]


def export_busy(scratch):
    folder, made = busy_once()
    out = scratch / "busy"
    shutil.copytree(pathlib.Path(folder.name) / "out", out)
    return out, made


def run(*command, cwd=None):
    done = subprocess.run([str(c) for c in command], cwd=cwd, text=True,
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout + done.stderr


def refused(scratch, status, word, *arguments):
    result = kforge("export", *arguments)
    assert result.status == EXIT[status], (arguments, result)
    assert word in result.err and result.out == "", (arguments, result)
    assert not (scratch / "out").exists(), "something was left behind"
    leftovers = [p.name for p in scratch.iterdir() if p.name[:4] == "out."]
    assert not leftovers, leftovers
    return result


# --- the library --------------------------------------------------------------


def test_the_example_agrees_with_the_reference(scratch):
    out, made = export(scratch, DATA / "good.c")
    assert "this agrees with the reference" in made["example"], made
    assert made["verified"] is True and made["allocates"] == [], made
    assert "this agrees" in run("./example", cwd=out)
    names = {p.name for p in out.iterdir()}
    assert {"libscale_shift.so", "scale_shift.h", "Makefile", "program.c",
            "README.md", "weights.safetensors"} <= names, names
    assert not [n for n in names if n.endswith(".o")], names
    text = (out / "scale_shift.h").read_text()
    assert "Judged correct by kforge" in text and "Made for" not in text
    assert "{{" not in text and "{%" not in text


def test_the_example_notices_other_values(scratch):
    """A check that could not fail would be worth nothing."""
    out, _ = export(scratch, DATA / "wrong.c", "--unverified")
    done = subprocess.run(["./example"], cwd=out, text=True, check=False,
                          capture_output=True, timeout=60)
    assert done.returncode == 1, done
    assert "this differs from the reference" in done.stdout, done


def test_it_compiles_without_a_warning(scratch):
    out, _ = export_busy(scratch)
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            continue
        for source in ("scale_shift.c", "kforge_runtime.c", "kforge_cpu.c",
                       "kforge_processor.c", "example.c"):
            run(compiler, "-std=c11", "-O2", *WARNINGS, "-I.", "-c", "-o",
                "/dev/null", source, cwd=out)
    (scratch / "user.cc").write_text(
        '#include "scale_shift.h"\n#include "scale_shift.h"\n'
        "int user(scale_shift_context *c, const float *x, float *y)\n"
        "{ return scale_shift_forward(c, x, y); }\n")
    compilers = [c for c in ("g++", "clang++") if shutil.which(c)]
    assert compilers, "no compiler for C++"
    for compiler in compilers:
        run(compiler, "-std=c++11", *WARNINGS, "-I", out, "-c", "-o",
            "/dev/null", scratch / "user.cc")


def test_only_its_own_functions_are_visible(scratch):
    out, _ = export_busy(scratch)
    library = ctypes.CDLL(str(out / "libscale_shift.so"))
    assert library.scale_shift_forward
    for name in ("kf_forward", "kf_prepare", "kforge_call"):
        assert not hasattr(library, name), name


def count_allocations(out):
    (out / "counter.c").write_text(COUNTER)
    run("gcc", "-std=gnu11", "-I.", "-o", "counter", "counter.c",
        "libscale_shift.so", "-Wl,-rpath,$ORIGIN", "-lm", cwd=out)
    created, called = map(int, run("./counter", cwd=out).split())
    assert created > 0
    return called


def test_a_call_allocates_nothing(scratch):
    out, made = export_busy(scratch)
    called = count_allocations(out)
    assert called == 0 and made["allocates"] == [], (called, made)
    assert made["static_bytes"] == 0, made
    text = (out / "scale_shift.h").read_text()
    assert "OpenMP" in text and "Beware" not in text


def test_a_program_that_allocates_is_named(scratch):
    out, made = export(scratch, WASTEFUL)
    called = count_allocations(out)
    assert called == 5, called
    assert sorted(made["allocates"]) == ["free", "malloc"], made
    assert made["static_bytes"] >= 4, made
    text = (out / "scale_shift.h").read_text()
    assert "the program itself calls" in text
    assert "static variables" in text


def test_it_can_be_built_elsewhere_for_any_processor(scratch):
    out, made = export(scratch, DATA / "good.c", "--portable")
    assert made["portable"] is True
    assert "\nMARCH =\n" in (out / "Makefile").read_text()
    other = scratch / "elsewhere"
    shutil.copytree(out, other)
    run("make", "clean", cwd=other)
    assert not (other / "libscale_shift.so").exists()
    run("make", "-s", "CC=gcc", cwd=other)
    assert "this agrees" in run("./example", cwd=other)


def test_a_problem_in_c_is_exported_too(scratch):
    out, made = export(scratch, C_PROGRAM, "--size", "test",
                       problem=C_PROBLEM)
    assert "probabilities[0] = " in made["example"], made
    assert "float *probabilities" in (out / "softmax_c.h").read_text()


def test_every_problem_in_c_agrees_with_its_reference(scratch):
    """Its own example says so, on values that the reference has made."""
    folders = sorted(C_PROBLEM.parent.iterdir())
    assert len(folders) >= 8, folders

    def check(folder):
        place = scratch / folder.name
        place.mkdir()
        # A twin of a PyTorch problem has the same program.
        program = PROGRAMS / folder.name.removesuffix("_c")
        _, made = export(place, program, "--size", "test", problem=folder)
        return "agrees with the reference" in made["example"]

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        good = list(pool.map(check, folders))
    assert all(good), list(zip(folders, good))


# --- names --------------------------------------------------------------------

# What the generated files might use themselves, keywords of three languages,
# names of types, macros of headers and of GNU's C.
NAMES = ("e d i g in inner path argc status printf isnan compare expected_puts "
         "class lambda constexpr int64_t linux errno context").split()
WEIGHT_NAMES = "weights out data op_math_weights from".split()
OUTPUT_NAMES = "wrong made most difference puts expected template".split()

# Every output is the sum of all inputs and weights.
SUM = """
int kf_forward(struct kf_call *c)
{
	for (int o = 0; o < c->out_count; o++) {
		TYPE *y = c->out[o].data;

		for (int k = 0; k < 96; k++) {
			y[k] = 0;
			for (int i = 0; i < c->in_count; i++)
				y[k] += ((const TYPE *)c->in[i].data)[k];
			for (int i = 0; i < c->weight_count; i++)
				y[k] += ((const TYPE *)c->weight[i].data)[k];
		}
	}
	return 0;
}
"""

USER = """
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "op_NAME.h"

int user(struct op_NAME_context *c, const float *x, float *y);
int user(struct op_NAME_context *c, const float *x, float *y)
{
	struct op_NAME_weights w;
	memset(&w, 0, sizeof(w));
	w.weights = x;
	errno = (int)time(NULL) + (int)fabs(x[0]);
	return op_NAME_set_weights(c, &w) + op_NAME_forward(c, ARGUMENTS);
}
"""


def write_sums(folder):
    def tensors(names, **more):
        return [dict(name=n, shape=["N"], dtype="real", **more) for n in names]

    normal = {"kind": "normal", "mean": 0, "std": 1}
    folder.mkdir()
    (folder / "problem.json").write_text(json.dumps({
        "kforge_problem": 1, "summary": "sums", "sizes": {"N": 96},
        "inputs": tensors(NAMES, values=normal),
        "weights": tensors(WEIGHT_NAMES, values=normal),
        "outputs": tensors(OUTPUT_NAMES), "operations": "N"}))
    (folder / "reference.c").write_text(
        "#include <kforge/reference.h>\n" + SUM.replace("TYPE", "kf_real"))


def check_names(scratch, name):
    place = scratch / (name + ".d")
    place.mkdir()
    write_sums(place / name)
    out, made = export(place, "#include <kforge/program.h>\n" +
                       SUM.replace("TYPE", "float"), problem=place / name)
    assert "this agrees with the reference" in made["example"], made
    user = USER.replace("NAME", name).replace(
        "ARGUMENTS", ", ".join(["x"] * len(NAMES) + ["y"] * len(OUTPUT_NAMES)))
    (out / "user.c").write_text(user)
    for compiler, *options in (("gcc", "-std=gnu11"), ("gcc", "-std=c11"),
                               ("g++", "-xc++", "-std=c++20"),
                               ("clang++", "-xc++", "-std=c++11")):
        if shutil.which(compiler):
            run(compiler, *options, *WARNINGS, "-I", out, "-c", "-o",
                out / "user.o", out / "user.c")
    run("make", "-s", "clean", "all", cwd=out)
    assert "this agrees" in run("./example", cwd=out)


def test_no_name_breaks_the_generated_code(scratch):
    for name in ("math", "time", "string"):
        check_names(scratch, name)


def test_the_example_finds_its_library_from_anywhere(scratch):
    out, _ = export_busy(scratch)
    run(out / "example", out / "example.safetensors", cwd=out)
    dynamic = run("readelf", "-d", out / "libscale_shift.so")
    assert "soname: [libscale_shift.so]" in dynamic, dynamic
    dynamic = run("readelf", "-d", out / "example")
    assert "[libscale_shift.so]" in dynamic, dynamic


def test_other_flags_and_other_folders_build_again(scratch):
    out, _ = export_busy(scratch)
    assert not (out / "built-with").exists()
    assert (out / "LICENSE-kforge").read_text().startswith("MIT License")

    def built(*words):
        return "program.c" in run("make", *words, cwd=out)

    assert built() and not built()
    assert built("MARCH=") and not built("MARCH=") and built()
    folder = scratch / "new" / "folder"
    assert built(f"OUT={folder}")
    run(folder / "example", cwd=out)


# --- processors ---------------------------------------------------------------

RUNTIME = ROOT / "export" / "c"

# Answers 0 or 3 for each word, as the library's own check would.
ASK = """
#include <stdio.h>
#include <string.h>
char kforge_cpu_needs[64];
int kforge_cpu_check(void);
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		snprintf(kforge_cpu_needs, sizeof(kforge_cpu_needs), " %s", argv[i]);
		printf("%s %d\\n", argv[i], kforge_cpu_check());
	}
	return 0;
}
"""


def cpuinfo():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("flags", "Features")):
            return set(line.split(":")[1].split())
    raise AssertionError("/proc/cpuinfo has no flags")


def rows():
    """The names of x86, those of ARM."""
    text = (RUNTIME / "kforge_processor.c").read_text()
    return [re.findall(r'{ "(\w+)",', part)
            for part in text.split("#elif defined(__aarch64__)")]


def test_every_instruction_set_that_is_needed_can_be_checked(scratch):
    text = (RUNTIME / "kforge_cpu.c").read_text()
    for part, known in zip(text.split("#ifdef __aarch64__"), rows()):
        needed = " ".join(re.findall(r'^\t"([ \w]+)"$', part, re.M)).split()
        assert len(needed) > 20 and sorted(needed) == sorted(known), part


def test_checks_agree_with_what_the_kernel_says(scratch):
    (scratch / "ask.c").write_text(ASK)
    (scratch / "kforge").symlink_to(ROOT / "include" / "kforge")
    run("cc", "-I", scratch, "-I", RUNTIME, "-o", "ask", "ask.c",
        RUNTIME / "kforge_processor.c", cwd=scratch)
    words = rows()[platform.machine() == "aarch64"]
    there = cpuinfo()
    called = {"sse3": "pni", "lzcnt": "abm"}
    answers = run(scratch / "ask", *words, "nonsense").split()
    got = dict(zip(answers[::2], answers[1::2]))
    want = {w: "0" if called.get(w, w) in there else "3" for w in words}
    assert got.pop("nonsense") == "3"
    assert got == want, sorted(set(got.items()) ^ set(want.items()))


def test_a_library_for_another_processor_refuses_to_work(scratch):
    out, _ = export_busy(scratch)
    flags = {"-mxop": "xop", "-mavx512vp2intersect": "avx512_vp2intersect",
             "-mamx-tile": "amx_tile", "-mtbm": "tbm",
             "-march=armv8.2-a+sve2+f64mm": "svef64mm"}
    x86 = platform.machine() == "x86_64"
    absent = [flag for flag, word in flags.items() if word not in cpuinfo()
              and x86 == ("armv8" not in flag)]
    assert absent, "this processor has everything"
    run("make", "-s", "clean", "library", "MARCH=" + absent[0], cwd=out)
    library = ctypes.CDLL(str(out / "libscale_shift.so"))
    assert library.scale_shift_check() == 3
    context, weights = ctypes.c_void_p(1), (ctypes.c_void_p * 2)(8, 8)
    assert library.scale_shift_create(weights, ctypes.byref(context)) == 3
    assert context.value is None
    library.scale_shift_message.restype = ctypes.c_char_p
    assert b"run make again" in library.scale_shift_message(3)


# --- DLPack -------------------------------------------------------------------


class Tensor(ctypes.Structure):
    """DLTensor; also how DLManagedTensor begins."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


def numbers(*values):
    return (ctypes.c_int64 * len(values))(*values)


def tensor(memory, **changes):
    t = Tensor(ctypes.addressof(memory), (1, 0), 2, 2, 32, 1, numbers(64, 96),
               None, 0)
    for name, value in changes.items():
        setattr(t, name, value)
    return t


class Library:
    """The exported scale_shift, with weights 2 and -1."""

    def __init__(self, folder):
        self.c = ctypes.CDLL(str(folder / "libscale_shift.so"))
        self.c.scale_shift_error.restype = ctypes.c_char_p
        self.c.scale_shift_message.restype = ctypes.c_char_p
        self.weights = [(ctypes.c_float * 96)(*[v] * 96) for v in (2, -1)]
        self.x = (ctypes.c_float * (64 * 96 + 8))(*range(64 * 96 + 8))
        self.y = (ctypes.c_float * (64 * 96))()
        self.context = ctypes.c_void_p()
        assert self.create(self.weights) == 0

    def create(self, weights):
        pointers = (ctypes.c_void_p * 2)(*map(ctypes.addressof, weights))
        return self.c.scale_shift_create(pointers,
                                         ctypes.byref(self.context))

    def set_weights(self, weights):
        pointers = (ctypes.c_void_p * 2)(*map(ctypes.addressof, weights))
        return self.c.scale_shift_set_weights(self.context, pointers)

    def call(self, x=None, y=None, entry="dltensor", kind=Tensor, counts=None):
        x = x if x is not None else tensor(self.x)
        y = y if y is not None else tensor(self.y)
        one = ctypes.POINTER(kind) * 1
        function = getattr(self.c, "scale_shift_forward_" + entry)
        given, taken = counts or (1, 1)
        status = function(self.context, one(ctypes.pointer(x)), given,
                          one(ctypes.pointer(y)), taken)
        return status, self.c.scale_shift_error(self.context).decode()


def test_dlpack_tensors_are_taken_or_named(scratch):
    out, _ = export_busy(scratch)
    library = Library(out)
    for entry in ("dltensor", "dlpack"):
        library.y[5] = 0
        assert library.call(entry=entry)[0] == 0
        assert library.y[5] == 9, library.y[5]
    x, y = library.x, library.y
    good = (
        tensor(x, strides=numbers(96, 1)),
        tensor(x, device=(3, 0)),       # pinned host memory
    )
    for t in good:
        assert library.call(t) == (0, ""), t
    assert library.call(tensor(x, byte_offset=8))[0] == 0
    assert y[5] == 13, "byte_offset is not respected"
    rows = (
        (tensor(x, device=(2, 0)), 5, "host memory"),
        (tensor(x, bits=64), 6, "element type"),
        (tensor(x, code=0), 6, "element type"),
        (tensor(x, lanes=4), 6, "element type"),
        (tensor(x, ndim=1), 7, "(64, 96)"),
        (tensor(x, shape=numbers(96, 64)), 7, "(64, 96)"),
        (tensor(x, strides=numbers(1, 64)), 8, "contiguous"),
        (tensor(x, strides=numbers(192, 1)), 8, "contiguous"),
        (tensor(x, data=None), 1, "NULL"),
    )
    for t, status, word in rows:
        got, words = library.call(t)
        assert got == status and word in words, (got, status, words)
        assert words.startswith("x: "), words
        assert library.c.scale_shift_message(status), status
    got, words = library.call(y=tensor(y, shape=numbers(64, 95)))
    assert got == 7 and words.startswith("out0: "), words
    assert library.call(counts=(2, 1))[0] == 9
    assert library.call(counts=(1, 0))[0] == 9


def test_versioned_dlpack_tensors_are_taken_or_refused(scratch):
    out, _ = export_busy(scratch)
    library = Library(out)

    def call(major=1, flags=0):
        x = Versioned(major, 9, None, None, 1, tensor(library.x))
        y = Versioned(1, 0, None, None, flags, tensor(library.y))
        return library.call(x, y, "dlpack_versioned", Versioned)[0]

    assert call() == 0 and library.y[5] == 9
    assert call(major=2) == 11
    assert call(flags=1) == 10      # a read-only output


def test_weights_are_prepared_again(scratch):
    out, _ = export_busy(scratch)
    library = Library(out)
    library.weights[0][5] = 10      # behind its back: it holds a copy
    assert library.call()[0] == 0 and library.y[5] == 9
    assert library.set_weights(library.weights) == 0
    assert library.call()[0] == 0 and library.y[5] == 49
    # Memory of any alignment will do.
    moved = [(ctypes.c_float * 96).from_buffer(
        bytearray(bytes(4) + bytes(w)), 4) for w in library.weights]
    assert library.set_weights(moved) == 0
    assert library.call()[0] == 0 and library.y[5] == 49
    assert library.c.scale_shift_create(None, ctypes.byref(
        ctypes.c_void_p())) == 1


# --- what is not exported -----------------------------------------------------


def test_a_wrong_program_is_not_exported(scratch):
    out = scratch / "out"
    rows = (("wrong.c", "mismatch"), ("crash.c", "runtime_error"),
            ("broken.c", "compilation_failure"),
            ("no_code.md", "generation_failure"))
    for name, status in rows:
        refused(scratch, status, "not exported", PROBLEM, DATA / name, "--as",
                "c", "-o", out)


def test_an_unverified_program_says_so(scratch):
    out, made = export(scratch, DATA / "good.c", "--unverified")
    assert made["verified"] is False
    for name in ("scale_shift.h", "README.md"):
        assert "NOT VERIFIED" in (out / name).read_text(), name
    facts = json.loads((out / "kforge-export.json").read_text())
    assert facts["verified"] is False


def test_bad_input_is_one_sentence(scratch):
    good, out = DATA / "good.c", scratch / "out"
    full = scratch / "full"
    full.mkdir()
    (full / "mine").write_text("keep me\n")
    rows = (
        ("--as", PROBLEM, good, "-o", out),
        ("--out", PROBLEM, good, "--as", "c"),
        ("not a run", PROBLEM, "--as", "c", "-o", out),
        ("full", PROBLEM, good, "--as", "c", "-o", full),
        ("null", PROBLEM, good, "--as", "c", "-o", out, "-p", "null"),
        ("problem in C", C_PROBLEM, C_PROGRAM, "--as", "torch", "-o", out),
        ("none.c", PROBLEM, scratch / "none.c", "--as", "c", "-o", out),
        ("fortran", PROBLEM, good, "--as", "fortran", "-o", out),
        ("programs in form torch are exported as they are: the file is the "
         "module", PROBLEM, DATA / "forms" / "solution.py", "--as", "torch",
         "-o", out),
    )
    for word, *arguments in rows:
        result = refused(scratch, "input", word, *arguments)
        assert len(result.err.strip().splitlines()) == 1, result
    assert (full / "mine").read_text() == "keep me\n"


def unfit_places(scratch):
    """(what the sentence says, --out) of folders that cannot be made."""
    (scratch / "file").write_text("keep me\n")
    (scratch / "link").symlink_to("nowhere")
    (scratch / "full" / "below").mkdir(parents=True)
    return (("the folder that you are in", "."),
            ("full is there already", scratch / "full"),
            ("file is there already", scratch / "file"),
            ("Not a directory", scratch / "file" / "out"),
            ("a link to nothing", scratch / "link"),
            ("does not name a folder", scratch / "new" / ".."),
            ("File name too long", scratch / ("n" * 300)),
            ("/proc/", "/proc/kforge/out"))


def test_a_folder_that_cannot_be_made_is_found_before_the_work(scratch):
    """Neither problem nor Python are there: they would be named if they were
    asked for first."""
    here = scratch / "here"
    here.mkdir()
    places = unfit_places(scratch)
    before = sorted(scratch.rglob("*"))
    for word, place in places:
        result = kforge("export", "none.py", "none.c", "--as", "c", "-o",
                        place, cwd=here)
        assert result.status in (EXIT["input"], EXIT["io"]), (place, result)
        assert word in result.err and "none" not in result.err, (place, result)
        assert "--out" in result.err, (place, result)
        assert len(result.err.strip().splitlines()) == 1, result
        assert sorted(scratch.rglob("*")) == before, place


def test_a_missing_make_is_found_before_the_work(scratch):
    """Nor is the problem there."""
    (scratch / "gcc").symlink_to(shutil.which("gcc"))
    result = kforge("export", "none.py", "none.c", "--as", "c", "-o",
                    scratch / "out", env={"PATH": str(scratch)})
    assert result.status == EXIT["unavailable"], result
    assert "no make on PATH" in result.err, result


def test_an_empty_folder_is_taken(scratch):
    (scratch / "out").mkdir()
    (scratch / "link").symlink_to("out")
    result = kforge("export", C_PROBLEM, C_PROGRAM, "--size", "test", "--as",
                    "c", "-o", f"{scratch}/link/", "--unverified")
    assert result.status == 0, result
    assert "this agrees" in run("./example", cwd=scratch / "out")
    assert sorted(p.name for p in scratch.iterdir()) == ["link", "out"]


# --- from a run ---------------------------------------------------------------


def test_a_runs_best_program_is_exported_as_it_was_judged(scratch):
    model = script_model(scratch, [reply("wrong.c"), reply("good.c")])
    done = kforge("run", PROBLEM, "--model", model, "--attempts", "2",
                  "--baseline", "none", "--calls", "20", "-o", scratch / "run",
                  "--set", "ROWS=24")
    assert done.status == 0, done
    out = scratch / "out"
    result = kforge("export", scratch / "run", "--as", "c", "-o", out)
    assert result.status == 0, result
    assert "attempt 2 of run" in result.out, result
    assert (out / "program.c").read_text() == (DATA / "good.c").read_text()
    assert "x	float32 (24, 96)" in (out / "scale_shift.h").read_text()
    result = kforge("export", scratch / "run", "scale_shift", "--as", "c",
                    "-o", scratch / "again")
    assert result.status == 0, result
    result = kforge("export", scratch / "run", "softmax", "--as", "c", "-o",
                    scratch / "never")
    assert result.status == EXIT["input"] and "softmax" in result.err, result
    result = kforge("export", scratch / "run", "--as", "c", "-o", out,
                    "--python", "/nowhere")
    assert result.status == EXIT["input"], result
    assert "out is there already" in result.err, result


def run_on_shapes(scratch):
    shapes = scratch / "shapes.json"
    shapes.write_text(json.dumps([
        {"name": "narrow", "set": {"ROWS": 24}},
        {"name": "wide", "set": {"COLUMNS": 130}}]))
    model = script_model(scratch, [reply("good.c")])
    done = kforge("run", C_SCALE, "--model", model, "--attempts", "1",
                  "--baseline", "none", "--calls", "20", "-o", scratch / "run",
                  "--shapes", shapes)
    assert done.status == 0, done
    shapes.unlink()


def test_a_run_of_modules_says_where_they_are(scratch):
    """They need no kforge, so that there is nothing to be made of them."""
    reply = scratch / "reply.md"
    source = (DATA / "forms" / "solution.py").read_text()
    reply.write_text(f"```python solution.py\n{source}```\n")
    run = kforge("run", PROBLEM, "--form", "torch", "-n", "1", "-o",
                 scratch / "run", "--baseline", "none", "--calls", "40",
                 "--threads", "1", "--model",
                 f"exec:cat > /dev/null; cat {reply}", timeout=300)
    assert run.status == 0, run
    refused(scratch, "input", "programs in form torch are exported as they "
            "are: the file is the module; a run has its best ones in best/",
            scratch / "run", "--as", "torch", "-o", scratch / "out")
    assert (scratch / "run" / "best" / "scale_shift" /
            "solution.py").read_text() == source


def test_one_shape_of_several_is_exported_and_named(scratch):
    run_on_shapes(scratch)
    for options, name, shape in (((), "narrow", "(24, 96)"),
                                 (("--shape", "wide"), "wide", "(64, 130)")):
        out = scratch / name
        result = kforge("export", scratch / "run", "--as", "c", "-o", out,
                        *options)
        assert result.status == 0, result
        assert f"made for shape {name} alone" in result.out, result
        text = (out / f"scale_shift_{name}.h").read_text()
        assert f"x	float32 {shape}" in text, text
        assert f'Made for the shape "{name}" of the problem' in text, text
        assert "on all of its shapes" in text, text
        assert "this agrees" in run("./example", cwd=out)
    refused(scratch, "input", "judged scale_shift on narrow, wide",
            scratch / "run", "--as", "c", "-o", scratch / "out", "--shape",
            "tall")
    refused(scratch, "input", "--size or --set", C_SCALE, DATA / "good.c",
            "--as", "c", "-o", scratch / "out", "--shape", "wide")
    # Both in one program: what they are called differs.
    (scratch / "both.c").write_text(BOTH)
    run("gcc", "-std=c11", *WARNINGS, "-Inarrow", "-Iwide", "-o", "both",
        "both.c", "-Lnarrow", "-Lwide", "-lscale_shift_narrow",
        "-lscale_shift_wide", "-Wl,-rpath,$ORIGIN/narrow:$ORIGIN/wide",
        cwd=scratch)
    assert run(scratch / "both") == "7 -7\n"


def test_a_run_without_a_correct_program_exports_nothing(scratch):
    model = script_model(scratch, [reply("wrong.c")])
    kforge("run", PROBLEM, "--model", model, "--attempts", "1", "--baseline",
           "none", "--calls", "20", "-o", scratch / "run")
    result = kforge("export", scratch / "run", "--as", "c", "-o",
                    scratch / "out")
    assert result.status == EXIT["not_all"], result
    assert "no correct program" in result.err, result
    assert not (scratch / "out").exists()


if __name__ == "__main__":
    assert pathlib.Path(PROBLEM).exists()
    sys.exit(run_tests(sys.modules[__name__]))
