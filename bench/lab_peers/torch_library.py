"""torch on this processor, one operator after another; torch.compile has its own peer."""

import torch
import torch.nn.functional as F

from .arrays import Declined, Eager

TYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
}


def dtype_of(name):
    if name not in TYPES:
        raise Declined(f"torch has no {name}")
    return TYPES[name]


UNARY = {
    "neg": torch.neg,
    "abs": torch.abs,
    "not": torch.logical_not,
    "sqrt": torch.sqrt,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "trunc": torch.trunc,
    "exp": torch.exp,
    "log": torch.log,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "sin": torch.sin,
    "cos": torch.cos,
}
BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "min": torch.minimum,
    "max": torch.maximum,
    "pow": torch.pow,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "floor_div": lambda a, b: torch.div(a, b, rounding_mode="floor"),
}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class TorchLibrary(Eager):
    where = staticmethod(torch.where)
    device = "cpu"

    def zeros(self, dtype, shape):
        return torch.zeros(shape, dtype=dtype_of(dtype), device=self.device)

    def literal(self, dtype, value, rank):
        return torch.full([1] * rank, value, dtype=dtype_of(dtype), device=self.device)

    def arange(self, start, count, shape):
        return torch.arange(start, start + count, device=self.device).reshape(shape)

    def cast(self, dtype):
        kind = dtype_of(dtype)
        return lambda a: a.to(kind)

    def unary(self, kind):
        return UNARY[kind]

    def binary(self, kind):
        return BINARY[kind]

    def reduce(self, kind, axes):
        if kind == "add":
            return lambda a: a.sum(axes, keepdim=True, dtype=a.dtype)
        if kind in ("max", "min"):
            function = torch.amax if kind == "max" else torch.amin
            return lambda a: function(a, axes, keepdim=True)
        if kind == "mul" and len(axes) == 1:
            return lambda a: a.prod(axes[0], keepdim=True, dtype=a.dtype)
        raise Declined(f"torch reduces no '{kind}' over {len(axes)} axes")

    def place(self, kind, axis):
        function = torch.argmax if kind == "max" else torch.argmin
        return lambda a: function(a, axis, keepdim=True)

    def reshape(self, a, shape):
        return a.reshape(shape)

    def transpose(self, a, order):
        return a.permute(order)

    def pad(self, low, high, value):
        widths = [w for pair in reversed(list(zip(low, high))) for w in pair]
        return lambda a: F.pad(a, widths, value=value)

    def view(self, view):
        order, expand = view.order, view.expand
        flips = [i for i, d in enumerate(view.kept) if d["step"] < 0]
        index = tuple(
            upwards(d) if d.get("step", 1) < 0 else i for d, i in zip(view.dims, view.index)
        )

        def run(a):
            a = a[index]
            a = a.flip(flips) if flips else a
            return (a if order is None else a.permute(order))[expand]

        return run

    def whole(self, value, shape, fresh):
        if fresh and value.shape == shape:
            return value
        return value.expand(shape).clone(memory_format=torch.contiguous_format)

    def write(self, view):
        flips = [i for i, d in enumerate(view.kept) if d["step"] < 0]
        index = tuple(
            upwards(d) if d.get("step", 1) < 0 else i for d, i in zip(view.dims, view.index)
        )

        def run(buffer, value):
            buffer[index] = value.expand(view.counts).flip(flips) if flips else value
            return buffer

        return run

    def einsum(self, axes, kept, rank):
        if rank > len(LETTERS):
            raise Declined("torch.einsum has 26 letters a case")
        text = (
            ",".join("".join(LETTERS[a] for a in one) for one in axes)
            + "->"
            + "".join(LETTERS[a] for a in kept)
        )
        squeezes = [
            tuple(slice(None) if axis in one else 0 for axis in range(rank)) for one in axes
        ]
        expand = tuple(slice(None) if axis in kept else None for axis in range(rank))
        return lambda *factors: torch.einsum(text, *[f[s] for f, s in zip(factors, squeezes)])[
            expand
        ]

    def conv(self, step):
        function = [F.conv1d, F.conv2d, F.conv3d][len(step["low"]) - 1]
        groups = 1
        for axis in step["group"]:
            groups *= step["extents"][axis]
        even = step["low"] == step["high"]
        around = self.pad([0, 0] + step["low"], [0, 0] + step["high"], 0)
        options = {
            "stride": step["strides"],
            "dilation": step["dilations"],
            "groups": groups,
            "padding": step["low"] if even else 0,
        }
        return lambda x, w: function(x if even else around(x), w, **options)

    def pool(self, step, taps):
        spatial, largest = len(taps), step["kind"] == "max"
        around = self.pad(
            [0, 0] + step["low"], [0, 0] + step["high"], float("-inf") if largest else 0.0
        )
        outside = any(step["low"]) or any(step["high"])
        inside = step["low"] == step["high"] and all(2 * p <= t for p, t in zip(step["low"], taps))
        padding = step["low"] if inside else 0
        if largest:
            function = [F.max_pool1d, F.max_pool2d, F.max_pool3d][spatial - 1]

            def pool(x):
                return function(x, taps, step["strides"], padding, step["dilations"])

        else:
            function, count = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][spatial - 1], 1
            for t in taps:
                count *= t

            def pool(x):
                return function(x, taps, step["strides"], padding, count_include_pad=True) * count

        return (lambda x: pool(around(x))) if outside and not inside else pool


def upwards(d):
    """The same elements from the lowest; torch has no steps down."""
    last = d["start"] + d["step"] * (d["count"] - 1)
    return slice(last, d["start"] + 1, -d["step"])
