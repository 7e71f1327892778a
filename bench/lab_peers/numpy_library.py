"""NumPy: what a person without a compiler has. Its products are its BLAS's."""

import numpy as np

from .arrays import Declined, Eager, folded, in_turn, product_of

TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "bool": np.bool_,
}


def dtype_of(name):
    if name not in TYPES:
        raise Declined(f"NumPy has no {name}")
    return TYPES[name]


def erf():
    try:
        from scipy.special import erf as function
    except ImportError:
        raise Declined("NumPy has no erf, and SciPy is not there") from None
    return function


UNARY = {
    "neg": np.negative,
    "abs": np.abs,
    "not": np.logical_not,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "floor_div": np.floor_divide,
}
REDUCE = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}


class NumpyLibrary(Eager):
    where = staticmethod(np.where)

    def zeros(self, dtype, shape):
        return np.zeros(shape, dtype_of(dtype))

    def literal(self, dtype, value, rank):
        return np.full([1] * rank, value, dtype_of(dtype))

    def arange(self, start, count, shape):
        return np.arange(start, start + count, dtype=np.int64).reshape(shape)

    def cast(self, dtype):
        kind = dtype_of(dtype)
        return lambda a: a.astype(kind)

    def unary(self, kind):
        return erf() if kind == "erf" else UNARY[kind]

    def binary(self, kind):
        return BINARY[kind]

    def reduce(self, kind, axes):
        function = REDUCE[kind].reduce
        return lambda a: function(a, axis=axes, keepdims=True)

    def place(self, kind, axis):
        function = np.argmax if kind == "max" else np.argmin
        return lambda a: function(a, axis=axis, keepdims=True)

    def reshape(self, a, shape):
        return a.reshape(shape)

    def transpose(self, a, order):
        return a.transpose(order)

    def pad(self, low, high, value):
        widths = list(zip(low, high))
        return lambda a: np.pad(a, widths, constant_values=value)

    def view(self, view):
        index, order, expand = view.index, view.order, view.expand
        if order is None:
            return lambda a: a[index][expand]
        return lambda a: a[index].transpose(order)[expand]

    def whole(self, value, shape, fresh):
        if fresh and value.shape == shape:
            return value
        result = np.empty(shape, value.dtype)
        result[...] = value
        return result

    def write(self, view):
        index = view.index

        def run(buffer, value):
            buffer[index] = value
            return buffer

        return run

    def einsum(self, axes, kept, rank):
        steps = [product_of(*pair, rank, np.matmul) for pair in folded(axes, kept)]
        if not steps:
            summed = tuple(set(axes[0]) - set(kept))
            return lambda a: a.sum(axis=summed, keepdims=True)

        return in_turn(steps)

    def conv(self, step):
        """Windows as views, then one matrix product a group."""
        groups = ImageGroups(step)
        pads = [(0, 0), (0, 0), *zip(step["low"], step["high"])]
        outside = any(map(any, pads))

        def run(x, w):
            x = np.pad(x, pads) if outside else x
            taps = windows(x, w.shape[2:], step["strides"], step["dilations"])
            return groups.product(taps, w)

        return run

    def pool(self, step, taps):
        worst = -np.inf if step["kind"] == "max" else 0
        pads = [(0, 0), (0, 0), *zip(step["low"], step["high"])]
        outside, reduce, spatial = any(map(any, pads)), REDUCE[step["kind"]].reduce, len(taps)

        def run(x):
            x = np.pad(x, pads, constant_values=worst) if outside else x
            return reduce(
                windows(x, taps, step["strides"], step["dilations"]),
                axis=tuple(range(2 + spatial, 2 + 2 * spatial)),
            )

        return run


def windows(x, taps, strides, dilations):
    """[N, C, points.., taps..] over [N, C, extents..], without a copy."""
    spatial = len(taps)
    points = [
        (extent - d * (t - 1) - 1) // s + 1
        for extent, t, s, d in zip(x.shape[2:], taps, strides, dilations)
    ]
    steps = x.strides[2 : 2 + spatial]
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:2], *points, *taps),
        (
            *x.strides[:2],
            *(a * s for a, s in zip(steps, strides)),
            *(a * d for a, d in zip(steps, dilations)),
        ),
        writeable=False,
    )


class ImageGroups:
    def __init__(self, step):
        extents = step["extents"]
        self.groups = int(np.prod([extents[a] for a in step["group"]], dtype=np.int64))

    def product(self, taps, w):
        """taps: [N, G C, points.., taps..], w: [G F, C, taps..] -> [N, G F, points..]."""
        g, spatial = self.groups, (taps.ndim - 2) // 2
        n, points, channels = taps.shape[0], taps.shape[2 : 2 + spatial], taps.shape[1] // g
        split = taps.reshape(n, g, channels, *taps.shape[2:]) if g > 1 else taps[:, None]
        order = [1, 0, *range(3, 3 + spatial), 2, *range(3 + spatial, 3 + 2 * spatial)]
        rows = split.transpose(order).reshape(g, n * int(np.prod(points)), -1)
        weights = w.reshape(g, w.shape[0] // g, -1).transpose(0, 2, 1)
        result = np.matmul(rows, weights).reshape(g, n, *points, w.shape[0] // g)
        back = [1, 0, 2 + spatial, *range(2, 2 + spatial)]
        return result.transpose(back).reshape(n, w.shape[0], *points)
