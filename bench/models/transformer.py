"""BERT-base on words that are embedded already: twelve layers of attention and a network
of two layers."""

import numpy as np
from builder import Net, Value

WORDS, WIDTH, HEADS, WIDE, LAYERS = 128, 768, 12, 3072, 12


def like(x, name, shape=None):
    return Value(name, tuple(shape or x.shape), x.power)


def dense(net, x, features):
    width, stem = x.shape[-1], f"dense{len(net.weights)}"
    weight = net.constant(
        f"{stem}.weight", net.draw(width, features) * np.float32(np.sqrt(1 / width))
    )
    bias = net.constant(f"{stem}.bias", 0.1 * net.draw(features))
    return like(
        x, net.node("Add", [net.node("MatMul", [x.name, weight]), bias]), (*x.shape[:-1], features)
    )


def heads(net, x, order):
    return net.transpose(net.reshape(x, (1, WORDS, HEADS, WIDTH // HEADS), x.power), order, x.power)


def attention(net, x):
    q, v = (heads(net, dense(net, x, WIDTH), (0, 2, 1, 3)) for _ in range(2))
    k = heads(net, dense(net, x, WIDTH), (0, 2, 3, 1))
    scores = net.node(
        "Div", [net.node("MatMul", [q.name, k.name]), net.scalar("root", np.sqrt(WIDTH // HEADS))]
    )
    weights = net.node("Softmax", [scores], axis=-1)
    mixed = like(x, net.node("MatMul", [weights, v.name]), q.shape)
    joined = net.reshape(net.transpose(mixed, (0, 2, 1, 3), x.power), (1, WORDS, WIDTH), x.power)
    return dense(net, joined, WIDTH)


def gelu(net, x):
    wide = net.node("Erf", [net.node("Div", [x.name, net.scalar("root2", np.sqrt(2))])])
    half = net.node("Mul", [x.name, net.node("Add", [wide, net.scalar("one", 1)])])
    return like(x, net.node("Mul", [half, net.scalar("half", 0.5)]))


def normed(net, x, y):
    """The sum of both, each word to mean 0 and variance 1."""
    stem = f"norm{len(net.weights)}"
    scale, shift = (
        net.constant(f"{stem}.scale", np.ones(WIDTH, np.float32)),
        net.constant(f"{stem}.shift", 0.1 * net.draw(WIDTH)),
    )
    total = net.node("Add", [x.name, y.name])
    return like(x, net.node("LayerNormalization", [total, scale, shift], axis=-1, epsilon=1e-12))


def bert_base():
    net = Net("bert_base", (1, WORDS, WIDTH))
    x = net.input
    for _ in range(LAYERS):
        x = normed(net, x, attention(net, x))
        x = normed(net, x, dense(net, gelu(net, dense(net, x, WIDE)), WIDTH))
    return net.model(x)
