#!/usr/bin/env python3
"""Programs in other forms than the platform's own: PyTorch modules."""

import json
import os
import pathlib
import sys

from harness import C_PROBLEM, DATA, EXIT, PROBLEM, kforge, run_tests, states

FORMS = DATA / "forms"
SOLUTION = (FORMS / "solution.py").read_text()
FAST = ("--stop-after", "values", "--baseline", "none", "--threads", "1")

BODY = "return torch.addcmul(self.shift, x, self.scale).clamp_(min=0)"
RIGHT = "torch.addcmul(self.shift, x, self.scale).clamp_(min=0)"


def body(*lines):
    """The program with other lines in forward."""
    return SOLUTION.replace(BODY, "\n        ".join(lines))


def renamed():
    return SOLUTION.replace("scale", "gain").replace("shift", "offset")


def kept():
    return body("if not hasattr(self, 'kept'):",
                "    self.kept = {}",
                "if x.data_ptr() not in self.kept:",
                f"    self.kept[x.data_ptr()] = {RIGHT}",
                "return self.kept[x.data_ptr()]")


def kept_alive():
    """What it was given stays where it is: no address comes again by chance."""
    return kept().replace("if x.data_ptr()",
                          "if not self.kept: self.all = []\n"
                          "        self.all.append(x)\n"
                          "        if x.data_ptr()")


def first_given():
    """As a CUDA graph does that was captured on its first inputs."""
    return body("if not hasattr(self, 'first'):",
                "    self.first = x",
                f"return {RIGHT.replace('x,', 'self.first,')}")


def deferred():
    """A thread does the work, and forward does not wait for it. The process is
    stopped when forward returns, so the work is not done."""
    return body("import threading, time",
                "out = torch.zeros_like(x)",
                "def work():",
                "    time.sleep(60)",
                f"    out.copy_({RIGHT})",
                "threading.Thread(target=work).start()",
                "return out")


# name: source, state, reason, words of the verdict
CASES = {
    "good": (SOLUTION, "correct", "", ""),
    "renamed": (renamed(), "correct", "", ""),
    "prepared": (SOLUTION.replace(BODY, "return self.ready(x)") +
                 "\n    def kf_prepare(self):"
                 "\n        shift, scale = self.shift, self.scale"
                 "\n        self.ready = lambda x: torch.addcmul(shift, x, "
                 "scale).clamp_(min=0)\n", "correct", "", ""),
    # As PyTorch 2 does itself when it imports what compiles modules.
    "wrapped": ("import torch\nseed = torch.manual_seed\n"
                "torch.manual_seed = lambda *a, **k: seed(*a, **k)\n" +
                SOLUTION, "correct", "", ""),
    "wrong": (body("return x * self.scale + self.shift"), "mismatch",
              "values", "elements are wrong"),
    "frozen": (SOLUTION.replace("torch.addcmul(self.shift, x, self.scale)",
                                "(x * self.was + self.shift)").replace(
        "        self.shift =", "        self.was = self.scale.data.clone()"
        "\n        self.shift ="), "mismatch", "values", "weight"),
    "shape": (body(f"return ({RIGHT})[:, :-1]"), "mismatch", "shape",
              "output 0 has shape [64, 95], and the problem's has [64, 96]"),
    "dtype": (body(f"return ({RIGHT}).double()"), "mismatch", "dtype",
              "torch.float64"),
    "count": (body(f"y = {RIGHT}", "return y, y"), "mismatch", "outputs",
              "forward returned 2 tensors, and the problem's returns 1"),
    "exception": (body("y = x @ x", "return y"), "runtime_error",
                  "exception", "solution.py, line 12, in forward: y = x @ x"),
    # No processor has that: it is the program's own.
    "trouble": (body("raise RuntimeError('CUDA error: unknown error')"),
                "runtime_error", "exception", "CUDA error: unknown error"),
    "exits": (body("import sys", "sys.exit(0)"), "runtime_error", "exited",
              "sys.exit(0)"),
    "ends": (body("import os", "os._exit(3)"), "runtime_error", "exited",
             "status 3"),
    "crash": (body("import ctypes", "ctypes.string_at(0)"), "runtime_error",
              "signal", "solution.py"),
    "hang": (body("while True: pass"), "runtime_error", "timeout",
             "did not return in time"),
    "writes": (body("x.mul_(self.scale).add_(self.shift)",
                    "return x.clamp(min=0)"), "mismatch", "input_changed",
               "Inputs and weights are read-only"),
    "empties": (body(f"y = {RIGHT}", "x.storage().resize_(0)", "return y"),
                "mismatch", "input_changed", "Inputs and weights are read-o"),
    "no_class": (SOLUTION.replace("ModelNew", "Model"),
                 "compilation_failure", "load", "defines no class ModelNew"),
    "syntax": (SOLUTION.replace("def forward(", "def forward("[:-1]),
               "compilation_failure", "refused", "SyntaxError"),
    "import": ("import torch_that_is_not_there\n" + SOLUTION,
               "compilation_failure", "load", "torch_that_is_not_there"),
    "weights": (SOLUTION.replace("torch.randn(columns)",
                                 "torch.randn(columns + 1)"),
                "runtime_error", "weights", "weight shift [96]"),
    "process": (body("import os", "os.fork()", f"return {RIGHT}"),
                "runtime_error", "exception", "PermissionError"),
    # --- to get a good verdict without the work
    "kept": (kept(), "mismatch", "values", "wrong"),
    "kept_alive": (kept_alive(), "mismatch", "values", "wrong"),
    "first_given": (first_given(), "mismatch", "values", "wrong"),
    "deferred": (deferred(), "mismatch", "values", "all zero"),
    "allclose": ("import torch\ntorch.allclose = lambda *a, **k: True\n" +
                 body("return torch.zeros_like(x)"), "mismatch",
                 "cheat_patched", "the program replaced torch.allclose"),
    "clock": (body("import time", "time.perf_counter = lambda: 0.0",
                   f"return {RIGHT}"), "mismatch", "cheat_patched",
              "the program replaced time.perf_counter"),
    "lazy": (body("class Lazy(torch.Tensor): pass",
                  f"return ({RIGHT}).as_subclass(Lazy)"), "mismatch",
             "outputs", "not a plain tensor"),
    "helper": ("import os, time\nif os.fork() == 0:\n    time.sleep(60)\n"
               "    os._exit(0)\n" + SOLUTION, "compilation_failure", "load",
               "1 process that still ran"),
    # --- slow for a good reason
    "ending": ("import os, time\nif os.fork() == 0:\n    time.sleep(0.2)\n"
               "    os._exit(0)\n" + SOLUTION, "correct", "", ""),
    "slow_start": (body("import time",
                        "if not hasattr(self, 'started'):",
                        "    self.started = time.sleep(6)",
                        f"return {RIGHT}"), "correct", "", ""),
}


