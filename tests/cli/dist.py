#!/usr/bin/env python3
"""make install and make dist: kforge elsewhere than where it was built."""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile

from harness import BUILD, CACHE, DATA, PROBLEM, ROOT, run_tests

OF_LIBC = re.compile(r"(linux-vdso|ld-linux.*|libc|libm|libmvec|libdl|"
                     r"libpthread|librt|libresolv|libutil|libanl)\.so")


def start_script(name, *arguments, **env):
    return subprocess.run([ROOT / "scripts" / name, *arguments], text=True,
                          env={**os.environ, "BUILD": str(BUILD), **env},
                          capture_output=True, check=False)


def script(name, *arguments, **env):
    done = start_script(name, *arguments, **env)
    assert done.returncode == 0, done
    return done


def make_dist(out):
    version = (ROOT / "VERSION").read_text().strip()
    script("dist", DIST=str(out), VERSION=version, SOURCE_DATE_EPOCH="1000000")
    (root,) = [f for f in pathlib.Path(out).iterdir() if f.is_dir()]
    return root


class Dist:
    """One folder for all tests of this file, unpacked at another place."""
    made = None

    @classmethod
    def root(cls):
        if not cls.made:
            cls.made = tempfile.mkdtemp(prefix="kforge-dist-")
            root = make_dist(cls.made)
            place = pathlib.Path(cls.made) / "an öther place"
            with tarfile.open(f"{root}.tar.gz") as archive:
                archive.extractall(place)
            shutil.rmtree(root)
            cls.moved = place / root.name
        return cls.moved


def bare(home):
    """What a new user's shell has, and nothing of the build's."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8",
            "XDG_CACHE_HOME": CACHE, "PYTHON": "",
            "KFORGE_PYTHON": os.environ.get("KFORGE_PYTHON", "")}


def at(root, *words, home="/tmp", timeout=120):
    return subprocess.run([root / "bin" / "kforge", *words], env=bare(home),
                          text=True, capture_output=True, cwd=home,
                          timeout=timeout, check=False)


def elf_files(root):
    for path in root.rglob("*"):
        if path.is_file() and path.open("rb").read(4) == b"\x7fELF":
            yield path


def readelf(option, path):
    return subprocess.run(["readelf", option, path], text=True, check=True,
                          capture_output=True).stdout


def test_dist_runs_where_it_was_moved_to(scratch):
    root = Dist.root()
    version = (ROOT / "VERSION").read_text().strip()
    assert at(root, "--version").stdout == f"kforge {version}\n"
    # Long paths are broken to fit a terminal.
    told = "".join(at(root, "doctor", home=scratch).stdout.split())
    assert "".join(str(root / "share" / "kforge").split()) in told, told
    done = at(root, "verify", PROBLEM, DATA / "good.c", "--calls", "30",
              home=scratch)
    assert done.returncode == 0 and "correct" in done.stdout, done


def test_dist_takes_nothing_but_libc_from_its_host(_):
    root = Dist.root()
    found = list(elf_files(root))
    assert {f.name for f in found} >= {"kforge", "kforge-runner", "bwrap",
                                       "libcurl.so.4"}
    for path in found:
        for name in re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", path)):
            assert OF_LIBC.match(name) or (root / "lib" / name).exists(), \
                (path, name)
    for program in ("bin/kforge", "libexec/kforge/bwrap"):
        listed = subprocess.run(["ldd", root / program], text=True, check=True,
                                env=bare("/"), capture_output=True).stdout
        assert "not found" not in listed
        for name, path in re.findall(r"(\S+) => (/.*) \(", listed):
            assert OF_LIBC.match(name) or \
                os.path.realpath(path).startswith(str(root.resolve())), path


def test_dist_says_which_glibc_it_needs(_):
    root = Dist.root()
    versions = {tuple(map(int, v.split(".")))
                for path in elf_files(root)
                for v in re.findall(r"GLIBC_([0-9.]+)", readelf("-V", path))}
    newest = ".".join(map(str, max(versions)))
    readme = (root / "README").read_text()
    assert f"glibc {newest} or newer" in readme
    assert "kforge export also needs\nmake." in readme


def test_dist_runs_where_there_is_only_libc(_):
    """A root with the folder and the C library's own files, nothing else."""
    root = Dist.root()
    words = ["bwrap", "--unshare-all", "--clearenv", "--dev", "/dev",
             "--proc", "/proc",  # $ORIGIN is found by it
             "--ro-bind", root, "/kforge"]
    for name in ("libc.so.6", "libm.so.6", "libresolv.so.2"):
        path = subprocess.run(["ldconfig", "-p"], text=True, check=True,
                              env={"PATH": "/usr/sbin:/sbin"},
                              capture_output=True).stdout
        file = re.search(rf"{re.escape(name)} .*64.* => (\S+)", path)[1]
        words += ["--ro-bind", os.path.realpath(file), file]
    loader = re.search(r"interpreter: (\S+)\]",
                       readelf("-l", root / "bin" / "kforge"))[1]
    words += ["--ro-bind", os.path.realpath(loader), loader]
    for command in ("--version", "platforms", "models", "help"):
        done = subprocess.run([*words, "/kforge/bin/kforge", command],
                              text=True, capture_output=True, check=False)
        assert done.returncode == 0 and done.stdout, done
    done = subprocess.run([*words, "/kforge/libexec/kforge/bwrap",
                           "--version"], text=True, capture_output=True,
                          check=False)
    assert done.stdout.startswith("bubblewrap"), done


