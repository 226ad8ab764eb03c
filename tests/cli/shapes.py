#!/usr/bin/env python3
"""--size, --dtype and --shapes: one problem in other sizes and types."""

import json
import sys

from harness import (DATA, EXIT, PROBLEM, asked, kforge, reply, run_tests,
                     script_model)

FAST = ("--baseline", "none", "--calls", "24")
GOOD = DATA / "good.c"

SIZED = """
# kforge: size small ROWS=3 COLUMNS=5
# kforge: size odd ROWS=7
# kforge: size broken ROWS
# kforge: size missing DEPTH=2
"""

# Right where a row has no more than 50 elements.
NARROW = GOOD.read_text().replace(
    "j < columns;", "j < (columns > 50 ? 50 : columns);").replace(
    "for (int64_t i", "for (int64_t k = 0; k < rows * columns; k++)\n"
    "\t\ty[k] = 0;\n\n\tfor (int64_t i", 1)

# PyTorch 1.13 has these two operations in all four types.
AFFINE = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.rand(33) + 0.5)

    def forward(self, x):
        return x * self.gain + x


def get_inputs():
    return [torch.randn(20, 33)]
"""

PROGRAM = """
#include <kforge/program.h>
#include <string.h>

static float get_bf16(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &wide, sizeof(value));
	return value;
}

