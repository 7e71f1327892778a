"""What a kernel's memory traffic takes at the least on this machine, measured in the same rounds as
the kernel: the contender `limit`. A kernel that reads its matrices once is held to a loop that
reads as many bytes, a stencil of many time steps to a loop that reads one array of its size and
writes another in each step (the roofline of one sweep: tiles of several steps may pass it). It is
of one thread, whatever Polyte has."""

import ctypes as c
import os

from contenders import C_TYPES, FAST, Contender, running, said_by
from kernel import PAGE, TYPES
from peers.polyte import aligned

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers", "limits.c")
# Of a kernel's sizes: elements that are read once; or elements of one array, and time steps each
# of which reads one array and writes another.
READ_ONCE = {
    "atax": lambda M, N: M * N,
    "bicg": lambda M, N: M * N,
    "mvt": lambda N: N * N,
    "gesummv": lambda N: 2 * N * N,
    "trisolv": lambda N: N * (N + 1) // 2,
}
SWEPT = {
    "jacobi-1d": lambda N, TSTEPS: (N, 2 * TSTEPS),
    "jacobi-2d": lambda N, TSTEPS: (N * N, 2 * TSTEPS),
    "heat-3d": lambda N, TSTEPS: (N**3, 2 * TSTEPS),
}


def has_limit(kernel):
    return kernel.name in READ_ONCE or kernel.name in SWEPT


def limit(kernel, folder):
    contender = Contender("limit")
    library = os.path.join(folder, "limits.so")
    made = ["-shared", "-fPIC", f"-DDATA_TYPE={C_TYPES[kernel.real]}", "-o", library, SOURCE]
    contender.problem, _ = said_by(["gcc", *FAST, "-fno-tree-loop-distribute-patterns", *made])
    if contender.problem:
        return contender
    functions = c.CDLL(library)
    functions.read_once.restype = functions.sweep.restype = c.c_double

    def filled(elements):
        array = aligned((elements,), TYPES[kernel.real], PAGE)
        array.fill(1)
        return array

    def at(array):
        return c.c_void_p(array.ctypes.data), c.c_long(array.size)

    if kernel.name in READ_ONCE:
        array = filled(READ_ONCE[kernel.name](**kernel.sizes))
        contender.run = lambda: running(lambda: functions.read_once(*at(array)))
    else:
        elements, steps = SWEPT[kernel.name](**kernel.sizes)
        arrays = filled(elements), filled(elements)
        contender.run = lambda: running(
            lambda: functions.sweep(at(arrays[0])[0], *at(arrays[1]), c.c_long(steps))
        )
    return contender
