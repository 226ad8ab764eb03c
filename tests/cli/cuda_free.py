#!/usr/bin/env python3
"""Programs with host code of their own on a CUDA device, program.cu: through
stand-ins for NVIDIA's driver library and for nvcc."""

import json
import os
import pathlib
import shutil
import sys

from harness import BUILD, EXIT, ROOT, kforge, run_tests

STANDIN = BUILD / "tests" / "standin"
PROBLEM = str(ROOT / "problems" / "c" / "axpby")
FAST = ("--platform", "cuda", "--size", "test", "--calls", "20",
        "--baseline", "none", "--json")
SOURCE = """#include <kforge/program.h>
#include <unistd.h>

extern "C" int kf_forward(struct kf_call *c)
{
	float alpha = (float)c->scalar[0].f, beta = (float)c->scalar[1].f;
	float *x = (float *)c->in[0].data, *y = (float *)c->in[1].data;
	float *z = (float *)c->out[0].data;
	int64_t n = kf_numel(&c->out[0]);

	for (int64_t i = 0; i < n; i++)
		z[i] = alpha * x[i] + beta * y[i];
	// MORE
	return 0;
}
"""


def make_toolkit(scratch, *libraries):
    toolkit = scratch / "toolkit"
    (toolkit / "bin").mkdir(parents=True)
    (toolkit / "lib64").mkdir()
    shutil.copy(ROOT / "tests" / "standin" / "nvcc", toolkit / "bin" / "nvcc")
    for name in libraries:
        shutil.copy(STANDIN / name, toolkit / "lib64" / name)
        link = toolkit / "lib64" / (name.partition(".so")[0] + ".so")
        link.symlink_to(name)
    return toolkit


def verify(scratch, more="", *options, before="", env=None,
           libraries=("libcupti.so.13",)):
    toolkit = make_toolkit(scratch, *libraries)
    source = scratch / "program.cu"
    source.write_text(before + SOURCE.replace("// MORE", more))
    return kforge("verify", PROBLEM, source, *FAST, *options, env={
        "KFORGE_CUDA_DRIVER": str(STANDIN / "libcuda.so.1"),
        "CUDA_HOME": str(toolkit), "CUDA_PATH": "", "KFORGE_NVRTC": "",
        "PATH": "/usr/bin:/bin", **(env or {})})


def check(result, state, reason="", words=""):
    verdict = result.json()
    assert verdict["state"] == state, result
    assert verdict["reason"] == reason, result
    assert words in verdict["text"], result
    assert verdict["form"] == "cu", result
    assert verdict["trust"] == "in-process", result


def test_a_right_program_is_correct(scratch):
    result = verify(scratch)
    check(result, "correct")
    assert result.status == EXIT["good"], result
    assert result.json()["time_ns"] > 0, result


def test_threads_are_the_processors_not_the_devices_units(scratch):
    verdict = verify(scratch).json()
    assert verdict["threads"] == len(os.sched_getaffinity(0)), verdict


def test_wrong_values_are_a_mismatch(scratch):
    check(verify(scratch, "z[n - 1] += 1;"), "mismatch", "values")


def test_scratch_is_given_and_bounded(scratch):
    check(verify(scratch, """
	float *t = (float *)kf_temp(c, n * sizeof(float));
	if (!t || !c->queue || kf_temp(c, 1ull << 60))
		return 7;
	for (int64_t i = 0; i < n; i++)
		t[i] = z[i];"""), "correct")


# What a program may ask of the stand-in, which shares its process.
ASKS = """#include <dlfcn.h>

static void *standin(const char *name)
{
	return dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name);
}

static unsigned calls(const char *entry)
{
	return ((unsigned (*)(const char *))standin("standin_calls"))(entry);
}

static void fail(const char *entry, unsigned after, int result)
{
	((void (*)(const char *, unsigned, int))standin("standin_fail"))(
		entry, after, result);
}

static int kept(struct kf_call *c)
{
	// KEPT
	return 0;
}

extern "C" int kf_prepare(struct kf_call *c)
{
	return kept(c);
}
"""


