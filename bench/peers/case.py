"""What is timed: an operator with its data, what must come out, and the Polyte programs that
compute it.

Peers see the plain layout (channels first, row-major) and may choose another of their own
outside the timed region, where a network would keep it; a variant of ours says how its program's
layout differs.
"""

from dataclasses import dataclass, field

import numpy as np

SCHEDULES = "examples/schedules"
PROGRAMS = "examples/programs"


def keep(array):
    return array


@dataclass
class Variant:
    """One compiled program of Polyte: a script, or a scheduler's choice."""

    program: str
    sizes: str = ""
    script: str = ""
    scheduler: str = ""
    to_ours: dict = field(default_factory=dict)  # input or constant -> function of its array
    from_ours: object = keep
    constants_are_inputs: bool = False
    tag: str = ""

    @property
    def label(self):
        name = self.scheduler or self.script.split("/")[-1].removesuffix(".sched")
        return f"{name} {self.tag}".strip()


@dataclass
class Plain:
    """An operator as libraries know it, where no peer has a function for its kind."""

    inputs: dict
    constants: dict
    nodes: list  # of ONNX: operator, inputs, output, attributes
    function: object  # of numpy or jax.numpy, the inputs and the constants
    back: object = keep  # the library's result -> ours
    into: object = None  # of the output and the inputs: numpy's fastest way, where it has one
    # What oneDNN is told of products, convolutions and pools.
    turned: tuple = ()
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    window: int = 0


@dataclass
class Case:
    kind: str
    sizes: tuple
    inputs: dict
    constants: dict
    reference: np.ndarray
    flops: float
    bytes: float  # of the interface, each element once
    variants: list
    tolerance: float = 1e-4  # of the largest value
    plain: Plain = None

    @property
    def memory_bound(self):
        return self.flops < 10 * self.bytes

    @property
    def name(self):
        return " ".join([self.kind, *map(str, self.sizes)])


def schedulers(program, sizes="", scripts=(), arms=("template", "poly"), **how):
    """A variant for each script of examples/schedules and each scheduler."""
    return [
        Variant(program, sizes, script=f"{SCHEDULES}/{name}.sched", **how) for name in scripts
    ] + [Variant(program, sizes, scheduler=arm, **how) for arm in arms]


