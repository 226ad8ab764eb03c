#!/usr/bin/env python3
"""PyTorch modules with C++ inside: it takes a compiler its while, so these have
a file of their own."""

import sys

from harness import DATA, PROBLEM, kforge, run_tests

FORMS = DATA / "forms"
FAST = ("--stop-after", "values", "--baseline", "none", "--threads", "1")


def test_cpp_inside_is_compiled_once_and_judged(scratch):
    """As KernelBench's own solutions have it."""
    result = kforge("verify", *FAST, "--json", PROBLEM, FORMS / "inline.py",
                    timeout=900)
    verdict = result.json()
    assert verdict["state"] == "correct", verdict
    assert verdict["took"]["compiler_ns"] > 10**9, verdict


def test_cpp_that_is_refused_shows_the_compilers_lines(scratch):
    source = (FORMS / "inline.py").read_text()
    (scratch / "broken.py").write_text(source.replace(
        "#include <torch/extension.h>", "this is not C++").replace(
        "from torch.utils.cpp_extension import load_inline",
        "from torch.utils import cpp_extension\n"
        "def load_inline(cpp_sources, functions, **rest):\n"
        "    open('/tmp/own.cpp', 'w').write(cpp_sources)\n"
        "    return cpp_extension.load(sources=['/tmp/own.cpp'], **rest)"))
    result = kforge("verify", *FAST, "--json", PROBLEM,
                    scratch / "broken.py", timeout=900)
    verdict = result.json()
    assert verdict["state"] == "compilation_failure", verdict
    assert verdict["reason"] == "refused", verdict
    assert "this is not C++" in verdict["text"], verdict


if __name__ == "__main__":
    sys.exit(run_tests(sys.modules[__name__]))
