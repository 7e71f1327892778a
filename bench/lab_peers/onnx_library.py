"""A form as an ONNX model: arrays are names of a graph, and running the form writes its nodes."""

import math

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .arrays import Declined, folded, in_turn, product_of

TYPES = {
    "f64": TensorProto.DOUBLE,
    "f32": TensorProto.FLOAT,
    "f16": TensorProto.FLOAT16,
    "bf16": TensorProto.BFLOAT16,
    "i8": TensorProto.INT8,
    "i16": TensorProto.INT16,
    "i32": TensorProto.INT32,
    "i64": TensorProto.INT64,
    "u8": TensorProto.UINT8,
    "u16": TensorProto.UINT16,
    "u32": TensorProto.UINT32,
    "u64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
}
UNARY = {
    "neg": "Neg",
    "abs": "Abs",
    "not": "Not",
    "sqrt": "Sqrt",
    "floor": "Floor",
    "ceil": "Ceil",
    "round": "Round",
    "exp": "Exp",
    "log": "Log",
    "tanh": "Tanh",
    "erf": "Erf",
    "sigmoid": "Sigmoid",
    "sin": "Sin",
    "cos": "Cos",
}
BINARY = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "min": "Min",
    "max": "Max",
    "pow": "Pow",
    "eq": "Equal",
    "lt": "Less",
    "le": "LessOrEqual",
}
REDUCE = {"add": "ReduceSum", "mul": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}
OPSET = 18


def numpy_type(dtype):
    return helper.tensor_dtype_to_np_dtype(TYPES[dtype])


class Name:
    """An array of the graph: what NumPy's arrays do here, as nodes."""

    def __init__(self, graph, name, shape, dtype):
        self.graph, self.name, self.shape, self.dtype = graph, name, tuple(shape), dtype

    def __getitem__(self, index):
        if index and isinstance(index[0], Name):
            return self.graph.gather(self, index)
        starts, ends, axes, steps, shape, result, axis = [], [], [], [], list(self.shape), [], 0
        for one in index:
            if one is None:
                result.append(1)
                continue
            extent = shape[axis]
            first, stop, step = (one, one + 1, 1) if isinstance(one, int) else one.indices(extent)
            count = len(range(first, stop, step))
            if count != extent or step != 1:
                starts.append(first)
                ends.append(stop if stop >= 0 else -(1 << 62))
                axes.append(axis)
                steps.append(step)
                shape[axis] = count
            if not isinstance(one, int):
                result.append(count)
            axis += 1
        result += shape[axis:]
        made = self
        if axes:
            constants = [self.graph.whole_numbers(values) for values in (starts, ends, axes, steps)]
            made = self.graph.node("Slice", [self, *constants], shape, self.dtype)
        return made.reshape(*result)

    def reshape(self, *shape):
        shape = (
            tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
        )
        if shape == self.shape:
            return self
        return self.graph.node(
            "Reshape", [self, self.graph.whole_numbers(shape)], shape, self.dtype
        )

    def transpose(self, order):
        if list(order) == list(range(len(self.shape))):
            return self
        return self.graph.node(
            "Transpose", [self], [self.shape[i] for i in order], self.dtype, perm=list(order)
        )

    def sum(self, axis, keepdims):
        return self.graph.reduce("add", axis)(self)


