"""What a device has, beside what it was given."""

from kforge_reference.cuda import must

from . import protocol

FAILED = "inputs cannot be read back from the device"
STEP = 8 << 20      # bytes: what is compared is still in the processor's cache


class Readback:
    """Brings all to one place, so that nobody has to find new pages for it."""

    def __init__(self, driver, step=STEP):
        self._driver, self._step = driver, step
        self._stream = driver.stream()
        self._room = protocol.map_room(step)
        driver.pin(self._room, step)

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