def judged():
    """All cases by one process of kforge; made once."""
    if not hasattr(judged, "verdicts"):
        lines = [json.dumps({"id": name, "form": "torch", "limits":
                             {"call_s": 4}, "files": {"solution.py": case[0]}})
                 for name, case in CASES.items()]
        result = kforge("judge", "--jsonl", PROBLEM, "--jobs", "1", *FAST,
                        stdin="\n".join(lines) + "\n", timeout=900)
        answers = [json.loads(line) for line in result.out.splitlines()]
        judged.verdicts = {a["id"]: a.get("verdict", a) for a in answers}
    return judged.verdicts


def check(*names):
    for name in names:
        _, state, reason, words = CASES[name]
        verdict = judged()[name]
        assert verdict.get("state") == state, (name, verdict)
        assert verdict["reason"] == reason, (name, verdict)
        assert words in verdict["text"], (name, verdict["text"])
        assert verdict["trust"] == "in-process", (name, verdict)
        assert verdict["form"] == "torch", (name, verdict)


def test_modules_that_are_right(scratch):
    check("good", "renamed", "prepared", "wrapped")


def test_wrong_values_and_weights_that_do_not_arrive(scratch):
    check("wrong", "frozen", "weights")


def test_outputs_of_another_kind(scratch):
    check("shape", "dtype", "count", "lazy")


def test_what_goes_wrong_names_the_programs_line(scratch):
    check("exception", "trouble", "exits", "ends", "crash", "hang")


def test_files_that_are_no_program(scratch):
    check("no_class", "syntax", "import")


def test_inputs_are_not_changed(scratch):
    check("writes", "empties")


def test_no_other_process_helps(scratch):
    check("process", "helper")


def test_what_is_slow_at_first_is_let(scratch):
    """A helper that just ends; a first call beyond the limit of a call."""
    check("ending", "slow_start")


def test_work_is_done_in_every_call_and_within_it(scratch):
    check("kept", "kept_alive", "first_given", "deferred")


def test_replaced_functions_are_found(scratch):
    check("allclose", "clock")


def test_the_oracle_is_not_there(scratch):
    """A program that looks for expected outputs wherever it may."""
    source = scratch / "peek.py"
    source.write_text(
        "import os\n"
        "for folder, _, names in os.walk('/'):\n"
        "    if any(n.endswith('.safetensors') for n in names):\n"
        "        raise RuntimeError('found ' + folder)\n" + SOLUTION)
    result = kforge("verify", *FAST, "--json", PROBLEM, source)
    assert result.json()["state"] == "correct", result


