#!/usr/bin/env python3
"""kforge verify: each of the five states, from files, folders and replies."""

import os
import sys

from harness import DATA, EXIT, PROBLEM, kforge, reply, run_tests

FAST = ("--baseline", "none", "--calls", "20")


def judged(*program, stdin=""):
    result = kforge("verify", PROBLEM, *program, *FAST, "--json", stdin=stdin)
    assert result.out, result
    return result, result.json()


def expect(program, state, reason, words):
    result, verdict = judged(program)
    assert verdict["state"] == state, result
    assert verdict["reason"] == reason, result
    assert words in verdict["text"], result
    assert verdict["device_id"] == "cpu:0", result
    assert result.status == EXIT["good" if state == "correct" else state]


def test_a_right_program_is_correct(_):
    result, verdict = judged(DATA / "good.c")
    assert verdict["state"] == "correct" and result.status == 0, result
    assert verdict["time_ns"] > 0


def test_a_reply_without_code_is_a_generation_failure(_):
    expect(DATA / "no_code.md", "generation_failure", "no_code", "program.c")


def test_a_broken_source_is_a_compilation_failure(_):
    expect(DATA / "broken.c", "compilation_failure", "refused", "inputs")


def test_a_crash_is_a_runtime_error(_):
    expect(DATA / "crash.c", "runtime_error", "signal", "")


def test_a_wrong_value_is_a_mismatch(_):
    expect(DATA / "wrong.c", "mismatch", "values", "expected")


# Of inputs of which nearly all are far from zero only, and none is infinite.
OFF = """
	int far = 0;

	for (int i = 0; i < 64; i++)
		far += (x[i] > 16 && x[i] < 1e30f) ||
			(x[i] < -16 && x[i] > -1e30f);
	for (int i = 0; i < OFF && far > 58; i++)
		y[i] += 1 + y[i] / 64;
"""


def test_few_may_be_nearly_ties_where_inputs_are_large(scratch):
    """As many as a row has, 96 of 6,144."""
    source = (DATA / "good.c").read_text()
    end = source.rindex("\treturn 0;")
    for count, state in ((80, "correct"), (97, "mismatch")):
        (scratch / "off.c").write_text(
            source[:end] + OFF.replace("OFF", str(count)) + source[end:])
        result, verdict = judged(scratch / "off.c")
        evidence = verdict["evidence"]
        assert verdict["state"] == state, result
        if state == "mismatch":
            assert evidence["failure"]["wrong"] > 90, result
            continue
        assert 0 < evidence["ties"]["elements"] <= count, result
        assert evidence["ties"]["chunks"] == 0, result
        assert any("nearly a tie" in note for note in evidence["notes"]), \
            result
    evidence = judged(DATA / "good.c")[1]["evidence"]
    assert evidence["ties"] == {"elements": 0, "chunks": 0}, evidence


def test_words_for_people_name_state_and_reason(_):
    result = kforge("verify", PROBLEM, DATA / "wrong.c", *FAST)
    assert "mismatch" in result.out and "values" in result.out, result


def test_explain_tells_why_within_80_columns(_):
    for program, words in (
            ("wrong.c", ("What failed", "allowed by", "its block's size")),
            ("good.c", ("What was done", "KernelBench right", "Next")),
            ("broken.c", ("refused it after", "Mend the first error"))):
        result = kforge("verify", PROBLEM, DATA / program, *FAST, "--explain")
        for word in words:
            assert word in result.out, (word, result)
        prose = result.out.split("What was done")[1].splitlines()
        assert max(map(len, prose)) <= 80, result


def test_where_the_wrong_elements_lie_is_drawn(scratch):
    picture = scratch / "errors.svg"
    result = kforge("verify", PROBLEM, DATA / "wrong.c", *FAST, "--explain",
                    "--picture", picture)
    assert "where the wrong elements lie" in result.out, result
    assert "\u2588" in result.out, result
    assert picture.read_text().startswith("<svg "), picture.read_text()
    picture.unlink()
    result = kforge("verify", PROBLEM, DATA / "good.c", *FAST, "--picture",
                    picture)
    assert result.status == 0 and not picture.exists(), result
    assert "has no wrong elements to show" in result.err, result
    result = kforge("verify", PROBLEM, DATA / "wrong.c", *FAST, "--picture",
                    scratch / "none" / "errors.svg")
    assert result.status == 6 and "errors.svg" in result.err, result


