#!/usr/bin/env python3
"""Programs of two parts, kernels and host.c, on an OpenCL device: the first, or
that which KF_OPENCL_DEVICE names."""

import json
import os
import sys

from harness import DATA, EXIT, ROOT, kforge, run_tests, states

PROBLEM = ROOT / "problems" / "c" / "axpby"
PARTS = DATA / "two_part"
FILES = (PARTS / "kernels.cl", PARTS / "host.c")
# "opencl:1": that device and no other.
DEVICE = os.environ.get("KF_OPENCL_DEVICE", "opencl")
ON = ("--platform", DEVICE, "--set", "COUNT=10007")
REAL = os.environ.get("KF_DEVICE") == "real"
FAST = ("--baseline", "none", "--calls", "20")


def fenced(name, language):
    return f"```{language} {name}\n{(PARTS / name).read_text()}```\n"


def test_a_program_is_judged_from_its_two_files(scratch):
    result = kforge("verify", *ON, *FAST, "--json", PROBLEM, *FILES,
                    cwd=scratch)
    assert result.status == 0, result
    verdict = result.json()
    assert verdict["state"] == "correct", verdict
    assert verdict["trust"] in ("isolated", "in-process"), verdict
    plan = verdict["evidence"]["plan"]
    assert [op["launch"] for op in plan] == ["axpby"], plan
    assert plan[0]["grid"] == [40, 1, 1], plan


def card():
    """The lines of the device's card, by name."""
    text = kforge("prompt", *ON, PROBLEM).out
    return dict(line[2:].split(": ", 1) for line in text.splitlines()
                if line.startswith("- ") and ": " in line)


def judged_with(scratch, old, new, kernels=FILES[0].read_text(),
                host=FILES[1].read_text()):
    """What axpby's kernel gets when it computes in another way."""
    assert old in kernels, kernels
    (scratch / "kernels.cl").write_text(kernels.replace(old, new))
    (scratch / "host.c").write_text(host)
    return kforge("verify", *ON, *FAST, "--json", PROBLEM, scratch).json()


def test_the_language_is_told_to_writers_and_of_the_program(scratch):
    language = card()["language"].split(" (")[0]
    assert language.startswith("OpenCL C "), language
    guard = f"#if __OPENCL_C_VERSION__ != {language[-3]}{language[-1]}0\n" \
        "#error another version\n#endif\n"
    verdict = judged_with(scratch, "__kernel", guard + "__kernel")
    assert verdict["state"] == "correct", verdict
    assert verdict["compiler"].endswith(", " + language), verdict
    (scratch / "kernels.cl").write_text("no program\n")
    refused = kforge("verify", *ON, *FAST, "--json", PROBLEM, scratch).json()
    assert refused["state"] == "compilation_failure", refused
    assert refused["compiler"].endswith(", " + language), refused


def test_what_the_card_says_of_the_language_is_so(scratch):
    """Where it says no the program is refused, by its compiler; a vendor's may
    know more than its device says."""
    told = card()
    rows = (
        ("double (cl_khr_fp64)", "cl_khr_fp64",
         "(float)((double)alpha * x[i] + (double)beta * y[i])"),
        ("half (cl_khr_fp16)", "cl_khr_fp16",
         "alpha * x[i] + beta * y[i] + (float)((half)x[i] - (half)x[i])"),
        ("sub-groups (cl_khr_subgroups)", "cl_khr_subgroups",
         "alpha * x[i] + beta * y[i] + "
         "0 * sub_group_reduce_max(get_sub_group_local_id())"),
    )
    for line, extension, words in rows:
        verdict = judged_with(
            scratch, "alpha * x[i] + beta * y[i]", words,
            f"#ifdef {extension}\n#pragma OPENCL EXTENSION {extension} : "
            f"enable\n#endif\n{FILES[0].read_text()}")
        wanted = ["correct"] if told[line] == "yes" else \
            ["compilation_failure", "correct"][:2 if REAL else 1]
        assert verdict["state"] in wanted, (line, told[line], verdict)


