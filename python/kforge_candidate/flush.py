"""A device's caches before a call: nothing that was there is left, as before a
call of the baseline (kforge_reference/device.py). The memory that it takes is in
none of torch's books."""

import ctypes

from kforge_reference import device
from kforge_reference.cuda import must

L2_CACHE_SIZE = 38          # enum CUdevice_attribute
FAILED = "the device's caches cannot be flushed"


def of_device(driver):
    """What flushes; on the processor, without a driver, nothing does."""
    return Flush(driver) if driver else lambda: None


class Flush:
    def __init__(self, driver):
        self._driver = driver
        # Drivers before CUDA 11 have no such lines.
        self._reset = getattr(driver.library, "cuCtxResetPersistingL2Cache",
                              lambda: 0)
        self._memory = ctypes.c_uint64()
        self._bytes = max(2 * driver.attribute(L2_CACHE_SIZE),
                          device.FLUSH_BYTES_MIN)
        with driver.in_context():
            must(driver.library.cuMemAlloc_v2(ctypes.byref(self._memory),
                                              self._bytes), FAILED)
        self._stream = driver.stream()

    def __call__(self):
        """Comes back when it is done; what was asked for before must be."""
        library = self._driver.library
        with self._driver.in_context():
            self._reset()       # devices that have no such lines refuse
            must(library.cuMemsetD8Async(self._memory, 0, self._bytes,
                                         self._stream) or
                 library.cuStreamSynchronize(self._stream), FAILED)
