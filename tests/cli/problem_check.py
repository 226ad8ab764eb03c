#!/usr/bin/env python3
"""kforge problem check, and the group of commands that it is in."""

import sys

from harness import EXIT, PROBLEM, kforge, run_tests


def test_a_group_lists_its_commands(_):
    for words in (["problem", "--help"], ["help", "problem"],
                  ["problem", "-h"], ["problem", "help"]):
        result = kforge(*words)
        assert result.status == EXIT["good"], result
        assert "kforge problem - " in result.out
        assert "problem check" in result.out
    result = kforge("problem")
    assert result.status == EXIT["input"] and not result.out, result
    assert "problem check" in result.err


def test_a_command_of_a_group_has_its_own_help(_):
    for words in (["problem", "check", "--help"],
                  ["help", "problem", "check"]):
        result = kforge(*words)
        assert result.status == EXIT["good"], result
        assert result.out.startswith("kforge problem check "), result


def test_misspelt_commands_of_a_group_are_corrected(_):
    for words in (["problem", "chekc"], ["help", "problem", "chekc"]):
        result = kforge(*words)
        assert result.status == EXIT["input"], result
        assert "did you mean problem check?" in result.err, result
    result = kforge("problem", "xyzzyxyzzy")
    assert "`kforge help problem`" in result.err, result


def test_a_healthy_problem_passes(_):
    result = kforge("problem", "check", PROBLEM)
    assert result.status == EXIT["good"], result
    assert "scale_shift" in result.out


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
