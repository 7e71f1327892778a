"""Drawn operators (bench/drawn.py) as cases: a reference in double precision, and each operator as
the libraries know it. They take images channels first and cropped to what is read; weights are
constants of theirs and of ours, as in a network."""

import os

import numpy as np

from .case import Case, Plain, Variant, keep

ARMS = ("template", "poly")
# An addend of a library's own sum may be rounded in any order.
TOLERANCE = {"f32": 2e-4, "f64": 1e-10}
EXACT = ("transpose",)


def channels_first(image):
    return image.transpose(2, 0, 1)


def channels_last(image):
    return image.transpose(1, 2, 0)


def node(operator, inputs, output="y", **attributes):
    return operator, inputs, output, attributes


def turned(matrix):
    return matrix.swapaxes(-1, -2)


# ---- what a family is: a Plain, made of the drawn operator and its arrays


def products(drawn, arrays):
    def function(xp, A, B):
        return (turned(A) if turn[0] else A) @ (turned(B) if turn[1] else B)

    turn = drawn.how.get("turned", (False, False))
    if drawn.family == "batched":
        nodes = [node("Transpose", ["B"], "Bt", perm=[0, 2, 1])] if turn[1] else []
        nodes.append(node("MatMul", ["A", "Bt" if turn[1] else "B"]))
    else:
        nodes = [node("Gemm", ["A", "B"], transA=int(turn[0]), transB=int(turn[1]))]
    into = lambda y, A, B: np.matmul(  # noqa: E731
        turned(A) if turn[0] else A, turned(B) if turn[1] else B, out=y
    )
    return Plain(arrays, {}, nodes, function, into=into, turned=turn)


def convolutions(drawn, arrays):
    stride, dilation, last = (drawn.how[k] for k in ("stride", "dilation", "channels_last"))
    x, w = arrays["x"], arrays["w"]
    groups = x.shape[0] if drawn.family == "depthwise" else 1
    if last:
        x, w = channels_first(x), w.transpose(3, 2, 0, 1)
    if groups > 1:
        w = w[:, None]
    reach = dilation * (w.shape[-1] - 1)
    rows, columns = drawn.shapes["y"][:2] if last else drawn.shapes["y"][1:]
    x = x[:, : stride * (rows - 1) + reach + 1, : stride * (columns - 1) + reach + 1]

    def function(xp, x, w):
        if xp is np:
            return sum_of_taps(x[0], w)[None]
        from jax import lax

        return lax.conv_general_dilated(
            x,
            w,
            (stride, stride),
            "VALID",
            rhs_dilation=(dilation, dilation),
            feature_group_count=groups,
        )

    def sum_of_taps(x, w):
        y = np.zeros((w.shape[0], rows, columns))
        for r in range(w.shape[2]):
            for s in range(w.shape[3]):
                at = x[:, r * dilation :: stride, s * dilation :: stride][:, :rows, :columns]
                tap = w[:, :, r, s]
                if groups > 1:
                    y += tap[:, 0, None, None] * at
                else:
                    y += np.tensordot(tap, at, 1)
        return y

    nodes = [node("Conv", ["x", "w"], strides=[stride] * 2, dilations=[dilation] * 2, group=groups)]
    back = (lambda y: channels_last(y[0])) if last else (lambda y: y[0])
    return Plain(
        {"x": x[None]},
        {"w": w},
        nodes,
        function,
        back,
        stride=stride,
        dilation=dilation,
        groups=groups,
    )


def pools(drawn, arrays):
    window, stride, last = (drawn.how[k] for k in ("window", "stride", "channels_last"))
    x = channels_first(arrays["x"]) if last else arrays["x"]
    rows, columns = drawn.shapes["y"][:2] if last else drawn.shapes["y"][1:]
    x = x[None, :, : stride * (rows - 1) + window, : stride * (columns - 1) + window]

    def function(xp, x):
        if xp is np:
            windows = np.lib.stride_tricks.sliding_window_view(x, (window, window), (2, 3))
            return windows[:, :, ::stride, ::stride].max((-1, -2))
        from jax import lax

        size, steps = (1, 1, window, window), (1, 1, stride, stride)
        return lax.reduce_window(x, -np.inf, lax.max, size, steps, "VALID")

    nodes = [node("MaxPool", ["x"], kernel_shape=[window] * 2, strides=[stride] * 2)]
    back = (lambda y: channels_last(y[0])) if last else (lambda y: y[0])
    return Plain({"x": x}, {}, nodes, function, back, window=window, stride=stride)


def reductions(drawn, arrays):
    axes, combiner = drawn.how["axes"], drawn.how["combiner"]

    def function(xp, x, *_):
        return x.sum(axes) if combiner == "sum" else x.max(axes)

    combine = np.add if combiner == "sum" else np.maximum
    if combiner == "sum":
        nodes, constants = (
            [node("ReduceSum", ["x", "axes"], keepdims=0)],
            {"axes": np.array(axes, np.int64)},
        )
    else:
        nodes, constants = [node("ReduceMax", ["x"], axes=list(axes), keepdims=0)], {}
    into = lambda y, x: combine.reduce(x, axis=axes, out=y)  # noqa: E731
    return Plain(arrays, constants, nodes, function, into=into)


