"""Memory of this process that a device reaches by itself: it copies from there
and to there several times as fast as through the driver's own room, and nobody
has to find new pages for what comes."""

import ctypes

from . import protocol
from .cuda import must

READ_ONLY_SUPPORTED = 113       # enum CUdevice_attribute
PORTABLE, READ_ONLY = 1, 8      # CU_MEMHOSTREGISTER_
FAILED = "inputs cannot be read back from the device"
STEP = 8 << 20      # bytes: what is compared is still in the processor's cache


class Pinned:
    def __init__(self, driver, step=STEP):
        self._driver, self._step = driver, step
        self._stream = driver.stream()
        self._reads = driver.attribute(READ_ONLY_SUPPORTED) != 0
        self._room = protocol.map_room(step)
        self.pin(self._room, step, True)

    def pin(self, address, size, writable):
        """Where it cannot be, it is copied all the same."""
        if not size or not (writable or self._reads):
            return
        with self._driver.in_context():
            self._driver.library.cuMemHostRegister_v2(
                address, size, PORTABLE | (0 if writable else READ_ONLY))

    def first_difference(self, given, view, size):
        """Place of the first byte at which a tensor of the device differs from
        one of ours, or None. All that was asked for must be done."""
        library = self._driver.library
        with self._driver.in_context():
            for at in range(0, size, self._step):
                count = min(self._step, size - at)
                must(library.cuMemcpyDtoHAsync_v2(
                    self._room, given.data_ptr() + at, count, self._stream) or
                     library.cuStreamSynchronize(self._stream), FAILED)
                place = protocol.first_difference(
                    self._room, view.data_ptr() + at, count)
                if place is not None:
                    return at + place
        return None