def test_dist_carries_the_licences_of_what_it_carries(_):
    doc = Dist.root() / "share" / "doc" / "kforge"
    packages = [line.split()[0]
                for line in (doc / "packages").read_text().splitlines()]
    assert "bubblewrap" in packages and "libcurl4" in packages
    for package in packages:
        assert (doc / "licences" / package).stat().st_size > 0
    assert (doc / "licences" / "kforge").exists()


def test_a_second_dist_is_the_same_byte_for_byte(scratch):
    old = os.umask(0o077)
    try:
        root = make_dist(scratch / "again")
    finally:
        os.umask(old)
    name = root.name + ".tar.gz"
    assert (scratch / "again" / name).read_bytes() == \
        (Dist.root().parent.parent / name).read_bytes()


def test_dist_says_why_it_cannot_be_made(scratch):
    (scratch / "old").write_text("#!/bin/sh\necho bubblewrap 0.4.1\n")
    (scratch / "old").chmod(0o755)
    for env, said in (
            ({"KFORGE_BWRAP": "/none"}, "KFORGE_BWRAP is /none, which is no"),
            ({"KFORGE_BWRAP": "/bin/false"}, "/bin/false --version fails"),
            ({"KFORGE_BWRAP": str(scratch / "old")}, "is older than 0.7"),
            ({"BUILD": str(scratch)}, f"{scratch}/kforge")):
        done = start_script("dist", VERSION="0", DIST=str(scratch / "out"),
                            **env)
        assert done.returncode and said in done.stderr, (said, done)


def test_install_and_uninstall(scratch):
    prefix = scratch / "staging area" / "opt" / "kforge"
    script("install", str(prefix))
    for file in ("bin/kforge", "libexec/kforge/kforge-runner",
                 "share/bash-completion/completions/kforge",
                 "share/zsh/site-functions/_kforge",
                 "share/fish/vendor_completions.d/kforge.fish",
                 "include/kforge/program.h",
                 "share/kforge/python/reference.py"):
        assert (prefix / file).is_file(), file
    assert not list(prefix.rglob("__pycache__"))
    for path in prefix.rglob("*"):
        assert path.stat().st_mode & stat.S_IROTH, path
    mine = prefix / "share" / "somebody-elses"
    mine.write_text("")
    moved = scratch / "moved"
    prefix.rename(moved)
    assert '"units"' in at(moved, "platforms", "--json").stdout
    done = at(moved, "verify", PROBLEM, DATA / "good.c", "--calls", "30",
              home=scratch)
    assert done.returncode == 0, done
    script("install", "--remove", str(moved))
    left = [p for p in moved.rglob("*") if p.is_file()]
    assert left == [moved / "share" / "somebody-elses"], left


def clean_up():
    if Dist.made:
        shutil.rmtree(Dist.made, ignore_errors=True)


if not (BUILD / "dist" / "kforge").exists() or not shutil.which("patchelf"):
    WHY = "no patchelf, or a build with sanitizers"
    for each in [n for n in dir() if n.startswith("test_") and "dist" in n]:
        globals()[each].skip = WHY
if not (BUILD / "completions" / "bash").exists():
    test_install_and_uninstall.skip = "make completions was not run"


if __name__ == "__main__":
    status = run_tests(sys.modules[__name__])
    clean_up()
    sys.exit(status)