def data(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def total_bytes(*arrays):
    return float(sum(array.nbytes for array in arrays))


def transpose(rows, columns):
    x = data(1, rows, columns)
    variants = schedulers(
        f"{SCHEDULES}/transpose.program", f"N={rows},M={columns}", ["transpose_tile"]
    )
    return Case(
        "transpose", (rows, columns), {"x": x}, {}, x.T, 0, 2.0 * x.nbytes, variants, tolerance=0
    )


def softmax(rows, columns):
    x = data(2, rows, columns)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    variants = schedulers(
        f"{PROGRAMS}/softmax.program", f"M={rows},N={columns}", ["softmax_passes", "softmax_online"]
    )
    return Case(
        "softmax",
        (rows, columns),
        {"x": x},
        {},
        e / e.sum(axis=1, keepdims=True),
        0,
        2.0 * x.nbytes,
        variants,
    )


def layer_norm(rows, columns):
    x, g, b = data(3, rows, columns), data(4, columns), data(5, columns)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * g + b
    variants = schedulers(f"{PROGRAMS}/layer_norm.program", f"M={rows},N={columns}", ["layer_norm"])
    return Case(
        "layer_norm",
        (rows, columns),
        {"x": x},
        {"g": g, "b": b},
        y,
        0,
        2.0 * x.nbytes + total_bytes(g, b),
        variants,
    )


def first_axis_sum(rows, columns):
    x = data(6, rows, columns)
    variants = schedulers(
        f"{PROGRAMS}/first_axis_sum.program",
        f"M={rows},N={columns}",
        ["first_axis_sum", "first_axis_parts"],
    )
    return Case(
        "first_axis_sum",
        (rows, columns),
        {"x": x},
        {},
        x.astype(np.float64).sum(axis=0),
        float(x.size),
        x.nbytes + 4.0 * columns,
        variants,
    )


def matrix_product(kind, m, n, k, variants):
    a, b = data(7, m, k), data(8, k, n)
    inputs, constants = ({"A": a}, {"B": b}) if kind == "gemm_prepacked" else ({"A": a, "B": b}, {})
    reference = a.astype(np.float64) @ b.astype(np.float64)
    return Case(
        kind,
        (m, n, k),
        inputs,
        constants,
        reference,
        2.0 * m * n * k,
        total_bytes(a, b) + 4.0 * m * n,
        variants,
    )


def gemm(m, n, k):
    suite = {1024: "gemm_1024", 1019: "gemm_odd", 17: "gemm_thin"}[n]
    scripts = [] if suite == "gemm_thin" else [suite]
    return matrix_product("gemm", m, n, k, schedulers(f"bench/suites/{suite}.program", "", scripts))


def gemm_prepacked(m, n, k):
    variants = schedulers(
        f"{SCHEDULES}/gemm_prepacked.program", f"M={m},N={n},K={k}", ["gemm_prepacked"]
    )
    return matrix_product("gemm_prepacked", m, n, k, variants)


# ---- convolutions with bias and relu, square images, 3x3 taps, padding 1, channels in blocks of 16


def to_blocks(x):
    c, h, w = x.shape
    return x.reshape(c // 16, 16, h, w).transpose(0, 2, 3, 1)


def from_blocks(y):
    c, h, w, b = y.shape
    return y.transpose(0, 3, 1, 2).reshape(c * b, h, w)


def taps_inside(n):
    """Of 3x3 taps over n points with padding 1: what lies in the image, by both axes."""
    return (3 * n - 2) ** 2


def convolved(x, w, groups):
    """In double precision, channels first; w is [F, C / groups, 3, 3]."""
    n = x.shape[1]
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    y = np.zeros((w.shape[0], n, n))
    for r in range(3):
        for s in range(3):
            tap, image = w[:, :, r, s].astype(np.float64), padded[:, r : r + n, s : s + n]
            y += (
                tap[:, 0, None, None] * image
                if groups > 1
                else np.einsum("fc,chw->fhw", tap, image, optimize=True)
            )
    return y


def depthwise(channels, n):
    x, w, b = data(9, channels, n, n), data(10, channels, 1, 3, 3), data(11, channels)
    blocks = {
        "x": to_blocks,
        "w": lambda v: v.reshape(channels // 16, 16, 3, 3).transpose(0, 2, 3, 1),
        "b": lambda v: v.reshape(-1, 16),
    }
    variants = schedulers(
        f"{SCHEDULES}/depthwise.program",
        f"C={channels // 16},N={n}",
        ["depthwise_rows"],
        to_ours=blocks,
        from_ours=from_blocks,
    )
    reference = np.maximum(convolved(x, w, channels) + b[:, None, None], 0)
    return Case(
        "depthwise",
        (channels, n),
        {"x": x, "b": b},
        {"w": w},
        reference,
        2.0 * channels * taps_inside(n),
        2.0 * x.nbytes + total_bytes(w, b),
        variants,
    )


def conv(channels, n, features):
    x, w, b = data(12, channels, n, n), data(13, features, channels, 3, 3), data(14, features)
    script = "conv_nchwc_rows" if n > 7 else "conv_nchwc_blocks"
    variants = schedulers(
        f"{SCHEDULES}/conv_nchwc.program",
        f"C={channels // 16},F={features // 16},N={n}",
        [script],
        to_ours={"x": to_blocks, "b": lambda v: v.reshape(-1, 16)},
        from_ours=from_blocks,
    )
    reference = np.maximum(convolved(x, w, 1) + b[:, None, None], 0)
    return Case(
        "conv_3x3",
        (channels, n, features),
        {"x": x, "b": b},
        {"w": w},
        reference,
        2.0 * channels * features * taps_inside(n),
        total_bytes(x, w, b) + 4.0 * features * n * n,
        variants,
    )


def all_cases():
    """Functions, so that only what is asked for is made."""
    rows = [
        (transpose, (1024, 1024)),
        (transpose, (2048, 2048)),
        (transpose, (1000, 1500)),
        (depthwise, (32, 112)),
        (depthwise, (144, 56)),
        (depthwise, (192, 28)),
        (depthwise, (384, 14)),
        (depthwise, (960, 7)),
        (conv, (64, 56, 64)),
        (conv, (128, 28, 128)),
        (conv, (256, 14, 256)),
        (conv, (512, 7, 512)),
        (gemm, (1024, 1024, 1024)),
        (gemm, (1021, 1019, 1013)),
        (gemm, (1000, 17, 333)),
        (gemm_prepacked, (1024, 1024, 1024)),
        (softmax, (128, 128)),
        (softmax, (1024, 1024)),
        (softmax, (4096, 4096)),
        (layer_norm, (128, 768)),
        (layer_norm, (1024, 768)),
        (layer_norm, (1024, 1024)),
        (first_axis_sum, (1024, 1024)),
        (first_axis_sum, (4096, 4096)),
    ]

    def name(function, sizes):
        kind = "conv_3x3" if function is conv else function.__name__
        return " ".join([kind, *map(str, sizes)])

    return [
        (name(function, sizes), lambda function=function, sizes=sizes: function(*sizes))
        for function, sizes in rows
    ]
