"""Times of what is put into a stream of a GPU, by the GPU's own clock: driver/lab/device_clock.h
says how, in C++."""

import itertools
import math
import time

from gpu.kit.driver import Driver, DriverError, Stopwatch

PIECE = 64  # a driver holds about a thousand calls before it makes their caller wait
MOST_WRITES = 200  # before a piece


class DeviceClock:
    """The first GPU, its context current in this thread, and a stream. OSError where there
    is none."""

    def __init__(self):
        try:
            self.driver = Driver("libcuda.so.1", 0)
        except DriverError as error:
            raise OSError(str(error)) from error
        self.stream = self.driver.stream()
        self._written = 2 * (self.driver.describe()["l2_bytes"] // 4 * 4)
        self._watch, self._start_seconds = Stopwatch(self.driver, self.stream, 0), 20e-6
        for _ in range(3):  # the first is a driver's, too
            self._write_seconds = self._watch.seconds_of(self._write)

    def _write(self):
        self.driver.flush_cache(self.stream, self._written)

    def wait(self):
        self.driver.wait(self.stream)

    def nanoseconds(self, starts, evict=0):
        """Of all executions, each of which `starts` gives as a function that puts it into the
        stream. `evict`: each by itself after so many bytes were written."""
        if evict:
            watch = Stopwatch(self.driver, self.stream, min(evict // 4 * 4, self._written))
            return sum(watch.seconds_of(start) for start in starts) * 1e9
        total, starts = 0.0, iter(starts)
        while piece := list(itertools.islice(starts, PIECE)):
            total += self._piece(piece)
        return total * 1e9

    def _piece(self, piece):
        needed = self._start_seconds * len(piece) / max(self._write_seconds, 1e-6)
        for _ in range(min(max(math.ceil(needed), 1), MOST_WRITES)):
            self._write()
        piece[-1]()  # not timed: it leaves the caches as an execution does

        def work():
            before = time.perf_counter()
            for start in piece:
                start()
            self._start_seconds = (time.perf_counter() - before) / len(piece)

        return self._watch.seconds_of(work)
