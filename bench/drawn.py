"""Single operators as networks and people may have them, drawn by a seed: Programs of
a dozen families."""

import math
import random

PRIMES = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 47, 53, 61, 67, 79, 97, 101, 127, 131, 151,
          193, 211, 257, 307]  # fmt: skip
FAMILIES = ["gemm", "gemm", "batched", "conv", "conv", "depthwise", "pool", "reduce", "pointwise",
            "chain", "transpose", "softmax", "stencil", "wording"]  # fmt: skip


class Drawn:
    """A Program with what it computes: `flops` and the `bytes` of its interface, each
    element once. `how`: what else a library has to be told (bench/peers/drawn_cases.py)."""

    def __init__(self, family, statements, tensors, flops, dtype="f32", word="plain", **how):
        self.family, self.word, self.flops, self.how = family, word, flops, how
        self.shapes = {name: tuple(shape) for _, name, shape in tensors}
        size = {"f32": 4, "f64": 8}[dtype]
        self.bytes = sum(size * math.prod(shape) for _, _, shape in tensors)
        self.statements, self.dtype = statements, dtype
        self.lines = [
            f"  {role} {name}: {dtype}[{', '.join(map(str, shape))}]"
            for role, name, shape in tensors
        ]
        self.name = ""

    def text(self):
        return "\n".join(
            [f"program {self.name}()", *self.lines, *(f"  {line}" for line in self.statements), ""]
        )


def drawn_size(random, least, most):
    """A prime, a power of two or a neighbour of one, or what networks have."""
    kinds = [
        PRIMES,
        [1 << i for i in range(1, 13)],
        [(1 << i) + s for i in range(3, 12) for s in (-1, 1)],
        [24 * i for i in range(1, 60)],
        [50 * i for i in range(1, 40)],
    ]
    fitting = [n for n in random.choice(kinds) if least <= n <= most]
    return random.choice(fitting) if fitting else random.randint(least, most)