def asks(scratch, more, kept="", options=(), env=None):
    return verify(scratch, more, *options, env=env,
                  before="#include <kforge/program.h>\n" +
                  ASKS.replace("// KEPT", kept))


def test_much_scratch_costs_a_call_nothing(scratch):
    check(asks(scratch, """
	static const char *const costly[] = {
		"cuMemAlloc_v2", "cuMemFree_v2", "cuMemsetD8Async",
		"cuMemsetD16Async", "cuStreamSynchronize",
	};
	static int call;
	unsigned before[5];

	for (int i = 0; i < 5; i++)
		before[i] = calls(costly[i]);
	if (!kf_temp(c, 100u << 20) || !kf_temp(c, 1) || !kf_temp(c, 50u << 20))
		return 7;
	for (int i = 0; i < 5 && call; i++)
		if (calls(costly[i]) != before[i])
			return 10 + i;
	call++;"""), "correct")


def test_blocks_of_scratch_lie_apart_and_hold_nothing(scratch):
    check(asks(scratch, """
	static const size_t bytes[3][3] = {
		{ 5000, 0, 777 }, { 5000, 0, 777 }, { 40, 9001, 33333 },
	};
	static int call;
	uintptr_t at[3];

	for (int i = 0; i < 3; i++) {
		size_t size = bytes[call % 3][i];
		unsigned char *p = (unsigned char *)kf_temp(c, size);

		at[i] = (uintptr_t)p;
		if (!p || at[i] % 256)
			return 7;
		for (int k = 0; k < i; k++)
			if (at[i] < at[k] + bytes[call % 3][k] &&
			    at[k] < at[i] + size)
				return 8;
		for (size_t k = 0; k < size; k++) {
			if (p[k] != 0xff && p[k] != 0xfd && p[k] != 0x7f)
				return 9;
			if (p[k] != 0xff && call % 3 == 1)
				return 10;
			p[k] = 1;
		}
	}
	call++;"""), "correct")


def test_scratch_of_the_last_call_goes_where_memory_is_short(scratch):
    check(asks(scratch, """
	static int call;

	if (!kf_temp(c, (call++ % 2 ? 700u : 400u) << 20))
		return 7;"""), "correct")


def test_guards_stand_around_scratch(scratch):
    rows = ((0, "block[0][102]",
             "1 bytes behind the end of kf_temp 0, which has 101"),
            (4, "block[1][333]",
             "0 bytes behind the end of kf_temp 1, which has 333"),
            (5, "block[1][333]",
             "0 bytes behind the end of kf_temp 1, which has 333"),
            (6, "block[0][-1]", "in front of the first block of kf_temp"))
    for call, place, words in rows:     # in call 5 they lie otherwise
        folder = scratch / f"{call}"
        folder.mkdir()
        check(asks(folder, f"""
	static int call;
	char *block[] = {{
		(char *)kf_temp(c, 101 + 999 * (call == 5)),
		(char *)kf_temp(c, 333),
	}};
	((int (*)(void *))standin("cuStreamSynchronize"))(c->queue);
	if (call++ == {call})
		{place} = 1;"""), "runtime_error", "device_fault", words)


def test_what_is_kept_is_kept_and_only_read(scratch):
    make = """
	char *p = (char *)kf_keep(c, 3, 1001), *q = (char *)kf_temp(c, 20);
	if (!p || !q || kf_keep(c, 3, 1001) != p || kf_keep(c, 3, 1002) ||
	    kf_keep(c, 16, 1) || kf_keep(c, -1, 1) || !kf_keep(c, 0, 1))
		return 7;
	p[1000] = 5;"""
    use = """
	char *k = (char *)kf_keep(c, 3, 1000);
	if (!k || k[1000] != 5 || k[0] || kf_keep(c, 3, 1002) ||
	    kf_keep(c, 4, 1))
		return 8;"""
    rows = (("", "", ""),
            ("p[1001] = 5;", "", "0 bytes behind the end of kf_keep 3, which"),
            ("q[-1] = 5;", "", "in front of the first block of kf_temp"),
            ("", "k[1002] = 5;", "1 bytes behind the end of kf_keep 3, which"),
            ("", "k[7] = 5;", "wrote to memory that kf_prepare keeps"))
    for number, (first, later, words) in enumerate(rows):
        folder = scratch / f"{number}"
        folder.mkdir()
        check(asks(folder, use + later, make + first),
              *(("runtime_error", "device_fault", words) if words else
                ("correct",)))


