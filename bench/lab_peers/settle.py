"""The process that libraries are timed in: its threads and its memory, the same for all."""

import ctypes
import os


def settle(threads):
    """To be called before any library is loaded: some count the processors when they are."""
    cores = sorted(os.sched_getaffinity(0))
    if threads < len(cores):
        os.sched_setaffinity(0, set(cores[-threads:]))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # A result that a library allocates on every call comes from memory that is there already, as in
    # a long run.
    libc = ctypes.CDLL(None)
    trim_threshold, mmap_max = -1, -4
    libc.mallopt(trim_threshold, 1 << 30)
    libc.mallopt(mmap_max, 0)
