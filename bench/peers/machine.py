"""The process that measures: its threads, its memory, and the peak of the processor under it."""

import ctypes
import os
import platform

from lab_peers.settle import settle  # noqa: F401


def cpu_name():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.processor()


class Peak:
    def __init__(self, build):
        library = ctypes.CDLL(os.path.join(build, "bench", "libpolyte_measure.so"))
        self._measure = library.polyte_measure_fma_peak
        self._measure.restype = ctypes.c_double
        self.share_work = library.polyte_measure_fma_work  # by so many threads

    def flops_per_second(self):
        """Of one thread, single precision; 0 where there is no FMA."""
        return self._measure()