def broken(scratch, entry, result, **more):
    """A device whose entry fails from the program's third call on."""
    folder = scratch / f"{entry}-{result}"
    folder.mkdir()
    return asks(folder, f"""
	static int call;
	if (++call == 3)
		fail("{entry}", 0, {result});""", **more)


def test_a_device_in_trouble_each_time_is_the_programs_fault(scratch):
    """It may be the device, or be said in the driver's place: what is so three
    times, and of no other program's, is the program's."""
    for entry, number, words, reason in (
            ("cuStreamSynchronize", 214, "cannot run the program: "
             "ECC_UNCORRECTABLE (214)", "device_fault"),
            ("cuCtxSynchronize", 214, "cannot run the program: "
             "ECC_UNCORRECTABLE (214)", "device_fault"),
            ("cuStreamSynchronize", 2, "cannot run the program: "
             "OUT_OF_MEMORY (2)", "memory"),
            ("cuMemcpyDtoHAsync_v2", 214, "cannot copy from the device: "
             "ECC_UNCORRECTABLE (214)", "device_fault"),
            ("cuMemcpyHtoDAsync_v2", 46, "cannot copy to the device: "
             "DEVICE_UNAVAILABLE (46)", "device_fault")):
        result = broken(scratch, entry, number)
        check(result, "runtime_error", reason, words)
        assert result.err.count("the device was in trouble, or") == 2, result


def test_a_device_that_is_ill_as_well_is_not_the_programs_fault(scratch):
    result = broken(scratch, "cuStreamSynchronize", 214,
                    options=("--cache", str(scratch / "cache")),
                    env={"STANDIN_ILL": "1"})
    assert result.status == EXIT["unavailable"] and not result.out, result
    assert "cuda:0 is in quarantine since 20" in result.err, result


def test_a_device_that_the_program_broke_is_its_fault(scratch):
    for entry, number, words in (
            ("cuStreamSynchronize", 700, "a kernel of kf_forward read or "
             "wrote memory that is not there (illegal address)"),
            ("cuMemcpyDtoHAsync_v2", 719, "a kernel of kf_forward trapped"),
            ("cuMemcpyHtoDAsync_v2", 700, "a kernel of kf_forward read or"),
            ("cuStreamSynchronize", 400, "kf_forward destroyed the stream "
             "that it was given (invalid handle)"),
            ("cuCtxSynchronize", 709, "kf_forward destroyed or reset the "
             "device's context"),
            ("cuStreamSynchronize", 900, "kf_forward left a stream capturing"),
            ("cuMemcpyDtoHAsync_v2", 1, "kf_forward freed memory that it was "
             "given (invalid value)")):
        check(broken(scratch, entry, number), "runtime_error", "device_fault",
              words)


def test_memory_that_is_given_is_not_freed(scratch):
    check(asks(scratch, """
	int (*free)(uint64_t) = (int (*)(uint64_t))standin("cuMemFree_v2");

	if (free((uint64_t)z - 4096))	// where all outputs begin
		return 7;"""),
          "runtime_error", "device_fault", "freed memory")


def test_an_input_is_not_changed(scratch):
    check(verify(scratch, "x[3] = 1;"), "mismatch", "input_changed",
          "Inputs and weights are read-only")


def test_guards_stand_around_outputs(scratch):
    check(verify(scratch, "z[n + 2] = 1;"), "mismatch", "out_of_bounds")


