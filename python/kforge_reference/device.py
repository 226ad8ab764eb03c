"""Where the reference runs: the processor, or a device of torch's.

`choose` comes before anything is made. From then on tensors are made there,
unless a problem says otherwise, and `put` brings the rest. Programs are written
for PyTorch as it is by itself, where `torch.zeros(4)` is made on the processor:
before theirs runs, `leave_default`.
"""

import contextlib
import time

import torch

from .failure import Refused

FLUSH_BYTES_MIN = 64 << 20
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel",
            "cuLaunchKernelEx", "cudaGraphLaunch",
            "cudaLaunchCooperativeKernel")
GATE_NS_MAX = 20_000_000
GATE_NS_LEAST = 20_000

_device = torch.device("cpu")
_repeatable = False     # what hold_precision holds
_tf32 = False


def choose(name):
    """name: "cpu", "cuda"."""
    global _device
    _device = torch.device(name)
    if is_cpu():
        return
    if not hasattr(torch, "set_default_device"):
        raise Refused("no_torch", "torch %s cannot make tensors on a device "
                      "by default; 2.0 or newer is needed"
                      % torch.__version__)
    if not torch.cuda.is_available():
        raise Refused("no_torch", "torch %s finds no device %s"
                      % (torch.__version__, name))
    _device = torch.device(_device.type, torch.cuda.current_device())
    torch.set_default_device(_device)


def leave_default():
    """From here on tensors are made where PyTorch makes them by itself."""
    if not is_cpu():
        torch.set_default_device(None)


def is_cpu():
    return _device.type == "cpu"


def index():
    """torch's number of it."""
    return _device.index or 0


def name():
    return None if is_cpu() else torch.cuda.get_device_name(_device)


def memory_bytes():
    """All that the device has; None: it is the processor."""
    return None if is_cpu() else \
        torch.cuda.get_device_properties(_device).total_memory


def driver():
    """The newest CUDA that the driver knows: "13.0"; None if it is unknown."""
    ask = getattr(torch._C, "_cuda_getDriverVersion", None)
    version = ask() if ask else 0
    return "CUDA %d.%d" % (version // 1000, version % 1000 // 10) \
        if version else None


def memory_peak(call):
    """Bytes that tensors took at most, what was there before included."""
    torch.cuda.reset_peak_memory_stats(_device)
    call()
    settle()
    return torch.cuda.max_memory_allocated(_device)


def launches(call):
    """Kernels that a call launches; None where torch's profiler cannot tell."""
    try:
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU,
                                 ProfilerActivity.CUDA]) as found:
            call()
            settle()
        return sum(event.count for event in found.key_averages()
                   if event.key in LAUNCHES) or None
    except Exception:   # its library is not everywhere
        return None


def keep_repeatable(repeatable):
    """Where there are several ways to compute a convolution, one that gives the
    same bits each time."""
    global _repeatable
    _repeatable = repeatable


def hold_precision():
    """Full precision, or TF32 within tf32(), whatever a problem has set."""
    # The names of newer versions, which those below do not reach.
    mkldnn = getattr(torch.backends, "mkldnn", None)
    for holder in (torch.backends, torch.backends.cudnn, mkldnn,
                   getattr(mkldnn, "conv", None), getattr(mkldnn, "rnn", None)):
        if getattr(holder, "fp32_precision", "none") != "none":
            holder.fp32_precision = "none"
    if hasattr(torch, "set_float32_matmul_precision"):
        torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_tf32 = _tf32
    torch.backends.cudnn.allow_tf32 = _tf32
    torch.backends.cudnn.deterministic = _repeatable


@contextlib.contextmanager
def tf32():
    global _tf32
    _tf32 = True
    hold_precision()
    try:
        yield
    finally:
        _tf32 = False
        hold_precision()


def holds(tensor):
    return tensor.device.type == _device.type


def put(thing):
    """A tensor or a module, there."""
    return thing if is_cpu() else thing.to(_device)


def room(count, dtype):
    """Elements there that nobody has written."""
    return torch.empty(count, dtype=dtype, device=_device)


def generator(seed):
    return torch.Generator(device=_device).manual_seed(seed)


def settle():
    """Waits until all that was asked for is done."""
    if not is_cpu():
        torch.cuda.synchronize(_device)


def release():
    """Gives back what was allocated and is not used."""
    if not is_cpu():
        torch.cuda.empty_cache()


class Clock:
    """Times calls on the device: caches flushed, and behind a gate, so that
    the time is the device's and not that of asking it (docs/judging.md), as
    far as GATE_NS_MAX and the device's queue go."""

    def __init__(self):
        cache = torch.cuda.get_device_properties(_device).L2_cache_size
        size = max(2 * cache, FLUSH_BYTES_MIN)
        self._flush = torch.empty(size, dtype=torch.uint8, device=_device)
        self._start = torch.cuda.Event(enable_timing=True)
        self._end = torch.cuda.Event(enable_timing=True)
        self._per_ns = self._measure_sleep()
        self._asking_ns = 0     # what it took at most to ask for a call

    def _measure_sleep(self):
        """Cycles of torch's sleeping kernel in a nanosecond."""
        cycles = 10_000_000
        torch.cuda._sleep(cycles)
        settle()
        self._start.record()
        torch.cuda._sleep(cycles)
        self._end.record()
        settle()
        return cycles / (self._start.elapsed_time(self._end) * 1e6)

    def time(self, call):
        """(result, ns) of call()."""
        self._flush.zero_()
        gate_ns = min(max(3 * self._asking_ns, GATE_NS_LEAST), GATE_NS_MAX)
        torch.cuda._sleep(int(gate_ns * self._per_ns))
        before = time.perf_counter_ns()
        self._start.record()
        result = call()
        self._end.record()
        asking_ns = time.perf_counter_ns() - before
        settle()
        # A call that waits for the device by itself is asked for slowly: the
        # gate is then of no use, and no harm.
        self._asking_ns = max(min(asking_ns, GATE_NS_MAX),
                              self._asking_ns // 2)
        return result, max(1, int(self._start.elapsed_time(self._end) * 1e6))