def test_a_live_baseline_gives_a_speedup(_):
    result = kforge("verify", PROBLEM, DATA / "good.c", "--json")
    verdict = result.json()
    assert verdict["state"] == "correct", result
    assert verdict["baseline_ns"] > 0 and verdict["baseline_live"], result
    about = verdict["baseline_about"]
    assert about["way"] == "eager" and about["version"], result
    ratio = verdict["speedup"]
    assert ratio["low"] <= ratio["ratio"] <= ratio["high"], result


def test_a_folder_a_reply_and_standard_input_are_programs(scratch):
    folder = scratch / "program"
    folder.mkdir()
    (folder / "program.c").write_text((DATA / "good.c").read_text())
    (scratch / "reply.md").write_text(reply("good.c"))
    for program, stdin in ((folder, ""), (scratch / "reply.md", ""),
                           ("-", reply("good.c")),
                           ("-", (DATA / "good.c").read_text())):
        result, verdict = judged(program, stdin=stdin)
        assert verdict["state"] == "correct", (program, result)


def test_both_rule_sets_are_recorded(_):
    _, verdict = judged(DATA / "good.c")
    assert verdict["kernelbench_good"] is True
    _, verdict = judged(DATA / "wrong.c")
    assert verdict["kernelbench_good"] is False
    result = kforge("verify", PROBLEM, DATA / "good.c", *FAST, "--json",
                    "--rules", "kernelbench")
    assert result.json()["state"] == "correct", result


def test_the_password_file_stays_out_of_compiler_messages(scratch):
    source = scratch / "program.c"
    for line in ('#include "/etc/passwd"\n', '#include </etc/passwd>\n',
                 'asm(".incbin \\"/etc/passwd\\"");\n',
                 '#define X "/etc/passwd"\n#include X\n'):
        source.write_text(line + (DATA / "good.c").read_text())
        result, verdict = judged(source)
        assert verdict["state"] != "correct", (line, result)
        assert "root:" not in result.out + result.err, (line, result)


def test_sizes_can_be_set(_):
    result = kforge("verify", PROBLEM, DATA / "good.c", *FAST, "--json",
                    "--set", "ROWS=3", "--set", "COLUMNS=17")
    assert result.json()["state"] == "correct", result


def test_a_broken_compiler_is_not_the_programs_fault(scratch):
    compiler = scratch / "bin" / "gcc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\necho \"gcc: cannot find cc1\" >&2\n"
                        "exit 1\n")
    compiler.chmod(0o755)
    path = f"{compiler.parent}:{os.environ['PATH']}"
    result = kforge("verify", PROBLEM, DATA / "good.c", *FAST, "--json",
                    env={"PATH": path})
    assert result.status == EXIT["unavailable"], result
    assert "cannot find cc1" in result.err and result.out == "", result


def test_bad_input_is_one_sentence(scratch):
    empty = scratch / "empty.py"
    empty.write_text("x = 1\n")
    raising = scratch / "raising.py"
    raising.write_text(open(PROBLEM, encoding="utf-8").read().replace(
        "return torch.relu", "raise ValueError('no such luck')\n"
        "        return torch.relu"))
    good = DATA / "good.c"
    rows = (
        (("verify", scratch / "none.py", good), "input", "none.py"),
        (("verify", empty, good), "input", "Model"),
        (("verify", raising, good), "input", "no such luck"),
        (("verify", PROBLEM, scratch / "none.c"), "input", "none.c"),
        (("verify", PROBLEM, good, "--set", "WIDTH=3"), "input", "WIDTH"),
        (("verify", PROBLEM, good, "--platform", "abacus"), "input",
         "abacus"),
        (("verify", PROBLEM, good, "--python", "/nowhere/python"),
         "unavailable", "/nowhere/python"),
        (("verify", PROBLEM), "input", "usage"),
    )
    for arguments, status, word in rows:
        result = kforge(*arguments)
        lines = result.err.strip().splitlines()
        assert result.status == EXIT[status], (arguments, result)
        assert len(lines) == 1 and lines[0].startswith("kforge: "), result
        assert word in lines[0] and result.out == "", (arguments, result)


def test_a_compiler_may_be_a_link_elsewhere(scratch):
    (scratch / "gcc").symlink_to("/usr/bin/gcc")
    path = f"{scratch}:{os.environ['PATH']}"
    result = kforge("verify", PROBLEM, DATA / "good.c", "--baseline", "none",
                    "--calls", "20", env={"PATH": path})
    assert result.status == 0, result


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
