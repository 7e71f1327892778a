"""Test data and its comparison, by libpolyte_data.so."""

import ctypes as c

from peers.c_api import CPU, DlTensor

KINDS = {"f64": (2, 64), "f32": (2, 32), "f16": (2, 16), "bf16": (4, 16), "i8": (0, 8),
         "i16": (0, 16), "i32": (0, 32), "i64": (0, 64), "u8": (1, 8), "u16": (1, 16),
         "u32": (1, 32), "u64": (1, 64), "bool": (6, 8)}  # fmt: skip
# Of the largest value: what reordered sums and another exp may differ by.
TOLERANCE = {"f64": 1e-12, "f32": 1e-4, "f16": 1e-2, "bf16": 3e-2}


class Comparison(c.Structure):
    _fields_ = [
        ("elements", c.c_int64),
        ("other_bits", c.c_int64),
        ("first", c.c_int64),
        ("difference", c.c_double),
        ("largest", c.c_double),
        ("got", c.c_double),
        ("expected", c.c_double),
        ("is_whole", c.c_int),
    ]


def count(shape):
    elements = 1
    for extent in shape:
        elements *= extent
    return elements


def size_of(spec):
    return count(spec["shape"]) * KINDS[spec["dtype"]][1] // 8


def described(spec, address, device=CPU, number=0):
    """A DLTensor; keeps the shape that it points to."""
    code, bits = KINDS[spec["dtype"]]
    shape = (c.c_int64 * len(spec["shape"]))(*spec["shape"])
    tensor = DlTensor(address, device, number, len(spec["shape"]), code, bits, 1, shape, None, 0)
    tensor.kept = shape
    return tensor


class Host:
    """A tensor in this processor's memory, {"name", "dtype", "shape"} and 64-byte aligned bytes."""

    def __init__(self, spec):
        self.spec, self.size = spec, size_of(spec)
        self._memory = (c.c_char * (self.size + 64))()
        self.address = c.addressof(self._memory) + -c.addressof(self._memory) % 64

    def tensor(self):
        return described(self.spec, self.address)

    def bytes(self):
        return c.string_at(self.address, self.size)

    def set_bytes(self, data):
        if len(data) != self.size:
            raise ValueError(f"{self.spec['name']}: {len(data)} bytes, expected {self.size}")
        c.memmove(self.address, data, self.size)


class Data:
    def __init__(self, library):
        self._library = c.CDLL(library)

    def _check(self, status, what):
        if status != 0:
            raise RuntimeError(f"{what}: status {status}")

    def fill(self, host, text, below=0):
        """Whole numbers below `below` where that is given: subscripts."""
        tensor = host.tensor()
        if below:
            status = self._library.polyte_data_fill_below(
                c.byref(tensor), c.c_int64(below), c.c_uint64(1)
            )
        else:
            status = self._library.polyte_data_fill(
                c.byref(tensor), text.encode(), host.spec["name"].encode()
            )
        self._check(status, f"fill {host.spec['name']}")

    def compare(self, got, expected):
        a, b, result = got.tensor(), expected.tensor(), Comparison()
        self._check(
            self._library.polyte_data_compare(c.byref(a), c.byref(b), c.byref(result)),
            got.spec["name"],
        )
        return result


def verdict(comparison, dtype, tolerance=None):
    """(whether it is right, in words). Where every expected value is a whole number sums were
    exact: equal bits."""
    if comparison.other_bits == 0:
        return True, "same bits"
    where = (
        f"element {comparison.first}: got {comparison.got:.9g}, expected {comparison.expected:.9g}"
    )
    apart = comparison.difference / max(comparison.largest, 1e-30)
    words = (
        f"{comparison.other_bits} of {comparison.elements} elements with other bits, at most "
        f"{apart:.1e} of the largest"
    )
    if comparison.difference == 0:
        return True, f"{words} (zeros of the other sign)"
    limit = TOLERANCE.get(dtype, 0) if tolerance is None else tolerance
    if comparison.is_whole and tolerance is None:
        return False, f"{words}, {where}; whole numbers have to be equal"
    return apart <= limit, words if apart <= limit else f"{words}, {where}"
