"""Networks of residual blocks: ResNet, MobileNet v2 and v3, EfficientNet, ShuffleNet v2."""

from builder import Net


def image(name, size=224):
    return Net(name, (1, 3, size, size))


def classify(net, x, classes=1000):
    return net.model(net.gemm(net.flatten(net.global_pool(x)), classes))


def normed(net, x, features, kernel, activation=None, **how):
    """Convolution, batch norm, activation."""
    x = net.batch_norm(net.conv(x, features, kernel, **how))
    return activation(x) if activation else x


def divisible(value, by=8):
    rounded = max(by, int(value + by / 2) // by * by)
    return rounded + by if rounded < 0.9 * value else rounded


# ---- ResNet


def basic_block(net, x, width, stride):
    y = normed(net, x, width, 3, net.relu, stride=stride, pad=1)
    y = normed(net, y, width, 3, pad=1)
    if stride != 1 or x.channels != width:
        x = normed(net, x, width, 1, stride=stride)
    return net.relu(net.add(y, x))


def bottleneck(net, x, width, stride):
    y = normed(net, x, width, 1, net.relu)
    y = normed(net, y, width, 3, net.relu, stride=stride, pad=1)
    y = normed(net, y, 4 * width, 1)
    if stride != 1 or x.channels != 4 * width:
        x = normed(net, x, 4 * width, 1, stride=stride)
    return net.relu(net.add(y, x))


def resnet(name, block, depths):
    net = image(name)
    x = net.max_pool(normed(net, net.input, 64, 7, net.relu, stride=2, pad=3), 3, 2, pad=1)
    for stage, depth in enumerate(depths):
        for i in range(depth):
            x = block(net, x, 64 << stage, 2 if stage > 0 and i == 0 else 1)
    return classify(net, x)


def resnet18():
    return resnet("resnet18", basic_block, (2, 2, 2, 2))


def resnet50():
    return resnet("resnet50", bottleneck, (3, 4, 6, 3))


# ---- inverted residuals


def mobilenet_v2():
    net = image("mobilenet_v2")
    x = normed(net, net.input, 32, 3, net.relu6, stride=2, pad=1)
    for expand, features, depth, stride in [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]:
        for i in range(depth):
            y, step = x, stride if i == 0 else 1
            wide = expand * x.channels
            if expand > 1:
                y = normed(net, y, wide, 1, net.relu6)
            y = normed(net, y, wide, 3, net.relu6, stride=step, pad=1, groups=wide)
            y = normed(net, y, features, 1)
            x = net.add(x, y) if step == 1 and x.channels == features else y
    return classify(net, normed(net, x, 1280, 1, net.relu6))


def squeeze_and_excite(net, x, squeezed, activation, gate):
    s = activation(net.conv(net.global_pool(x), squeezed, 1, bias=True))
    return net.mul(x, gate(net.conv(s, x.channels, 1, bias=True)))


LARGE = [
    (3, 16, 16, 0, 0, 1),
    (3, 64, 24, 0, 0, 2),
    (3, 72, 24, 0, 0, 1),
    (5, 72, 40, 1, 0, 2),
    (5, 120, 40, 1, 0, 1),
    (5, 120, 40, 1, 0, 1),
    (3, 240, 80, 0, 1, 2),
    (3, 200, 80, 0, 1, 1),
    (3, 184, 80, 0, 1, 1),
    (3, 184, 80, 0, 1, 1),
    (3, 480, 112, 1, 1, 1),
    (3, 672, 112, 1, 1, 1),
    (5, 672, 160, 1, 1, 2),
    (5, 960, 160, 1, 1, 1),
    (5, 960, 160, 1, 1, 1),
]
SMALL = [
    (3, 16, 16, 1, 0, 2),
    (3, 72, 24, 0, 0, 2),
    (3, 88, 24, 0, 0, 1),
    (5, 96, 40, 1, 1, 2),
    (5, 240, 40, 1, 1, 1),
    (5, 240, 40, 1, 1, 1),
    (5, 120, 48, 1, 1, 1),
    (5, 144, 48, 1, 1, 1),
    (5, 288, 96, 1, 1, 2),
    (5, 576, 96, 1, 1, 1),
    (5, 576, 96, 1, 1, 1),
]


def mobilenet_v3(name, rows, hidden):
    """Rows: kernel, expanded width, output width, squeeze and excite, hard swish, stride."""
    net = image(name)
    x = normed(net, net.input, 16, 3, net.hard_swish, stride=2, pad=1)
    for kernel, wide, features, squeeze, swish, stride in rows:
        activation = net.hard_swish if swish else net.relu
        y = normed(net, x, wide, 1, activation) if wide != x.channels else x
        y = normed(net, y, wide, kernel, activation, stride=stride, pad=kernel // 2, groups=wide)
        if squeeze:
            y = squeeze_and_excite(net, y, divisible(wide // 4), net.relu, net.hard_sigmoid)
        y = normed(net, y, features, 1)
        x = net.add(x, y) if stride == 1 and x.channels == features else y
    x = normed(net, x, 6 * x.channels, 1, net.hard_swish)
    x = net.hard_swish(net.gemm(net.flatten(net.global_pool(x)), hidden))
    return net.model(net.gemm(x, 1000))


def mobilenet_v3_large():
    return mobilenet_v3("mobilenet_v3_large", LARGE, 1280)


def mobilenet_v3_small():
    return mobilenet_v3("mobilenet_v3_small", SMALL, 1024)


def efficientnet_b0():
    net = image("efficientnet_b0")
    x = normed(net, net.input, 32, 3, net.silu, stride=2, pad=1)
    for expand, kernel, stride, features, depth in [
        (1, 3, 1, 16, 1),
        (6, 3, 2, 24, 2),
        (6, 5, 2, 40, 2),
        (6, 3, 2, 80, 3),
        (6, 5, 1, 112, 3),
        (6, 5, 2, 192, 4),
        (6, 3, 1, 320, 1),
    ]:
        for i in range(depth):
            step, wide = stride if i == 0 else 1, expand * x.channels
            y = normed(net, x, wide, 1, net.silu) if expand > 1 else x
            y = normed(net, y, wide, kernel, net.silu, stride=step, pad=kernel // 2, groups=wide)
            y = squeeze_and_excite(net, y, max(1, x.channels // 4), net.silu, net.sigmoid)
            y = normed(net, y, features, 1)
            x = net.add(x, y) if step == 1 and x.channels == features else y
    return classify(net, normed(net, x, 1280, 1, net.silu))


# ---- ShuffleNet v2


def shuffle(net, x, groups=2):
    n, c, h, w = x.shape
    y = net.reshape(x, (n, groups, c // groups, h, w))
    y = net.transpose(y, (0, 2, 1, 3, 4))
    return net.reshape(y, (n, c, h, w), x.power.reshape(groups, -1).T.reshape(-1))


def shuffle_branch(net, x, width, stride):
    y = normed(net, x, width, 1, net.relu)
    y = normed(net, y, width, 3, stride=stride, pad=1, groups=width)
    return normed(net, y, width, 1, net.relu)


def shufflenet_v2():
    net = image("shufflenet_v2")
    x = net.max_pool(normed(net, net.input, 24, 3, net.relu, stride=2, pad=1), 3, 2, pad=1)
    for features, depth in [(116, 4), (232, 8), (464, 4)]:
        width = features // 2
        near = normed(net, x, x.channels, 3, stride=2, pad=1, groups=x.channels)
        near = normed(net, near, width, 1, net.relu)
        x = shuffle(net, net.concat([near, shuffle_branch(net, x, width, 2)]))
        for _ in range(depth - 1):
            near, far = net.split(x, (width, width))
            x = shuffle(net, net.concat([near, shuffle_branch(net, far, width, 1)]))
    return classify(net, normed(net, x, 1024, 1, net.relu))
