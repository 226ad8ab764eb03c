#!/usr/bin/env python3
"""kforge profile: a correct program and why it takes its time. Tools of others
are stood in for by scripts of their names, so that what is tested does not
depend on what a machine has; where valgrind is there it is used once."""

import os
import pathlib
import shutil
import sys

import cuda_free
from harness import (BUILD, C_PROBLEM, DATA, EXIT, PNG, PROBLEM, ROOT, kforge,
                     run_tests)

GOOD = DATA / "good.c"
FORMS = DATA / "forms"
FIXTURES = ROOT / "tests" / "data" / "profile"
FAST = ("--calls", "20", "--json")
PARTS = DATA / "two_part"
AXPBY = ROOT / "problems" / "c" / "axpby"
CUDA = ROOT / "tests" / "data" / "programs" / "axpby"
STANDIN = {"KFORGE_CUDA_DRIVER":
           str(BUILD / "tests" / "standin" / "libcuda.so.1")}

# perf, as far as it is used: counts when it is told to, ends by SIGINT.
PERF = """#!/bin/sh
folder=${0%/*}
[ "$1" = --version ] && { echo "perf version 0.stand-in"; exit; }
while [ "$1" != -o ]; do shift; done
out=$2
[ -e "$folder/refuse" ] && { cat "$folder/refuse" >&2; exit 255; }
trap 'cp "$folder/perf.csv" "$out"; exit 0' INT
read -r word <&3; [ "$word" = enable ] || exit 3
echo ack >&4
read -r word <&3; [ "$word" = disable ] || exit 3
echo ack >&4
while :; do sleep 0.02; done
"""

# A tool that starts the program, and copies a file when it has ended.
AROUND = """#!/bin/sh
folder=${0%/*}
[ "$1" = --version ] && { echo "stand-in 1"; exit; }
for word; do
	case $word in
	--callgrind-out-file=*|--output=*) out=${word#*=};;
	esac
	[ "$before" = --log-file ] && out=$word
	before=$word
done
if [ "$1" = stats ]; then cat "$folder/stats.csv"; exit; fi
while [ "$1" != /kforge-runner ]; do shift; done
"$@" || exit
cp "$folder/result" "$out$(cat "$folder/ending")"
"""


def tools(scratch, **scripts):
    """A folder with these and the compiler, and nothing else, as PATH."""
    folder = scratch / "bin"
    folder.mkdir()
    for name in ("gcc", "bwrap"):
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    for name, text in scripts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


def fixture(folder, name, to):
    shutil.copy(FIXTURES / name, folder / to)


def profile(*arguments, folder=None, env=None, problem=C_PROBLEM):
    env = dict(env or {})
    if folder:
        env["PATH"] = str(folder)
    return kforge("profile", problem, *arguments, *FAST, env=env)


def values(result, kernel=None):
    return {m["name"]: m["value"] for m in result.json()["profile"]["metrics"]
            if m.get("kernel") == kernel}


def missing(result):
    return {m["what"]: m["why"] for m in result.json()["profile"]["missing"]}


def test_verdict_roofline_and_page(_):
    result = profile(GOOD, "--profiler", "threads")
    assert result.status == 0, result
    told = result.json()
    assert told["verdict"]["state"] == "correct", told
    roofline = told["roofline"]
    for name in ("bytes", "flops", "bytes_per_s", "flops_per_s", "memory_ns",
                 "time_ns", "cache_bytes"):
        assert roofline[name] > 0, (name, roofline)
    assert abs(roofline["memory_share"] - roofline["memory_ns"] /
               roofline["time_ns"]) < 1e-6, roofline
    assert told["profile"]["end"] == "good", told
    assert values(result)["cpu_time"] > 0 and values(result)["threads"] >= 1
    assert told["page"].startswith("Bottleneck: ") and \
        len(told["page"]) <= 4096, told["page"]


