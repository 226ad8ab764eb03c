#!/usr/bin/env python3
"""kforge compare: which of several programs is faster. That a busy machine
concludes nothing is right, so no test here asks for a conclusion."""

import sys

from harness import C_PROBLEM, DATA, EXIT, kforge, reply, run_tests

GOOD = DATA / "good.c"
SLOW = """#include <kforge/program.h>

int kf_forward(struct kf_call *c)
{
	const float *x = c->in[0].data;
	const float *scale = kf_weight(c, "scale")->data;
	const float *shift = kf_weight(c, "shift")->data;
	float *y = c->out[0].data;
	int64_t rows = c->in[0].shape[0], columns = c->in[0].shape[1];

	for (int again = 0; again < 64; again++)
		for (int64_t i = 0; i < rows * columns; i++) {
			float v = x[i] * scale[i % columns] +
				shift[i % columns];

			((volatile float *)y)[i] = v > 0 ? v : 0;
		}
	return 0;
}
"""


def compare(*programs, baseline="none"):
    result = kforge("compare", C_PROBLEM, *programs, "--baseline", baseline,
                    "--json")
    assert result.out, result
    return result, result.json()


def test_a_much_slower_program_is_found(scratch):
    slow = scratch / "slow.c"
    slow.write_text(SLOW)
    result, found = compare(GOOD, slow)
    assert result.status == 0, result
    pair = found["pairs"][0]
    assert pair["b_is"] == "slower", result
    ratio = pair["a_over_b"]
    assert ratio["low"] <= ratio["ratio"] <= ratio["high"] < 1, result
    assert found["sides"][1]["time_ns"] > found["sides"][0]["time_ns"], result
    assert [s["name"] for s in found["sides"]] == [str(GOOD), str(slow)]


def test_three_forms_and_a_baseline_give_every_pair(scratch):
    folder = scratch / "folder"
    folder.mkdir()
    (folder / "program.c").write_text(GOOD.read_text())
    (scratch / "reply.md").write_text(reply("good.c"))
    result, found = compare(GOOD, folder, scratch / "reply.md",
                            baseline="live")
    assert result.status == 0, result
    assert [(p["a"], p["b"]) for p in found["pairs"]] == [
        (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], result
    assert [s["baseline"] for s in found["sides"]] == [False] * 3 + [True]
    assert all(s["time_ns"] > 0 for s in found["sides"]), result
    assert found["rounds"] >= 5, result


def test_an_incorrect_program_is_named_with_its_verdict(_):
    for program, state in (("wrong.c", "mismatch"), ("crash.c", "runtime_error"),
                           ("broken.c", "compilation_failure"),
                           ("no_code.md", "generation_failure")):
        result, found = compare(GOOD, DATA / program)
        assert result.status == EXIT[state], (program, result)
        assert found["incorrect"] == str(DATA / program), result
        assert found["verdict"]["state"] == state, result
    result = kforge("compare", C_PROBLEM, DATA / "wrong.c", GOOD,
                    "--baseline", "none")
    assert "wrong.c is not correct" in result.out, result


def test_wrong_at_last_is_noticed_while_it_is_timed(scratch):
    late = scratch / "late.c"
    late.write_text(GOOD.read_text().replace(
        "	return 0;", "	static int calls;\n\n	if (++calls > 24)\n"
        "		y[0] += 1;\n	return 0;"))
    result, found = compare(GOOD, late)
    assert result.status == EXIT["mismatch"], result
    assert found["incorrect"] == str(late), result
    assert "earlier calls" in found["verdict"]["text"], result


def test_words_have_times_a_ratio_and_its_interval(_):
    result = kforge("compare", C_PROBLEM, GOOD, GOOD, "--baseline", "none")
    assert result.status == 0, result
    assert "B against A" in result.out or "than A by" in result.out, result
    assert "interval" in result.out and "a call" in result.out, result


def test_bad_input_is_one_sentence(scratch):
    rows = (
        (("compare", C_PROBLEM, GOOD), "input", "usage"),
        (("compare", C_PROBLEM, GOOD, scratch / "none.c"), "input", "none.c"),
        (("compare", scratch / "none.py", GOOD, GOOD), "input", "none.py"),
        (("compare", C_PROBLEM, *([GOOD] * 9)), "input", "too many"),
        (("compare", C_PROBLEM, GOOD, GOOD, "--calls", "9"), "input", "calls"),
    )
    for arguments, status, word in rows:
        result = kforge(*arguments)
        lines = result.err.strip().splitlines()
        assert result.status == EXIT[status], (arguments, result)
        assert len(lines) == 1 and word in lines[0], (arguments, result)


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