static uint16_t put_bf16(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

int kf_forward(struct kf_call *c)
{
	const ELEMENT *x = c->in[0].data, *gain = c->weight[0].data;
	ELEMENT *y = c->out[0].data;

	for (int64_t i = 0; i < 20 * 33; i++) {
		WIDE v = GET(x[i]) * GET(gain[i % 33]) + GET(x[i]) * FACTOR;

		y[i] = PUT(v);
	}
	return 0;
}
"""

ELEMENT = {
    "float64": ("double", "double", "", ""),
    "float32": ("float", "float", "", ""),
    "float16": ("_Float16", "float", "", "(_Float16)"),
    "bfloat16": ("uint16_t", "float", "get_bf16", "put_bf16"),
}


def program(scratch, dtype, factor=1.0, wide=None):
    element, usual, get, put = ELEMENT[dtype]
    path = scratch / f"{dtype}.c"
    path.write_text(f"#define ELEMENT {element}\n"
                    f"#define WIDE {wide or usual}\n"
                    f"#define GET(v) ((WIDE){get}(v))\n"
                    f"#define PUT(v) ({put}(v))\n"
                    f"#define FACTOR ((WIDE){factor})\n" + PROGRAM)
    return path


def affine(scratch):
    path = scratch / "affine.py"
    path.write_text(AFFINE)
    return path


def shapes_file(scratch, *shapes):
    path = scratch / "shapes.json"
    path.write_text(json.dumps(shapes))
    return path


def sized(scratch):
    path = scratch / "sized.py"
    path.write_text(open(PROBLEM, encoding="utf-8").read() + SIZED)
    return path


TWO = ({"name": "narrow", "set": {"ROWS": 40, "COLUMNS": 50}},
       {"name": "wide", "set": {"COLUMNS": 96}})


# --- --size -----------------------------------------------------------------

def test_a_size_is_a_line_of_the_problem(scratch):
    path = sized(scratch)
    for options, shape in ((["--size", "small"], [3, 5]),
                           (["--size", "odd"], [7, 96]),
                           (["--size", "small", "--set", "ROWS=9"], [9, 5])):
        result = kforge("prompt", path, "--context", *options)
        assert result.json()["problem"]["inputs"][0]["shape"] == shape, result


def test_a_size_that_cannot_be_had_says_what_there_is(scratch):
    path = sized(scratch)
    for size, words in (("smal", "small, odd"), ("broken", "NAME=VALUE"),
                        ("missing", "assigns no DEPTH")):
        result = kforge("verify", path, GOOD, "--size", size)
        assert result.status == EXIT["input"], result
        assert words in result.err and result.err.count("\n") == 1, result


# --- --dtype ----------------------------------------------------------------

def test_each_type_is_judged_in_its_own_precision(scratch):
    for dtype in ELEMENT:
        verdicts = [
            kforge("verify", affine(scratch), program(scratch, dtype, factor),
                   "--dtype", dtype, *FAST)
            for factor in (1.0, 1.1)]
        assert verdicts[0].status == EXIT["good"], verdicts[0]
        assert verdicts[1].status == EXIT["mismatch"], verdicts[1]
        assert f"({dtype})" in verdicts[1].out, verdicts[1]


def test_float32_is_not_enough_for_float64(scratch):
    result = kforge("verify", affine(scratch),
                    program(scratch, "float64", wide="float"),
                    "--dtype", "float64", *FAST)
    assert result.status == EXIT["mismatch"], result


def test_a_type_that_pytorch_or_a_platform_lacks_is_one_sentence(scratch):
    path = scratch / "erfcx.py"
    path.write_text(AFFINE.replace("x * self.gain + x",
                                   "torch.special.erfcx(x * self.gain)"))
    result = kforge("verify", path, GOOD, "--dtype", "bfloat16")
    assert result.status == EXIT["input"], result
    assert "cannot run it in bfloat16" in result.err, result
    result = kforge("verify", affine(scratch), GOOD, "--dtype", "int32")
    assert result.status == EXIT["input"], result
    assert "float16" in result.err, result
    result = kforge("verify", affine(scratch), GOOD, "--dtype", "float16",
                    "--platform", "null")
    assert result.status == EXIT["input"], result
    assert "platform null has no float16" in result.err, result


def test_prompts_tell_the_type(scratch):
    result = kforge("prompt", affine(scratch), "--dtype", "bfloat16")
    assert "is run in bfloat16" in result.out, result
    assert "bfloat16(20, 33)" in result.out, result


# --- --shapes ---------------------------------------------------------------

def test_a_program_must_be_right_on_every_shape(scratch):
    shapes = shapes_file(scratch, *TWO)
    narrow = scratch / "program.c"
    narrow.write_text(NARROW)
    good = kforge("verify", PROBLEM, GOOD, "--shapes", shapes, *FAST)
    assert good.status == EXIT["good"], good
    assert "correct on all 2 shapes" in good.out, good
    wrong = kforge("verify", PROBLEM, narrow, "--shapes", shapes, *FAST)
    assert wrong.status == EXIT["mismatch"], wrong
    assert "On shape wide (2 of 2; correct on: narrow)" in wrong.out, wrong
    alone = kforge("verify", PROBLEM, narrow, "--set", "COLUMNS=50", *FAST)
    assert alone.status == EXIT["good"], alone


def test_judging_ends_at_the_first_shape_that_is_wrong(scratch):
    shapes = shapes_file(scratch, *reversed(TWO))
    narrow = scratch / "program.c"
    narrow.write_text(NARROW)
    result = kforge("verify", PROBLEM, narrow, "--shapes", shapes, "--json",
                    *FAST)
    verdict = result.json()
    assert verdict["state"] == "mismatch", result
    assert [s["name"] for s in verdict["shapes"]] == ["wide"], result
    assert "worst_shape" not in verdict, result


def test_the_headline_is_the_mean_beside_the_worst(scratch):
    shapes = shapes_file(scratch, *TWO)
    options = ("--shapes", shapes, "--calls", "120")
    verdict = kforge("verify", PROBLEM, GOOD, "--json", *options).json()
    ratios = {s["name"]: s["speedup"] for s in verdict["shapes"]}
    mean = (ratios["narrow"] * ratios["wide"]) ** 0.5
    assert abs(verdict["speedup"]["ratio"] / mean - 1) < 1e-9, verdict
    assert verdict["speedup"]["low"] < mean < verdict["speedup"]["high"]
    worst = min(ratios, key=ratios.get)
    assert verdict["worst_shape"] == {"name": worst,
                                      "speedup": ratios[worst]}, verdict
    words = kforge("verify", PROBLEM, GOOD, *options).out
    assert "Geometric mean" in words and "the worst shape is" in words, words


def test_shapes_may_be_presets_and_types(scratch):
    shapes = shapes_file(scratch, {"name": "preset", "size": "odd"},
                         {"name": "double", "size": "small",
                          "dtype": "float64"})
    result = kforge("prompt", sized(scratch), "--context", "--shapes", shapes)
    told = {s["name"]: (s["inputs"][0]["dtype"], s["inputs"][0]["shape"])
            for s in result.json()["shapes"]}
    assert told == {"preset": ("float32", [7, 96]),
                    "double": ("float64", [3, 5])}, result
    text = kforge("prompt", sized(scratch), "--shapes", shapes).out
    assert "judged on 2 shapes" in text and "float64(3, 5)" in text, text
    assert "you may build them in as constants" not in text, text


def test_a_file_of_shapes_that_is_malformed_is_one_sentence(scratch):
    for text, words in (
            ("[", "shapes.json"),
            ("[]", "a list of 1 to 16 shapes"),
            ('{"name": "a"}', "a list of 1 to 16 shapes"),
            ("[3]", "an object with"),
            ('[{"set": {}}]', '"name" must be'),
            ('[{"name": "a b"}]', '"name" must be'),
            ('[{"name": "a"}, {"name": "a"}]', "shape 2 (a): an earlier"),
            ('[{"name": "a", "set": [1]}]', '"set" must be'),
            ('[{"name": "a", "set": {"ROWS": null}}]', '"set" must be'),
            ('[{"name": "a", "dtype": "int8"}]', '"dtype" must be'),
            ('[{"name": "a", "rows": 3}]', "a member other than"),
            ('[{"name": "a", "set": {"DEPTH": 3}}]', "shape a: --set: the "),
            ('[{"name": "a", "size": "huge"}]', "shape a: --size")):
        path = scratch / "shapes.json"
        path.write_text(text)
        result = kforge("verify", PROBLEM, GOOD, "--shapes", path)
        assert result.status == EXIT["input"], (text, result)
        assert words in result.err, (text, result)
        assert result.err.count("\n") == 1, (text, result)
    result = kforge("verify", PROBLEM, GOOD, "--shapes", scratch / "none")
    assert "No such file" in result.err, result


def test_a_run_judges_on_all_shapes_and_resume_keeps_them(scratch):
    shapes = shapes_file(scratch, *TWO)
    model = script_model(scratch, [
        f"Words.\n\n```c program.c\n{NARROW}```\n", reply("good.c")])
    stop = scratch / "reply.2"
    late = stop.read_text()
    stop.unlink()
    half = kforge("run", PROBLEM, "--model", model, "--shapes", shapes,
                  "--out", scratch / "run", "--calls", "60", "-n", "2")
    assert half.status == EXIT["unavailable"], half
    shapes.unlink()
    stop.write_text(late)
    done = kforge("resume", scratch / "run", "--json")
    assert done.status == EXIT["good"], done
    problem = done.json()["problems"][0]
    assert [a["state"] for a in problem["attempts"]] == \
        ["mismatch", "correct"], done
    assert problem["worst_shape"]["name"] in ("narrow", "wide"), done
    assert asked(scratch)[-1] == "2", done
    text = kforge("show", scratch / "run").out
    assert "worst " in text, text
    prompt = kforge("show", scratch / "run", "1")
    assert "On shape wide" in prompt.out, prompt


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