def test_a_wrong_program_has_its_verdict_and_no_profile(_):
    for name, state in (("wrong.c", "mismatch"), ("crash.c", "runtime_error"),
                        ("broken.c", "compilation_failure")):
        result = profile(DATA / name)
        assert result.status == EXIT[state], result
        told = result.json()
        assert told["verdict"]["state"] == state, told
        assert "profile" not in told and "roofline" not in told, told


def test_tools_that_are_not_there_are_told_and_missed(scratch):
    folder = tools(scratch)
    result = profile(GOOD, folder=folder)
    assert result.status == 0, result
    assert result.json()["profile"]["end"] == "partial", result
    for name in ("perf", "callgrind"):
        assert "install" in missing(result)[name], result
    assert values(result)["cpu_time"] > 0
    asked = profile(GOOD, "--profiler", "perf", folder=folder)
    assert asked.status == EXIT["unavailable"], asked
    assert "no perf on PATH: install perf" in asked.err, asked


def test_perf_counts_beside_the_program(scratch):
    folder = tools(scratch, perf=PERF)
    fixture(folder, "perf.csv", "perf.csv")
    result = profile(GOOD, "--profiler", "perf", folder=folder)
    assert result.status == 0, result
    told = result.json()["profile"]
    assert "stand-in" in told["source"] and told["calls"] > 0, told
    assert values(result)["cycles"] == 800000000 / told["calls"], told
    assert "tlb_misses" not in values(result), told
    assert "does not count it" in missing(result)["tlb_misses"], told


def test_a_machine_that_lets_nobody_count_is_no_failure(scratch):
    folder = tools(scratch, perf=PERF)
    (folder / "cat").symlink_to(shutil.which("cat"))
    fixture(folder, "perf_denied.txt", "refuse")
    result = profile(GOOD, "--profiler", "perf", folder=folder)
    assert result.status == 0, result
    assert result.json()["profile"]["end"] == "denied", result
    assert "does not let us count" in missing(result)["perf"], result
    # Its own words stand beside ours.
    assert "it said" in missing(result)["perf"], result
    whole = profile(GOOD, folder=folder)
    assert whole.json()["profile"]["end"] == "partial", whole
    assert values(whole)["cpu_time"] > 0, whole


def test_a_tool_around_the_program(scratch):
    folder = tools(scratch, valgrind=AROUND)
    fixture(folder, "callgrind.out", "result")
    (folder / "ending").write_text("")
    result = profile(GOOD, "--profiler", "callgrind", folder=folder)
    assert result.status == 0, result
    told = result.json()["profile"]
    assert told["end"] == "good" and told["calls"] == 1, told
    assert told["kernels"][0]["name"] == "expf", told
    assert told["share_of"] == "instructions", told
    assert values(result, "program.c:8")["instructions"] == 400, told
    assert "expf of the C library" in result.json()["page"], result


def test_a_tool_that_fails_is_told_and_the_verdict_stands(scratch):
    folder = tools(scratch,
                   valgrind="#!/bin/sh\necho no licence >&2\nexit 9\n")
    result = profile(GOOD, "--profiler", "callgrind", folder=folder)
    assert result.status == 0, result
    assert result.json()["verdict"]["state"] == "correct", result
    assert result.json()["profile"]["end"] == "failed", result
    assert "no licence" in missing(result)["callgrind"], result


def test_callgrind_itself(_):
    result = profile(GOOD, "--profiler", "callgrind")
    assert result.status == 0, result
    told = result.json()["profile"]
    assert told["end"] == "good", told
    assert values(result)["instructions"] > 1000, told
    assert told["kernels"][0]["name"].startswith("kf_forward"), told
    assert "Hot lines: program.c:" in result.json()["page"], result


if not shutil.which("valgrind"):
    test_callgrind_itself.skip = "valgrind is not installed here"
elif "-fsanitize" in (BUILD / "flags").read_text():
    test_callgrind_itself.skip = "valgrind runs no program with sanitizers"


