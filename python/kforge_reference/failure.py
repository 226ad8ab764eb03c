"""Bad news about a problem, as one sentence with the file's own line."""

import os
import re
import sys

TEXT_MAX = 600

# CUDA's errors that tell of trouble with a device, which whoever ran there need
# not have made. Not those of a kernel that did wrong (src/platform/cuda/fault.c).
TROUBLE = {
    46: "CUDA-capable device(s) is/are busy or unavailable",
    100: "no CUDA-capable device is detected",
    214: "uncorrectable ECC error encountered",
    220: "uncorrectable NVLink error detected during the execution",
    226: "Invalid access of peer GPU memory over nvlink or a hardware error",
    802: "system not yet initialized",
    999: "unknown error",
}
_TROUBLE = re.compile(
    r"(?:CUDA error|CUDA driver error|Triton Error \[CUDA\]): (?:%s)|"
    r"CUDA error (?:%s)\b" % ("|".join(map(re.escape, TROUBLE.values())),
                              "|".join(map(str, TROUBLE))))


class Refused(Exception):
    """A problem that cannot be used; kind is a stable word, text a sentence.

    Kinds: syntax, no_model, no_inputs, exception, exit, memory, unsupported,
    random, nondeterministic, non_finite, limit, time, no_torch, device,
    internal. Of no_torch, device and internal the problem is not guilty.
    ratio: of what is too large, how many times it is; None if unknown.
    """

    def __init__(self, kind, text, ratio=None):
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.ratio = ratio

    def as_json(self):
        error = {"kind": self.kind, "text": one_line(self.text)}
        if self.ratio is not None:
            error["ratio"] = float(self.ratio)
        return {"error": error}


def one_line(text):
    """White space run together, unprintable signs replaced, bounded."""
    text = " ".join(str(text).split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= TEXT_MAX else text[:TEXT_MAX - 3] + "..."


def line_in(path, error):
    """The last line of the file at path that the error passed through."""
    line = None
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def is_memory(error):
    if isinstance(error, Refused):
        return error.kind == "memory"
    if isinstance(error, MemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and (
        "can't allocate memory" in text or "not enough memory" in text or
        "out of memory" in text)


def is_trouble(error):
    """Does CUDA say that its device is in trouble?"""
    return isinstance(error, RuntimeError) and \
        _TROUBLE.search(str(error)) is not None


def from_exception(what, path, error):
    """Turn what happened while doing `what` ("forward") into Refused."""
    if isinstance(error, Refused):
        return error
    line = line_in(path, error)
    where = os.path.basename(path)
    if line is not None:
        where += ", line %d" % line
    message = str(error)
    if isinstance(error, SyntaxError):
        return Refused("syntax", "%s: %s" % (where, error.msg))
    if isinstance(error, SystemExit):
        return Refused("exit", "%s: the problem file ends the program "
                       "(sys.exit) during %s" % (where, what))
    if is_memory(error):
        return Refused("memory", "%s: out of memory during %s; try smaller "
                       "sizes with --set" % (where, what))
    name = type(error).__name__
    text = "%s: %s" % (name, message) if message else name
    if is_trouble(error):
        return Refused("device", "%s: the device is in trouble during %s: %s" %
                       (where, what, text))
    advice = ""
    if isinstance(error, ModuleNotFoundError):
        advice = "; install it for %s" % sys.executable
    return Refused("exception", "%s: %s in %s%s" % (where, text, what, advice))
