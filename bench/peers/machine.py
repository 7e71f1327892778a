"""The process that measures: its threads, its memory, and the peak of the processor under it."""
import ctypes
import os
import platform


def settle(threads):
    """To be called before any library is loaded: some count the processors when they are."""
    cores = sorted(os.sched_getaffinity(0))
    if threads < len(cores):
        os.sched_setaffinity(0, set(cores[-threads:]))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # A result that a library allocates on every call comes from memory that is there already, as in a long run.
    libc = ctypes.CDLL(None)
    trim_threshold, mmap_max = -1, -4
    libc.mallopt(trim_threshold, 1 << 30)
    libc.mallopt(mmap_max, 0)


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