def test_any_command_beside_it(scratch):
    tool = scratch / "watch"
    tool.write_text("#!/bin/sh\n"
                    f"echo \"$1\" >> {scratch}/asked\n"
                    f"cp {scratch}/p.png $2/timeline.png\n"
                    "[ -d /proc/$1 ] || exit 1\n"
                    "trap 'echo warming up; echo name,value,unit; "
                    "echo joules,2.5,J; echo gone,n/a,; exit 0' INT\n"
                    "while :; do sleep 0.02; done\n")
    tool.chmod(0o755)
    (scratch / "p.png").write_bytes(PNG)
    result = profile(GOOD, "--out", scratch / "out", "--profiler",
                     f"command:{tool} {{pid}} {{out}}")
    assert result.status == 0, result
    assert values(result) == {"joules": 2.5}, result
    assert "gone" in missing(result), result
    # Called once, with its own words alone.
    assert (scratch / "asked").read_text().strip().isdigit(), result
    pictures = result.json()["profile"]["pictures"]
    assert len(pictures) == 1, result
    assert pathlib.Path(pictures[0]).read_bytes() == PNG
    # What was found is kept, and never written over.
    kept = {p.name for p in (scratch / "out").iterdir()}
    assert kept == {"page.txt", "profile.json", "roofline.svg", "raw"}, kept
    assert "<svg" in (scratch / "out" / "roofline.svg").read_text()
    again = profile(GOOD, "--out", scratch / "out")
    assert again.status == EXIT["input"] and "--out" in again.err, again


def test_any_command_around_it(scratch):
    tool = scratch / "around"
    tool.write_text('#!/bin/sh\n"$@"\n'
                    "echo '[{\"name\": \"time\", \"value\": 3, "
                    '"unit": "us", "kernel": "k"}]\'\n')
    tool.chmod(0o755)
    result = profile(GOOD, "--profiler", f"command:{tool} {{run}}")
    assert result.status == 0, result
    assert values(result, "k") == {"time": 3000}, result
    assert result.json()["profile"]["kernels"][0]["name"] == "k", result


def test_any_command_around_a_module(scratch):
    tool = scratch / "around"
    tool.write_text('#!/bin/sh\n"$@" 2>/dev/null || exit\n'
                    'echo "{\\"joules\\": 2}"\n')
    tool.chmod(0o755)
    result = profile(FORMS / "solution.py", "--threads", "1", "--profiler",
                     f"command:{tool} {{run}}", problem=PROBLEM)
    assert result.status == 0, result
    assert values(result) == {"joules": 2}, result
    assert result.json()["profile"]["end"] == "good", result


def test_mistakes_in_the_name_of_a_profiler(_):
    for name, words in (("gprof", "no profiler 'gprof'"),
                        ("ncu", "not for platform cpu"),
                        ("command:true", "{run}"),
                        ("command:x {run} y", "must be the last word")):
        result = profile(GOOD, "--profiler", name)
        assert result.status == EXIT["input"], (name, result)
        assert words in result.err, (name, result)


def test_words_for_people(_):
    result = kforge("profile", C_PROBLEM, GOOD, "--calls", "20",
                    "--profiler", "threads")
    assert result.status == 0, result
    for words in ("correct", "memory ", "Bottleneck: ", "cpu_time = ",
                  "By threads."):
        assert words in result.out, (words, result)


# --- devices ----------------------------------------------------------------

def test_launches_of_an_opencl_device(scratch):
    # A path that begins here, too.
    result = profile(PARTS, "--platform", "opencl", "--set", "COUNT=10007",
                     "--out", os.path.relpath(scratch / "out"),
                     problem=AXPBY)
    assert result.status == 0, result
    told = result.json()["profile"]
    assert told["end"] == "good" and told["source"] == "launches", told
    assert [(k["name"], k["launches"]) for k in told["kernels"]] == [
        ("axpby", 1)], told
    assert values(result)["time"] > 0 and values(result)["launches"] == 1
    assert values(result, "axpby")["groups"] == 40, told


