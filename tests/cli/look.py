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


def doctor(scratch, *words, **env):
    result = kforge("doctor", "--json", *words, env=env, cwd=scratch)
    text = {}
    for found in result.json():
        text.setdefault(found["what"], []).append(
            found["finding"] + " " + found["text"])
    return result.status, {k: "\n".join(v) for k, v in text.items()}


def test_doctor_compiles_our_example_with_every_compiler(scratch):
    status, found = doctor(scratch)
    assert "good gcc builds our example (gcc" in found["cpu"], found
    assert "good cpu:0" in found["cpu"]
    assert "make builds what `kforge export` makes" in found["export"]
    (scratch / "bin").mkdir()
    status, found = doctor(scratch, PATH=str(scratch / "bin"))
    assert status == EXIT["unavailable"]
    assert "bad no compiler on PATH: install gcc or clang" in found["cpu"]
    assert found["export"].startswith("note no make on PATH: "), found


def test_doctor_says_why_a_python_was_passed_over(scratch):
    (scratch / "python3").write_text(
        "#!/bin/sh\necho '{\"good\": true, \"version\": \"\"}'\n")
    (scratch / "python3").chmod(0o755)
    _, found = doctor(scratch, PATH=f"{scratch}:/usr/bin:/bin",
                      KFORGE_PYTHON="")
    assert "good /usr/bin/python3 with torch" in found["python"], found
    assert f"note passed over: {scratch}/python3 has no torch" in \
        found["python"]
    status, found = doctor(scratch, "--python", scratch / "python3")
    assert status == EXIT["unavailable"]
    assert f"bad {scratch}/python3 has no torch" in found["python"]


def test_doctor_tells_a_weak_sandbox_and_whether_it_is_accepted(scratch):
    status, found = doctor(scratch, KFORGE_SANDBOX_TIER="weak")
    assert status == EXIT["unavailable"]
    assert "bad weak: KFORGE_SANDBOX_TIER is weak" in found["sandbox"]
    assert "--sandbox=weak" in found["sandbox"]
    assert "Landlock" in found["sandbox"]
    _, found = doctor(scratch, "--sandbox=weak", KFORGE_SANDBOX_TIER="weak")
    assert "note weak: " in found["sandbox"], found
    _, found = doctor(scratch, KFORGE_BWRAP="/none")
    assert "KFORGE_BWRAP is /none, which is no program" in found["sandbox"]


def test_doctor_tells_an_old_bubblewrap(scratch):
    (scratch / "bwrap").write_text("#!/bin/sh\necho bubblewrap 0.4.1\n")
    (scratch / "bwrap").chmod(0o755)
    _, found = doctor(scratch, KFORGE_BWRAP=str(scratch / "bwrap"))
    assert "bubblewrap 0.4 at" in found["sandbox"], found
    assert "older than 0.7" in found["sandbox"], found


def test_doctor_names_what_is_set_and_never_its_value(scratch):
    result = kforge("doctor", cwd=scratch, env={
        "https_proxy": "http://user:hidden@proxy", "OPENAI_API_KEY": "hidden",
        "KFORGE_OPENAI_BASE_URL": "http://hidden:1/v1",
        "SSL_CERT_FILE": str(scratch / "none.pem")})
    assert result.status == EXIT["unavailable"], result
    assert "hidden" not in result.out + result.err
    for words in ("https_proxy is set", "KFORGE_OPENAI_BASE_URL is set",
                  "SSL_CERT_FILE is"):
        assert words in result.out, result
    assert max(len(line) for line in result.out.splitlines()
               if str(scratch) not in line) <= 80


def test_doctor_says_which_defaults_are_in_use(scratch):
    (scratch / "kforge.json").write_text('{"cache": "made"}')
    _, found = doctor(scratch, "--config", "kforge.json")
    assert found["defaults"] == "good from kforge.json"
    assert str(scratch / "made") in found["cache"]
    _, found = doctor(scratch, "--no-config")
    assert "left alone" in found["defaults"]
    assert "made" not in found["cache"]
    (scratch / "kforge.json").write_text('{"threads": 1}')
    _, found = doctor(scratch)
    assert found["defaults"] == "good from ./kforge.json"


def test_doctor_tells_folders_that_cannot_be_used(scratch):
    (scratch / "file").write_text("")
    status, found = doctor(scratch, "--cache", scratch / "file" / "x",
                           TMPDIR=str(scratch / "none"))
    assert status == EXIT["unavailable"]
    assert found["cache"].startswith("bad ") and "--cache" in found["cache"]
    assert found["scratch"].startswith("bad ") and "TMPDIR" in found["scratch"]


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
