#!/usr/bin/env python3
"""Which KernelBench problems are healthy, and what others say of them.

    bench/health.py CHECKOUT [--timeout S] [--memory GB] [--only level1/23 ...]
                    [--set NAME=VALUE ...]

runs `kforge problem check --fit` over a KernelBench checkout, one problem at a
time, and keeps every answer in bench/results/health-kernelbench.json; what is
there and was checked stays, so it may be stopped and started again. At the end
it prints the comparison of docs/health.md. With --set the sizes are as given,
instead of those that --fit finds after trying larger ones.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "health-kernelbench.json"
BUILD = ROOT / os.environ.get("KF_BUILD", "build")

# Published lists, by level; docs/health.md has their sources.
LISTS = {
    "metr": {
        1: [8, 12, 23, 37, 39, 50, 77, 90, 95, 97],
        2: [9, 13, 23, 27, 36, 38, 41, 44, 45, 49, 58, 66, 77, 80, 83, 84,
            89, 91, 93, 96],
        3: [3, 5, 7, 11, 12, 18, 28, 32, 34, 35, 45, 46, 47]},
    "robust-kbench": {
        1: [23, 37, 38, 39, 50, 94, 96, 97, 98],
        2: [9, 13, 23, 27, 36, 41, 44, 48, 49, 58, 66, 80, 84, 88, 89, 91,
            96],
        3: []},
    "issue 165": {1: [23, 37, 39, 53], 2: [], 3: []},
}


def number_of(path):
    """"level2/80" for .../level2/80_Gemm_Max_Subtract_GELU.py"""
    match = re.search(r"level(\d)/(\d+)_", str(path))
    return f"level{match[1]}/{match[2]}" if match else None


def listed(number):
    level, index = (int(n) for n in re.findall(r"\d+", number))
    return [name for name, levels in LISTS.items()
            if index in levels.get(level, [])]


def problems(checkout):
    folder = pathlib.Path(checkout)
    if (folder / "KernelBench").is_dir():
        folder = folder / "KernelBench"
    found = [p for p in folder.glob("level[123]/*.py") if number_of(p)]
    return sorted(found, key=lambda p: (
        not listed(number_of(p)),
        [int(n) for n in re.findall(r"\d+", number_of(p))]))


def size_of(path, settings):
    """The sizes of --set in the words of --fit, or None."""
    source = pathlib.Path(path).read_text(encoding="utf-8")
    words = []
    for setting in settings:
        name, value = setting.split("=", 1)
        published = re.search(rf"^{re.escape(name)}\s*=\s*(.*?)\s*([;#].*)?$",
                              source, re.M)
        words.append(f"{name}={value}, published "
                     f"{published[1] if published else '?'}")
    return "at " + "; ".join(words) if words else None


def check(path, options):
    sizes = ["--fit"]
    if options.set:
        sizes = [word for one in options.set for word in ("--set", one)]
    command = [BUILD / "kforge", "problem", "check", *sizes, "--json", "-q",
               "--timeout", str(options.timeout), path]
    if options.memory:
        command += ["--memory", str(options.memory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env=dict(os.environ, KFORGE_HOME=str(ROOT)))
    if done.returncode == 130 or not done.stdout:
        raise SystemExit(done.stderr or "stopped")
    row = json.loads(done.stdout)
    row["size"] = row["size"] or size_of(path, options.set)
    row["path"] = "/".join(pathlib.Path(path).parts[-2:])
    return row


def load():
    if RESULTS.exists():
        return json.loads(RESULTS.read_text())["problems"]
    return {}


def save(rows, about):
    ordered = dict(sorted(rows.items(), key=lambda item: [
        int(n) for n in re.findall(r"\d+", item[0])]))
    text = json.dumps({"about": about, "problems": ordered}, indent=1)
    RESULTS.write_text(text + "\n")


def about(options):
    version = subprocess.run([BUILD / "kforge", "--version"], text=True,
                             capture_output=True, check=True).stdout.strip()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"what": "kforge problem check --fit over KernelBench",
            "kforge": version, "checkout": options.checkout_name,
            "cores": os.cpu_count(), "memory_gb": round(memory / 1e9, 1),
            "timeout_s": options.timeout}


def compare(rows):
    """The rows of the comparison, one for each problem that a list names or
    that is not healthy."""
    lines = ["| problem | listed by | kforge | at | KernelBench's tolerance "
             "lets pass |", "|---|---|---|---|---|"]
    missing = []
    for level, count in ((1, 100), (2, 100), (3, 50)):
        for index in range(1, count + 1):
            number = f"level{level}/{index}"
            row = rows.get(number)
            names = listed(number)
            if not row or row["status"] not in ("healthy", "unhealthy"):
                missing.append(number)
            if not row or (not names and row["status"] == "healthy"):
                continue
            lines.append("| %s | %s | %s%s | %s | %s |" % (
                row["path"].replace(".py", ""), ", ".join(names),
                row["status"].replace("_", " "),
                ": " + row["reason"] if row["reason"] else "",
                (row["size"] or "published sizes").replace("at ", ""),
                ", ".join(row["kernelbench"] or [])))
    return "\n".join(lines), missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout")
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--memory", type=float)
    parser.add_argument("--only", nargs="*", metavar="level1/23")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE",
                        help="for the problems of --only")
    parser.add_argument("--checkout-name", default="KernelBench 423217d")
    options = parser.parse_args()
    if options.set and not options.only:
        parser.error("--set is for single problems: name them with --only")
    rows = load()
    for path in problems(options.checkout):
        number = number_of(path)
        if options.only and number not in options.only:
            continue
        if rows.get(number, {}).get("status") in ("healthy", "unhealthy",
                                                  "refused"):
            continue
        rows[number] = check(path, options)
        print(number, rows[number]["status"], rows[number]["reason"],
              rows[number]["size"] or "", flush=True)
        save(rows, about(options))
    table, missing = compare(rows)
    print(table)
    print(f"{len(missing)} not checked: {' '.join(missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
