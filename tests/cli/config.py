#!/usr/bin/env python3
"""kforge.json: defaults for options."""

import json
import os
import re
import sys

from harness import C_PROBLEM, EXIT, kforge, run_tests


def here(scratch, members, *words, env=None):
    text = members if isinstance(members, str) else json.dumps(members)
    (scratch / "kforge.json").write_text(text)
    return kforge(*words, cwd=scratch, env=env)


def calls(result):
    """How many calls --dry-run foresees."""
    return int(re.search(r"at most (\d+) calls", result.out + result.err)[1])


def test_a_member_is_as_good_as_an_option(scratch):
    result = here(scratch, {"json": True}, "models")
    assert result.json()[0]["name"], result


def test_what_was_typed_wins(scratch):
    members = {"json": True, "context": True}
    assert "openai" in here(scratch, members, "models", "--no-json").out
    dry = ("run", C_PROBLEM, "--model", "exec:true", "--dry-run")
    assert calls(here(scratch, {"attempts": 7}, *dry)) == 7
    typed = here(scratch, {"attempts": 7}, *dry, "--attempts", "3")
    assert calls(typed) == 3


def test_a_section_wins_over_what_is_said_for_all(scratch):
    members = {"attempts": 7, "run": {"attempts": 4}, "verify": {"calls": 5}}
    result = here(scratch, members, "run", C_PROBLEM, "--model", "exec:true",
                  "--dry-run")
    assert calls(result) == 4


def test_options_of_other_commands_do_no_harm(scratch):
    result = here(scratch, {"attempts": 3, "model": "openai:x"}, "platforms")
    assert result.status == 0, result


def test_no_config_leaves_it_alone(scratch):
    result = here(scratch, "{ not JSON", "models", "--no-config")
    assert result.status == 0, result
    result = here(scratch, "{ not JSON", "models", "--help")
    assert result.status == 0, result


def test_the_users_file_is_the_second_choice(scratch):
    folder = scratch / "config" / "kforge"
    folder.mkdir(parents=True)
    (folder / "kforge.json").write_text(json.dumps(
        {"attempts": 9, "run": {"model": "exec:true"}}))
    env = {"XDG_CONFIG_HOME": str(scratch / "config")}
    words = ("run", C_PROBLEM, "--dry-run")
    assert calls(kforge(*words, cwd=scratch, env=env)) == 9
    env = {"XDG_CONFIG_HOME": "", "HOME": str(scratch / "home")}
    (scratch / "home").mkdir()
    (scratch / "config").rename(scratch / "home" / ".config")
    assert calls(kforge(*words, cwd=scratch, env=env)) == 9
    result = here(scratch, {"attempts": 2}, *words, "--model", "exec:true",
                  env=env)
    assert calls(result) == 2


MISTAKES = [
    ("{", "kforge.json is not valid JSON"),
    ([1], "kforge.json holds no JSON object"),
    ({"attemps": 3}, '"attemps": there is no option of this name; did you '
                     'mean "attempts"?'),
    ({"attempts": 0}, '"attempts": --attempts wants a whole number above 0, '
                      "not '0'"),
    ({"attempts": "three"}, "--attempts wants a whole number above 0, not "
                            "'three'"),
    ({"attempts": 1.5}, "--attempts wants a whole number"),
    ({"attempts": True}, "--attempts wants a number"),
    ({"json": "yes"}, "--json wants true or false"),
    ({"verbose": -1}, "--verbose wants a whole number of at least 0"),
    ({"set": [1]}, "--set wants strings in its list"),
    ({"set": 1}, "--set wants a string, or a list of strings"),
    ({"model": ""}, "--model wants a string"),
    ({"baseline": "mine"}, "--baseline 'mine' is not one of: "),
    ({"rnu": {}}, 'there is no command of this name; did you mean "run"?'),
    ({"run": {"attempts": 0}}, '"run.attempts": --attempts wants'),
    ({"models": {"attempts": 1}}, '"models.attempts": `kforge models` has no '
                                  "option --attempts"),
    ({"help": True}, "--help is for the command line only"),
    ({"api_key": "x"}, '"api_key" looks like a key'),
    ({"OPENAI-TOKEN": "x"}, "looks like a key"),
    ({"model": "sk-abc"}, '"model" looks like a key'),
    ({"python": "/bin/sh"}, '"python" names a program to start'),
    ({"run": {"model": "exec:rm x"}}, '"run.model" names a program'),
    ({"model": "manual:/etc"}, '"model" says where to write'),
    ({"profiler": "command:rm {pid}"}, '"profiler" names a program'),
    ({"advisor": "exec:rm x"}, '"advisor" names a program'),
    ({"advisor": "manual:/etc"}, '"advisor" says where to write'),
    ({"profile": "command:rm {pid}"}, '"profile" names a program'),
    ({"config": "other.json"}, "--config is for the command line only"),
]

