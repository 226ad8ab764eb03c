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