def cuda(folder, *arguments, env=None):
    return profile(CUDA / "kernels.cu", CUDA / "host.c", "--platform", "cuda",
                   "--size", "test", *arguments, problem=AXPBY, folder=folder,
                   env={**STANDIN, **(env or {})})


def test_launches_of_a_cuda_device(scratch):
    result = cuda(tools(scratch))
    assert result.status == 0, result
    told = result.json()["profile"]
    assert [k["name"] for k in told["kernels"]] == ["axpby"], told
    assert values(result, "axpby")["registers"] > 0, told
    for name in ("ncu", "nsys"):
        assert "install Nsight" in missing(result)[name], told


def test_nsight_compute_around_the_device_runner(scratch):
    folder = tools(scratch, ncu=AROUND)
    fixture(folder, "ncu_raw.csv", "result")
    (folder / "ending").write_text("")
    result = cuda(folder, "--profiler", "ncu")
    assert result.status == 0, result
    assert result.json()["profile"]["end"] == "partial", result
    assert values(result, "axpb")["registers"] == 24, result
    assert "stall_memory" in missing(result), result
    fixture(folder, "ncu_denied.txt", "result")
    denied = cuda(folder, "--profiler", "ncu")
    assert denied.status == 0, denied
    assert denied.json()["profile"]["end"] == "denied", denied


def test_nsight_systems_and_its_second_command(scratch):
    folder = tools(scratch, nsys=AROUND)
    (folder / "cat").symlink_to(shutil.which("cat"))
    (folder / "result").write_text("a report")
    (folder / "ending").write_text(".nsys-rep")
    (folder / "stats.csv").write_text(
        "Start (ns),Duration (ns),Name\n" + "".join(
            f"{1000 * i},400,axpby\n" for i in range(1, 6)))
    result = cuda(folder, "--profiler", "nsys")
    assert result.status == 0, result
    told = result.json()["profile"]
    assert told["kernels"][0]["name"] == "axpby", told
    assert values(result, "axpby")["time"] > 0, told


def cupti(scratch, kind="plain"):
    """The variable that names a stand-in of that kind."""
    folder = scratch / kind
    folder.mkdir()
    shutil.copy(cuda_free.STANDIN / "libcupti.so.13", folder)
    return {"KFORGE_CUPTI": str(folder / "libcupti.so.13")}


def test_cupti_where_nsight_systems_is_absent(scratch):
    folder = tools(scratch)
    result = cuda(folder, env=cupti(scratch))
    assert result.status == 0, result
    told = result.json()["profile"]
    assert told["source"] == "launches, cupti", told
    assert [(k["name"], k["launches"]) for k in told["kernels"]] == [
        ("axpby", 1)], told
    alone = cuda(folder, "--profiler", "cupti", "--out", scratch / "out",
                 env=cupti(scratch, "alone"))
    told = alone.json()["profile"]
    assert told["end"] == "good" and not told["missing"], told
    # What kforge does between calls is not the program's.
    assert [(k["name"], k["time_ns"]) for k in told["kernels"]] == [
        ("axpby", 1000)], told
    of = values(alone, "axpby")
    assert (of["groups"], of["group_size"], of["registers"],
            of["shared_bytes"]) == (8, 128, 40, 1536), told
    raw = (scratch / "out" / "raw" / "cupti" / "out" /
           "launches.csv").read_text()
    assert raw.splitlines()[0].endswith(",bytes,lost"), raw


def test_nsight_systems_comes_before_cupti(scratch):
    folder = tools(scratch, nsys=AROUND)
    (folder / "cat").symlink_to(shutil.which("cat"))
    (folder / "result").write_text("a report")
    (folder / "ending").write_text(".nsys-rep")
    (folder / "stats.csv").write_text(
        "Start (ns),Duration (ns),Name\n" + "".join(
            f"{1000 * i},400,axpby\n" for i in range(1, 6)))
    told = cuda(folder, env=cupti(scratch)).json()["profile"]
    assert "nsys" in told["source"] and "cupti" not in told["source"], told