def test_what_it_returns_is_told(scratch):
    check(verify(scratch, "return 9;"), "runtime_error", "nonzero_return",
          "kf_forward returned a value other than 0: 9")


def test_a_crash_of_host_code_is_told(scratch):
    check(verify(scratch, "*(volatile int *)0 = 1;"), "runtime_error",
          "signal", "null pointer")


BOTH = ("libcupti.so.13", "libcublas.so.13")


CUTE = """#pragma once
namespace cute { template <class T> T twice(T x) { return x + x; } }
"""


def test_cutlass_is_where_its_variable_says(scratch):
    headers = scratch / "cutlass" / "include"
    (headers / "cute").mkdir(parents=True)
    (headers / "cute" / "tensor.hpp").write_text(CUTE)
    for number, named in enumerate((headers.parent, headers)):
        folder = scratch / f"{number}"
        folder.mkdir()
        check(verify(folder, "z[0] = cute::twice(z[0]) - z[0];",
                     before="#include <cute/tensor.hpp>\n",
                     env={"CUTLASS_PATH": str(named)}), "correct")


def test_what_others_compile_with_is_allowed(scratch):
    needs = "".join(f"#ifndef __CUDACC_{name}__\n#error {name}\n#endif\n"
                    for name in ("RELAXED_CONSTEXPR", "EXTENDED_LAMBDA"))
    check(verify(scratch, before=needs), "correct")


def verify_with_cublas(scratch, *options):
    return verify(scratch, "cublasSgemm_v2();", *options, libraries=BOTH,
                  before='extern "C" int cublasSgemm_v2(void);\n')


def test_a_vendors_library_can_be_used_and_is_told(scratch):
    result = verify_with_cublas(scratch)
    check(result, "correct")
    assert result.json()["libraries"] == {
        "rule": "allow", "unseen": None, "used": [
            {"name": "cuBLAS", "seen": "kernel ampere_sgemm_128x64_nn"}]}, \
        result


def test_a_vendors_library_can_be_refused(scratch):
    check(verify_with_cublas(scratch, "--libraries", "refuse"),
          "runtime_error", "library", "cuBLAS (kernel ampere_sgemm_128x64_nn)")


def test_a_program_without_one_is_not_linked_with_it(scratch):
    result = verify(scratch, "", "--libraries", "refuse", libraries=BOTH)
    check(result, "correct")
    assert result.json()["libraries"] == {
        "rule": "refuse", "used": [], "unseen": None}, result


def test_what_cannot_be_seen_cannot_be_refused(scratch):
    nowhere = {"KFORGE_CUPTI": "/nowhere/libcupti.so"}
    result = verify(scratch, env=nowhere)
    check(result, "correct")
    assert "CUPTI" in result.json()["libraries"]["unseen"], result
    (scratch / "again").mkdir()
    result = verify(scratch / "again", "", "--libraries", "refuse",
                    env=nowhere)
    assert result.status == EXIT["unavailable"], result
    assert "--libraries allow" in result.err, result


ENTRY = """/* An existing solution.
 * kforge: entry void solve(const float *x = in0, const float *y = in1,
 *                          float *z = out0, int64_t n = out0.numel,
 *                          double alpha = scalar0, double beta = scalar1)
 */
#include <stdint.h>

extern "C" void solve(const float *x, const float *y, float *z, int64_t n,
		      double alpha, double beta)
{
	for (int64_t i = 0; i < n; i++)
		z[i] = (float)(alpha * x[i] + beta * y[i]);
}
"""


def verify_entry(scratch, text):
    toolkit = make_toolkit(scratch)
    source = scratch / "solution.cu"
    source.write_text(text)
    return kforge("verify", PROBLEM, source, *FAST, env={
        "KFORGE_CUDA_DRIVER": str(STANDIN / "libcuda.so.1"),
        "CUDA_HOME": str(toolkit), "CUDA_PATH": "", "PATH": "/usr/bin:/bin"})


def test_an_entry_of_the_programs_own_is_called(scratch):
    check(verify_entry(scratch, ENTRY), "correct")