def test_verify_knows_the_form_by_the_file(scratch):
    (scratch / "anything.py").write_text(SOLUTION)
    result = kforge("verify", *FAST, PROBLEM, scratch / "anything.py")
    assert result.status == 0, result
    assert "trust: in-process" in result.out, result
    result = kforge("verify", *FAST, "--form", "c", PROBLEM,
                    scratch / "anything.py")
    assert result.status == EXIT["input"], result
    assert "program.c" in result.err, result


def test_a_refusal_wants_no_other_python_than_the_one_named(scratch):
    (scratch / "solution.py").write_text(CASES["syntax"][0])
    result = kforge("verify", *FAST, "--json", "--python",
                    os.environ.get("KFORGE_PYTHON") or sys.executable, PROBLEM,
                    scratch / "solution.py",
                    env={"KFORGE_PYTHON": "/nowhere/python"})
    assert result.status == EXIT["compilation_failure"], result


def test_a_form_that_is_not_there_is_named(scratch):
    result = kforge("verify", "--form", "triton", PROBLEM,
                    FORMS / "solution.py")
    assert result.status == EXIT["input"], result
    assert 'no form "triton"' in result.err and "torch" in result.err, result


HINT = "this looks like a program for {0}: say --platform {0}"


def test_a_module_for_another_platform_gets_a_hint(scratch):
    rows = {
        "triton": ("import triton_lang as x\nfrom triton import jit\n" +
                   SOLUTION, True),
        "cuda": (body("x = x.cuda()", f"return {RIGHT}"), True),
        "device": (body("x = torch.empty(1, device='cuda')", "return x"),
                   True),
        "inline": ("cuda_sources = ['']\nraise IndexError('no arch')\n" +
                   SOLUTION, True),
        "wrong": ("raise IndexError('no arch')\n" + SOLUTION, False),
        "either": ("if torch.cuda.is_available(): x = x.cuda()\n" + SOLUTION,
                   False),
        "right": ("# It needs no .cuda().\n" + SOLUTION, False),
    }
    source = scratch / "solution.py"
    for name, (text, hinted) in rows.items():
        source.write_text(text)
        result = kforge("verify", *FAST, "--json", PROBLEM, source)
        told = result.json()
        assert (told["state"] == "correct") == (name == "right"), result
        assert told["text"].endswith(HINT.format("cuda") + "\n") == hinted, (
            name, result)
    source.write_text(rows["cuda"][0])
    result = kforge("verify", *FAST, PROBLEM, source)
    assert HINT.format("cuda") + "\n" in result.out, result
    result = kforge("verify", *FAST, "-p", "cpu", PROBLEM, source)
    assert "this looks like" not in result.out, result


def test_compare_and_profile_give_the_same_hint(scratch):
    hint, here = HINT.format("cuda") + "\n", scratch / "here.py"
    there = scratch / "there.py"
    here.write_text(SOLUTION)
    there.write_text(body("x = x.cuda()", f"return {RIGHT}"))
    for command in (("compare", here, there), ("compare", there, here),
                    ("profile", there)):
        words = (command[0], PROBLEM, *command[1:])
        told = kforge(*words, "--json").json()
        assert told["verdict"]["text"].endswith(hint), told
        assert told.get("incorrect", str(there)) == str(there), told
        for more in ((), ("-p", "cpu")):
            result = kforge(*words, *more)
            assert (hint in result.out) == (not more), result


def test_texts_for_another_platform_get_a_hint(scratch):
    cuda = "__global__ void scale(float *x) { *x *= 2; }\n"
    rows = {"program.c": (cuda, "cuda"),
            "reply.md": (f"So:\n\n```cuda\n{cuda}```\n", "cuda"),
            "host.c": ("#include <CL/cl.h>\n", "opencl"),
            "quoted.c": (f"/* of {cuda} */\nint kf_backward(void);\n", None),
            "plain.c": ("int kf_backward(void) { return 0; }\n", None)}
    for name, (text, platform) in rows.items():
        (scratch / name).write_text(text)
        for command in ("verify", "profile"):
            result = kforge(command, C_PROBLEM, scratch / name)
            assert "generation_failure" in result.out, result
            assert ("this looks like" in result.out) == bool(platform), result
            assert not platform or HINT.format(platform) in result.out, result


def test_files_of_another_platform_get_a_hint(scratch):
    for name in ("solution.cu", "kernels.cl", "host.c", "notes.txt"):
        (scratch / name).write_text("/* nothing */\n")
    (scratch / "folder").mkdir()
    (scratch / "folder" / "program.cu").write_text("/* nothing */\n")
    rows = ((("solution.cu",), "cuda"), (("kernels.cl", "host.c"), "opencl"),
            (("folder",), "cuda"), (("notes.txt",), None),
            (("gone.cu",), None))
    for names, platform in rows:
        files = [scratch / name for name in names]
        for command in ("verify", "compare", "profile"):
            if command == "compare" and len(files) == 1:
                files *= 2
            result = kforge(command, C_PROBLEM, *files)
            assert result.status == EXIT["input"], result
            assert len(result.err.strip().splitlines()) == 1, result
            assert ("this looks like" in result.err) == bool(platform), result
            assert not platform or HINT.format(platform) in result.err, result
    result = kforge("verify", "-p", "cpu", C_PROBLEM, scratch / "solution.cu")
    assert "this looks like" not in result.err, result