class Draw:
    """One operator a call, of a family."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def size(self, least, most):
        return drawn_size(self.random, least, most)

    def dtype(self):
        return "f64" if self.random.random() < 0.15 else "f32"

    def gemm(self):
        m, n, k = self.size(1, 700), self.size(1, 700), self.size(16, 1500)
        a = self.random.choice([("A[m, k]", (m, k)), ("A[k, m]", (k, m))])
        b = self.random.choice([("B[k, n]", (k, n)), ("B[n, k]", (n, k))])
        return Drawn(
            "gemm",
            [f"C[m, n] = sum[k] {a[0]} * {b[0]}"],
            [("in", "A", a[1]), ("in", "B", b[1]), ("out", "C", (m, n))],
            2 * m * n * k,
            self.dtype(),
            turned=(a[1] == (k, m), b[1] == (n, k)),
        )

    def batched(self):
        b, m, n, k = self.size(2, 48), self.size(3, 200), self.size(3, 200), self.size(8, 200)
        second = self.random.choice([("B[b, k, n]", (b, k, n)), ("B[b, n, k]", (b, n, k))])
        return Drawn(
            "batched",
            [f"C[b, m, n] = sum[k] A[b, m, k] * {second[0]}"],
            [("in", "A", (b, m, k)), ("in", "B", second[1]), ("out", "C", (b, m, n))],
            2 * b * m * n * k,
            turned=(False, second[0] == "B[b, n, k]"),
        )

    def conv(self):
        c, f, h, w = self.size(3, 128), self.size(3, 128), self.size(7, 64), self.size(7, 64)
        r, stride, dilation = (
            self.random.choice([1, 3, 3, 5]),
            self.random.choice([1, 1, 2]),
            self.random.choice([1, 1, 2, 4]),
        )
        rows, columns = (
            stride * (h - 1) + dilation * (r - 1) + 1,
            stride * (w - 1) + dilation * (r - 1) + 1,
        )
        at = [f"{stride}*{i} + {dilation}*{t}" for i, t in (("i", "r"), ("j", "s"))]
        last = self.random.random() < 0.3
        if last:
            statement = f"y[i, j, f] = sum[r, s, c] x[{at[0]}, {at[1]}, c] * w[r, s, c, f]"
            shapes = (rows, columns, c), (r, r, c, f), (h, w, f)
        else:
            statement = f"y[f, i, j] = sum[c, r, s] x[c, {at[0]}, {at[1]}] * w[f, c, r, s]"
            shapes = (c, rows, columns), (f, c, r, r), (f, h, w)
        return Drawn(
            "conv",
            [statement],
            [("in", "x", shapes[0]), ("in", "w", shapes[1]), ("out", "y", shapes[2])],
            2 * f * c * h * w * r * r,
            stride=stride,
            dilation=dilation,
            channels_last=last,
        )

    def depthwise(self):
        c, h, w, stride, r = (
            self.size(16, 256),
            self.size(7, 112),
            self.size(7, 112),
            self.random.choice([1, 2]),
            3,
        )
        return Drawn(
            "depthwise",
            [f"y[c, i, j] = sum[r, s] x[c, {stride}*i + r, {stride}*j + s] * w[c, r, s]"],
            [
                ("in", "x", (c, stride * h + 2, stride * w + 2)),
                ("in", "w", (c, r, r)),
                ("out", "y", (c, h, w)),
            ],
            2 * c * h * w * r * r,
            stride=stride,
            dilation=1,
            channels_last=False,
        )

    def pool(self):
        c, h, w, r = (
            self.size(8, 128),
            self.size(7, 112),
            self.size(7, 112),
            self.random.choice([2, 3]),
        )
        stride = self.random.choice([1, 2])
        last = self.random.random() < 0.5
        if last:
            statement = (
                f"y[i, j, c] = max[r in 0..{r}, s in 0..{r}] x[{stride}*i + r, {stride}*j + s, c]"
            )
            shapes = (stride * h + r, stride * w + r, c), (h, w, c)
        else:
            statement = (
                f"y[c, i, j] = max[r in 0..{r}, s in 0..{r}] x[c, {stride}*i + r, {stride}*j + s]"
            )
            shapes = (c, stride * h + r, stride * w + r), (c, h, w)
        return Drawn(
            "pool",
            [statement],
            [("in", "x", shapes[0]), ("out", "y", shapes[1])],
            c * h * w * r * r,
            window=r,
            stride=stride,
            channels_last=last,
        )

    def reduce(self):
        shape = [self.size(3, 400), self.size(3, 400), self.size(3, 100)]
        at = ["i", "j", "k"]
        over = self.random.choice([["i"], ["j"], ["k"], ["i", "k"], ["j", "k"], ["i", "j"]])
        kept = [x for x in at if x not in over]
        combiner = self.random.choice(["sum", "max"])
        return Drawn(
            "reduce",
            [f"y[{', '.join(kept)}] = {combiner}[{', '.join(over)}] x[i, j, k]"],
            [("in", "x", shape), ("out", "y", [shape[at.index(x)] for x in kept])],
            math.prod(shape),
            axes=tuple(at.index(x) for x in over),
            combiner=combiner,
        )

    def pointwise(self):
        shape = [self.size(3, 64), self.size(7, 300), self.size(7, 300)]
        kind, at = self.random.choice(["i", "j", "k"]), "i, j, k"
        values = {
            "biased": f"max(x[{at}] + b[{kind}], 0)",
            "scaled": f"x[{at}] * b[{kind}] + x[{at}]",
            "clipped": f"min(max(x[{at}], 0), b[{kind}])",
        }
        form, value = self.random.choice(list(values.items()))
        return Drawn(
            "pointwise",
            [f"y[{at}] = {value}"],
            [("in", "x", shape), ("in", "b", [shape["ijk".index(kind)]]), ("out", "y", shape)],
            2 * math.prod(shape),
            form=form,
            axis="ijk".index(kind),
        )

    def chain(self):
        shape = [self.size(7, 1000), self.size(7, 1000)]
        return Drawn(
            "chain",
            [
                "a[i, j] = x[i, j] * 2",
                "b[i, j] = max(a[i, j] + 1, 0)",
                "y[i, j] = b[i, j] * b[i, j] - a[i, j]",
            ],
            [("in", "x", shape), ("out", "y", shape)],
            5 * math.prod(shape),
        )

    def transpose(self):
        shape = [self.size(2, 40), self.size(3, 200), self.size(3, 200)]
        order = self.random.choice([[0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1], [1, 0, 2]])
        return Drawn(
            "transpose",
            [f"y[{', '.join('ijk'[d] for d in order)}] = x[i, j, k]"],
            [("in", "x", shape), ("out", "y", [shape[d] for d in order])],
            0,
            order=tuple(order),
        )

    def softmax(self):
        m, n = self.size(16, 2000), self.size(5, 1500)
        # An exp is taken for 16 flops.
        return Drawn(
            "softmax",
            [
                "t[i] = max[j] x[i, j]",
                "e[i, j] = exp(x[i, j] - t[i])",
                "s[i] = sum[j] e[i, j]",
                "y[i, j] = e[i, j] / s[i]",
            ],
            [("in", "x", (m, n)), ("out", "y", (m, n))],
            20 * m * n,
        )

    def stencil(self):
        h, w, edge = self.size(32, 1500), self.size(32, 1500), self.random.choice([1, 2])
        value = (
            f"x[i, j] + x[i, j - {edge}] + x[i, j + {edge}] + x[i - {edge}, j] + x[i + {edge}, j]"
        )
        return Drawn(
            "stencil",
            [f"y[i, j] = 0.2 * ({value})  for i in {edge}..{h + edge}, j in {edge}..{w + edge}"],
            [("in", "x", (h + 2 * edge, w + 2 * edge)), ("out", "y", (h + 2 * edge, w + 2 * edge))],
            5 * h * w,
            edge=edge,
        )

    def wording(self):
        """A product as a person may say it, beside its plain form."""
        m, n, k = self.size(50, 400), self.size(50, 400), self.size(50, 400)
        tensors = [("in", "A", (m, k)), ("in", "B", (k, n)), ("out", "C", (m, n))]
        term = "A[m, k] * B[k, n]"
        forms = {
            "plain": ([f"C[m, n] = sum[k] {term}"], tensors),
            "init": (["C[m, n] = 0", f"loop k in 0..{k}", f"  C[m, n] += {term}"], tensors),
            "loops": (
                [
                    f"loop m in 0..{m}",
                    f"  loop n in 0..{n}",
                    "    C[m, n] = 0",
                    f"    loop k in 0..{k}",
                    f"      C[m, n] += {term}",
                ],
                tensors,
            ),
            "rows": ([f"loop m in 0..{m}", f"  C[m, n] = sum[k] {term}"], tensors),
            "shifted": (
                [f"C[m, n] = sum[k in 1..{k + 1}] {term}  for m in 1..{m + 1}, n in 1..{n + 1}"],
                [(role, name, [d + 1 for d in shape]) for role, name, shape in tensors],
            ),
            "unit": (
                ["C[m, n, u] = sum[k] A[m, k, u] * B[k, n, u]"],
                [(r, x, [*shape, 1]) for r, x, shape in tensors],
            ),
            "two": (["P[m, n] = sum[k] " + term, "C[m, n] = P[m, n]"], tensors),
            "turned": ([f"C[m, n] = sum[k] B[k, n] * A[m, k]"], tensors),
            "factor": ([f"C[m, n] = sum[k] 2 * {term}"], tensors),
            "flat": (
                [
                    f"C[{n}*m + n] = sum[k in 0..{k}] A[{k}*m + k] * B[{n}*k + n]  for m in "
                    f"0..{m}, n in 0..{n}"
                ],
                [(r, x, [math.prod(shape)]) for r, x, shape in tensors],
            ),
        }
        return [Drawn("wording", *form, 2 * m * n * k, word=word) for word, form in forms.items()]


def draw(seed, count, families):
    """At least `count` operators of these families; a wording comes with all its forms."""
    maker, drawn = Draw(seed), []
    while len(drawn) < count:
        made = getattr(maker, maker.random.choice(families))()
        drawn += made if isinstance(made, list) else [made]
    for number, each in enumerate(drawn):
        each.name = f"{each.family}_{number}"
    return drawn
