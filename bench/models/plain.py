"""Networks that are chains, or that concatenate: MLP, VGG, SqueezeNet, DenseNet, Inception, U-Net,
a YOLO."""

import numpy as np

from builder import Net
from residual import classify, image, normed


def mlp():
    net = Net("mlp", (1, 784))
    x = net.input
    for features in (512, 256):
        x = net.relu(net.gemm(x, features, gain=2.0))
    return net.model(net.gemm(x, 10))


def vgg11():
    net = image("vgg11")
    x = net.input
    for features, depth in [(64, 1), (128, 1), (256, 2), (512, 2), (512, 2)]:
        for _ in range(depth):
            x = net.relu(net.conv(x, features, 3, pad=1, bias=True))
        x = net.max_pool(x, 2, 2)
    x = net.flatten(net.average_pool(x, 1, 1))
    for _ in range(2):
        x = net.relu(net.gemm(x, 4096, gain=2.0))
    return net.model(net.gemm(x, 1000))


def squeezenet1_1():
    net = image("squeezenet1_1")
    x = net.relu(net.conv(net.input, 64, 3, stride=2, bias=True))
    for fires in [
        ((16, 64), (16, 64)),
        ((32, 128), (32, 128)),
        ((48, 192), (48, 192), (64, 256), (64, 256)),
    ]:
        x = net.max_pool(x, 3, 2, ceil=True)
        for squeezed, wide in fires:
            s = net.relu(net.conv(x, squeezed, 1, bias=True))
            x = net.concat(
                [
                    net.relu(net.conv(s, wide, 1, bias=True)),
                    net.relu(net.conv(s, wide, 3, pad=1, bias=True)),
                ]
            )
    x = net.relu(net.conv(x, 1000, 1, bias=True))
    return net.model(net.flatten(net.global_pool(x)))


