"""cuBLAS through ctypes: one call, whose graph is launched. The library is the loader's, or the one
that pip installs."""

import ctypes as c
import glob
import os
import sys

from .arrays import Declined

NAMES = ("libcublas.so.13", "libcublas.so.12")
REAL = {"f32": 0, "f64": 1, "f16": 2, "bf16": 14}  # cudaDataType
# cublasComputeType_t: sums of this type, operands as they are
COMPUTE = {"f32": 68, "f64": 70}
NORMAL, TRANSPOSED, DEFAULT = 0, 1, -1
WORKSPACE = 32 << 20  # as its manual asks for on Hopper


def library():
    """OSError where there is none."""
    places = list(NAMES)
    for folder in sys.path:
        places += sorted(
            glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libcublas.so.1[0-9]"))
        )
    for place in places:
        try:
            return c.CDLL(place)
        except OSError:
            continue
    raise OSError(f"no {' or '.join(NAMES)}, neither of the loader's path nor of a Python package")


class Cublas:
    def __init__(self, driver, stream):
        self._library, self._driver, self._handle = library(), driver, c.c_void_p()
        self._call("cublasCreate_v2", c.byref(self._handle))
        self._call("cublasSetStream_v2", self._handle, stream)
        self._call(
            "cublasSetWorkspace_v2",
            self._handle,
            c.c_void_p(driver.allocate(WORKSPACE)),
            c.c_size_t(WORKSPACE),
        )
        number = c.c_int()
        self._call("cublasGetVersion_v2", self._handle, c.byref(number))
        self.version = (
            f"cuBLAS {number.value // 10000}.{number.value // 100 % 100}.{number.value % 100}"
        )

    def _call(self, name, *arguments):
        result = getattr(self._library, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name}: result {result}")

    def product(self, p, addresses):
        """A function that puts the product of these addresses into the stream. Matrices lie by
        columns there, so that ours are transposed and in the other order."""
        q = by_rows(p)
        one, zero = scalar(compute_of(q), 1), scalar(compute_of(q), 0)
        first, second = operation(q.b, q.k, q.n), operation(q.a, q.m, q.k)
        kind = {
            name: c.c_int(REAL[operand.dtype])
            for name, operand in (("a", q.a), ("b", q.b), ("c", q.c))
        }
        arguments = [self._handle, c.c_int(first[0]), c.c_int(second[0]), c.c_int(q.n),
                     c.c_int(q.m), c.c_int(q.k), c.byref(one), c.c_void_p(addresses[q.b.name]),
                     kind["b"], c.c_int(first[1]), c.c_longlong(q.b.batch),
                     c.c_void_p(addresses[q.a.name]), kind["a"], c.c_int(second[1]),
                     c.c_longlong(q.a.batch), c.byref(zero), c.c_void_p(addresses[q.c.name]),
                     kind["c"], c.c_int(max(q.c.rows, q.n)), c.c_longlong(q.c.batch),
                     c.c_int(q.batch), c.c_int(COMPUTE[compute_of(q)]),
                     c.c_int(DEFAULT)]  # fmt: skip
        return lambda kept=(one, zero): self._call("cublasGemmStridedBatchedEx", *arguments)


def compute_of(p):
    return "f64" if p.c.dtype == "f64" else "f32"


def scalar(compute, value):
    return c.c_double(value) if compute == "f64" else c.c_float(value)


def by_rows(p):
    """The product with the columns of its result side by side; Declined where cuBLAS has
    no call for it."""
    types = (p.a.dtype, p.b.dtype, p.c.dtype)
    same, wide = (
        len(set(types)) == 1,
        p.a.dtype == p.b.dtype and p.a.dtype in ("f16", "bf16") and p.c.dtype == "f32",
    )
    if any(t not in REAL for t in types) or not (same or wide):
        raise Declined(f"cuBLAS multiplies no {types[0]} by {types[1]} to {types[2]}")
    q = p if p.c.columns == 1 else p.transposed()
    if q.c.columns != 1:
        raise Declined("cuBLAS has no call for a result whose rows and columns both have steps")
    operation(q.a, q.m, q.k), operation(q.b, q.k, q.n)
    return q


def operation(operand, rows, columns):
    """(as it is or transposed, elements from one row to the next) of an operand, as cuBLAS sees it
    by columns. An operand without rows, or without columns, is one row long, or wide."""
    if operand.columns == 1:
        return NORMAL, max(operand.rows, columns)
    if operand.rows == 1:
        return TRANSPOSED, max(operand.columns, rows)
    raise Declined(
        f"cuBLAS has no call for '{operand.name}', whose rows and columns both have steps"
    )