def test_a_licence_and_includes_may_come_before_an_entry(scratch):
    check(verify_entry(scratch, "// Some licence.\n\n#include <math.h>\n\n" +
                       ENTRY), "correct")


def test_an_entry_behind_code_is_told(scratch):
    result = verify_entry(scratch, "static int x;\n" + ENTRY)
    check(result, "compilation_failure", "refused",
          "program.cu:3: error: kforge: entry: this comment must stand before "
          "the first code of the file")


def test_what_an_entry_returns_is_told(scratch):
    check(verify_entry(scratch, ENTRY.replace("void solve", "int solve").replace(
        "beta * y[i]);", "beta * y[i]);\n\treturn 6;")), "runtime_error",
        "nonzero_return", ": 6")


def test_a_wrong_declaration_of_an_entry_is_told(scratch):
    check(verify_entry(scratch, ENTRY.replace("= in1", "= in2")),
          "compilation_failure", "refused", "program.cu:2: error: kforge: entry: there is no in2: the problem "
          "has 2 (from in0 on)")


def at_once(scratch, *options, **more):
    """What judge says of --jobs."""
    folder = scratch / "job"
    if not folder.exists():
        folder.mkdir()
        (folder / "program.cu").write_text(SOURCE)
        (folder / "job.json").write_text(json.dumps({
            "kforge_job": 1, "problem": PROBLEM, "files": ["program.cu"],
            "platform": "cuda", "form": "cu", "size": "test",
            "stop_after": "build", "baseline": "none"}))
        make_toolkit(scratch)
    result = kforge("judge", folder, *options, env={
        "KFORGE_CUDA_DRIVER": str(STANDIN / "libcuda.so.1"),
        "KFORGE_NVML": str(STANDIN / "libnvidia-ml.so.1"),
        "STANDIN_TOTAL_GIB": "80", "CUDA_HOME": str(scratch / "toolkit"),
        "PATH": "/usr/bin:/bin", **more})
    assert result.status == 0, result
    return result.err


def test_others_on_the_device_make_fewer_at_once(scratch):
    words = "kforge: %d at once, not 30: what is free of the device's memory"
    assert words % 20 in at_once(scratch, "--jobs", "30"), "nobody there"
    assert words % 9 in at_once(scratch, "--jobs", "30", "--again",
                                STANDIN_FREE_GIB="39"), "half is taken"
    assert words % 1 in at_once(scratch, "--jobs", "30", "--again",
                                STANDIN_FREE_GIB="1"), "nearly all"
    assert "at once" not in at_once(scratch, "--jobs", "9", "--again",
                                    STANDIN_FREE_GIB="39")
    assert words % 20 in at_once(
        scratch, "--jobs", "30", "--again", STANDIN_FREE_GIB="1",
        STANDIN_NVML_HANGS="nvmlDeviceGetMemoryInfo"), "nobody knows"


def test_no_process_can_be_started(scratch):
    check(verify(scratch, "return fork() < 0 ? 5 : 6;"), "runtime_error",
          "nonzero_return", ": 5")


def test_what_the_compiler_refuses_is_told(scratch):
    check(verify(scratch, "this is not C++"), "compilation_failure",
          "refused", "program.cu")


def test_without_a_compiler_it_is_our_trouble(scratch):
    source = scratch / "program.cu"
    source.write_text(SOURCE)
    result = kforge("verify", PROBLEM, source, *FAST, env={
        "KFORGE_CUDA_DRIVER": str(BUILD / "tests" / "standin" /
                                  "libcuda.so.1"),
        "CUDA_HOME": str(scratch), "CUDA_PATH": "", "PATH": "/usr/bin:/bin"})
    assert result.status == EXIT["unavailable"], result
    assert "nvcc" in result.err, result


if shutil.which("nvcc") or pathlib.Path("/usr/local/cuda/bin/nvcc").exists():
    test_without_a_compiler_it_is_our_trouble.skip = "there is an nvcc here"

if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
