#!/usr/bin/env python3
"""Completions and the manual page: made from the tables, for real shells."""

import pathlib
import re
import shutil
import subprocess
import sys

from harness import KFORGE, ROOT, environment, kforge, run_tests

PAGE = ROOT / "docs" / "man" / "kforge.1.scd"
WORDS = re.compile(r"^ +(?:-\w, +| {4})--([a-z-]+)( \S+)?", re.M)


def commands():
    """Every command that can be run: its words, and its help."""
    found = {}
    for line in kforge("help").out.splitlines():
        name = re.match(r"  ([a-z]+) ", line)
        if not name:
            continue
        text = kforge("help", name[1]).out
        subs = re.findall(rf"^  {name[1]} ([a-z]+) ", text, re.M)
        for sub in subs:
            found[f"{name[1]} {sub}"] = kforge("help", name[1], sub).out
        if not subs:
            found[name[1]] = text
    return found


def bash(scratch, *words):
    """What bash offers for the last of the words."""
    array = " ".join("'" + w.replace("'", "'\\''") + "'" for w in words)
    script = (f"source <('{KFORGE}' completions bash)\n"
              f"COMP_WORDS=('{KFORGE}' {array}); "
              f"COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _kforge\n"
              f"printf '%s\\n' \"${{COMPREPLY[@]}}\"\n")
    done = subprocess.run(["bash", "--norc", "-c", script], cwd=scratch,
                          env=environment(), text=True, capture_output=True,
                          check=True)
    assert not done.stderr, done.stderr
    return [w for w in done.stdout.split("\n") if w]


def test_bash_completes_commands(scratch):
    offered = bash(scratch, "")
    for name in commands():
        assert name.split()[0] in offered, name
    assert bash(scratch, "doc") == ["doctor"]
    assert "--version" in bash(scratch, "--v")
    assert bash(scratch, "help", "verif") == ["verify"]


def test_bash_completes_the_options_of_every_command(scratch):
    for name, text in commands().items():
        want = {f"--{word}" for word, _ in WORDS.findall(text)}
        assert "--help" in want, text
        assert set(bash(scratch, *name.split(), "-")) == want, name


def test_bash_completes_values(scratch):
    assert bash(scratch, "run", "--rules", "") == ["kforge", "kernelbench"]
    assert bash(scratch, "run", "--rules", "=", "ker") == ["kernelbench"]
    assert bash(scratch, "verify", "--baseline", "s") == ["stored"]
    assert set(bash(scratch, "run", "-p", "")) >= {"cpu", "null"}
    assert "replay:" in bash(scratch, "run", "--model", "")
    assert bash(scratch, "run", "--attempts", "") == []
    assert bash(scratch, "completions", "f") == ["fish"]


def test_bash_completes_files_folders_and_runs(scratch):
    (scratch / "problem one.py").write_text("")
    (scratch / "prompts").mkdir()
    run = scratch / "kforge-runs" / "20261127-softmax"
    run.mkdir(parents=True)
    (run / "run.db").write_text("")
    (scratch / "kforge-runs" / "not-a-run").mkdir()
    assert bash(scratch, "run", "prob") == ["problem one.py"]
    assert bash(scratch, "run", "--prompts", "pro") == ["prompts"]
    assert "20261127-softmax" in bash(scratch, "show", "")
    assert "not-a-run" not in bash(scratch, "show", "")
    assert bash(scratch, "run", "-m", "replay", ":", "prob") == \
        ["problem one.py"]
    assert "problem one.py" not in bash(scratch, "run", "-m", "manual", ":")


def test_presets_are_read_from_the_problem(scratch):
    (scratch / "a.py").write_text("import torch\n"
                                  "# kforge: size test ROWS=16 COLS=100\n"
                                  "# kforge: size  gpu ROWS=65536\r\n")
    (scratch / "c").mkdir()
    (scratch / "c" / "problem.json").write_text(
        '{"presets": {"small": {"N": 1}, "large": {"N": 2}}}')
    words = ("completions", "presets")
    assert kforge(*words, scratch / "a.py").out.split() == ["test", "gpu"]
    assert kforge(*words, scratch / "c").out.split() == ["small", "large"]
    nothing = kforge(*words, scratch / "none.py", "--json")
    assert not nothing.out, nothing


