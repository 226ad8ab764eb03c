#!/usr/bin/env python3
"""kforge profile on a CUDA device: launches by the device's own events and by
CUPTI's records, and Nsight Compute and Systems where they are installed."""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))

from harness import ROOT, kforge, run_tests  # noqa: E402

PROBLEM = ROOT / "problems" / "c" / "axpby"
PROGRAM = ROOT / "tests" / "data" / "programs" / "axpby"


def profile(scratch, name):
    result = kforge("profile", PROBLEM, PROGRAM / "kernels.cu",
                    PROGRAM / "host.c", "--platform", "cuda", "--json",
                    "--profiler", name, "--out", scratch / "out", timeout=600)
    assert result.status == 0, result
    assert result.json()["verdict"]["state"] == "correct", result
    return result


def values(result, kernel=None):
    return {m["name"]: m["value"] for m in result.json()["profile"]["metrics"]
            if m.get("kernel") == kernel}


def test_launches(scratch):
    result = profile(scratch, "launches")
    told = result.json()
    assert told["profile"]["end"] == "good", told
    of = values(result, "axpby")
    assert 0 < of["time"] < 10 * told["roofline"]["time_ns"], told
    assert of["registers"] >= 1 and 0 < of["occupancy_possible"] <= 100, told
    assert of["local_bytes"] == 0 and of["spill_bytes"] == 0, told
    roofline = told["roofline"]
    assert 0 < roofline["memory_share"] < 1.2, roofline
    print(f"# measure profile/axpby/time {of['time']} ns")
    print(f"# measure profile/axpby/memory_share {roofline['memory_share']} "
          "ratio")


TOOLKIT = os.environ.get("CUDA_HOME") or "/usr/local/cuda"


def newest(text, kind):
    """The struct of that kind with the highest number."""
    found = re.findall(rf"\bCUpti_Activity{kind}(\d*);", text)
    return f"CUpti_Activity{kind}{max(found, key=lambda n: int(n or 1))}"


def headers():
    """The toolkit's cupti.h, wherever it has it."""
    for below in ("include", "extras/CUPTI/include"):
        yield from glob.glob(f"{TOOLKIT}/{below}/cupti.h")


def test_records_are_laid_out_as_they_are_read(scratch):
    folder = pathlib.Path(next(headers())).parent
    text = (folder / "cupti_activity.h").read_text()
    kinds = {"KERNEL": newest(text, "Kernel"), "COPY": newest(text, "Memcpy"),
             "FILL": newest(text, "Memset")}
    told = subprocess.run(
        ["gcc", "-std=gnu11", "-fsyntax-only", "-I", ROOT / "src",
         "-I", folder, "-I", f"{TOOLKIT}/include"] +
        [f"-D{name}={value}" for name, value in kinds.items()] +
        [ROOT / "tests" / "gpu" / "records.c"], capture_output=True,
        text=True, timeout=60)
    assert told.returncode == 0, told.stderr
    print(f"# {folder}: {kinds}")


if not list(headers()):
    test_records_are_laid_out_as_they_are_read.skip = "there is no cupti.h"


def test_cupti(scratch):
    result = profile(scratch, "cupti")
    told = result.json()
    assert told["profile"]["end"] == "good", told["profile"]
    assert [(k["name"], k["launches"]) for k in told["profile"]["kernels"]
            ] == [("axpby", 1)], told
    of = values(result, "axpby")
    # Without an event's own time in it.
    assert 0 < of["time"] < 1.2 * told["roofline"]["time_ns"], told
    assert of["registers"] >= 1 and of["groups"] >= 1, told
    print(f"# measure profile/axpby/time_cupti {of['time']} ns")


def test_all_together(scratch):
    told = kforge("profile", PROBLEM, PROGRAM / "kernels.cu",
                  PROGRAM / "host.c", "--platform", "cuda", "--json",
                  timeout=600).json()["profile"]
    assert ("nsys" in told["source"]) != ("cupti" in told["source"]), told
    assert [k["name"] for k in told["kernels"]] == ["axpby"], told


FREE = ROOT / "platforms" / "cuda" / "forms" / "cu" / "example"
MODULE = ROOT / "platforms" / "cuda" / "forms" / "torch" / "example"


def free(scratch, name, program):
    folder = MODULE if program == "solution.py" else FREE
    result = kforge("profile", folder / "example.py", folder / program,
                    "--platform", "cuda", "--json", "--profiler", name,
                    "--out", scratch / "out", timeout=600)
    assert result.status == 0, result
    told = result.json()
    assert told["verdict"]["state"] == "correct", told
    print(f"# {program}: {name} {told['profile']['end']}, kernels "
          f"{[k['name'] for k in told['profile']['kernels']]}, libraries "
          f"{told['verdict']['libraries']}")
    return told


def launches_of(scratch, program):
    told = free(scratch, "launches", program)
    assert told["profile"]["end"] == "good", told
    kernels = told["profile"]["kernels"]
    assert kernels and all(k["time_ns"] > 0 for k in kernels), kernels
    took = sum(k["time_ns"] for k in kernels)
    assert took < 2 * told["verdict"]["time_ns"], told
    assert told["verdict"]["libraries"]["unseen"] is None, told


def test_launches_of_a_program_with_host_code(scratch):
    launches_of(scratch, "program.cu")


def test_launches_of_a_module(scratch):
    launches_of(scratch, "solution.py")


def counters_of(scratch, program):
    told = free(scratch, "ncu", program)["profile"]
    if told["end"] != "denied":
        assert told["end"] in ("good", "partial") and told["kernels"], told


def test_nsight_compute_around_host_code(scratch):
    counters_of(scratch, "program.cu")


def test_nsight_compute_around_a_module(scratch):
    counters_of(scratch, "solution.py")


def nsight(scratch, name):
    """A machine may forbid to count; it may not leave us without words."""
    result = profile(scratch, name)
    told = result.json()["profile"]
    if told["end"] == "denied":
        print(f"# {name}: {told['missing']}")
        return None
    assert told["end"] in ("good", "partial"), told
    assert [k["name"] for k in told["kernels"]] == ["axpby"], told
    assert [k["launches"] for k in told["kernels"]] == [1], told
    print(f"# {name}: {len(told['metrics'])} metrics, missing "
          f"{[m['what'] for m in told['missing']]}")
    return values(result, "axpby")


def test_nsight_compute(scratch):
    of = nsight(scratch, "ncu")
    if of:
        assert of["dram_bytes_read"] > 0 and of["time"] > 0, of
        assert 0 < of["dram_throughput"] <= 100, of


def test_nsight_systems(scratch):
    of = nsight(scratch, "nsys")
    if of:
        assert of["time"] > 0, of


for tool, test in (("ncu", test_nsight_compute),
                   ("ncu", test_nsight_compute_around_host_code),
                   ("ncu", test_nsight_compute_around_a_module),
                   ("nsys", test_nsight_systems)):
    if not shutil.which(tool):
        test.skip = f"{tool} is not on PATH"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