def test_a_mistake_in_a_launch_is_told(scratch):
    (scratch / "kernels.cl").write_text(FILES[0].read_text())
    (scratch / "host.c").write_text(
        FILES[1].read_text().replace("KF_I64(count)", "KF_I32(count)"))
    result = kforge("verify", *ON, *FAST, "--explain", PROBLEM, scratch)
    assert result.status == EXIT["runtime_error"], result
    assert "launch" in result.out and "KF_I64" in result.out, result


def test_one_file_alone_is_not_enough(scratch):
    result = kforge("verify", *ON, *FAST, PROBLEM, FILES[1], cwd=scratch)
    assert result.status == EXIT["input"], result
    assert "kernels.cl" in result.err, result


def test_a_loader_that_is_not_there_is_named(_):
    result = kforge("verify", *ON, PROBLEM, *FILES,
                    env={"KFORGE_OPENCL_LIBRARY": "/nowhere/libOpenCL.so"})
    assert result.status == EXIT["unavailable"], result
    assert "/nowhere/libOpenCL.so" in result.err, result


def test_host_code_includes_no_vendors_headers(scratch):
    (scratch / "kernels.cl").write_text(FILES[0].read_text())
    (scratch / "host.c").write_text("#include <CL/cl.h>\n" +
                                    FILES[1].read_text())
    result = kforge("verify", *ON, *FAST, PROBLEM, scratch)
    assert result.status == EXIT["generation_failure"], result
    assert "CL/cl.h" in result.out, result


def test_a_run_takes_both_files_from_a_reply(scratch):
    text = ("One pass.\n\n" + fenced("kernels.cl", "opencl") + "\n" +
            fenced("host.c", "c"))
    replay = scratch / "replies.jsonl"
    replay.write_text("\n".join(map(json.dumps, (
        {"kforge_replay": 1},
        {"problem": "axpby", "attempt": 1, "finish": "stop",
         "text": "One pass.\n\n" + fenced("host.c", "c")},
        {"problem": "axpby", "attempt": 2, "finish": "stop",
         "text": text}))) + "\n")
    result = kforge("run", *ON, *FAST, PROBLEM, "--model", f"replay:{replay}",
                    "--out", scratch / "run", "-n", "2", "--json")
    assert result.status == 0, result
    assert states(result) == ["generation_failure", "correct"], result
    best = scratch / "run" / "best" / "axpby"
    for path in FILES:
        assert (best / path.name).read_text() == path.read_text()
    shown = kforge("show", scratch / "run", "2").out
    assert "kernels.cl" in shown and "KF_F32" in shown, shown
    told = kforge("show", scratch / "run", "2", "--explain").out
    assert "What a call launches" in told, told


def test_two_programs_are_compared(scratch):
    slow = scratch / "slow"
    slow.mkdir()
    (slow / "kernels.cl").write_text(FILES[0].read_text())
    (slow / "host.c").write_text(FILES[1].read_text().replace(
        "return kf_launch", "kf_zero(c, c->out[0], 4 * count);\n"
        "\treturn kf_launch"))
    result = kforge("compare", *ON, "--baseline", "none", "--json", PROBLEM,
                    PARTS, slow)
    assert result.status == 0, result


def test_the_prompt_shows_both_headers(_scratch):
    result = kforge("prompt", *ON, PROBLEM)
    assert result.status == 0, result
    for text in ("<kforge/launch.h>", "#define KF_LAUNCH_H",
                 "#define KF_PROGRAM_H", "```opencl kernels.cl",
                 "```c host.c"):
        assert text in result.out, text


def test_a_built_program_is_there(scratch):
    result = kforge("build", *ON, "--out", scratch / "job", PROBLEM, *FILES)
    assert result.status == 0, result
    assert (scratch / "job" / "host.c").exists(), result
    judged = kforge("judge", scratch / "job", "--baseline", "none")
    assert judged.status == 0, judged


def devices():
    listed = kforge("platforms", "--json").json()
    return [d["id"] for p in listed if p["name"] == "opencl"
            for d in p["devices"] if d["id"].startswith(DEVICE)]


if not devices() and "opencl" not in os.environ.get("KF_MUST_RUN", ""):
    for name in [n for n in dir() if n.startswith("test_")]:
        globals()[name].skip = "OpenCL has no device here"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
