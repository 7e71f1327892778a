"""Networks as an exporter writes them, with seeded weights and statistics that hang together.

    net = Net("tiny", (1, 3, 32, 32))
    x = net.relu(net.batch_norm(net.conv(net.input, 16, 3, pad=1)))
    net.save(net.gemm(net.flatten(net.global_pool(x)), 10), "tiny.onnx")

Every Value carries its shape and, a channel each, the mean square that its elements are expected to
have. Weights are drawn as for training (variance 2 / fan-in), and running statistics are what the
expectation says, a little off: so activations neither explode nor vanish however deep the network
is, and every batch norm has work to do.
"""

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


@dataclass
class Value:
    name: str
    shape: tuple
    power: np.ndarray  # expected mean square, an element per channel (axis 1)

    @property
    def channels(self):
        return self.shape[1]


def extent(size, kernel, stride, pads, dilation=1, ceil=False):
    reach = size + sum(pads) - dilation * (kernel - 1) - 1
    whole = -(-reach // stride) if ceil else reach // stride
    # The last window of a rounded-up pooling must begin in the image or its left padding.
    return whole + 1 if not ceil or whole * stride < size + pads[0] else whole


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


class Net:
    def __init__(self, name, shape, opset=OPSET, seed=0):
        self.name, self._opset = name, opset
        self._random = np.random.default_rng([seed, *name.encode()])
        self._nodes, self.weights, self._counts = [], [], {}
        self.input = Value("input", tuple(shape), np.ones(shape[1]))

    # ---- what every operator is made of

    def constant(self, name, array):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind, inputs, outputs=1, **attributes):
        number = self._counts[kind] = self._counts.get(kind, -1) + 1
        name = f"/{kind}_{number}"
        names = [f"{name}_output_{i}" for i in range(outputs)]
        self._nodes.append(helper.make_node(kind, inputs, names, name=name, **attributes))
        return names[0] if outputs == 1 else names

    def integers(self, stem, values):
        return self.constant(f"{stem}_{len(self.weights)}", np.array(values, np.int64))

    def scalar(self, stem, value):
        return self.constant(f"{stem}_{len(self.weights)}", np.array(value, np.float32))

    def draw(self, *shape):
        return self._random.standard_normal(shape, dtype=np.float32)

    def _near(self, expected):
        """Positive numbers around what is expected of each channel."""
        return (expected * self._random.uniform(0.8, 1.25, len(expected))).astype(np.float32)

    # ---- layers with weights

    def conv(
        self, x, features, kernel, stride=1, pad=0, groups=1, dilation=1, bias=False, gain=2.0
    ):
        (kh, kw), (ph, pw), (sh, sw), (dh, dw) = map(pair, (kernel, pad, stride, dilation))
        fan_in = x.channels // groups * kh * kw
        name = f"conv{len(self.weights)}"
        inputs = [
            x.name,
            self.constant(
                f"{name}.weight",
                self.draw(features, x.channels // groups, kh, kw)
                * np.float32(np.sqrt(gain / fan_in)),
            ),
        ]
        if bias:
            inputs.append(self.constant(f"{name}.bias", 0.1 * self.draw(features)))
        out = self.node(
            "Conv",
            inputs,
            dilations=[dh, dw],
            group=groups,
            kernel_shape=[kh, kw],
            pads=[ph, pw, ph, pw],
            strides=[sh, sw],
        )
        n, _, h, w = x.shape
        power = gain * x.power.reshape(groups, -1).mean(axis=1).repeat(features // groups)
        return Value(
            out,
            (n, features, extent(h, kh, sh, (ph, ph), dh), extent(w, kw, sw, (pw, pw), dw)),
            power,
        )

    def conv_transpose(self, x, features, kernel, stride, bias=True):
        name = f"upconv{len(self.weights)}"
        fan_in = x.channels * (kernel // stride) ** 2
        inputs = [
            x.name,
            self.constant(
                f"{name}.weight",
                self.draw(x.channels, features, kernel, kernel) * np.float32(np.sqrt(1 / fan_in)),
            ),
        ]
        if bias:
            inputs.append(self.constant(f"{name}.bias", 0.1 * self.draw(features)))
        out = self.node(
            "ConvTranspose",
            inputs,
            dilations=[1, 1],
            group=1,
            kernel_shape=[kernel, kernel],
            pads=[0, 0, 0, 0],
            strides=[stride, stride],
        )
        n, _, h, w = x.shape
        grown = [(size - 1) * stride + kernel for size in (h, w)]
        return Value(out, (n, features, *grown), np.full(features, x.power.mean()))

    def batch_norm(self, x, epsilon=1e-5, scale=1.0):
        name, c = f"bn{len(self.weights)}", x.channels
        gamma = self._near(np.full(c, scale))
        parts = {
            "weight": gamma,
            "bias": 0.1 * self.draw(c),
            "running_mean": 0.1 * self.draw(c) * np.sqrt(x.power).astype(np.float32),
            "running_var": self._near(x.power),
        }
        inputs = [
            x.name,
            *(self.constant(f"{name}.{part}", array) for part, array in parts.items()),
        ]
        out = self.node("BatchNormalization", inputs, epsilon=epsilon, momentum=0.9)
        return Value(out, x.shape, gamma.astype(np.float64) ** 2)

    def gemm(self, x, features, gain=1.0):
        name, k = f"fc{len(self.weights)}", x.shape[1]
        weight = self.draw(features, k) * np.float32(np.sqrt(gain / k))
        inputs = [
            x.name,
            self.constant(f"{name}.weight", weight),
            self.constant(f"{name}.bias", 0.1 * self.draw(features)),
        ]
        out = self.node("Gemm", inputs, alpha=1.0, beta=1.0, transB=1)
        return Value(out, (x.shape[0], features), np.full(features, gain * x.power.mean()))

    # ---- element by element; the factors are those of a normal distribution with mean 0

    def _unary(self, x, kind, factor, *more, **attributes):
        return Value(self.node(kind, [x.name, *more], **attributes), x.shape, x.power * factor)

    def relu(self, x):
        return self._unary(x, "Relu", 0.5)

    def relu6(self, x):
        return self._unary(x, "Clip", 0.5, self.scalar("low", 0), self.scalar("high", 6))

    def hard_swish(self, x):
        return self._unary(x, "HardSwish", 0.35)

    def sigmoid(self, x):
        return Value(self.node("Sigmoid", [x.name]), x.shape, np.full(len(x.power), 0.3))

    def hard_sigmoid(self, x):
        return Value(
            self.node("HardSigmoid", [x.name], alpha=1 / 6), x.shape, np.full(len(x.power), 0.3)
        )

    def silu(self, x):
        gate = self.node("Sigmoid", [x.name])
        return Value(self.node("Mul", [x.name, gate]), x.shape, x.power * 0.36)

    def add(self, a, b):
        return Value(self.node("Add", [a.name, b.name]), a.shape, a.power + b.power)

    def mul(self, a, b):
        return Value(self.node("Mul", [a.name, b.name]), a.shape, a.power * b.power)

    # ---- windows

    def _pool(self, x, kind, kernel, stride, pad, ceil, factor, **attributes):
        out = self.node(
            kind,
            [x.name],
            ceil_mode=int(ceil),
            kernel_shape=[kernel, kernel],
            pads=[pad] * 4,
            strides=[stride, stride],
            **attributes,
        )
        sizes = [extent(size, kernel, stride, (pad, pad), ceil=ceil) for size in x.shape[2:]]
        return Value(out, (*x.shape[:2], *sizes), x.power * factor)

    def max_pool(self, x, kernel, stride, pad=0, ceil=False):
        return self._pool(x, "MaxPool", kernel, stride, pad, ceil, 2.0)

    def average_pool(self, x, kernel, stride, pad=0):
        return self._pool(x, "AveragePool", kernel, stride, pad, False, 0.6, count_include_pad=1)

    def global_pool(self, x):
        return Value(self.node("GlobalAveragePool", [x.name]), (*x.shape[:2], 1, 1), x.power * 0.4)

    # ---- shapes

    def flatten(self, x):
        items = int(np.prod(x.shape[1:]))
        return Value(
            self.node("Flatten", [x.name], axis=1),
            (x.shape[0], items),
            x.power.repeat(items // x.channels),
        )

    def concat(self, values, axis=1):
        first = values[0]
        shape = list(first.shape)
        shape[axis] = sum(v.shape[axis] for v in values)
        power = np.concatenate([v.power for v in values]) if axis == 1 else first.power
        return Value(self.node("Concat", [v.name for v in values], axis=axis), tuple(shape), power)

    def split(self, x, sizes, axis=1):
        outs = self.node(
            "Split", [x.name, self.integers("split", sizes)], outputs=len(sizes), axis=axis
        )
        values, at = [], 0
        for name, size in zip(outs, sizes):
            shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
            values.append(Value(name, shape, x.power[at : at + size] if axis == 1 else x.power))
            at += size
        return values

    def reshape(self, x, shape, power=None):
        out = self.node("Reshape", [x.name, self.integers("shape", shape)])
        return Value(out, tuple(shape), x.power if power is None else power)

    def transpose(self, x, order, power=None):
        out = self.node("Transpose", [x.name], perm=list(order))
        return Value(
            out, tuple(x.shape[axis] for axis in order), x.power if power is None else power
        )

    def upsample(self, x, factor):
        """Nearest neighbours."""
        scales = self.constant(
            f"scales_{len(self.weights)}", np.array([1, 1, factor, factor], np.float32)
        )
        out = self.node(
            "Resize",
            [x.name, "", scales],
            coordinate_transformation_mode="asymmetric",
            mode="nearest",
            nearest_mode="floor",
        )
        return Value(out, (*x.shape[:2], *(size * factor for size in x.shape[2:])), x.power)

    # ---- the file

    def model(self, outputs):
        outputs = outputs if isinstance(outputs, list) else [outputs]
        names = {value.name: f"output{i}" if i else "output" for i, value in enumerate(outputs)}
        for node in self._nodes:
            for i, name in enumerate(node.output):
                node.output[i] = names.get(name, name)
            for i, name in enumerate(node.input):
                node.input[i] = names.get(name, name)
        graph = helper.make_graph(
            self._nodes,
            self.name,
            [helper.make_tensor_value_info(self.input.name, TensorProto.FLOAT, self.input.shape)],
            [
                helper.make_tensor_value_info(names[v.name], TensorProto.FLOAT, v.shape)
                for v in outputs
            ],
            self.weights,
        )
        made = helper.make_model(
            graph,
            producer_name="polyte bench/models",
            ir_version=8,
            opset_imports=[helper.make_opsetid("", self._opset)],
        )
        onnx.checker.check_model(made, full_check=True)
        return made