class OnnxLibrary:
    """The words of arrays.py, each a node of the graph that is being written."""

    def __init__(self):
        self.nodes, self.initializers, self._count = [], [], 0

    # ---- the graph

    def name(self):
        self._count += 1
        return f"v{self._count}"

    def node(self, kind, inputs, shape, dtype, **attributes):
        made = Name(self, self.name(), shape, dtype)
        self.nodes.append(
            helper.make_node(kind, [i.name for i in inputs], [made.name], **attributes)
        )
        return made

    def constant(self, array, dtype):
        name = self.name()
        self.initializers.append(
            numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        )
        return Name(self, name, array.shape, dtype)

    def whole_numbers(self, values):
        return self.constant(np.array(values, np.int64), "i64")

    @staticmethod
    def broadcast(*arrays):
        return np.broadcast_shapes(*[a.shape for a in arrays])

    # ---- what arrays.py asks for

    def zeros(self, dtype, shape):
        return self.constant(np.zeros(shape, numpy_type(dtype)), dtype)

    def literal(self, dtype, value, rank):
        return self.constant(np.full([1] * rank, value, numpy_type(dtype)), dtype)

    def arange(self, start, count, shape):
        return self.constant(np.arange(start, start + count, dtype=np.int64).reshape(shape), "i64")

    def cast(self, dtype):
        return lambda a: self.node("Cast", [a], a.shape, dtype, to=TYPES[dtype])

    def unary(self, kind):
        if kind not in UNARY:
            raise Declined(f"ONNX has no operator for '{kind}'")
        return lambda a: self.node(UNARY[kind], [a], a.shape, a.dtype)

    def binary(self, kind):
        if kind == "floor_div":
            return self.floor_div
        if kind == "ne":
            return lambda a, b: self.node(
                "Not", [self.binary("eq")(a, b)], self.broadcast(a, b), "bool"
            )
        if kind in ("and", "or", "xor"):
            name = kind.capitalize()
            return lambda a, b: self.node(
                name if a.dtype == "bool" else "Bitwise" + name,
                [a, b],
                self.broadcast(a, b),
                a.dtype,
            )
        made = "bool" if kind in ("eq", "lt", "le") else None
        return lambda a, b: self.node(BINARY[kind], [a, b], self.broadcast(a, b), made or a.dtype)

    def floor_div(self, a, b):
        """Div of whole numbers truncates."""
        wide = self.cast("f64")
        return self.cast("i64")(self.unary("floor")(self.binary("div")(wide(a), wide(b))))

    def where(self, condition, a, b):
        return self.node("Where", [condition, a, b], self.broadcast(condition, a, b), a.dtype)

    def reduce(self, kind, axes):
        if kind not in REDUCE:
            raise Declined(f"ONNX has no reduction '{kind}'")

        def run(a):
            shape = [1 if i in axes else extent for i, extent in enumerate(a.shape)]
            return self.node(
                REDUCE[kind], [a, self.whole_numbers(axes)], shape, a.dtype, keepdims=1
            )

        return run

    def place(self, kind, axis):
        name = "ArgMax" if kind == "max" else "ArgMin"

        def run(a):
            shape = [1 if i == axis else extent for i, extent in enumerate(a.shape)]
            return self.node(name, [a], shape, "i64", axis=axis, keepdims=1)

        return run

    def reshape(self, a, shape):
        return a.reshape(shape)

    def transpose(self, a, order):
        return a.transpose(order)

    def pad(self, low, high, value):
        def run(a):
            shape = [lo + extent + hi for lo, extent, hi in zip(low, a.shape, high)]
            around = self.constant(np.array(value, numpy_type(a.dtype)), a.dtype)
            return self.node("Pad", [a, self.whole_numbers([*low, *high]), around], shape, a.dtype)

        return run

    def view(self, view):
        return lambda a: (
            a[view.index] if view.order is None else a[view.index].transpose(view.order)
        )[view.expand]

    def gather(self, a, indices):
        shape = self.broadcast(*indices)
        columns = [self.whole(i, shape, True).reshape(*shape, 1) for i in indices]
        together = self.node("Concat", columns, [*shape, len(indices)], "i64", axis=len(shape))
        return self.node("GatherND", [a, together], shape, a.dtype)

    def whole(self, value, shape, fresh):
        if value.shape == tuple(shape):
            return value
        return self.node("Expand", [value, self.whole_numbers(shape)], shape, value.dtype)

    def write(self, view):
        """The tensor with a part of it exchanged: what is before, the part, what is after, an
        axis at a time."""
        if any(d.get("step", 1) != 1 for d in view.dims):
            raise Declined("a slice with steps is written, which ONNX says by indices alone")
        starts = [d["at"] if "at" in d else d["start"] for d in view.dims]
        counts = [1 if "at" in d else d["count"] for d in view.dims]

        def put(buffer, value, axis):
            if axis == len(starts):
                return value
            shape, start, end = buffer.shape, starts[axis], starts[axis] + counts[axis]
            at = lambda a, b: buffer[(slice(None),) * axis + (slice(a, b),)]  # noqa: E731
            parts = [at(0, start)] if start > 0 else []
            parts.append(put(at(start, end), value, axis + 1))
            parts += [at(end, shape[axis])] if end < shape[axis] else []
            return (
                parts[0]
                if len(parts) == 1
                else self.node("Concat", parts, shape, buffer.dtype, axis=axis)
            )

        return lambda buffer, value: put(
            buffer, self.whole(value, view.counts, True).reshape(*counts), 0
        )

    def loop(self, count, body, written, values, buffers):
        outer, self.nodes = self.nodes, []
        inner = dict(buffers)
        for name in written:
            inner[name] = Name(self, self.name(), buffers[name].shape, buffers[name].dtype)
        entered = [inner[name] for name in written]
        turn, more, goes_on = self.name(), self.name(), self.name()
        local = {}
        for step in body:
            step(local, inner)
        left = [
            self.node("Identity", [inner[name]], inner[name].shape, inner[name].dtype)
            for name in written
        ]
        self.nodes.append(helper.make_node("Identity", [more], [goes_on]))

        def describe(a):
            return helper.make_tensor_value_info(a.name, TYPES[a.dtype], a.shape)

        graph = helper.make_graph(
            self.nodes,
            "body",
            [
                helper.make_tensor_value_info(turn, TensorProto.INT64, []),
                helper.make_tensor_value_info(more, TensorProto.BOOL, []),
                *map(describe, entered),
            ],
            [helper.make_tensor_value_info(goes_on, TensorProto.BOOL, []), *map(describe, left)],
        )
        self.nodes = outer
        trips = self.constant(np.array(count, np.int64), "i64")
        always = self.constant(np.array(True), "bool")
        results = [
            Name(self, self.name(), buffers[name].shape, buffers[name].dtype) for name in written
        ]
        self.nodes.append(
            helper.make_node(
                "Loop",
                [trips.name, always.name, *(buffers[name].name for name in written)],
                [r.name for r in results],
                body=graph,
            )
        )
        buffers.update(zip(written, results))

    def einsum(self, axes, kept, rank):
        def matmul(a, b):
            return self.node("MatMul", [a, b], [*a.shape[:-1], b.shape[-1]], a.dtype)

        steps = [product_of(*pair, rank, matmul) for pair in folded(axes, kept)]

        return in_turn(steps)

    def conv(self, step):
        groups = math.prod(step["extents"][a] for a in step["group"])
        points = [step["extents"][a] for a in step["points"]]
        options = {
            "strides": step["strides"],
            "dilations": step["dilations"],
            "pads": step["low"] + step["high"],
            "group": groups,
        }
        return lambda x, w: self.node(
            "Conv",
            [x, w],
            [x.shape[0], w.shape[0], *points],
            x.dtype,
            kernel_shape=list(w.shape[2:]),
            **options,
        )

    def pool(self, step, taps):
        points = [step["extents"][a] for a in step["points"]]
        options = {"kernel_shape": taps, "strides": step["strides"]}
        largest = step["kind"] == "max"
        around = self.pad([0, 0] + step["low"], [0, 0] + step["high"], -math.inf if largest else 0)
        outside = any(step["low"]) or any(step["high"])

        def run(x):
            x = around(x) if outside else x
            shape = [*x.shape[:2], *points]
            if largest:
                return self.node(
                    "MaxPool", [x], shape, x.dtype, dilations=step["dilations"], **options
                )
            mean = self.node("AveragePool", [x], shape, x.dtype, **options)
            return self.binary("mul")(mean, self.literal(x.dtype, math.prod(taps), len(shape)))

        return run


def model_of(form, constants, steps_of):
    """The model, and names of its outputs by tensor. `constants`: tensors whose values are part
    of it."""
    library = OnnxLibrary()
    steps = steps_of(form, library)
    buffers, inputs = {}, []
    for b in form["buffers"]:
        name, dtype, shape = b["name"], b["dtype"], b["shape"]
        if name in constants:
            buffers[name] = library.constant(constants[name], dtype)
        elif name in steps.inputs:
            buffers[name] = Name(library, "in_" + name, shape, dtype)
            inputs.append(helper.make_tensor_value_info("in_" + name, TYPES[dtype], shape))
    steps.run(buffers)
    outputs = []
    for name in steps.outputs:
        array = library.whole(buffers[name], steps.shapes[name], True)
        library.nodes.append(helper.make_node("Identity", [array.name], ["out_" + name]))
        outputs.append(
            helper.make_tensor_value_info("out_" + name, TYPES[array.dtype], array.shape)
        )
    graph = helper.make_graph(library.nodes, "program", inputs, outputs, library.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
