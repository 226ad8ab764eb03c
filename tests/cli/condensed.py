#!/usr/bin/env python3
"""Problems whose data are too large to be kept: judged by samples."""

import sys

from harness import DATA, EXIT, ROOT, kforge, run_tests

PROBLEM = DATA / "large.py"
C_PROBLEM = ROOT / "tests" / "data" / "cproblem" / "large"
SMALL = {"KFORGE_BUNDLE_GB": "0"}
SOURCE = """#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data, *w = c->weight[0].data;
	float *out = c->out[0].data;
	int64_t rows = c->in[0].shape[0], cols = c->in[0].shape[1];

	for (int64_t i = 0; i < rows * cols; i++) {
		%s
	}
	return 0;
}
"""
RIGHT = "out[i] = x[i] * w[i % cols];"
C_SOURCE = """#include <kforge/program.h>
#include <math.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data, *z = c->in[1].data;
	const int32_t *keep = c->in[2].data;
	const float *w = c->weight[0].data;
	float *out = c->out[0].data, *mean = c->out[2].data;
	int64_t *count = c->out[1].data;
	int64_t rows = c->in[0].shape[0], cols = c->in[0].shape[1];

	for (int64_t row = 0; row < rows; row++) {
		double sum = 0, square = 0;

		count[row] = 0;
		for (int64_t j = 0; j < cols; j++) {
			int64_t i = row * cols + j;

			count[row] += keep[i];
			%s
			sum += out[i];
			square += out[i] * out[i];
		}
		mean[2 * row] = (float)(sum / (double)cols);
		mean[2 * row + 1] = (float)sqrt(square / (double)cols);
		%s
	}
	return 0;
}
"""
C_RIGHT = "out[i] = keep[i] ? x[i] * w[j] + sqrtf(z[i] - 1) : 0;"
AXPBY = ROOT / "problems" / "c" / "axpby"


def judged(scratch, source, problem=PROBLEM, *options):
    path = scratch / "program.c"
    path.write_text(source)
    result = kforge("verify", problem, path, "--json", "--calls", "20",
                    "--cache", scratch / "cache", *options, env=SMALL)
    return result, result.json()


def judged_line(scratch, line):
    return judged(scratch, SOURCE % line, PROBLEM, "--baseline", "none")


def judged_c(scratch, line, row="", baseline="none"):
    return judged(scratch, C_SOURCE % (line, row), C_PROBLEM, "--baseline",
                  baseline)


def test_a_right_program_is_correct_and_the_verdict_says_how(scratch):
    result, verdict = judged_line(scratch, RIGHT)
    assert verdict["state"] == "correct", result
    assert "Judged by samples" in verdict["text"], result
    assert verdict["evidence"]["judged_by"] == "samples"
    sample, = verdict["evidence"]["samples"]
    assert sample["one_by_one"] < sample["elements"], sample
    result = kforge("verify", PROBLEM, scratch / "program.c", "--calls", "20",
                    "--cache", scratch / "cache", env=SMALL)
    assert result.status == EXIT["good"], result


def test_what_no_window_holds_is_found_too(scratch):
    # These three elements lie anywhere: in a window or between windows. A 9 is
    # far off wherever it stands; a 0 might be within what the sums allow.
    for what, reason in (("if (i != 700001) ", "unwritten"),
                         ("out[i] = 0.0f / 0.0f; if (i != 1200003) ",
                          "non_finite"),
                         ("out[i] = 9; if (i != 300007) ", "values")):
        result, verdict = judged_line(scratch, what + RIGHT)
        assert verdict["state"] == "mismatch", (what, result)
        assert verdict["reason"] == reason, (what, result)
        assert "Judged by samples" in verdict["text"], result


def test_an_error_everywhere_is_found(scratch):
    result, verdict = judged_line(scratch, "out[i] = 1.002f * x[i] * w[i % cols];")
    assert verdict["reason"] == "values", result


def test_a_problem_in_c_is_judged_by_samples(scratch):
    result, verdict = judged_c(scratch, C_RIGHT, baseline="live")
    assert verdict["state"] == "correct", result
    assert verdict["baseline"] == "reference", result
    assert "Judged by samples" in verdict["text"], result
    y, count, mean = verdict["evidence"]["samples"]
    assert y["one_by_one"] < y["elements"], result
    assert count["one_by_one"] == count["elements"] == 40, result
    assert mean["one_by_one"] == mean["elements"] == 80, result
    shown = kforge("problem", "show", C_PROBLEM, "--json", "--cache",
                   scratch / "cache", env=SMALL).json()
    assert shown["bundle"]["condensed"]["windows"] == [16, 1, 1], shown
    # z is at least 1, so that smaller factors leave its domain.
    assert shown["bundle"]["sets"] == ["declared", "changed", "declared",
                                       "weights"], shown


def test_what_is_wrong_in_c_is_found_everywhere(scratch):
    for what, row, reason in (
            ("if (i != 700001) " + C_RIGHT, "", "unwritten"),
            ("out[i] = 0.0f / 0.0f; if (i != 1200003) " + C_RIGHT, "",
             "non_finite"),
            ("out[i] = 90; if (i != 300007) " + C_RIGHT, "", "values"),
            (C_RIGHT + " out[i] *= 1.002f;", "", "values"),
            (C_RIGHT, "if (row == 39) count[39]++;", "values"),
            (C_RIGHT, "if (row == 7) mean[14] += 0.01f;", "values"),
            (C_RIGHT, "mean[2 * row + 1] = 0;", "values")):
        result, verdict = judged_c(scratch, what, row)
        assert verdict["state"] == "mismatch", (what, row, result)
        assert verdict["reason"] == reason, (what, row, result)


def test_every_kind_of_data_in_c(scratch):
    source = """#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{{
	{real} a = c->scalar[0].f, b = c->scalar[1].f, *z = c->out[0].data;
	const {real} *x = c->in[0].data, *y = c->in[1].data;

	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {{
		{what} z[i] = a * x[i] + b * y[i];
	}}
	return 0;
}}
"""
    for real, dtype in (("float", "float32"), ("double", "float64")):
        for what, state in (("", "correct"),
                            ("z[i] = 999; if (i != 1100009)", "mismatch")):
            result, verdict = judged(
                scratch, source.format(real=real, what=what), AXPBY, "--dtype",
                dtype, "--set", "COUNT=1200003", "--baseline", "none")
            assert verdict["state"] == state, (real, what, result)
        shown = kforge("problem", "show", AXPBY, "--set", "COUNT=1200003",
                       "--dtype", dtype, "--json", "--cache",
                       scratch / "cache", env=SMALL).json()
        assert shown["bundle"]["sets"] == [
            "declared", "changed", "declared", "zero_mean", "tail",
            "large"], shown


def test_what_does_not_fit_even_so_is_refused(scratch):
    result = kforge("problem", "check", C_PROBLEM, "--memory", "0.05",
                    "--cache", scratch / "cache", env=SMALL)
    assert "of memory, and references may have" in result.out, result
    assert not list(scratch.rglob("bundle.json")), result


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