# What a file that came with a download may not set, with a value that would be
# good elsewhere; and what it may. A new option belongs into one of them.
OWN = {"python": "/none", "cache": "cache", "out": "out", "record": "file",
       "executor": "folder:x", "force": True, "rules": "kernelbench",
       "sandbox": "weak", "libraries": "allow", "seed": 1, "unverified": True, "release": "cuda:0"}
ANYBODYS = """
    platform form model attempts target start set size dtype shape shapes prompts
    temperature max-tokens budget-tokens reply-timeout dry-run fit timeout
    memory keep baseline calls stop-after threads watch explain picture sanitize kind context
    jobs devices again jsonl as portable only all merge table json quiet verbose profiler
    advisor advisor-sees profile hide rejudge
    """.split()
TYPED_ONLY = ["config", "no-config", "help"]


def test_mistakes_name_the_file_and_the_member(scratch):
    for members, words in MISTAKES:
        result = here(scratch, members, "models")
        assert result.status == EXIT["input"], (members, result)
        assert "kforge.json" in result.err and words in result.err, \
            (members, result)
        assert result.err.count("\n") == 1, (members, result)


def test_what_needs_trust_is_taken_only_from_who_works_here(scratch):
    rows = [({name: value}, name) for name, value in OWN.items()]
    rows += [({"run": {"cache": "c"}}, "run.cache"),
             ({"export": {"unverified": True}}, "export.unverified")]
    for members, said in rows:
        result = here(scratch, members, "models")
        assert result.status == EXIT["input"], (members, result)
        for words in (f'"{said}" ', "come with a download",
                      f"give --{said.rpartition('.')[2]}", "--config"):
            assert words in result.err, (members, result)
    assert here(scratch, OWN, "models").status == EXIT["input"]
    named = kforge("models", "--config", "kforge.json", cwd=scratch)
    assert named.status == 0, named
    folder = scratch / "own" / "kforge"
    folder.mkdir(parents=True)
    (scratch / "kforge.json").rename(folder / "kforge.json")
    own = kforge("models", cwd=scratch,
                 env={"XDG_CONFIG_HOME": str(scratch / "own")})
    assert own.status == 0, own


def test_every_option_is_somebodys(_):
    known = [*OWN, *ANYBODYS, *TYPED_ONLY]
    page = kforge("help", "--scd").out.partition("# OPTIONS")[2]
    options = re.findall(r"^(?:\*-\w\*, )?\*--([a-z-]+)\*", page, re.M)
    assert len(options) > 40 and sorted(options) == sorted(known), \
        set(options) ^ set(known)


def test_a_named_file_is_the_one(scratch):
    (scratch / "mine.json").write_text('{"attempts": 8}')
    words = ("run", C_PROBLEM, "--model", "exec:true", "--dry-run")
    named = ("--config", "mine.json")
    assert calls(here(scratch, {"attempts": 2}, *words, *named)) == 8
    assert calls(here(scratch, {"attempts": 2}, *words, "--no-config",
                      *named)) == 8
    assert calls(here(scratch, {}, *words, *named, "--attempts", "3")) == 3
    result = here(scratch, {}, *words, "--config", "none.json")
    assert result.status == EXIT["io"], result
    assert "none.json" in result.err, result


def test_what_is_found_and_is_no_file_is_not_waited_for(scratch):
    os.mkfifo(scratch / "kforge.json")
    result = kforge("models", cwd=scratch, timeout=30)
    assert result.status == EXIT["input"], result
    assert "./kforge.json is not a file" in result.err, result


def test_a_key_is_never_repeated(scratch):
    result = here(scratch, {"model": "sk-verysecret"}, "models")
    assert "verysecret" not in result.out + result.err


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
