"""Layers of a small convolutional network in numpy: forward, backward, and Adam.

Every layer maps an array [batch, channels, height, width] (or [batch, features]) to another, keeps
what its backward pass needs, and leaves gradients beside its parameters. Written to be read, not
to be fast.
"""

import numpy as np


class Parameter:
    """An array that is trained, its gradient, and Adam's two moments."""

    def __init__(self, value):
        self.value = value.astype(np.float32)
        self.gradient = np.zeros_like(self.value)
        self.mean = np.zeros_like(self.value)
        self.square = np.zeros_like(self.value)

    def step(self, rate, count, decay):
        self.mean += 0.1 * (self.gradient - self.mean)
        self.square += 0.001 * (self.gradient**2 - self.square)
        mean = self.mean / (1 - 0.9**count)
        square = self.square / (1 - 0.999**count)
        self.value -= rate * (mean / (np.sqrt(square) + 1e-8) + decay * self.value)


class Conv:
    """3x3 convolution, padding 1, no bias (a BatchNorm follows)."""

    def __init__(self, random, inputs, outputs):
        deviation = np.sqrt(2 / (9 * inputs))
        self.weight = Parameter(random.normal(0, deviation, (outputs, inputs, 3, 3)))
        self.parameters = [self.weight]

    def forward(self, x, training):
        n, c, h, w = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        # n c h w 3 3
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        self.shape = x.shape
        self.columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * h * w, c * 9)
        y = self.columns @ self.weight.value.reshape(-1, c * 9).T
        return y.reshape(n, h, w, -1).transpose(0, 3, 1, 2)

    def backward(self, dy):
        n, c, h, w = self.shape
        rows = dy.transpose(0, 2, 3, 1).reshape(n * h * w, -1)
        self.weight.gradient = (rows.T @ self.columns).reshape(self.weight.value.shape)
        d = (rows @ self.weight.value.reshape(-1, c * 9)).reshape(n, h, w, c, 3, 3)
        padded = np.zeros((n, c, h + 2, w + 2), np.float32)
        for i in range(3):
            for j in range(3):
                padded[:, :, i : i + h, j : j + w] += d[:, :, :, :, i, j].transpose(0, 3, 1, 2)
        return padded[:, :, 1:-1, 1:-1]


class BatchNorm:
    """Normalisation over batch, height and width; running statistics serve when not training."""

    epsilon = 1e-5

    def __init__(self, channels):
        self.scale = Parameter(np.ones(channels))
        self.bias = Parameter(np.zeros(channels))
        self.mean = np.zeros(channels, np.float32)
        self.variance = np.ones(channels, np.float32)
        self.parameters = [self.scale, self.bias]

    def forward(self, x, training):
        if training:
            mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
            self.mean += np.float32(0.1) * (mean - self.mean)
            self.variance += np.float32(0.1) * (variance - self.variance)
        else:
            mean, variance = self.mean, self.variance
        self.factor = 1 / np.sqrt(variance + np.float32(self.epsilon))
        self.normal = (x - mean[:, None, None]) * self.factor[:, None, None]
        return self.normal * self.scale.value[:, None, None] + self.bias.value[:, None, None]

    def backward(self, dy):
        self.scale.gradient = (dy * self.normal).sum((0, 2, 3))
        self.bias.gradient = dy.sum((0, 2, 3))
        d = dy * self.scale.value[:, None, None]
        d_mean = d.mean((0, 2, 3))[:, None, None]
        d_variance = (d * self.normal).mean((0, 2, 3))[:, None, None]
        return (d - d_mean - self.normal * d_variance) * self.factor[:, None, None]


class Relu:
    parameters = []

    def forward(self, x, training):
        self.positive = x > 0
        return x * self.positive

    def backward(self, dy):
        return dy * self.positive


class Pool:
    """2x2 pooling with stride 2, by maximum or by mean."""

    parameters = []

    def __init__(self, kind):
        self.kind = kind

    def forward(self, x, training):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        if self.kind == "mean":
            self.share = np.full(blocks.shape, 0.25, np.float32)
            return blocks.mean((3, 5))
        y = blocks.max((3, 5))
        hit = blocks == y[:, :, :, None, :, None]
        self.share = hit / hit.sum((3, 5), keepdims=True)
        return y

    def backward(self, dy):
        n, c, h, w = dy.shape
        return (
            (self.share * dy[:, :, :, None, :, None]).astype(np.float32).reshape(n, c, 2 * h, 2 * w)
        )


class Flatten:
    parameters = []

    def forward(self, x, training):
        self.shape = x.shape
        return x.reshape(len(x), -1)

    def backward(self, dy):
        return dy.reshape(self.shape)


class Linear:
    """y = x weight^T + bias, as ONNX's Gemm with transB."""

    def __init__(self, random, inputs, outputs):
        self.weight = Parameter(random.normal(0, np.sqrt(2 / inputs), (outputs, inputs)))
        self.bias = Parameter(np.zeros(outputs))
        self.parameters = [self.weight, self.bias]

    def forward(self, x, training):
        self.x = x
        return x @ self.weight.value.T + self.bias.value

    def backward(self, dy):
        self.weight.gradient = dy.T @ self.x
        self.bias.gradient = dy.sum(0)
        return dy @ self.weight.value


class Sequence:
    def __init__(self, *layers):
        self.layers = layers
        self.parameters = [p for layer in layers for p in layer.parameters]

    def forward(self, x, training):
        for layer in self.layers:
            x = layer.forward(x, training)
        return x

    def backward(self, dy):
        for layer in reversed(self.layers):
            dy = layer.backward(dy)
        return dy


class Residual(Sequence):
    """x + layers(x)"""

    def forward(self, x, training):
        return x + super().forward(x, training)

    def backward(self, dy):
        return dy + super().backward(dy)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)
