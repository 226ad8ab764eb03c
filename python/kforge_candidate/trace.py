"""What one call runs, as lines for the supervisor (src/runner/protocol.h):
operators of PyTorch, kernels on a device, libraries that were loaded since the
program came. Seen by PyTorch's own profiler, not told by the program."""

import os

import torch
from torch.profiler import ProfilerActivity, profile

from kforge_reference import device

from .words import shorten

NAME_MAX = 200      # bytes of one name


def mapped():
    """Names of the files that this process has as code or data."""
    names = set()
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            path = line.split(None, 5)[5:]
            if path and ".so" in path[0]:
                names.add(os.path.basename(path[0].strip()))
    return names


def _begin():
    activities = [ProfilerActivity.CPU]
    if not device.is_cpu():
        if not torch.autograd.kineto_available():
            raise RuntimeError("this PyTorch sees no kernels (it has no "
                               "Kineto)")
        activities.append(ProfilerActivity.CUDA)
    profiler = profile(activities=activities)
    profiler.start()
    return profiler


def _on_device(event):
    return str(event.device_type).rpartition(".")[2] != "CPU"


def _names(profiler):
    """Each once. Operators have a namespace; what else the profiler tells of
    the processor are calls of CUDA's runtime."""
    found = {}
    for event in profiler.events():
        kernel = _on_device(event)
        if kernel or "::" in event.name:
            kind = "kernel" if kernel else "operator"
            found["%s %s" % (kind, shorten(event.name, NAME_MAX))] = None
    return list(found)


def run(call, before):
    """The lines of one call. before: what was mapped before the program. What
    the call raises is raised; if it cannot be watched, a line says so."""
    try:
        profiler = _begin()
    except Exception as error:
        call()
        return ["unseen %s" % shorten(error)]
    try:
        call()
    finally:
        try:
            profiler.stop()
            lines = _names(profiler)
        except Exception as error:
            lines = ["unseen %s" % shorten(error)]
    return lines + ["library %s" % name for name in sorted(mapped() - before)]