def densenet121(growth=32):
    net = image("densenet121")
    x = net.max_pool(normed(net, net.input, 64, 7, net.relu, stride=2, pad=3), 3, 2, pad=1)
    for stage, depth in enumerate((6, 12, 24, 16)):
        parts = [x]
        for _ in range(depth):
            y = net.concat(parts) if len(parts) > 1 else x
            y = net.conv(net.relu(net.batch_norm(y)), 4 * growth, 1)
            parts.append(net.conv(net.relu(net.batch_norm(y)), growth, 3, pad=1))
        x = net.relu(net.batch_norm(net.concat(parts)))
        if stage < 3:
            x = net.average_pool(net.conv(x, x.channels // 2, 1), 2, 2)
    return classify(net, x)


# ---- Inception v3


def inception_v3():
    net = image("inception_v3", 299)

    def conv(x, features, kernel, stride=1, pad=0):
        return net.relu(
            net.batch_norm(net.conv(x, features, kernel, stride=stride, pad=pad), epsilon=1e-3)
        )

    def chain(x, *layers):
        for layer in layers:
            x = conv(x, *layer)
        return x

    def wide(x, features):
        return conv(x, features, (1, 7), 1, (0, 3))

    def tall(x, features):
        return conv(x, features, (7, 1), 1, (3, 0))

    def pooled(x, features):
        return conv(net.average_pool(x, 3, 1, pad=1), features, 1)

    x = chain(net.input, (32, 3, 2), (32, 3), (64, 3, 1, 1))
    x = chain(net.max_pool(x, 3, 2), (80, 1), (192, 3))
    x = net.max_pool(x, 3, 2)
    for features in (32, 64, 64):
        x = net.concat(
            [
                conv(x, 64, 1),
                chain(x, (48, 1), (64, 5, 1, 2)),
                chain(x, (64, 1), (96, 3, 1, 1), (96, 3, 1, 1)),
                pooled(x, features),
            ]
        )
    x = net.concat(
        [conv(x, 384, 3, 2), chain(x, (64, 1), (96, 3, 1, 1), (96, 3, 2)), net.max_pool(x, 3, 2)]
    )
    for c in (128, 160, 160, 192):
        x = net.concat(
            [
                conv(x, 192, 1),
                tall(wide(conv(x, c, 1), c), 192),
                wide(tall(wide(tall(conv(x, c, 1), c), c), c), 192),
                pooled(x, 192),
            ]
        )
    x = net.concat(
        [
            chain(x, (192, 1), (320, 3, 2)),
            conv(tall(wide(conv(x, 192, 1), 192), 192), 192, 3, 2),
            net.max_pool(x, 3, 2),
        ]
    )
    for _ in range(2):
        a, b = conv(x, 384, 1), chain(x, (448, 1), (384, 3, 1, 1))
        near, far = (
            [conv(y, 384, (1, 3), 1, (0, 1)), conv(y, 384, (3, 1), 1, (1, 0))] for y in (a, b)
        )
        x = net.concat([conv(x, 320, 1), net.concat(near), net.concat(far), pooled(x, 192)])
    return classify(net, x)


# ---- U-Net


def unet(width=32, size=256):
    net = image("unet", size)

    def block(x, features):
        for _ in range(2):
            x = normed(net, x, features, 3, net.relu, pad=1)
        return x

    x, skips = net.input, []
    for level in range(4):
        x = block(x, width << level)
        skips.append(x)
        x = net.max_pool(x, 2, 2)
    x = block(x, width << 4)
    for level in reversed(range(4)):
        x = block(
            net.concat([net.conv_transpose(x, width << level, 2, 2), skips[level]]), width << level
        )
    return net.model(net.sigmoid(net.conv(x, 1, 1, bias=True, gain=1.0)))


# ---- a detector: trunk of cross-stage blocks, pyramid, three heads with their boxes decoded

ANCHORS = {
    8: (10, 13, 16, 30, 33, 23),
    16: (30, 61, 62, 45, 59, 119),
    32: (116, 90, 156, 198, 373, 326),
}


def yolo(size=320, classes=80):
    net = image("yolo", size)

    def conv(x, features, kernel=1, stride=1):
        return normed(net, x, features, kernel, net.silu, stride=stride, pad=kernel // 2)

    def cross_stage(x, features, depth=1, shortcut=True):
        y = conv(x, features // 2)
        for _ in range(depth):
            z = conv(conv(y, features // 2), features // 2, 3)
            y = net.add(y, z) if shortcut else z
        return conv(net.concat([y, conv(x, features // 2)]), features)

    def pyramid_pool(x):
        y = [conv(x, x.channels // 2)]
        for _ in range(3):
            y.append(net.max_pool(y[-1], 5, 1, pad=2))
        return conv(net.concat(y), x.channels)

    def head(x, stride):
        n, _, h, w = x.shape
        y = net.conv(x, 3 * (classes + 5), 1, bias=True, gain=1.0)
        y = net.reshape(y, (n, 3, classes + 5, h, w), np.ones(3))
        y = net.sigmoid(net.transpose(y, (0, 1, 3, 4, 2)))
        at, extent, rest = net.split(y, (2, 2, classes + 1), axis=4)
        cells = (
            np.stack(np.meshgrid(np.arange(w), np.arange(h)), axis=-1)[None, None].astype(
                np.float32
            )
            - 0.5
        )
        anchors = np.array(ANCHORS[stride], np.float32).reshape(1, 3, 1, 1, 2)
        two, step = net.scalar("two", 2), net.scalar("stride", stride)
        at.name = net.node("Mul", [at.name, two])
        at.name = net.node("Add", [at.name, net.constant(f"cells{stride}", cells)])
        at.name = net.node("Mul", [at.name, step])
        extent.name = net.node("Mul", [extent.name, two])
        extent.name = net.node("Pow", [extent.name, net.scalar("square", 2)])
        extent.name = net.node("Mul", [extent.name, net.constant(f"anchors{stride}", anchors)])
        return net.reshape(net.concat([at, extent, rest], axis=4), (n, 3 * h * w, classes + 5))

    x = net.silu(net.batch_norm(net.conv(net.input, 16, 6, stride=2, pad=2)))
    x = cross_stage(conv(x, 32, 3, 2), 32)
    small = x = cross_stage(conv(x, 64, 3, 2), 64, 2)
    middle = x = cross_stage(conv(x, 128, 3, 2), 128, 3)
    x = pyramid_pool(cross_stage(conv(x, 256, 3, 2), 256))
    top = conv(x, 128)
    x = cross_stage(net.concat([net.upsample(top, 2), middle]), 128, shortcut=False)
    side = conv(x, 64)
    low = cross_stage(net.concat([net.upsample(side, 2), small]), 64, shortcut=False)
    mid = cross_stage(net.concat([conv(low, 64, 3, 2), side]), 128, shortcut=False)
    high = cross_stage(net.concat([conv(mid, 128, 3, 2), top]), 256, shortcut=False)
    return net.model(net.concat([head(low, 8), head(mid, 16), head(high, 32)], axis=1))
