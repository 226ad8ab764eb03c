"""What a device has, beside what it was given."""

import concurrent.futures
import os

from kforge_reference.cuda import must

from . import protocol

FAILED = "inputs cannot be read back from the device"
STEP = 8 << 20      # bytes: what is compared is still in the processor's cache
LANES = 4           # at most, that compare one tensor
SHARE = 32          # steps that are worth a lane of its own


class Readback:
    """Compares memory of a device's with ours. One thread compares a fifth of
    what the device could copy, so large tensors are shared among several."""

    def __init__(self, driver, step=STEP, share=SHARE):
        self._driver, self._step = driver, step
        self._share = share * step
        self._lanes = [_Lane(driver, step)]
        self._most = min(LANES, len(os.sched_getaffinity(0)))
        # Before a program can have another in its place.
        self._threads = concurrent.futures.ThreadPoolExecutor(self._most)

    def first_difference(self, given, view, size):
        """Place of the first byte at which a tensor of the device differs from
        one of ours, or None. All that was asked for must be done."""
        ours, theirs = view.data_ptr(), given.data_ptr()
        count = min(self._most, size // self._share)
        if count < 2:
            return self._lanes[0].first_difference(theirs, ours, range(
                0, size, self._step), size)
        while len(self._lanes) < count:
            self._lanes.append(_Lane(self._driver, self._step))
        steps = -(-size // self._step)
        bounds = [steps * i // count * self._step for i in range(count + 1)]
        asked = [self._threads.submit(
            lane.first_difference, theirs, ours,
            range(start, min(end, size), self._step), size)
            for lane, start, end in zip(self._lanes, bounds, bounds[1:])]
        concurrent.futures.wait(asked)      # what fails leaves nobody at work
        places = [each.result() for each in asked]
        return next((each for each in places if each is not None), None)


class _Lane:
    """Brings all to one place, so that nobody has to find new pages for it."""

    def __init__(self, driver, step):
        self._driver, self._step = driver, step
        self._stream = driver.stream()
        self._room = protocol.map_room(step)
        driver.pin(self._room, step)

    def first_difference(self, theirs, ours, places, size):
        """That of the steps that begin at these places, or None."""
        library = self._driver.library
        with self._driver.in_context():
            for at in places:
                count = min(self._step, size - at)
                must(library.cuMemcpyDtoHAsync_v2(
                    self._room, theirs + at, count, self._stream) or
                     library.cuStreamSynchronize(self._stream), FAILED)
                place = protocol.first_difference(self._room, ours + at, count)
                if place is not None:
                    return at + place
        return None
