"""A device's caches before a call: nothing that was there is left, as before a
call of the baseline (kforge_reference/device.py).

Asked of the driver and not of torch: its functions, memory and stream are had
before the program is loaded, and the memory is in none of torch's books. A program
that means to can undo it all the same, for it shares this process."""

import contextlib
import ctypes

from kforge_reference import device

DRIVER = "libcuda.so.1"     # which torch has opened
L2_CACHE_SIZE = 38          # enum CUdevice_attribute
NON_BLOCKING = 1            # enum CUstream_flags


def of_device():
    """What flushes; on the processor nothing does."""
    return (lambda: None) if device.is_cpu() else Flush(device.index())


class Flush:
    """index: torch's number of the device, which is the driver's too."""

    def __init__(self, index, path=DRIVER):
        self._driver = driver = ctypes.CDLL(path)
        driver.cuMemsetD8Async.argtypes = [ctypes.c_uint64, ctypes.c_ubyte,
                                           ctypes.c_size_t, ctypes.c_void_p]
        for name in ("cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
                     "cuStreamSynchronize"):
            getattr(driver, name)
        # Drivers before CUDA 11 have no such lines.
        self._reset = getattr(driver, "cuCtxResetPersistingL2Cache",
                              lambda: 0)
        self._context, self._stream = ctypes.c_void_p(), ctypes.c_void_p()
        self._memory = ctypes.c_uint64()
        chosen, cache = ctypes.c_int(), ctypes.c_int()
        _must(driver.cuInit(0))
        _must(driver.cuDeviceGet(ctypes.byref(chosen), index))
        _must(driver.cuDeviceGetAttribute(ctypes.byref(cache), L2_CACHE_SIZE,
                                          chosen))
        _must(driver.cuDevicePrimaryCtxRetain(ctypes.byref(self._context),
                                              chosen))
        self._bytes = max(2 * cache.value, device.FLUSH_BYTES_MIN)
        with self._in_context():
            _must(driver.cuMemAlloc_v2(ctypes.byref(self._memory),
                                       ctypes.c_size_t(self._bytes)))
            _must(driver.cuStreamCreate(ctypes.byref(self._stream),
                                        NON_BLOCKING))

    def __call__(self):
        """Comes back when it is done; what was asked for before must be."""
        with self._in_context():
            self._reset()       # devices that have no such lines refuse
            _must(self._driver.cuMemsetD8Async(self._memory, 0, self._bytes,
                                               self._stream))
            _must(self._driver.cuStreamSynchronize(self._stream))

    @contextlib.contextmanager
    def _in_context(self):
        """torch's, whichever a program has left current."""
        _must(self._driver.cuCtxPushCurrent_v2(self._context))
        try:
            yield
        finally:
            self._driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def _must(result):
    if result:
        raise RuntimeError("the device's caches cannot be flushed: CUDA error "
                           "%d" % result)
