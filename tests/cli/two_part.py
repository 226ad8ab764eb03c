#!/usr/bin/env python3
"""Programs of two parts, kernels and host.c, on an OpenCL device."""

import json
import os
import sys

from harness import DATA, EXIT, ROOT, kforge, run_tests, states

PROBLEM = ROOT / "problems" / "c" / "axpby"
PARTS = DATA / "two_part"
FILES = (PARTS / "kernels.cl", PARTS / "host.c")
ON = ("--platform", "opencl", "--set", "COUNT=10007")
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
            for d in p["devices"]]


if not devices() and "opencl" not in os.environ.get("KF_MUST_RUN", ""):
    for name in [n for n in dir() if n.startswith("test_")]:
        globals()[name].skip = "OpenCL has no device here"


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
