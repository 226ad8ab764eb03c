"""What one call runs, as lines for the supervisor (src/runner/protocol.h):
operators of PyTorch, kernels on a device, libraries that were loaded since the
program came. Seen by PyTorch's own profiler, not told by the program."""

import csv
import json
import os
import tempfile
import warnings

import torch
from torch.autograd import profiler as autograd_profiler
from torch.profiler import ProfilerActivity

from kforge_reference import device

from .words import shorten

NAME_MAX = 200      # bytes of one name
# Of src/runner/trace.c's lines.
COLUMNS = ("call", "name", "start_ns", "end_ns", "groups", "group_size",
           "registers", "shared_bytes", "local_bytes", "occupancy")
OF_DEVICE = {"kernel": None, "gpu_memcpy": "copy", "gpu_memset": "fill"}


def mapped():
    """Names of the files that this process has as code or data; none where the
    sandbox shows no /proc."""
    names = set()
    try:
        with open("/proc/self/maps", encoding="utf-8",
                  errors="replace") as file:
            lines = file.readlines()
    except OSError:
        return names
    for line in lines:
        path = line.split(None, 5)[5:]
        if path and ".so" in path[0]:
            names.add(os.path.basename(path[0].strip()))
    return names


class _Profiler(autograd_profiler.profile):
    """What torch.profiler.profile rests on. That one would load Inductor first:
    seconds, in every process that is forked."""

    def start(self):
        self.__enter__()

    def stop(self):
        self.__exit__(None, None, None)

    def events(self):
        return self.function_events


def _of_device():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            profiler = _Profiler(use_kineto=True, use_device="cuda")
            if ProfilerActivity.CUDA in profiler.kineto_activities:
                return profiler
        except TypeError:
            pass
        # Its name before PyTorch 2.4.
        return _Profiler(use_kineto=True, use_cuda=True)


def _begin():
    if device.is_cpu():
        profiler = _Profiler(use_kineto=True)
    else:
        if not torch.autograd.kineto_available():
            raise RuntimeError("this PyTorch sees no kernels (it has no "
                               "Kineto)")
        profiler = _of_device()
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
    if not before:
        return lines + ["unseen which files it loaded: there is no /proc"]
    return lines + ["library %s" % name for name in sorted(mapped() - before)]


# --- what each call launches, for profiles ------------------------------------

def told(call):
    """A call of which a device's profiler around the process is told."""
    if device.is_cpu():
        return call()
    torch.cuda.cudart().cudaProfilerStart()
    try:
        call()
    finally:
        torch.cuda.cudart().cudaProfilerStop()


def _product(sizes):
    result = 1
    for size in sizes or ():
        result *= size
    return result


def rows(events, call):
    """Lines for Launches, of the events of a profiler's Chrome trace, whose
    times are in microseconds."""
    found = sorted((e for e in events if e.get("cat") in OF_DEVICE and
                    e.get("ph") == "X"), key=lambda e: float(e["ts"]))
    if not found:
        return []
    first = float(found[0]["ts"])
    lines = []
    for event in found:
        args, start = event.get("args", {}), float(event["ts"]) - first
        name = OF_DEVICE[event["cat"]] or event["name"]
        if name.startswith("void "):
            name = name[len("void "):]
        occupancy = args.get("est. achieved occupancy %")
        lines.append([
            call, shorten(name, 95), round(start * 1e3),
            round((start + float(event["dur"])) * 1e3),
            _product(args["grid"]) if args.get("grid") else "",
            _product(args["block"]) if args.get("block") else "",
            args.get("registers per thread", ""),
            args.get("shared memory", ""), "",
            "" if occupancy is None else occupancy / 100])
    return lines


class Launches:
    """Runs calls, and adds what they launched to a file."""

    def __init__(self, path):
        self._path = path
        self._calls = 0

    def __call__(self, call):
        try:
            profiler = _begin()
        except Exception as error:
            call()
            return self._refuse(error)
        try:
            call()
        finally:
            profiler.stop()
        self._add(rows(self._events(profiler), self._calls + 1))

    def _refuse(self, error):
        if not self._calls:
            with open(self._path, "w", encoding="utf-8") as file:
                file.write("unseen %s\n" % shorten(error))

    def _events(self, profiler):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            profiler.export_chrome_trace(path)
            with open(path, encoding="utf-8", errors="replace") as file:
                return json.load(file).get("traceEvents", [])

    def _add(self, lines):
        self._calls += 1
        with open(self._path, "a", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if self._calls == 1:
                writer.writerow(COLUMNS)
            writer.writerows(lines)
