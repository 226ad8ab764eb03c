#!/usr/bin/env python3
"""Programs with host code of their own on a CUDA device: which libraries did
the work, and an existing solution with a C function of its own."""

import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from harness import EXIT, ROOT, kforge, run_tests  # noqa: E402

AXPBY = ROOT / "problems" / "c" / "axpby"
ENTRY = """// kforge: entry int solve(const float *x = in0, const float *y = in1,
//                         float *z = out0, int64_t n = out0.numel,
//                         float alpha = scalar0, float beta = scalar1)
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdint.h>

static __global__ void axpby(const float *x, const float *y, float *z,
			     int64_t n, float alpha, float beta)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		z[i] = alpha * x[i] + beta * y[i];
}

static int by_library(const float *x, const float *y, float *z, int64_t n,
		      float alpha, float beta)
{
	static cublasHandle_t handle;

	if (!handle && cublasCreate(&handle))
		return 1;
	cudaMemcpyAsync(z, y, n * sizeof(float), cudaMemcpyDeviceToDevice);
	if (cublasSscal(handle, (int)n, &beta, z, 1))
		return 2;
	return cublasSaxpy(handle, (int)n, &alpha, x, 1, z, 1) ? 3 : 0;
}

extern "C" int solve(const float *x, const float *y, float *z, int64_t n,
		     float alpha, float beta)
{
	if (BY_LIBRARY)
		return by_library(x, y, z, n, alpha, beta);
	axpby<<<(unsigned)((n + 255) / 256), 256>>>(x, y, z, n, alpha, beta);
	return 0;
}
"""
# Constexpr functions of the host's, and a lambda that is the device's.
LAMBDA = ENTRY.partition("#include")[0] + """#include <algorithm>
#include <cstdint>
#include <limits>

template <class F> __global__ void each(float *z, int64_t n, F f)
{
	int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;

	if (i < n)
		z[i] = f(i);
}

extern "C" int solve(const float *x, const float *y, float *z, int64_t n,
		     float alpha, float beta)
{
	each<<<(unsigned)((n + 255) / 256), 256>>>(z, n,
		[=] __device__ (int64_t i) {
			return std::max(alpha * x[i] + beta * y[i],
				-std::numeric_limits<float>::infinity());
		});
	return 0;
}
"""
PROBLEM = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return x @ y


def get_inputs():
    return [torch.randn(256, 256), torch.randn(256, 256)]


def get_init_inputs():
    return []
"""


# One thread follows each column, and waits for memory at each row.
COLUMNS = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.cumsum(0)


def get_inputs():
    return [torch.randn(8192, 32)]


def get_init_inputs():
    return []
"""
WARM_MOST = 1.75    # of two passes against one: 2 if the first is warm too


def entry(scratch, by_library, *options, text=ENTRY):
    source = scratch / "solution.cu"
    source.write_text(text.replace("BY_LIBRARY", str(by_library)))
    return kforge("verify", AXPBY, source, "--platform", "cuda", "--json",
                  "--baseline", "none", *options, timeout=300)


def test_a_function_of_the_programs_own_is_called(scratch):
    result = entry(scratch, 0, "--libraries", "refuse")
    verdict = result.json()
    assert verdict["state"] == "correct", verdict
    assert verdict["libraries"]["unseen"] is None, verdict["libraries"]
    assert not verdict["libraries"]["used"], verdict["libraries"]
    print(f"# measure forms/entry/judged {verdict['took']['all_ns']} ns")


def test_what_others_compile_with_is_allowed(scratch):
    assert entry(scratch, 0, text=LAMBDA).json()["state"] == "correct"


def test_kernels_of_cublas_are_seen(scratch):
    verdict = entry(scratch, 1).json()
    assert verdict["state"] == "correct", verdict
    used = {each["name"]: each["seen"] for each in
            verdict["libraries"]["used"]}
    assert used["cuBLAS"].startswith("kernel "), used
    result = entry(scratch, 1, "--libraries", "refuse")
    assert result.status == EXIT["runtime_error"], result
    assert result.json()["reason"] == "library", result


def module(scratch, forward, *options, problem=PROBLEM, of="x @ y"):
    (scratch / "problem.py").write_text(problem)
    (scratch / "solution.py").write_text(problem.replace(
        "class Model", "class ModelNew").replace(of, forward))
    return kforge("verify", scratch / "problem.py", scratch / "solution.py",
                  "--platform", "cuda", "--json", "--baseline", "none",
                  *options, timeout=600)


def test_operators_of_a_module_that_call_libraries_are_seen(scratch):
    verdict = module(scratch, "x @ y").json()
    assert verdict["state"] == "correct", verdict
    used = {each["name"] for each in verdict["libraries"]["used"]}
    assert used == {"cuBLAS"}, verdict["libraries"]
    print(f"# measure forms/module/judged {verdict['took']['all_ns']} ns")
    result = module(scratch, "x @ y", "--libraries", "refuse")
    assert result.json()["reason"] == "library", result


def test_a_module_of_own_work_passes(scratch):
    own = "(x.unsqueeze(2) * y.unsqueeze(0)).sum(dim=1)"
    verdict = module(scratch, own, "--libraries", "refuse").json()
    assert verdict["state"] == "correct", verdict
    assert not verdict["libraries"]["used"], verdict["libraries"]
    assert verdict["libraries"]["unseen"] is None, verdict["libraries"]


def test_a_module_finds_nothing_in_the_cache(scratch):
    """To read what has just been copied takes as long as memory does: to read
    it twice is less than twice the time."""
    own = "x.cumsum(0)"
    times = []
    for forward in (own, f"({own}, {own})[1]"):
        verdict = module(scratch, forward, problem=COLUMNS, of=own).json()
        assert verdict["state"] == "correct", verdict
        times.append(verdict["time_ns"])
    print(f"# measure forms/module/cold {times[0]} ns")
    print(f"# measure forms/module/cold-and-warm {times[1]} ns")
    assert times[1] < WARM_MOST * times[0], times


def test_processes_of_a_module_are_forked(scratch):
    """PyTorch opens no device when it is loaded, and a forked process gets
    one."""
    result = module(scratch, "x @ y", "-v", "-v")
    assert result.json()["state"] == "correct", result
    assert "will be forked from one" in result.err, result
    for words in ("no process to fork", "is given up", "is of no use"):
        assert words not in result.err, (words, result)
    ready = re.findall(r"process (\d+) of the candidate(.*) ready in "
                       r"([\d.]+) ms", result.err)
    assert len(ready) > 1, result
    for number, how, ms in ready:
        assert how == ", forked,", result
        print(f"# measure forms/module/process-{number} {ms} ms")


if not shutil.which("nvcc") and \
        not pathlib.Path("/usr/local/cuda/bin/nvcc").exists():
    for test in (test_a_function_of_the_programs_own_is_called,
                 test_what_others_compile_with_is_allowed,
                 test_kernels_of_cublas_are_seen):
        test.skip = "there is no nvcc here"

if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
