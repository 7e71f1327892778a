#!/usr/bin/env python3
"""Writes networks of one operator, or of the few that stand for one, with drawn sizes, for
bench/models.py to time beside other runtimes: what a network's importer, graph passes and
schedulers make of them together. Needs onnx and numpy.

  python3 bench/drawn_models.py --out build/drawn [--count 80] [--seed 1] [--only topk,resize]
  bench/models.py build/drawn/*.onnx

The same seed draws the same networks.
"""

import argparse
import math
import os
import random

import numpy as np
from drawn import drawn_size
from onnx import TensorProto, helper, numpy_helper, save

FUNCTIONS = ["Exp", "Tanh", "Sigmoid", "Erf", "Softplus", "Elu", "Sin", "Cos", "HardSwish", "Mish"]


def node(operator, inputs, output="y", **attributes):
    return helper.make_node(operator, inputs, [output], **attributes)


class Draw:
    """Each family is a method that returns nodes, inputs (name -> shape), constants (name ->
    array) and what the file is called by."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.values = np.random.default_rng(seed)

    def size(self, least, most):
        return drawn_size(self.random, least, most)

    def weights(self, *shape):
        return (0.1 * self.values.standard_normal(shape)).astype(np.float32)

    def rows(self):
        return [self.size(16, 1000), self.size(17, 1500)]

    def box(self):
        return [self.size(3, 40), self.size(3, 200), self.size(3, 200)]

    # ---- rows

    def layer_norm(self):
        m, n = self.rows()
        nodes = [
            node("ReduceMean", ["x"], "mean", axes=[-1]),
            node("Sub", ["x", "mean"], "d"),
            node("Pow", ["d", "two"], "square"),
            node("ReduceMean", ["square"], "variance", axes=[-1]),
            node("Add", ["variance", "small"], "shifted"),
            node("Sqrt", ["shifted"], "deviation"),
            node("Div", ["d", "deviation"], "normal"),
            node("Mul", ["normal", "scale"], "scaled"),
            node("Add", ["scaled", "bias"]),
        ]
        constants = {"two": np.float32(2), "small": np.float32(1e-5)}
        constants |= {"scale": self.weights(n), "bias": self.weights(n)}
        return nodes, {"x": [m, n]}, constants, f"{m}x{n}"

    def rms_norm(self):
        m, n = self.rows()
        nodes = [
            node("Mul", ["x", "x"], "square"),
            node("ReduceMean", ["square"], "mean", axes=[-1]),
            node("Add", ["mean", "small"], "shifted"),
            node("Sqrt", ["shifted"], "root"),
            node("Div", ["x", "root"], "normal"),
            node("Mul", ["normal", "scale"]),
        ]
        constants = {"small": np.float32(1e-5), "scale": self.weights(n)}
        return nodes, {"x": [m, n]}, constants, f"{m}x{n}"

    def softmax(self):
        shape, axis = self.box(), self.random.randrange(3)
        operator = self.random.choice(["Softmax", "LogSoftmax"])
        return [node(operator, ["x"], axis=axis)], {"x": shape}, {}, f"{operator}_{shape}_{axis}"

    def reduction(self):
        shape, axes = self.box(), self.random.choice([[0], [1], [2], [1, 2], [0, 1], [0, 2]])
        operator = self.random.choice(["ReduceMean", "ReduceMax", "ReduceL2", "ReduceLogSumExp"])
        nodes = [node(operator, ["x"], axes=axes, keepdims=0)]
        return nodes, {"x": shape}, {}, f"{operator}_{shape}_{axes}"

    def argmax(self):
        shape, axis = self.box(), self.random.randrange(3)
        nodes = [node("ArgMax", ["x"], axis=axis, keepdims=0)]
        return nodes, {"x": shape}, {}, f"{shape}_{axis}"

    def topk(self):
        m, n = self.size(3, 300), self.size(30, 2000)
        k = self.random.choice([1, 3, 5, 10, n // 4])
        top = helper.make_node("TopK", ["x", "k"], ["y", "places"], axis=-1)
        return [top], {"x": [m, n]}, {"k": np.array([k])}, f"{m}x{n}_{k}"

    def cumsum(self):
        shape, axis = self.box(), self.random.randrange(3)
        return (
            [node("CumSum", ["x", "axis"])],
            {"x": shape},
            {"axis": np.int64(axis)},
            f"{shape}_{axis}",
        )

    # ---- element by element

    def function(self):
        operator, shape = self.random.choice(FUNCTIONS), self.rows()
        return [node(operator, ["x"])], {"x": shape}, {}, f"{operator}_{shape}"

    def power(self):
        exponent, shape = self.random.choice([2, 3, 0.5, -0.5, -1, 1.7]), self.rows()
        nodes = [node("Abs", ["x"], "a"), node("Add", ["a", "one"], "b"), node("Pow", ["b", "e"])]
        constants = {"one": np.float32(1), "e": np.float32(exponent)}
        return nodes, {"x": shape}, constants, f"{exponent}_{shape}"

    def gelu(self):
        shape = self.rows()
        nodes = [
            node("Pow", ["x", "three"], "cube"),
            node("Mul", ["cube", "a"], "ca"),
            node("Add", ["x", "ca"], "s"),
            node("Mul", ["s", "b"], "sb"),
            node("Tanh", ["sb"], "t"),
            node("Add", ["t", "one"], "o"),
            node("Mul", ["x", "o"], "xo"),
            node("Mul", ["xo", "half"]),
        ]
        numbers = {"three": 3, "a": 0.044715, "b": math.sqrt(2 / math.pi), "one": 1, "half": 0.5}
        return nodes, {"x": shape}, {n: np.float32(v) for n, v in numbers.items()}, f"{shape}"

    def broadcast(self):
        a, b, c = self.box()
        operator = self.random.choice(["Add", "Mul", "Sub", "Div", "Max"])
        other = self.random.choice([[a, 1, c], [1, b, 1], [a, b, 1], [b, 1], [c]])
        nodes = [node(operator, ["x", "z"])]
        return nodes, {"x": [a, b, c], "z": other}, {}, f"{operator}_{[a, b, c]}_{other}"

    # ---- products

    def attention(self):
        heads, depth = self.random.choice([1, 4, 8, 12]), self.size(16, 128)
        m, n = self.random.choice([1, self.size(2, 400)]), self.size(16, 1100)
        nodes = [
            node("Transpose", ["k"], "turned", perm=[0, 1, 3, 2]),
            node("MatMul", ["q", "turned"], "scores"),
            node("Mul", ["scores", "scale"], "scaled"),
            node("Softmax", ["scaled"], "p", axis=-1),
            node("MatMul", ["p", "v"]),
        ]
        keys = [1, heads, n, depth]
        inputs = {"q": [1, heads, m, depth], "k": keys, "v": keys}
        constants = {"scale": np.float32(1 / math.sqrt(depth))}
        return nodes, inputs, constants, f"{heads}x{m}x{n}x{depth}"

    def dense(self):
        m, n, k = self.size(1, 400), self.size(10, 1000), self.size(16, 1500)
        nodes = [node("Gemm", ["x", "w", "b"], "s"), node("Tanh", ["s"])]
        constants = {"w": self.weights(k, n), "b": self.weights(n)}
        return nodes, {"x": [m, k]}, constants, f"{m}x{n}x{k}"

    def recurrent(self):
        operator, gates = self.random.choice([("LSTM", 4), ("LSTM", 4), ("GRU", 3), ("RNN", 1)])
        direction = self.random.choice(["forward", "reverse", "bidirectional"])
        both = 2 if direction == "bidirectional" else 1
        steps, batch = self.size(2, 200), self.random.choice([1, 1, self.size(2, 32)])
        inputs, hidden = self.size(8, 256), self.size(8, 320)
        how = {"hidden_size": hidden, "direction": direction}
        nodes = [node(operator, ["x", "w", "r", "b"], **how)]
        # So that a difference of the last place shrinks from step to step.
        contraction = np.float32(5 / math.sqrt(hidden))
        constants = {
            "w": self.weights(both, gates * hidden, inputs),
            "r": contraction * self.weights(both, gates * hidden, hidden),
            "b": self.weights(both, 2 * gates * hidden),
        }
        name = f"{operator}_{direction}_{steps}x{batch}x{inputs}_{hidden}"
        return nodes, {"x": [steps, batch, inputs]}, constants, name

    def convolution(self):
        groups, taps = self.random.choice([1, 1, 2, 8]), self.random.choice([1, 3, 5])
        inputs, outputs = groups * self.size(2, 96 // groups), groups * self.size(2, 96 // groups)
        h, w, stride = self.size(7, 64), self.size(7, 64), self.random.choice([1, 2])
        how = {"strides": [stride] * 2, "pads": [taps // 2] * 4, "group": groups}
        nodes = [node("Conv", ["x", "w", "b"], "s", **how), node("Relu", ["s"])]
        constants = {"w": self.weights(outputs, inputs // groups, taps, taps)}
        constants["b"] = self.weights(outputs)
        name = f"{inputs}-{outputs}g{groups}_{h}x{w}_{taps}s{stride}"
        return nodes, {"x": [1, inputs, h, w]}, constants, name

    def transposed_convolution(self):
        inputs, outputs, h, w = (
            self.size(4, 96),
            self.size(3, 96),
            self.size(7, 48),
            self.size(7, 48),
        )
        taps, stride, pad = self.random.choice([(2, 2, 0), (4, 2, 1), (3, 2, 1), (3, 1, 1)])
        nodes = [node("ConvTranspose", ["x", "w"], strides=[stride] * 2, pads=[pad] * 4)]
        constants = {"w": self.weights(inputs, outputs, taps, taps)}
        return (
            nodes,
            {"x": [1, inputs, h, w]},
            constants,
            f"{inputs}-{outputs}_{h}x{w}_{taps}s{stride}",
        )

    # ---- images and moves

    def resize(self):
        shape, scale = [1, *self.box()], self.random.choice([2, 2, 3, 0.5, 1.5])
        mode = self.random.choice(["nearest", "linear", "cubic"])
        how = {"mode": mode, "nearest_mode": "floor"} if mode == "nearest" else {"mode": mode}
        how["coordinate_transformation_mode"] = self.random.choice(["half_pixel", "asymmetric"])
        scales = np.array([1, 1, scale, scale], np.float32)
        name = f"{mode}_{how['coordinate_transformation_mode']}_{shape}_{scale}"
        return [node("Resize", ["x", "", "scales"], **how)], {"x": shape}, {"scales": scales}, name

    def depth_to_space(self):
        block, side = self.random.choice([2, 3, 4]), self.size(7, 64)
        shape = [1, block * block * self.size(1, 24), side, side]
        mode = self.random.choice(["DCR", "CRD"])
        nodes = [node("DepthToSpace", ["x"], blocksize=block, mode=mode)]
        return nodes, {"x": shape}, {}, f"{mode}_{block}_{shape}"

    def transpose(self):
        shape, order = [self.size(1, 12), *self.box()], list(range(4))
        self.random.shuffle(order)
        return [node("Transpose", ["x"], perm=order)], {"x": shape}, {}, f"{shape}_{order}"

    def concat(self):
        shape, axis, count = self.box(), self.random.randrange(3), self.random.randrange(2, 5)
        inputs = {}
        for i in range(count):
            inputs[f"x{i}"] = [self.size(2, 100) if d == axis else n for d, n in enumerate(shape)]
        return [node("Concat", list(inputs), axis=axis)], inputs, {}, f"{count}_{shape}_{axis}"

    def pad(self):
        shape, mode = self.box(), self.random.choice(["constant", "reflect", "edge"])
        pads = np.array([0, 1, 2, 0, 1, 2])
        return (
            [node("Pad", ["x", "pads"], mode=mode)],
            {"x": shape},
            {"pads": pads},
            f"{mode}_{shape}",
        )


FAMILIES = [name for name, value in vars(Draw).items() if callable(value) and name not in (
    "__init__", "size", "weights", "rows", "box")]  # fmt: skip


def model_of(family, drawn):
    nodes, inputs, constants, _ = drawn
    f32, i64 = TensorProto.FLOAT, TensorProto.INT64
    outputs = [("y", i64 if family == "argmax" else f32)]
    if family == "topk":
        outputs.append(("places", i64))
    graph = helper.make_graph(
        nodes,
        family,
        [helper.make_tensor_value_info(name, f32, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()],
    )
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 18 if family == "function" else 17)],
        ir_version=8,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", default="build/drawn")
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help=f"of {', '.join(FAMILIES)}; commas between them")
    options = parser.parse_args()
    families = options.only.split(",") if options.only else FAMILIES
    unknown = [family for family in families if family not in FAMILIES]
    if unknown:
        parser.error(f"no family {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    draw = Draw(options.seed)
    os.makedirs(options.out, exist_ok=True)
    for number in range(options.count):
        family = families[number % len(families)]
        drawn = getattr(draw, family)()
        name = "".join(c for c in drawn[3].replace(", ", "x") if c not in "[]")
        save(model_of(family, drawn), os.path.join(options.out, f"{family}-{name}.onnx"))


if __name__ == "__main__":
    main()
