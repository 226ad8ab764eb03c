"""CUDA's driver, asked by itself and not through torch. Where a program shares the
process these functions are had before it is loaded; one that means to can undo what
is done with them all the same."""

import contextlib
import ctypes

from . import device

DRIVER = "libcuda.so.1"     # which torch has opened
NON_BLOCKING = 1            # enum CUstream_flags
READ_ONLY_SUPPORTED = 113   # enum CUdevice_attribute
PORTABLE, READ_ONLY = 1, 8  # CU_MEMHOSTREGISTER_
UNUSABLE = "the CUDA driver cannot be used"
_ARGUMENTS = {
    "cuMemsetD8Async": [ctypes.c_uint64, ctypes.c_ubyte, ctypes.c_size_t,
                        ctypes.c_void_p],
    "cuMemcpyDtoHAsync_v2": [ctypes.c_void_p, ctypes.c_uint64,
                             ctypes.c_size_t, ctypes.c_void_p],
    "cuMemHostRegister_v2": [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint],
    "cuMemAlloc_v2": [ctypes.c_void_p, ctypes.c_size_t],
    "cuStreamSynchronize": [ctypes.c_void_p],
    "cuCtxPushCurrent_v2": [ctypes.c_void_p],
    "cuCtxPopCurrent_v2": [ctypes.c_void_p],
}


def of_device():
    """Of the device that was chosen; None: it is the processor."""
    return None if device.is_cpu() else Driver(device.index())


class Driver:
    """index: torch's number of the device, which is the driver's too."""

    def __init__(self, index, path=DRIVER):
        self.library = library = ctypes.CDLL(path)
        for name, arguments in _ARGUMENTS.items():
            getattr(library, name).argtypes = arguments
        self._device, self._context = ctypes.c_int(), ctypes.c_void_p()
        must(library.cuInit(0) or
             library.cuDeviceGet(ctypes.byref(self._device), index) or
             library.cuDevicePrimaryCtxRetain(ctypes.byref(self._context),
                                              self._device), UNUSABLE)

    def attribute(self, number):
        value = ctypes.c_int()
        must(self.library.cuDeviceGetAttribute(ctypes.byref(value), number,
                                               self._device), UNUSABLE)
        return value.value

    def stream(self):
        """One of our own, that waits for no other."""
        stream = ctypes.c_void_p()
        with self.in_context():
            must(self.library.cuStreamCreate(ctypes.byref(stream),
                                             NON_BLOCKING), UNUSABLE)
        return stream

    def pin(self, address, size, writable=True):
        """From then on the device copies from and to this memory by itself,
        several times as fast as through the driver's own room. Where it cannot,
        it is copied all the same; what went wrong before, others will tell."""
        try:
            if not size or not (writable or
                                self.attribute(READ_ONLY_SUPPORTED)):
                return
            with self.in_context():
                self.library.cuMemHostRegister_v2(
                    address, size, PORTABLE | (0 if writable else READ_ONLY))
        except RuntimeError:
            pass

    @contextlib.contextmanager
    def in_context(self):
        """torch's, whichever a program has left current."""
        must(self.library.cuCtxPushCurrent_v2(self._context), UNUSABLE)
        try:
            yield
        finally:
            self.library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))


def must(result, what):
    if result:
        raise RuntimeError("%s: CUDA error %d" % (what, result))
