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
	float *out = c->out[0].data;
	int64_t *count = c->out[1].data, cols = c->in[0].shape[1];

	for (int64_t i = 0; i < c->out[1].shape[0]; i++)
		count[i] = 0;
	for (int64_t i = 0; i < kf_numel(&c->out[0]); i++) {
		count[i / cols] += keep[i];
		%s
	}
	return 0;
}
"""
C_RIGHT = "out[i] = keep[i] ? x[i] * w[i % cols] + sqrtf(z[i] - 1) : 0;"


def judged(scratch, line, source=SOURCE, problem=PROBLEM, baseline="none"):
    path = scratch / "program.c"
    path.write_text(source % line)
    result = kforge("verify", problem, path, "--json", "--baseline", baseline,
                    "--calls", "20", env=SMALL)
    return result, result.json()


def judged_c(scratch, line, baseline="none"):
    return judged(scratch, line, C_SOURCE, C_PROBLEM, baseline)


def test_a_right_program_is_correct_and_the_verdict_says_how(scratch):
    result, verdict = judged(scratch, RIGHT)
    assert verdict["state"] == "correct", result
    assert "Judged by samples" in verdict["text"], result
    assert verdict["evidence"]["judged_by"] == "samples"
    sample, = verdict["evidence"]["samples"]
    assert sample["one_by_one"] < sample["elements"], sample
    result = kforge("verify", PROBLEM, scratch / "program.c", "--calls", "20",
                    env=SMALL)
    assert result.status == EXIT["good"], result


def test_what_no_window_holds_is_found_too(scratch):
    # These three elements lie anywhere: in a window or between windows. A 9 is
    # far off wherever it stands; a 0 might be within what the sums allow.
    for what, reason in (("if (i != 700001) ", "unwritten"),
                         ("out[i] = 0.0f / 0.0f; if (i != 1200003) ",
                          "non_finite"),
                         ("out[i] = 9; if (i != 300007) ", "values")):
        result, verdict = judged(scratch, what + RIGHT)
        assert verdict["state"] == "mismatch", (what, result)
        assert verdict["reason"] == reason, (what, result)
        assert "Judged by samples" in verdict["text"], result


def test_an_error_everywhere_is_found(scratch):
    result, verdict = judged(scratch, "out[i] = 1.002f * x[i] * w[i % cols];")
    assert verdict["reason"] == "values", result


def test_a_problem_in_c_is_judged_by_samples(scratch):
    result, verdict = judged_c(scratch, C_RIGHT, "live")
    assert verdict["state"] == "correct", result
    assert verdict["baseline"] == "reference", result
    assert "Judged by samples" in verdict["text"], result
    y, count = verdict["evidence"]["samples"]
    assert y["one_by_one"] < y["elements"], result
    assert count["one_by_one"] == count["elements"] == 40, result
    shown = kforge("problem", "show", C_PROBLEM, "--json", env=SMALL).json()
    assert shown["bundle"]["condensed"]["windows"] == [16, 1], shown
    # z is at least 1, so that smaller factors leave its domain.
    assert shown["bundle"]["sets"] == ["declared", "changed", "declared",
                                       "weights"], shown


def test_what_is_wrong_in_c_is_found_everywhere(scratch):
    for what, reason in (("if (i != 700001) ", "unwritten"),
                         ("out[i] = 0.0f / 0.0f; if (i != 1200003) ",
                          "non_finite"),
                         ("out[i] = 90; if (i != 300007) ", "values")):
        result, verdict = judged_c(scratch, what + C_RIGHT)
        assert verdict["state"] == "mismatch", (what, result)
        assert verdict["reason"] == reason, (what, result)
    result, verdict = judged_c(scratch, C_RIGHT + " out[i] *= 1.002f;")
    assert verdict["reason"] == "values", result
    result, verdict = judged_c(scratch, C_RIGHT +
                               " if (i == 40 * cols - 1) count[39]++;")
    assert verdict["reason"] == "values", result


def test_what_does_not_fit_even_so_is_refused(scratch):
    result = kforge("problem", "show", C_PROBLEM, "--set", "ROWS=26000",
                    "--cache", scratch / "cache", env=SMALL)
    assert result.status == EXIT["limit"], result
    assert "choose smaller sizes" in result.err, result
    assert not list(scratch.rglob("bundle.json")), result


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
