#!/usr/bin/env python3
"""The problems that come with kforge: each can be made and is healthy at the
size for tests (level 1 has a suite of its own, for it is as long as all the
rest), and those in C compute what their PyTorch twins do."""

import sys

from harness import EXIT, ROOT, kforge, run_tests

PROBLEMS = ROOT / "problems"
LEVELS = ("level1", "level2", "level3")


def names(folder):
    return sorted(path.stem for path in (PROBLEMS / folder).iterdir()
                  if not path.name.startswith((".", "__")))


# A dry run makes every bundle, refuses what is unhealthy, and asks nobody.
def healthy(folder):
    def test(_):
        result = kforge("run", PROBLEMS / folder, "--size", "test",
                        "--dry-run", timeout=600)
        assert result.status == EXIT["good"], result
        assert "left out" not in result.err, result
        for name in names(folder):
            assert f"/{name}.py: first" in result.out or \
                f"/{name}: first" in result.out, (name, result)
        sizes = kforge("prompt", PROBLEMS / folder / _first(folder),
                       "--context", "--size", "nonsense")
        assert "test, gpu" in sizes.err, sizes
    return test


def _first(folder):
    return sorted((PROBLEMS / folder).iterdir())[0].name


for part in (*LEVELS[1:], "c"):
    globals()[f"test_all_of_{part}_are_healthy"] = healthy(part)


def test_there_are_enough_of_each(_):
    assert sum(len(names(level)) for level in LEVELS) >= 24
    assert len(names("c")) >= 8


def test_every_file_has_both_sizes(_):
    for level in LEVELS:
        for path in (PROBLEMS / level).glob("*.py"):
            text = path.read_text(encoding="utf-8")
            for size in ("test", "gpu"):
                assert text.count(f"\n# kforge: size {size} ") == 1, path


# A reference is a program as well: so its twin can judge it.
def test_references_in_c_agree_with_their_twins(_):
    twins = [name for name in names("level1")
             if (PROBLEMS / "c" / f"{name}_c").exists()]
    assert len(twins) >= 8
    for name in twins:
        result = kforge("verify", PROBLEMS / "level1" / f"{name}.py",
                        PROBLEMS / "c" / f"{name}_c" / "reference.c",
                        "--size", "test", "--stop-after", "values",
                        "--baseline", "none")
        assert result.status == EXIT["good"], (name, result)


def test_a_reference_that_differs_from_its_twin_is_found(scratch):
    text = (PROBLEMS / "c" / "variance_c" / "reference.c").read_text()
    path = scratch / "reference.c"
    path.write_text(text.replace("(double)(rows - 1)", "(double)rows"))
    result = kforge("verify", PROBLEMS / "level1" / "variance.py", path,
                    "--size", "test", "--stop-after", "values",
                    "--baseline", "none")
    assert result.status == EXIT["mismatch"], result


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
