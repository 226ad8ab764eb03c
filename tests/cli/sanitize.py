#!/usr/bin/env python3
"""verify --sanitize: programs under the compiler's AddressSanitizer, or in OpenCL
under oclgrind, which see what a verdict on values does not: accesses beyond a
buffer, races."""

import os
import pathlib
import sys

from harness import DATA, EXIT, ROOT, kforge, run_tests

PROBLEM = ROOT / "problems" / "c" / "axpby"
PARTS = DATA / "two_part"
KERNEL = (PARTS / "kernels.cl").read_text()
ON = ("--platform", "opencl", "--set", "COUNT=1007", "--baseline", "none",
      "--calls", "20", "--sanitize")

# Right on a device whose groups run in step, or by luck: each work-item reads
# what its neighbour wrote, without a barrier.
RACE = """__kernel void axpby(__global const float *x, __global const float *y,
		    __global float *z, float alpha, float beta, long count)
{
	__local float row[256];
	long i = get_global_id(0);
	int k = get_local_id(0);

	row[k] = i < count ? x[i] : 0.0f;
	if (row[255 - k] > 1e30f)
		return;
	if (i < count)
		z[i] = alpha * x[i] + beta * y[i];
}
"""


def verify(scratch, kernels, *options):
    (scratch / "kernels.cl").write_text(kernels)
    (scratch / "host.c").write_text((PARTS / "host.c").read_text())
    return kforge("verify", *ON, *options, PROBLEM, scratch / "kernels.cl",
                  scratch / "host.c", timeout=300)


def test_a_clean_program_stays_correct(scratch):
    result = verify(scratch, KERNEL, "--json")
    assert result.status == 0, result
    assert result.json()["evidence"]["sanitizer"] is False, result
    assert "found nothing" in verify(scratch, KERNEL).out


def test_what_the_values_do_not_show_is_found(scratch):
    rows = ((KERNEL.replace("i < count", "i < count + 3"), "Invalid read", 7),
            (RACE, "data race", 9))
    for kernels, words, line in rows:
        assert kernels != KERNEL
        result = verify(scratch, kernels, "--json")
        assert result.status == EXIT["runtime_error"], result
        verdict = result.json()
        assert verdict["reason"] == "sanitizer", verdict
        found = verdict["evidence"]["sanitizer"]
        assert words in found["what"] and found["kernel"] == "axpby", found
        assert found["thread"] and found["tool"] == "oclgrind", found
        assert abs(found["line"] - line) <= 1, found
        assert verdict["time_ns"] is None, verdict


# z = alpha x + beta y, with something else besides.
ON_CPU = """#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data, *y = c->in[1].data;
	float *z = c->out[0].data;
	float alpha = (float)c->scalar[0].f, beta = (float)c->scalar[1].f;
	int64_t n = kf_numel(&c->out[0]);
	volatile float seen, row[4];

	for (int64_t i = 0; i < n; i++) {
		z[i] = alpha * x[i] + beta * y[i];
		row[i & 3] = z[i];
	}
	%s
	return 0;
}
"""


def verify_on_cpu(scratch, more, *options):
    (scratch / "program.c").write_text(ON_CPU % more)
    return kforge("verify", "--sanitize", "--set", "COUNT=1007", "--baseline",
                  "none", "--calls", "40", *options, PROBLEM,
                  scratch / "program.c", timeout=300)


def test_a_clean_program_on_the_processor_stays_correct(scratch):
    result = verify_on_cpu(scratch, "seen = row[n % 4]; (void)seen;", "--json")
    assert result.status == 0, result
    assert result.json()["evidence"]["sanitizer"] is False, result


def test_what_the_values_do_not_show_is_found_on_the_processor(scratch):
    rows = (("seen = x[n]; (void)seen;", "heap-buffer-overflow, a read of 4"),
            ("row[n % 4 + 1] = row[0];", "index 4 out of bounds"))
    for more, words in rows:
        result = verify_on_cpu(scratch, more, "--json")
        assert result.status == EXIT["runtime_error"], result
        verdict = result.json()
        assert verdict["reason"] == "sanitizer", verdict
        found = verdict["evidence"]["sanitizer"]
        assert words in found["what"], found
        assert found["tool"] == "AddressSanitizer", found
        assert found["line"] == 15, found
        assert "line 15" in verdict["text"], verdict["text"]


def test_platforms_without_one_say_so(scratch):
    (scratch / "none.c").write_text("")
    result = kforge("verify", "--sanitize", "--platform", "null", PROBLEM,
                    scratch / "none.c", scratch / "none.c")
    assert result.status == EXIT["input"], result
    assert "no sanitizer for programs of platform null" in result.err, result


OPENCL = ("test_a_clean_program_stays_correct",
          "test_what_the_values_do_not_show_is_found")


def missing():
    """Why nothing here can be run, or None."""
    if "opencl" in os.environ.get("KF_MUST_RUN", ""):
        return None
    listed = kforge("platforms", "--json").json()
    if not any(p["devices"] for p in listed if p["name"] == "opencl"):
        return "OpenCL has no device here"
    if not pathlib.Path("/usr/lib/oclgrind").exists():
        return "oclgrind is not here"
    return None


if __name__ == "__main__":
    why = missing()
    for name, test in list(globals().items()):
        if why and name in OPENCL:
            test.skip = why
    sys.exit(run_tests(sys.modules[__name__]))
