"""The networks that bench/gpu/pack takes, in torch's own words and with torch's own random weights:
for time alone."""


def model(torch, name):
    """None where none is known."""
    nn = torch.nn
    return {"resnet50": resnet50, "mobilenet_v2": mobilenet_v2, "bert_base": bert_base}.get(
        name, lambda _: None
    )(nn)


def normed(nn, given, made, kernel, stride=1, groups=1, act=None):
    layers = [
        nn.Conv2d(given, made, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(made),
    ]
    return nn.Sequential(*layers, *([act()] if act else []))


def residual(nn, inner, short=None, act=None):
    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.short, self.act = inner, short or nn.Identity(), act or nn.Identity()

        def forward(self, x):
            return self.act(self.inner(x) + self.short(x))

    return Residual()


def head(nn, channels):
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)]


def resnet50(nn):
    layers, channels = [normed(nn, 3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for i in range(depth):
            stride = 2 if stage and i == 0 else 1
            inner = nn.Sequential(
                normed(nn, channels, width, 1, act=nn.ReLU),
                normed(nn, width, width, 3, stride, act=nn.ReLU),
                normed(nn, width, 4 * width, 1),
            )
            short = normed(nn, channels, 4 * width, 1, stride) if i == 0 else None
            layers.append(residual(nn, inner, short, nn.ReLU()))
            channels = 4 * width
    return nn.Sequential(*layers, *head(nn, channels))


def mobilenet_v2(nn):
    layers, channels = [normed(nn, 3, 32, 3, 2, act=nn.ReLU6)], 32
    for grow, made, count, stride in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for i in range(count):
            wide, step = grow * channels, stride if i == 0 else 1
            first = [normed(nn, channels, wide, 1, act=nn.ReLU6)] if grow > 1 else []
            inner = nn.Sequential(
                *first, normed(nn, wide, wide, 3, step, wide, nn.ReLU6), normed(nn, wide, made, 1)
            )
            layers.append(residual(nn, inner) if step == 1 and channels == made else inner)
            channels = made
    return nn.Sequential(*layers, normed(nn, channels, 1280, 1, act=nn.ReLU6), *head(nn, 1280))


def bert_base(nn):
    """Twelve layers on 128 words that are embedded already."""
    layer = nn.TransformerEncoderLayer(768, 12, 3072, 0.0, "gelu", batch_first=True)
    return nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
