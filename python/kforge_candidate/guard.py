"""Functions that a judge or a measurement rests on, as they were before the
program was loaded. None of them is asked for a verdict; who replaces them means
to deceive one, or breaks what others use. torch.manual_seed is not among them:
PyTorch replaces it itself when torch._dynamo is imported, for torch.compile."""

import concurrent.futures
import time

import torch

from . import protocol
from .words import Wrong

_WATCHED = (
    (concurrent.futures, "concurrent.futures", ("wait",)),
    (concurrent.futures.ThreadPoolExecutor,
     "concurrent.futures.ThreadPoolExecutor", ("submit",)),
    (time, "time", ("time", "time_ns", "perf_counter", "perf_counter_ns",
                    "monotonic", "monotonic_ns", "process_time", "sleep")),
    (torch, "torch", ("allclose", "equal", "isclose", "eq", "rand", "randn",
                      "no_grad", "abs", "max", "empty")),
    (torch.Tensor, "torch.Tensor", ("copy_", "contiguous", "cpu", "to",
                                    "clone", "data_ptr", "allclose",
                                    "equal", "__eq__", "set_", "narrow")),
    (torch.cuda, "torch.cuda", ("synchronize", "Event", "current_stream",
                                "empty_cache", "is_available")),
    (torch.testing, "torch.testing", ("assert_close",)),
    (torch.nn.Module, "torch.nn.Module", ("__call__", "load_state_dict")),
)


class Guard:
    def __init__(self):
        self._was = [(holder, where, name, getattr(holder, name))
                     for holder, where, names in _WATCHED for name in names
                     if hasattr(holder, name)]

    def check(self):
        for holder, where, name, was in self._was:
            if getattr(holder, name, None) is not was:
                raise Wrong(protocol.PATCHED, "the program replaced %s.%s; "
                            "functions that are not its own stay as they are"
                            % (where, name))
