"""What kernels of bench/lab_peers call, on NumPy's arrays. A block's extents are powers of two, as
Triton's have to be."""

import numpy as np

PLACE = [0, 0]
constexpr = None
float32, float16, bfloat16, int64 = np.float32, np.float16, None, np.int64


class T:
    """A block, or a scalar."""

    def __init__(self, a):
        self.a = np.asarray(a)

    def to(self, dtype):
        return T(self.a.astype(dtype))

    def __getitem__(self, index):
        return T(self.a[index])


def _of(x):
    return x.a if isinstance(x, T) else x


def _operator(name):
    return lambda self, other: T(getattr(np, name)(self.a, _of(other))), lambda self, other: T(
        getattr(np, name)(_of(other), self.a)
    )


for _python, _numpy in (
    ("add", "add"),
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("truediv", "true_divide"),
    ("floordiv", "floor_divide"),
    ("mod", "remainder"),
    ("and", "bitwise_and"),
    ("or", "bitwise_or"),
    ("lt", "less"),
    ("gt", "greater"),
):
    _forward, _backward = _operator(_numpy)
    setattr(T, f"__{_python}__", _forward)
    setattr(T, f"__r{_python}__", _backward)
T.__neg__ = lambda self: T(-self.a)
T.__bool__ = lambda self: bool(self.a)


class Pointer:
    def __init__(self, flat, offsets=0):
        self.flat, self.offsets = flat, offsets
        self.dtype = type("dtype", (), {"element_ty": flat.dtype})

    def __add__(self, other):
        return Pointer(self.flat, self.offsets + _of(other))


def _power(n):
    assert n & (n - 1) == 0, n
    return n


def program_id(axis):
    return T(PLACE[axis])


def arange(start, end):
    return T(np.arange(start, _power(end)))


def load(pointer, mask=True, other=0.0):
    mask = np.broadcast_to(_of(mask), np.shape(pointer.offsets))
    return T(
        np.where(
            mask, pointer.flat[np.where(mask, pointer.offsets, 0)], pointer.flat.dtype.type(other)
        )
    )


def store(pointer, value, mask=True):
    shape = np.broadcast_shapes(np.shape(pointer.offsets), np.shape(value.a))
    mask = np.broadcast_to(_of(mask), shape)
    pointer.flat[np.broadcast_to(pointer.offsets, shape)[mask]] = np.broadcast_to(value.a, shape)[
        mask
    ]


def zeros(shape, dtype):
    return T(np.zeros([_power(n) for n in shape], dtype))


def full(shape, value, dtype):
    return T(np.full(shape, value, dtype))


def dot(a, b, total, input_precision):
    assert input_precision == "ieee"
    return T(total.a + a.a.astype(np.float32) @ b.a.astype(np.float32))


def cdiv(a, b):
    return -(-a // b)


def where(mask, a, b):
    return T(np.where(_of(mask), _of(a), _of(b)))


def broadcast_to(value, shape):
    return T(np.broadcast_to(value.a, shape))


sum = lambda a, axis: T(np.sum(a.a, axis))  # noqa: E731
max = lambda a, axis: T(np.max(a.a, axis))  # noqa: E731
exp = lambda a: T(np.exp(a.a))  # noqa: E731
sqrt = lambda a: T(np.sqrt(a.a))  # noqa: E731
maximum = lambda a, b: T(np.maximum(_of(a), _of(b)))  # noqa: E731
