"""XLA, through jax: the whole form is traced and compiled once."""

import jax
import jax.numpy as jnp
from jax import lax

from .arrays import Declined

TYPES = {
    "f64": jnp.float64,
    "f32": jnp.float32,
    "f16": jnp.float16,
    "bf16": jnp.bfloat16,
    "i8": jnp.int8,
    "i16": jnp.int16,
    "i32": jnp.int32,
    "i64": jnp.int64,
    "u8": jnp.uint8,
    "u16": jnp.uint16,
    "u32": jnp.uint32,
    "u64": jnp.uint64,
    "bool": jnp.bool_,
}
UNARY = {
    "neg": jnp.negative,
    "abs": jnp.abs,
    "not": jnp.logical_not,
    "sqrt": jnp.sqrt,
    "floor": jnp.floor,
    "ceil": jnp.ceil,
    "round": jnp.rint,
    "trunc": jnp.trunc,
    "exp": jnp.exp,
    "log": jnp.log,
    "tanh": jnp.tanh,
    "erf": jax.scipy.special.erf,
    "sigmoid": jax.nn.sigmoid,
    "sin": jnp.sin,
    "cos": jnp.cos,
}
BINARY = {
    "add": jnp.add,
    "sub": jnp.subtract,
    "mul": jnp.multiply,
    "div": jnp.true_divide,
    "min": jnp.minimum,
    "max": jnp.maximum,
    "pow": jnp.power,
    "and": jnp.bitwise_and,
    "or": jnp.bitwise_or,
    "xor": jnp.bitwise_xor,
    "eq": jnp.equal,
    "ne": jnp.not_equal,
    "lt": jnp.less,
    "le": jnp.less_equal,
    "floor_div": jnp.floor_divide,
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class JaxLibrary:
    where = staticmethod(jnp.where)

    def zeros(self, dtype, shape):
        return jnp.zeros(shape, TYPES[dtype])

    def literal(self, dtype, value, rank):
        return jnp.full([1] * rank, value, TYPES[dtype])

    def arange(self, start, count, shape):
        return jnp.arange(start, start + count, dtype=jnp.int64).reshape(shape)

    def cast(self, dtype):
        return lambda a: a.astype(TYPES[dtype])

    def unary(self, kind):
        return UNARY[kind]

    def binary(self, kind):
        return BINARY[kind]

    def reduce(self, kind, axes):
        names = {"add": jnp.sum, "mul": jnp.prod, "max": jnp.max, "min": jnp.min}
        if kind not in names:
            raise Declined(f"jax reduces no '{kind}'")
        return lambda a: names[kind](a, axis=axes, keepdims=True)

    def place(self, kind, axis):
        function = jnp.argmax if kind == "max" else jnp.argmin
        return lambda a: function(a, axis=axis, keepdims=True).astype(jnp.int64)

    def reshape(self, a, shape):
        return a.reshape(shape)

    def transpose(self, a, order):
        return a.transpose(order)

    def pad(self, low, high, value):
        return lambda a: jnp.pad(a, list(zip(low, high)), constant_values=value)

    def view(self, view):
        index, order, expand = view.index, view.order, view.expand
        return lambda a: (a[index] if order is None else a[index].transpose(order))[expand]

    def whole(self, value, shape, fresh):
        return jnp.broadcast_to(value, shape)

    def write(self, view):
        return lambda buffer, value: buffer.at[view.index].set(value)

    def loop(self, count, body, written, values, buffers):
        def step(_, state):
            inner = {**buffers, **dict(zip(written, state))}
            local = {}
            for one in body:
                one(local, inner)
            return tuple(inner[name] for name in written)

        buffers.update(
            zip(written, lax.fori_loop(0, count, step, tuple(buffers[name] for name in written)))
        )

    def einsum(self, axes, kept, rank):
        if rank > len(LETTERS):
            raise Declined("einsum has 26 letters a case")
        text = (
            ",".join("".join(LETTERS[a] for a in one) for one in axes)
            + "->"
            + "".join(LETTERS[a] for a in kept)
        )
        squeezes = [
            tuple(slice(None) if axis in one else 0 for axis in range(rank)) for one in axes
        ]
        expand = tuple(slice(None) if axis in kept else None for axis in range(rank))
        return lambda *factors: jnp.einsum(text, *[f[s] for f, s in zip(factors, squeezes)])[expand]

    def conv(self, step):
        groups = 1
        for axis in step["group"]:
            groups *= step["extents"][axis]
        pads = list(zip(step["low"], step["high"]))
        return lambda x, w: lax.conv_general_dilated(
            x, w, step["strides"], pads, rhs_dilation=step["dilations"], feature_group_count=groups
        )

    def pool(self, step, taps):
        largest = step["kind"] == "max"
        pads = [(0, 0), (0, 0), *zip(step["low"], step["high"])]

        def run(x):
            start = jnp.array(-jnp.inf if largest else 0, x.dtype)
            return lax.reduce_window(
                x,
                start,
                lax.max if largest else lax.add,
                (1, 1, *taps),
                (1, 1, *step["strides"]),
                pads,
                window_dilation=(1, 1, *step["dilations"]),
            )

        return run
