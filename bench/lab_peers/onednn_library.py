"""oneDNN: each step is one of its primitives over memory as it lies (views cost nothing); what it
has none for is declined. Constant weights of convolutions are reordered once, outside of the time,
as a network would; images stay as they are."""

import math

import numpy as np

from . import dnnl
from .arrays import Declined, Matmul, folded


class OneDnnLibrary:
    """Arrays are NumPy's, as descriptions of memory; what computes is oneDNN. A primitive is made
    when its step first sees its arrays."""

    def __init__(self):
        self.dnnl = dnnl.Dnnl()
        self.constants = {}  # addresses of arrays that never change

    def zeros(self, dtype, shape):
        return np.zeros(shape, self._type(dtype))

    @staticmethod
    def _type(dtype):
        if dtype != "f32":
            raise Declined(f"this peer's primitives are of f32, not {dtype}")
        return np.float32

    def literal(self, dtype, value, rank):
        return np.full([1] * rank, value, self._type(dtype))

    def arange(self, start, count, shape):
        raise Declined("oneDNN has no primitive for numbers of an axis or masks")

    def cast(self, dtype):
        raise Declined("oneDNN has no primitive for this cast")

    def where(self, *args):
        raise Declined("oneDNN has no primitive for a selection")

    def place(self, kind, axis):
        raise Declined("oneDNN has no primitive for the place of the largest")

    def pad(self, low, high, value):
        raise Declined("oneDNN pads within convolutions and pools alone")

    def loop(self, count, body, written, values, buffers):
        for _ in range(count):
            for step in body:
                step(values, buffers)

    def _step(self, shape_of, make):
        """A function of arrays that runs the primitive made for where they lie."""
        made = {}

        def run(*arrays):
            key = tuple((a.ctypes.data, a.shape, a.strides) for a in arrays)
            found = made.get(key)
            if found is None:
                result = np.empty(shape_of(*arrays), np.float32)
                found = made[key] = (make(result, *arrays), result, arrays)
            found[0]()
            return found[1]

        return run

    def unary(self, kind):
        if kind == "neg":
            kind, factor = "linear", -1.0
        else:
            factor = 0.0
        if kind not in dnnl.ELTWISE:
            raise Declined(f"oneDNN has no primitive for '{kind}'")

        def make(result, a):
            d = self.dnnl
            source, target = d.plain(a, "f32"), d.plain(result, "f32")
            _, handle = d.primitive(
                "eltwise_forward",
                dnnl.INFERENCE,
                dnnl.ELTWISE[kind],
                source,
                target,
                dnnl.c.c_float(factor),
                dnnl.c.c_float(0),
                None,
            )
            return d.runner(
                handle, {dnnl.SRC: d.memory(source, a), dnnl.DST: d.memory(target, result)}
            )

        return self._step(lambda a: a.shape, make)

    def binary(self, kind):
        if kind not in dnnl.BINARY:
            raise Declined(f"oneDNN has no primitive for '{kind}'")

        def make(result, a, b):
            d, a = self.dnnl, np.broadcast_to(a, result.shape) if a.shape != result.shape else a
            if 0 in a.strides:  # of operands only the second is broadcast
                a = np.ascontiguousarray(a)
                if kind in ("sub", "div"):
                    raise Declined("oneDNN broadcasts the second operand alone")
            first, second, target = d.plain(a, "f32"), d.plain(b, "f32"), d.plain(result, "f32")
            _, handle = d.primitive("binary", dnnl.BINARY[kind], first, second, target, None)
            return d.runner(
                handle,
                {
                    dnnl.SRC: d.memory(first, a),
                    dnnl.SRC_1: d.memory(second, b),
                    dnnl.DST: d.memory(target, result),
                },
            )

        step = self._step(lambda a, b: np.broadcast_shapes(a.shape, b.shape), make)
        if kind in ("add", "mul", "max", "min"):  # the larger one first
            return lambda a, b: step(a, b) if a.size >= b.size else step(b, a)
        return step

    def reduce(self, kind, axes):
        if kind not in dnnl.REDUCTION:
            raise Declined(f"oneDNN has no reduction '{kind}'")

        def make(result, a):
            d = self.dnnl
            source, target = d.plain(a, "f32"), d.plain(result, "f32")
            _, handle = d.primitive(
                "reduction",
                dnnl.REDUCTION[kind],
                source,
                target,
                dnnl.c.c_float(0),
                dnnl.c.c_float(0),
                None,
            )
            return d.runner(
                handle, {dnnl.SRC: d.memory(source, a), dnnl.DST: d.memory(target, result)}
            )

        return self._step(lambda a: [1 if i in axes else n for i, n in enumerate(a.shape)], make)

    def transpose(self, a, order):
        return a.transpose(order)

    def view(self, view):
        index, order, expand = view.index, view.order, view.expand
        if view.flipped:
            raise Declined("oneDNN has no memory that runs backwards")
        return lambda a: (a[index] if order is None else a[index].transpose(order))[expand]

    def whole(self, value, shape, fresh):
        if fresh and value.shape == shape:
            return value
        return self._copied(value, shape)

    def _copied(self, value, shape):
        if value.shape != shape:
            raise Declined("oneDNN has no primitive that repeats an array")
        return self.identity(value)

    @property
    def identity(self):
        """A reorder: the array in plain order."""
        if not hasattr(self, "_identity"):

            def make(result, a):
                d = self.dnnl
                source, target = d.plain(a, "f32"), d.plain(result, "f32")
                return d.reorder(source, d.memory(source, a), target, d.memory(target, result))

            self._identity = self._step(lambda a: a.shape, make)
        return self._identity

    def write(self, view):
        """Into a part of a buffer: a reorder, too."""
        made = {}

        def run(buffer, value):
            part = buffer[view.index]
            if part.shape != value.shape:
                raise Declined("oneDNN has no primitive that repeats an array")
            key = (part.ctypes.data, value.ctypes.data, value.strides)
            if key not in made:
                d = self.dnnl
                source, target = d.plain(value, "f32"), d.plain(part, "f32")
                made[key] = (
                    d.reorder(source, d.memory(source, value), target, d.memory(target, part)),
                    value,
                    buffer,
                )
            made[key][0]()
            return buffer

        return run

    def einsum(self, axes, kept, rank):
        steps = [self._product(*pair, rank) for pair in folded(axes, kept)]

        def run(first, *rest):
            for step, factor in zip(steps, rest):
                first = step(first, factor)
            return first

        return run

    def _product(self, first, second, kept, rank):
        parts = Matmul(first, second, kept)
        if parts.only_a or parts.only_b:
            raise Declined("a sum before the product")
        orders = parts.orders()
        squeezes = [
            tuple(slice(None) if axis in order else 0 for axis in range(rank)) for order in orders
        ]
        permutes = [[sorted(order).index(axis) for axis in order] for order in orders]
        expand = tuple(slice(None) if axis in parts.result else None for axis in range(rank))
        back = [parts.result.index(axis) for axis in sorted(parts.result)]
        batch, m, k = len(parts.batch), len(parts.m), len(parts.k)

        def make(result, a, b):
            d = self.dnnl
            md = [d.plain(x, "f32") for x in (a, b, result)]
            _, handle = d.primitive("matmul", md[0], md[1], None, md[2], None)
            return d.runner(
                handle,
                {
                    dnnl.SRC: d.memory(md[0], a),
                    dnnl.WEIGHTS: d.memory(md[1], b),
                    dnnl.DST: d.memory(md[2], result),
                },
            )

        product = self._step(lambda a, b: [*a.shape[:-1], b.shape[-1]], make)

        def run(a, b):
            a, b = (x[s].transpose(p) for x, s, p in zip((a, b), squeezes, permutes))
            outer, rows, columns = a.shape[:batch], a.shape[batch : batch + m], b.shape[batch + k :]
            inner = math.prod(a.shape[batch + m :])
            a = self.reshape(a, [*outer, math.prod(rows), inner])
            b = self.reshape(b, [*outer, inner, math.prod(columns)])
            return product(a, b).reshape((*outer, *rows, *columns)).transpose(back)[expand]

        return run

    def reshape(self, a, shape):
        """Axes put together; by a reorder where memory has them apart."""
        result = a.reshape(shape)
        return result if np.shares_memory(result, a) else self.identity(a).reshape(shape)

    def conv(self, step):
        groups = math.prod(step["extents"][a] for a in step["group"])
        strides, low, high = (dnnl.dims(step[key]) for key in ("strides", "low", "high"))
        dilations = dnnl.dims([n - 1 for n in step["dilations"]])
        points = [step["extents"][a] for a in step["points"]]

        def make(result, x, w):
            d = self.dnnl
            w = w.reshape(groups, w.shape[0] // groups, *w.shape[1:]) if groups > 1 else w
            source, target, plain = d.plain(x, "f32"), d.plain(result, "f32"), d.plain(w, "f32")
            pd, handle = d.primitive(
                "convolution_forward",
                dnnl.INFERENCE,
                dnnl.CONVOLUTION_AUTO,
                source,
                d.any(w.shape, "f32"),
                None,
                target,
                strides,
                dilations,
                low,
                high,
                None,
            )
            chosen = d.queried(pd, dnnl.QUERY_WEIGHTS)
            weights = d.memory(chosen)
            pack = d.reorder(plain, d.memory(plain, w), chosen, weights)
            run = d.runner(
                handle,
                {
                    dnnl.SRC: d.memory(source, x),
                    dnnl.WEIGHTS: weights,
                    dnnl.DST: d.memory(target, result),
                },
            )
            pack()
            return run if self.is_constant(w) else (lambda: pack() or run())

        return self._step(lambda x, w: [x.shape[0], w.shape[0], *points], make)

    def is_constant(self, w):
        return any(first <= w.ctypes.data < end for first, end in self.constants.values())

    def pool(self, step, taps):
        largest = step["kind"] == "max"
        strides, kernel, low, high = (
            dnnl.dims(v) for v in (step["strides"], taps, step["low"], step["high"])
        )
        dilations = dnnl.dims([n - 1 for n in step["dilations"]])
        points = [step["extents"][a] for a in step["points"]]

        def make(result, x):
            d = self.dnnl
            source, target = d.plain(x, "f32"), d.plain(result, "f32")
            kind = dnnl.POOL_MAX if largest else dnnl.POOL_MEAN_OF_ALL
            _, handle = d.primitive(
                "pooling_forward",
                dnnl.INFERENCE,
                kind,
                source,
                target,
                strides,
                kernel,
                dilations,
                low,
                high,
                None,
            )
            return d.runner(
                handle, {dnnl.SRC: d.memory(source, x), dnnl.DST: d.memory(target, result)}
            )

        pooled = self._step(lambda x: [*x.shape[:2], *points], make)
        if largest:
            return pooled
        count = np.full([1] * (2 + len(points)), math.prod(taps), np.float32)
        times = self.binary("mul")
        return lambda x: times(pooled(x), count)