def has(shell):
    return shutil.which(shell) is not None


def check_syntax(shell, scratch):
    script = pathlib.Path(scratch) / shell
    script.write_text(kforge("completions", shell).out)
    done = subprocess.run([shell, "-n", script], text=True, check=False,
                          capture_output=True)
    assert done.returncode == 0 and not done.stderr, done
    return script


def test_zsh_takes_its_script(scratch):
    check_syntax("zsh", scratch)


def test_fish_takes_its_script(scratch):
    script = check_syntax("fish", scratch)

    def offered(line):
        folder = pathlib.Path(KFORGE).parent
        done = subprocess.run(
            ["fish", "-N", "-c", f"set PATH '{folder}' $PATH; "
             f"source '{script}'; complete -C '{line}'"], text=True,
            cwd=scratch, env=environment({"HOME": str(scratch)}),
            capture_output=True, check=True)
        return {word.split("\t")[0] for word in done.stdout.splitlines()}

    names = {name.split()[0] for name in commands()}
    assert offered("kforge ") >= names
    assert offered("kforge run --rules ") == {"kforge", "kernelbench"}
    assert offered("kforge run -p ") >= {"cpu", "null"}
    for name, text in commands().items():
        want = {f"--{word}" for word, _ in WORDS.findall(text)}
        assert offered(f"kforge {name} --") == want, name


if not has("zsh"):
    test_zsh_takes_its_script.skip = "zsh is not installed"
if not has("fish"):
    test_fish_takes_its_script.skip = "fish is not installed"


def test_a_shell_we_do_not_know_is_refused(_):
    result = kforge("completions", "csh")
    assert result.status == 2 and "bash, zsh or fish" in result.err


def test_the_manual_has_every_command_and_option(_):
    sections = kforge("help", "--scd").out.replace("\\", "")
    for name, text in commands().items():
        assert f"*kforge {name}*" in sections, name
        for word, value in WORDS.findall(text):
            heading = f"*--{word}*" + (f" _{value[1:]}_" if value else "")
            assert heading in sections, heading


def variables():
    """What the sources ask the environment for."""
    found = set()
    for path in (ROOT / "src").rglob("*.c"):
        text = path.read_text()
        found |= set(re.findall(r'"((?:KFORGE|OPENAI|XDG|SSL|CURL)_[A-Z_]+)"',
                                text))
        found |= set(re.findall(r'getenv\("([A-Z_]+)"\)', text))
    # What we set for others, and what every program reads.
    return {name for name in found if name not in
            ("PATH", "HOME", "KFORGE_ATTEMPT", "KFORGE_PROBLEM",
             "OMP_NUM_THREADS", "LD_LIBRARY_PATH")
            and not name.startswith("OPENBLAS_")}


def test_the_manual_and_the_page_name_every_variable(_):
    page = (ROOT / "docs" / "cli.md").read_text()
    manual = PAGE.read_text().replace("\\", "")
    for name in variables():
        assert f"*{name}*" in manual, name
        assert f"`{name}`" in page, name


def test_the_manual_and_the_page_have_the_same_exit_statuses(_):
    page = (ROOT / "docs" / "cli.md").read_text()
    table = set(re.findall(r"^\| (\d+) \|", page, re.M))
    manual = set(re.findall(r"^\*(\d+)\*$", PAGE.read_text(), re.M))
    source = (ROOT / "src" / "cli" / "cli.h").read_text()
    enum = set(re.findall(r"KF_EXIT_\w+ = (\d+)", source))
    assert table == manual == enum, (table, manual, enum)


def test_scdoc_takes_the_manual(scratch):
    text = PAGE.read_text().replace("@COMMANDS@", kforge("help", "--scd").out)
    done = subprocess.run(["scdoc"], input=text, text=True, check=False,
                          capture_output=True)
    assert done.returncode == 0 and ".SH OPTIONS" in done.stdout, done.stderr


if not has("scdoc"):
    test_scdoc_takes_the_manual.skip = "scdoc is not installed"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
