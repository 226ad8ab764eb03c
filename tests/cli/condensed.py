#!/usr/bin/env python3
"""Problems whose data are too large to be kept: judged by samples."""

import sys

from harness import DATA, EXIT, kforge, run_tests

PROBLEM = DATA / "large.py"
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


def judged(scratch, line, *options):
    path = scratch / "program.c"
    path.write_text(SOURCE % line)
    result = kforge("verify", PROBLEM, path, "--json", "--baseline", "none",
                    "--calls", "20", *options, env=SMALL)
    return result, result.json()


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


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
