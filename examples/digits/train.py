"""Trains the shipped digits network and writes digits.onnx, digits_batch.onnx and held_out.npz
beside this file.

    pip install numpy scikit-learn onnx
    python train.py                 # about a minute on one core
    python train.py --check         # recomputes the shipped reference from the shipped files

The data are scikit-learn's 1,797 handwritten digits of 8x8 pixels; 360 of them are held out.
The network is

    conv 16 - bn - relu - [conv 16 - bn - relu - conv 16 - bn] + skip - relu - max pool
                        - conv 32 - bn - relu - average pool - fc 64 - relu - fc 10 - softmax

and is exported with its BatchNormalization nodes, batch size 1, opset 13.
"""

import argparse
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

from layers import BatchNorm, Conv, Flatten, Linear, Pool, Relu, Residual, Sequence, softmax

HERE = pathlib.Path(__file__).resolve().parent
SEED, HELD_OUT, EPOCHS, BATCH = 20, 360, 40, 32


def load_split():
    """Images in [0, 1] as float32 [n, 1, 8, 8] with int64 labels: (training, held out)."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    labels = digits.target.astype(np.int64)
    order = np.random.default_rng(SEED).permutation(len(images))
    held_out, training = order[:HELD_OUT], order[HELD_OUT:]
    return (images[training], labels[training]), (images[held_out], labels[held_out])


def make_network(random):
    return Sequence(
        Conv(random, 1, 16), BatchNorm(16), Relu(),
        Residual(Conv(random, 16, 16), BatchNorm(16), Relu(),
                 Conv(random, 16, 16), BatchNorm(16)), Relu(),
        Pool("max"),
        Conv(random, 16, 32), BatchNorm(32), Relu(),
        Pool("mean"),
        Flatten(), Linear(random, 128, 64), Relu(), Linear(random, 64, 10),
    )  # fmt: skip


def shifted(images, random):
    """Each image moved by at most one pixel in each direction."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    corners = random.integers(0, 3, (len(images), 2))
    return np.stack([p[:, i : i + 8, j : j + 8] for p, (i, j) in zip(padded, corners)])


def train(network, images, labels, random):
    count, steps = 0, EPOCHS * (len(images) // BATCH)
    for epoch in range(EPOCHS):
        order, losses = random.permutation(len(images)), []
        for start in range(0, len(images) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            p = softmax(network.forward(shifted(images[chosen], random), True))
            losses.append(-np.log(p[np.arange(BATCH), labels[chosen]] + 1e-12).mean())
            p[np.arange(BATCH), labels[chosen]] -= 1
            network.backward((p / BATCH).astype(np.float32))
            count += 1
            rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * count / steps))
            for parameter in network.parameters:
                parameter.step(rate, count, 1e-2)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1:2d}: loss {np.mean(losses):.4f}")


class Exporter:
    """Turns layers into ONNX nodes, one after the other."""

    def __init__(self):
        self.nodes, self.weights, self.counts = [], [], {}

    def constant(self, name, value):
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name))
        return name

    def add(self, op, inputs, make_constants=lambda name: [], **attributes):
        kind = {
            "BatchNormalization": "bn",
            "Gemm": "fc",
            "MaxPool": "max_pool",
            "AveragePool": "average_pool",
        }
        kind = kind.get(op, op.lower())
        self.counts[kind] = self.counts.get(kind, 0) + 1
        name = f"{kind}{self.counts[kind]}"
        inputs = list(inputs) + make_constants(name)
        self.nodes.append(helper.make_node(op, inputs, [f"{name}_out"], name=name, **attributes))
        return f"{name}_out"

    def layer(self, layer, x):
        if isinstance(layer, Residual):
            return self.add("Add", [self.sequence(layer, x), x])
        if isinstance(layer, Conv):
            return self.add(
                "Conv",
                [x],
                lambda n: [self.constant(f"{n}.weight", layer.weight.value)],
                kernel_shape=[3, 3],
                pads=[1, 1, 1, 1],
                strides=[1, 1],
            )
        if isinstance(layer, BatchNorm):
            parts = {
                "scale": layer.scale.value,
                "bias": layer.bias.value,
                "mean": layer.mean,
                "var": layer.variance,
            }
            return self.add("BatchNormalization", [x],
                            lambda n: [self.constant(f"{n}.{k}", v) for k, v in parts.items()],
                            epsilon=layer.epsilon)  # fmt: skip
        if isinstance(layer, Pool):
            op = "MaxPool" if layer.kind == "max" else "AveragePool"
            return self.add(op, [x], kernel_shape=[2, 2], strides=[2, 2])
        if isinstance(layer, Linear):
            parts = {"weight": layer.weight.value, "bias": layer.bias.value}
            return self.add(
                "Gemm",
                [x],
                lambda n: [self.constant(f"{n}.{k}", v) for k, v in parts.items()],
                transB=1,
            )
        return self.add(type(layer).__name__, [x])

    def sequence(self, sequence, x):
        for layer in sequence.layers:
            x = self.layer(layer, x)
        return x


def export(network, batch):
    exporter = Exporter()
    logits = exporter.sequence(network, "image")
    exporter.nodes.append(
        helper.make_node("Softmax", [logits], ["probabilities"], name="softmax", axis=-1)
    )
    graph = helper.make_graph(
        exporter.nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [batch, 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [batch, 10])],
        exporter.weights,
    )  # fmt: skip
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="polyte digits"
    )
    model.ir_version = 7
    onnx.checker.check_model(model, full_check=True)
    return model


def load_weights(network, model):
    """The inverse of export: weights of the ONNX file into the network."""
    weights = iter([numpy_helper.to_array(w).copy() for w in model.graph.initializer])

    def fill(sequence):
        for layer in sequence.layers:
            if isinstance(layer, Residual):
                fill(layer)
            for parameter in [] if isinstance(layer, Residual) else layer.parameters:
                parameter.value = next(weights)
            if isinstance(layer, BatchNorm):
                layer.mean, layer.variance = next(weights), next(weights)

    fill(network)


def report(network, images, labels):
    logits = network.forward(images, False).astype(np.float32)
    accuracy = (logits.argmax(1) == labels).mean()
    print(
        f"held-out accuracy {accuracy:.4f} ({(logits.argmax(1) != labels).sum()} of "
        f"{len(labels)} wrong)"
    )
    return logits, accuracy


def check():
    network = make_network(np.random.default_rng(0))
    load_weights(network, onnx.load(HERE / "digits.onnx"))
    shipped = np.load(HERE / "held_out.npz")
    logits, accuracy = report(network, shipped["images"], shipped["labels"])
    worst = np.abs(logits - shipped["logits"]).max()
    print(f"largest difference to the shipped logits {worst:.2g}")
    return accuracy >= 0.975 and worst < 1e-3


def main():
    (images, labels), (held_images, held_labels) = load_split()
    random = np.random.default_rng(SEED)
    network = make_network(random)
    train(network, images, labels, random)
    logits, accuracy = report(network, held_images, held_labels)
    onnx.save(export(network, 1), HERE / "digits.onnx")
    onnx.save(export(network, "batch"), HERE / "digits_batch.onnx")
    np.savez(HERE / "held_out.npz", images=held_images, labels=held_labels, logits=logits,
             probabilities=softmax(logits).astype(np.float32))  # fmt: skip
    return accuracy >= 0.975


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only recompute the shipped reference")
    raise SystemExit(0 if (check() if parser.parse_args().check else main()) else 1)