def test_a_problem_in_c_wants_a_program_in_c(scratch):
    result = kforge("verify", *FAST, C_PROBLEM, FORMS / "solution.py")
    assert result.status == EXIT["input"], result
    assert "no PyTorch module" in result.err, result


def with_product():
    return body("return (x @ torch.diag(self.scale) + self.shift).clamp(min=0)")


def test_libraries_that_did_work_are_told(scratch):
    (scratch / "solution.py").write_text(with_product())
    result = kforge("verify", *FAST, PROBLEM, scratch / "solution.py")
    assert result.status == 0, result
    assert "libraries: the processor's BLAS (operator aten::mm)\n" \
        in result.out, result
    result = kforge("verify", *FAST, "--explain", PROBLEM,
                    scratch / "solution.py")
    assert "processor's BLAS (operator aten::mm)" in result.out, result
    result = kforge("verify", *FAST, "--json", "--libraries", "refuse",
                    PROBLEM, FORMS / "solution.py")
    assert result.json()["state"] == "correct", result
    assert result.json()["libraries"] == \
        {"rule": "refuse", "used": [], "unseen": None}, result


def test_libraries_can_be_refused(scratch):
    (scratch / "solution.py").write_text(with_product())
    result = kforge("verify", *FAST, "--libraries", "refuse", PROBLEM,
                    scratch / "solution.py")
    assert result.status == EXIT["runtime_error"], result
    for words in ("runtime_error: library", "a vendor's library, which is "
                  "refused here", "the processor's BLAS (operator aten::mm)",
                  "--libraries allow"):
        assert words in result.out, (words, result)
    result = kforge("prompt", "--form", "torch", "--libraries", "refuse",
                    PROBLEM)
    assert "**No vendor's library**" in result.out, result
    result = kforge("prompt", "--form", "torch", PROBLEM)
    assert "vendor's library" not in result.out, result


def test_times_are_taken_in_turn_with_pytorch(scratch):
    result = kforge("verify", "--threads", "1", "--calls", "60", "--json",
                    PROBLEM, FORMS / "solution.py", timeout=300)
    verdict = result.json()
    assert verdict["state"] == "correct", verdict
    assert verdict["time_ns"] > 0 and verdict["baseline_live"], verdict
    assert verdict["speedup"]["ratio"] > 0, verdict
    assert not verdict["conclusive"], verdict
    assert any("shares its process with what moves its inputs" in note
               for note in verdict["evidence"]["notes"]), verdict


def test_the_prompt_is_for_the_form(scratch):
    result = kforge("prompt", "--form", "torch", PROBLEM)
    assert result.status == 0, result
    for words in ("class ModelNew(torch.nn.Module)", "```python solution.py",
                  "kf_prepare(self)"):
        assert words in result.out, (words, result)
    assert "kf_forward" not in result.out, result


def test_a_run_asks_for_the_form_and_judges_it(scratch):
    reply = scratch / "reply.md"
    reply.write_text(f"One pass.\n\n```python solution.py\n{SOLUTION}```\n")
    result = kforge("run", PROBLEM, "--form", "torch", "--attempts", "1",
                    "--calls", "40", "--baseline", "none", "--threads", "1",
                    "--model", f"exec:cat > /dev/null; cat {reply}",
                    "--json", cwd=scratch, timeout=300)
    assert states(result) == ["correct"], result


def test_a_run_is_told_of_a_module_for_another_platform(scratch):
    source = body("x = x.cuda()", f"return {RIGHT}")
    reply = scratch / "reply.md"
    reply.write_text(f"One pass.\n\n```python solution.py\n{source}```\n")
    result = kforge("run", PROBLEM, "--form", "torch", "--attempts", "1",
                    "--calls", "40", "--baseline", "none", "--threads", "1",
                    "--model", f"exec:cat > /dev/null; cat {reply}",
                    "--out", scratch / "run", timeout=300)
    assert "this looks like a program for cuda, and" in result.err, result
    shown = kforge("show", scratch / "run", "1", "--json").out
    assert "cuda: write one for the platform cpu" in shown, shown


if __name__ == "__main__":
    if not pathlib.Path(PROBLEM).exists():
        sys.exit("there is no " + PROBLEM)
    sys.exit(run_tests(sys.modules[__name__]))
