#!/usr/bin/env python3
"""kforge prompt, platforms, models, doctor, help: looking, not doing."""

import json
import subprocess
import sys

from harness import EXIT, KFORGE, PROBLEM, environment, kforge, run_tests


def test_the_prompt_is_what_would_be_sent(_):
    text = kforge("prompt", PROBLEM).out
    for part in ("class Model", "kf_forward", "program.c", "scale",
                 "(64, 96)", "float32"):
        assert part in text, part


def test_the_prompt_as_json_and_as_context(_):
    prompt = kforge("prompt", PROBLEM, "--json").json()
    assert prompt["system"] and prompt["user"]
    assert prompt["tokens_estimate"] > 100
    context = kforge("prompt", PROBLEM, "--context").json()
    assert context["problem"]["name"] == "scale_shift"


def test_templates_can_be_replaced(scratch):
    (scratch / "generate.md.j2").write_text("only {{ problem.name }}\n")
    prompt = kforge("prompt", PROBLEM, "--json", "--prompts", scratch).json()
    assert prompt["user"].strip() == "only scale_shift", prompt


def test_a_template_with_a_mistake_names_file_and_line(scratch):
    (scratch / "generate.md.j2").write_text("one\n{{ nonsense }}\n")
    result = kforge("prompt", PROBLEM, "--prompts", scratch)
    assert result.status == EXIT["input"], result
    assert "generate.md.j2:2" in result.err and "nonsense" in result.err


def test_platforms_are_listed_with_their_devices(_):
    listed = {p["name"]: p for p in kforge("platforms", "--json").json()}
    assert listed["cpu"]["devices"][0]["units"] >= 1
    assert "null" in listed
    assert "cpu" in kforge("platforms").out


def test_models_are_listed(_):
    names = [m["name"] for m in kforge("models", "--json").json()]
    for name in ("openai", "exec", "manual", "replay"):
        assert name in names


def test_doctor_finds_python_and_never_shows_a_key(_):
    result = kforge("doctor", "--json", env={"OPENAI_API_KEY": "sk-secret"})
    found = json.loads(result.out)
    assert any(f["what"] == "python" and f["finding"] == "good"
               for f in found), result
    assert "sk-secret" not in result.out + result.err
    assert any("OPENAI_API_KEY is set" in f["text"] for f in found)


def test_a_result_that_cannot_be_written_is_an_error(_):
    for command in ("--help", "platforms", "models --json", "run --help",
                    f"prompt {PROBLEM}"):
        for output in (">/dev/full", ">&-"):
            done = subprocess.run(f"{KFORGE} {command} {output}", shell=True,
                                  env=environment(), stderr=subprocess.PIPE,
                                  text=True, check=False)
            assert done.returncode == EXIT["io"], (command, output, done)
            assert "standard output" in done.stderr, (command, output, done)


def test_a_reader_who_has_seen_enough_hears_no_complaint(_):
    done = subprocess.run(f"sleep 0.2 | {KFORGE} prompt {PROBLEM} | true",
                          shell=True, env=environment(), text=True,
                          stderr=subprocess.PIPE, check=False)
    assert not done.stderr, done


def test_help_is_there_for_every_command(_):
    overview = kforge("help").out
    for name in ("run", "verify", "resume", "show", "prompt", "platforms",
                 "models", "doctor"):
        assert name in overview
        help_text = kforge(name, "--help")
        assert help_text.status == 0 and f"kforge {name}" in help_text.out


def test_no_command_is_wrong_usage(_):
    result = kforge()
    assert result.status == EXIT["input"] and "verify" in result.err


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