def pointwise(drawn, arrays):
    form, axis = drawn.how["form"], drawn.how["axis"]
    b = arrays["b"].reshape([-1 if d == axis else 1 for d in range(3)])

    def function(xp, x, b):
        if form == "biased":
            return xp.maximum(x + b, 0)
        return x * b + x if form == "scaled" else xp.minimum(xp.maximum(x, 0), b)

    nodes = {
        "biased": [node("Add", ["x", "b"], "s"), node("Relu", ["s"])],
        "scaled": [node("Mul", ["x", "b"], "s"), node("Add", ["s", "x"])],
        "clipped": [node("Relu", ["x"], "s"), node("Min", ["s", "b"])],
    }[form]
    return Plain({"x": arrays["x"], "b": b}, {}, nodes, function)


def chains(drawn, arrays):
    def function(xp, x, *_):
        a = x * 2
        b = xp.maximum(a + 1, 0)
        return b * b - a

    nodes = [
        node("Mul", ["x", "two"], "a"),
        node("Add", ["a", "one"], "a1"),
        node("Relu", ["a1"], "b"),
        node("Mul", ["b", "b"], "bb"),
        node("Sub", ["bb", "a"]),
    ]
    constants = {"two": np.array([2], np.float32), "one": np.array([1], np.float32)}
    return Plain(arrays, constants, nodes, function)


def transposes(drawn, arrays):
    order = drawn.how["order"]
    nodes = [node("Transpose", ["x"], perm=list(order))]
    into = lambda y, x: np.copyto(y, x.transpose(order))  # noqa: E731
    return Plain(arrays, {}, nodes, lambda xp, x: xp.transpose(x, order), into=into)


def softmaxes(drawn, arrays):
    def function(xp, x):
        e = xp.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)

    return Plain(arrays, {}, [node("Softmax", ["x"], axis=1)], function)


def stencils(drawn, arrays):
    """Libraries are asked for the inner points alone: a convolution by a cross."""
    edge = drawn.how["edge"]
    cross = np.zeros((1, 1, 3, 3), np.float32)
    cross[0, 0, [0, 1, 1, 1, 2], [1, 0, 1, 2, 1]] = 0.2

    def function(xp, x, *_):
        x = x[0, 0]
        h, w = x.shape[0] - 2 * edge, x.shape[1] - 2 * edge
        at = [(edge, edge), (edge, 0), (edge, 2 * edge), (0, edge), (2 * edge, edge)]
        return 0.2 * sum(x[i : i + h, j : j + w] for i, j in at)

    def back(y):
        return y.reshape([d - 2 * edge for d in drawn.shapes["y"]])

    nodes = [node("Conv", ["x", "cross"], dilations=[edge] * 2)]
    return Plain({"x": arrays["x"][None, None]}, {"cross": cross}, nodes, function, back)


MAKERS = {
    "gemm": products,
    "batched": products,
    "conv": convolutions,
    "depthwise": convolutions,
    "pool": pools,
    "reduce": reductions,
    "pointwise": pointwise,
    "chain": chains,
    "transpose": transposes,
    "softmax": softmaxes,
    "stencil": stencils,
}
FAMILIES = list(MAKERS)


def case_of(drawn, folder):
    """`folder`: for the Program's text."""
    dtype = {"f32": np.float32, "f64": np.float64}[drawn.dtype]
    random = np.random.default_rng(len(drawn.text()))
    arrays = {
        name: random.standard_normal(shape).astype(dtype)
        for name, shape in drawn.shapes.items()
        if name not in ("y", "C")
    }
    plain = MAKERS[drawn.family](drawn, arrays)
    plain.inputs = {name: np.ascontiguousarray(array) for name, array in plain.inputs.items()}
    plain.constants = {name: np.ascontiguousarray(a) for name, a in plain.constants.items()}
    wide = [a.astype(np.float64) for a in (*plain.inputs.values(), *plain.constants.values())]
    program = os.path.join(folder, f"{drawn.name}.program")
    with open(program, "w") as file:
        file.write(drawn.text().replace("  in w:", "  const w:"))
    constants = {name: arrays.pop(name) for name in ("w",) if name in arrays}
    edge = drawn.how.get("edge")
    return Case(
        drawn.family,
        (drawn.name.split("_")[-1], *drawn.shapes.values()),
        arrays,
        constants,
        plain.back(plain.function(np, *wide)),
        drawn.flops,
        float(drawn.bytes),
        [
            Variant(
                program,
                scheduler=arm,
                from_ours=keep if edge is None else lambda y: y[edge:-edge, edge:-edge],
            )
            for arm in ARMS
        ],
        tolerance=0 if drawn.family in EXACT else TOLERANCE[drawn.dtype],
        plain=plain,
    )
