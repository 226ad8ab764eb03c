#!/usr/bin/env python3
"""What the documents say is there: options, exit statuses, paths, commands."""

import pathlib
import re
import sys

from harness import EXIT, ROOT, kforge, run_tests

PAGE = ROOT / "docs" / "man" / "kforge.1.scd"
CLI = ROOT / "docs" / "cli.md"
TEXTS = [ROOT / name for name in ("README.md", "ARCHITECTURE.md",
                                  "CONTRIBUTING.md")] + \
    sorted((ROOT / "docs").glob("*.md")) + [PAGE]
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]+)")
# Paths of the tree, but not below a folder of another name.
PATH = re.compile(r"(?<![\w/.~$*-])((?:bench|docs|export|include|platforms|"
                  r"problems|prompts|python|scripts|src|tests)/[\w./*-]*)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
# "kforge run ...", also with its path and in the manual's letters.
COMMAND = re.compile(r"(?:^ {4}|`|^\t)(?:\$ )?(?:build/)?kforge"
                     r"((?: [^\s`|>#]+)+)", re.M)


def helps():
    """The help of every command, by its words."""
    found = {}
    for name in re.findall(r"^  ([a-z]+) ", kforge("help").out, re.M):
        text = kforge("help", name).out
        subs = re.findall(rf"^  {name} ([a-z]+) ", text, re.M)
        for sub in subs:
            found[f"{name} {sub}"] = kforge("help", name, sub).out
        if not subs:
            found[name] = text
    assert len(found) > 15, found
    return found


def taken(text):
    """The options that a command's help lists."""
    return set(re.findall(r"^ +(?:-\w, +)?--([a-z-]+)", text, re.M))


def table():
    """Every option that a command takes."""
    return set().union(*map(taken, helps().values()))


def rows(text):
    """The exit statuses of docs/cli.md: number, meaning."""
    part = text.partition("## Exit status")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| (\d+) \| (.*) \|$", part, re.M))


def test_every_option_is_described(_):
    text = CLI.read_text()
    missing = [o for o in sorted(table())
               if not re.search(rf"^\| .*`--{o}[` ]", text, re.M)]
    assert not missing, missing


def test_every_command_is_in_the_list(_):
    listed = CLI.read_text().partition("\n\n`kforge COMMAND")[0]
    missing = [n for n in helps() if f"    kforge {n} " not in listed]
    assert not missing, missing


def test_the_manual_page_has_every_option(_):
    page = kforge("help", "--scd").out
    missing = [o for o in sorted(table()) if f"*--{o}*" not in page]
    assert "@COMMANDS@" in PAGE.read_text() and not missing, missing


def test_every_exit_status_is_described_alike(_):
    described = rows(CLI.read_text())
    assert {int(n) for n in described} == set(EXIT.values()), described
    part = PAGE.read_text().partition("# EXIT STATUS")[2]
    page = dict(re.findall(r"^\*(\d+)\*\n((?:\t.*\n)+)",
                           part.partition("\n# ")[0], re.M))
    for number, meaning in described.items():
        plain = re.sub(r"[`*_\\]", "", meaning)
        other = " ".join(re.sub(r"[`*_\\]", "", page[number]).split())
        assert other.rstrip(".").lower() == plain.lower(), (plain, other)


def test_paths_are_there(_):
    absent = []
    spoken = {str(path.relative_to(ROOT)): path.read_text() for path in TEXTS}
    spoken.update({f"kforge {n} --help": t for n, t in helps().items()})
    for name, text in spoken.items():
        for path in PATH.findall(text):
            path = path.rstrip("./")
            path = path.replace("NAME", "*")
            # "tests/contract/cuda" is a suite, made from cuda.c.
            if not list(ROOT.glob(path)) and not list(ROOT.glob(path + ".c")):
                absent.append(f"{name}: {path}")
        for bench in re.findall(r"bench/run ([a-z]+)", text):
            if not list((ROOT / "bench").glob(f"{bench}.*")):
                absent.append(f"{name}: bench/run {bench}")
    for path in TEXTS:
        for link in LINK.findall(path.read_text()):
            if not (path.parent / link).exists():
                absent.append(f"{path.name}: link to {link}")
    assert not absent, "\n".join(absent)


def test_commands_take_what_is_typed(_):
    wrong, known, count = [], helps(), 0
    for path in TEXTS:
        text = path.read_text().replace("\\\n", " ")
        for words in COMMAND.findall(text):
            first, _, rest = words.strip().partition(" ")
            name = first
            if any(n.startswith(f"{first} ") for n in known):
                name = f"{first} {rest.partition(' ')[0]}"
            if name not in known:
                if not re.fullmatch(r"(help|--version|COMMAND|\.\.\.)",
                                    first):
                    wrong.append(f"{path.name}: kforge{words}")
                continue
            count += 1
            for option in OPTION.findall(words):
                if option not in taken(known[name]):
                    wrong.append(f"{path.name}: kforge{words}")
    assert count > 40 and not wrong, (count, "\n".join(wrong))


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