def test_what_cupti_cannot_tell_is_told(scratch):
    folder = tools(scratch)
    for kind, end, what, why in (
            ("denied", "denied", "cupti", "does not let us count"),
            ("lossy", "partial", "lost events", "lost 12 events"),
            ("blind", "empty", "cupti", "saw nothing of the program")):
        result = cuda(folder, "--profiler", "cupti", env=cupti(scratch, kind))
        assert result.status == 0, result
        assert result.json()["profile"]["end"] == end, (kind, result)
        assert why in missing(result)[what], (kind, result)
    gone = cuda(folder, "--profiler", "cupti",
                env={"KFORGE_CUPTI": "/nowhere/libcupti.so"})
    assert gone.status == EXIT["unavailable"], gone
    assert "no profiler cupti here: NVIDIA's CUPTI" in gone.err, gone


# A program with host code of its own; the stand-in for cuBLAS launches.
FREE = ('extern "C" int cublasSgemm_v2(void);\n' + cuda_free.SOURCE.replace(
    "// MORE", "cublasSgemm_v2(); cublasSgemm_v2();"))


def free(scratch, folder, *arguments, libraries=cuda_free.BOTH, env=None):
    toolkit = cuda_free.make_toolkit(scratch, *libraries)
    (scratch / "program.cu").write_text(FREE if "libcublas.so.13" in libraries
                                        else cuda_free.SOURCE)
    return profile(scratch / "program.cu", "--platform", "cuda", "--size",
                   "test", *arguments, problem=AXPBY, folder=folder,
                   env={**STANDIN, "CUDA_HOME": str(toolkit), "CUDA_PATH": "",
                        **(env or {})})


def test_launches_of_a_program_with_host_code_of_its_own(scratch):
    result = free(scratch, tools(scratch))
    assert result.status == 0, result
    told = result.json()["profile"]
    assert [(k["name"], k["launches"], k["time_ns"]) for k in told["kernels"]
            ] == [("ampere_sgemm_128x64_nn", 2, 2000)], told
    of = values(result, "ampere_sgemm_128x64_nn")
    assert (of["groups"], of["group_size"], of["registers"],
            of["shared_bytes"]) == (8, 128, 40, 1536), told
    assert values(result)["launch_gap"] == 2000, told
    assert "install Nsight" in missing(result)["ncu"], told


def test_launches_that_nobody_can_see_are_told(scratch):
    result = free(scratch, tools(scratch), "--profiler", "launches",
                  libraries=(), env={"KFORGE_CUPTI": "/nowhere"})
    assert result.status == EXIT["unavailable"], result
    assert "no profiler launches here: NVIDIA's CUPTI" in result.err, result


def test_nsight_compute_around_the_host_runner(scratch):
    folder = tools(scratch, ncu=AROUND)
    fixture(folder, "ncu_raw.csv", "result")
    (folder / "ending").write_text("")
    result = free(scratch, folder, "--profiler", "ncu")
    assert result.status == 0, result
    assert result.json()["profile"]["end"] == "partial", result
    assert values(result, "axpb")["registers"] == 24, result


def devices(platform, env=None):
    listed = kforge("platforms", "--json", env=env).json()
    return [d["id"] for p in listed if p["name"] == platform
            for d in p["devices"]]


def has_nvrtc():
    card = kforge("platforms", "--json", env=STANDIN).out
    return "compiler: NVRTC" in card


if not devices("opencl") and "opencl" not in os.environ.get("KF_MUST_RUN", ""):
    test_launches_of_an_opencl_device.skip = "OpenCL has no device here"
if not has_nvrtc():
    for test in (test_launches_of_a_cuda_device,
                 test_nsight_compute_around_the_device_runner,
                 test_nsight_systems_and_its_second_command,
                 test_cupti_where_nsight_systems_is_absent,
                 test_nsight_systems_comes_before_cupti,
                 test_what_cupti_cannot_tell_is_told):
        test.skip = "NVRTC is not installed here"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
