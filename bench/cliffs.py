#!/usr/bin/env python3
"""Draws single operators that nobody has tuned for and times poly and the templates against a bound, to find where they
fall off.

  bench/cliffs.py [--draws 300] [--seed 1] [--family gemm,conv] [--json FILE]

The bound of an operator is the longer of two times: its flops at the FMA peak, and the bytes of its interface at the
rate at which this machine copies as many (programs of the same run). Both are measured here, in the same processes.
Printed are the distribution of the share of the bound and the worst operators with their nests: the work list. Wordings
of one product are drawn beside its plain form, and are compared with that. The same seed draws the same operators.
"""
import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile

CHUNK = 12  # operators of a process
COPIES = [1 << i for i in range(12, 25)]  # elements
PRIMES = [3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 47, 53, 61, 67, 79, 97, 101, 127, 131, 151, 193, 211, 257, 307]


class Drawn:
    """A Program with what it computes: `flops` and the `bytes` of its interface, each element once."""

    def __init__(self, family, statements, tensors, flops, dtype="f32", word="plain"):
        self.family, self.word, self.flops = family, word, flops
        size = {"f32": 4, "f64": 8}[dtype]
        self.bytes = sum(size * math.prod(shape) for _, _, shape in tensors)
        self.statements, self.dtype = statements, dtype
        self.lines = [f"  {role} {name}: {dtype}[{', '.join(map(str, shape))}]" for role, name, shape in tensors]
        self.name = ""

    def text(self):
        return "\n".join([f"program {self.name}()", *self.lines, *(f"  {line}" for line in self.statements), ""])


class Draw:
    """One operator a call, of a family."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def size(self, least, most):
        """A prime, a power of two or a neighbour of one, or what networks have."""
        kinds = [[p for p in PRIMES], [1 << i for i in range(1, 13)], [(1 << i) + s for i in range(3, 12) for s in (-1, 1)],
                 [24 * i for i in range(1, 60)], [50 * i for i in range(1, 40)]]
        fitting = [n for n in self.random.choice(kinds) if least <= n <= most]
        return self.random.choice(fitting) if fitting else self.random.randint(least, most)

    def dtype(self):
        return "f64" if self.random.random() < 0.15 else "f32"

    def gemm(self):
        m, n, k = self.size(1, 700), self.size(1, 700), self.size(16, 1500)
        a = self.random.choice([("A[m, k]", (m, k)), ("A[k, m]", (k, m))])
        b = self.random.choice([("B[k, n]", (k, n)), ("B[n, k]", (n, k))])
        return Drawn("gemm", [f"C[m, n] = sum[k] {a[0]} * {b[0]}"],
                     [("in", "A", a[1]), ("in", "B", b[1]), ("out", "C", (m, n))], 2 * m * n * k, self.dtype())

    def batched(self):
        b, m, n, k = self.size(2, 48), self.size(3, 200), self.size(3, 200), self.size(8, 200)
        second = self.random.choice([("B[b, k, n]", (b, k, n)), ("B[b, n, k]", (b, n, k))])
        return Drawn("batched", [f"C[b, m, n] = sum[k] A[b, m, k] * {second[0]}"],
                     [("in", "A", (b, m, k)), ("in", "B", second[1]), ("out", "C", (b, m, n))], 2 * b * m * n * k)

    def conv(self):
        c, f, h, w = self.size(3, 128), self.size(3, 128), self.size(7, 64), self.size(7, 64)
        r, stride, dilation = self.random.choice([1, 3, 3, 5]), self.random.choice([1, 1, 2]), self.random.choice([1, 1, 2, 4])
        rows, columns = stride * (h - 1) + dilation * (r - 1) + 1, stride * (w - 1) + dilation * (r - 1) + 1
        at = [f"{stride}*{i} + {dilation}*{t}" for i, t in (("i", "r"), ("j", "s"))]
        if self.random.random() < 0.3:
            statement = f"y[i, j, f] = sum[r, s, c] x[{at[0]}, {at[1]}, c] * w[r, s, c, f]"
            shapes = (rows, columns, c), (r, r, c, f), (h, w, f)
        else:
            statement = f"y[f, i, j] = sum[c, r, s] x[c, {at[0]}, {at[1]}] * w[f, c, r, s]"
            shapes = (c, rows, columns), (f, c, r, r), (f, h, w)
        return Drawn("conv", [statement], [("in", "x", shapes[0]), ("in", "w", shapes[1]), ("out", "y", shapes[2])],
                     2 * f * c * h * w * r * r)

    def depthwise(self):
        c, h, w, stride, r = self.size(16, 256), self.size(7, 112), self.size(7, 112), self.random.choice([1, 2]), 3
        return Drawn("depthwise", [f"y[c, i, j] = sum[r, s] x[c, {stride}*i + r, {stride}*j + s] * w[c, r, s]"],
                     [("in", "x", (c, stride * h + 2, stride * w + 2)), ("in", "w", (c, r, r)), ("out", "y", (c, h, w))],
                     2 * c * h * w * r * r)

    def pool(self):
        c, h, w, r = self.size(8, 128), self.size(7, 112), self.size(7, 112), self.random.choice([2, 3])
        stride = self.random.choice([1, 2])
        if self.random.random() < 0.5:
            statement = f"y[i, j, c] = max[r in 0..{r}, s in 0..{r}] x[{stride}*i + r, {stride}*j + s, c]"
            shapes = (stride * h + r, stride * w + r, c), (h, w, c)
        else:
            statement = f"y[c, i, j] = max[r in 0..{r}, s in 0..{r}] x[c, {stride}*i + r, {stride}*j + s]"
            shapes = (c, stride * h + r, stride * w + r), (c, h, w)
        return Drawn("pool", [statement], [("in", "x", shapes[0]), ("out", "y", shapes[1])], c * h * w * r * r)

    def reduce(self):
        shape = [self.size(3, 400), self.size(3, 400), self.size(3, 100)]
        at = ["i", "j", "k"]
        over = self.random.choice([["i"], ["j"], ["k"], ["i", "k"], ["j", "k"], ["i", "j"]])
        kept = [x for x in at if x not in over]
        combiner = self.random.choice(["sum", "max"])
        return Drawn("reduce", [f"y[{', '.join(kept)}] = {combiner}[{', '.join(over)}] x[i, j, k]"],
                     [("in", "x", shape), ("out", "y", [shape[at.index(x)] for x in kept])], math.prod(shape))

    def pointwise(self):
        shape = [self.size(3, 64), self.size(7, 300), self.size(7, 300)]
        kind, at = self.random.choice(["i", "j", "k"]), "i, j, k"
        value = self.random.choice([f"max(x[{at}] + b[{kind}], 0)", f"x[{at}] * b[{kind}] + x[{at}]",
                                    f"min(max(x[{at}], 0), b[{kind}])"])
        return Drawn("pointwise", [f"y[{at}] = {value}"],
                     [("in", "x", shape), ("in", "b", [shape["ijk".index(kind)]]), ("out", "y", shape)], 2 * math.prod(shape))

    def chain(self):
        shape = [self.size(7, 1000), self.size(7, 1000)]
        return Drawn("chain", ["a[i, j] = x[i, j] * 2", "b[i, j] = max(a[i, j] + 1, 0)",
                               "y[i, j] = b[i, j] * b[i, j] - a[i, j]"],
                     [("in", "x", shape), ("out", "y", shape)], 5 * math.prod(shape))

    def transpose(self):
        shape = [self.size(2, 40), self.size(3, 200), self.size(3, 200)]
        order = self.random.choice([[0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1], [1, 0, 2]])
        return Drawn("transpose", [f"y[{', '.join('ijk'[d] for d in order)}] = x[i, j, k]"],
                     [("in", "x", shape), ("out", "y", [shape[d] for d in order])], 0)

    def softmax(self):
        m, n = self.size(16, 2000), self.size(5, 1500)
        return Drawn("softmax", ["t[i] = max[j] x[i, j]", "e[i, j] = exp(x[i, j] - t[i])", "s[i] = sum[j] e[i, j]",
                                 "y[i, j] = e[i, j] / s[i]"],
                     [("in", "x", (m, n)), ("out", "y", (m, n))], 20 * m * n)  # an exp is taken for 16 flops

    def stencil(self):
        h, w, edge = self.size(32, 1500), self.size(32, 1500), self.random.choice([1, 2])
        value = f"x[i, j] + x[i, j - {edge}] + x[i, j + {edge}] + x[i - {edge}, j] + x[i + {edge}, j]"
        return Drawn("stencil", [f"y[i, j] = 0.2 * ({value})  for i in {edge}..{h + edge}, j in {edge}..{w + edge}"],
                     [("in", "x", (h + 2 * edge, w + 2 * edge)), ("out", "y", (h + 2 * edge, w + 2 * edge))], 5 * h * w)

    def wording(self):
        """A product as a person may say it, beside its plain form."""
        m, n, k = self.size(50, 400), self.size(50, 400), self.size(50, 400)
        tensors = [("in", "A", (m, k)), ("in", "B", (k, n)), ("out", "C", (m, n))]
        term = "A[m, k] * B[k, n]"
        forms = {
            "plain": ([f"C[m, n] = sum[k] {term}"], tensors),
            "init": (["C[m, n] = 0", f"loop k in 0..{k}", f"  C[m, n] += {term}"], tensors),
            "loops": ([f"loop m in 0..{m}", f"  loop n in 0..{n}", "    C[m, n] = 0", f"    loop k in 0..{k}",
                       f"      C[m, n] += {term}"], tensors),
            "rows": ([f"loop m in 0..{m}", f"  C[m, n] = sum[k] {term}"], tensors),
            "shifted": ([f"C[m, n] = sum[k in 1..{k + 1}] {term}  for m in 1..{m + 1}, n in 1..{n + 1}"],
                        [(role, name, [d + 1 for d in shape]) for role, name, shape in tensors]),
            "unit": (["C[m, n, u] = sum[k] A[m, k, u] * B[k, n, u]"], [(r, x, [*shape, 1]) for r, x, shape in tensors]),
            "two": (["P[m, n] = sum[k] " + term, "C[m, n] = P[m, n]"], tensors),
            "turned": ([f"C[m, n] = sum[k] B[k, n] * A[m, k]"], tensors),
            "factor": ([f"C[m, n] = sum[k] 2 * {term}"], tensors),
            "flat": ([f"C[{n}*m + n] = sum[k in 0..{k}] A[{k}*m + k] * B[{n}*k + n]  for m in 0..{m}, n in 0..{n}"],
                     [(r, x, [math.prod(shape)]) for r, x, shape in tensors]),
        }
        return [Drawn("wording", *form, 2 * m * n * k, word=word) for word, form in forms.items()]


FAMILIES = ["gemm", "gemm", "batched", "conv", "conv", "depthwise", "pool", "reduce", "pointwise", "chain", "transpose",
            "softmax", "stencil", "wording"]
LEAST_BOUND = 5e-6  # seconds: below, a call counts more than the operator


def copies():
    return [Drawn("copy", ["y[i] = x[i]"], [("in", "x", [n]), ("out", "y", [n])], 0) for n in COPIES]


def draw(options):
    maker, wanted, drawn = Draw(options.seed), options.family.split(",") if options.family else FAMILIES, []
    while len(drawn) < options.draws:
        made = getattr(maker, maker.random.choice(wanted))()
        drawn += made if isinstance(made, list) else [made]
    for number, each in enumerate(drawn):
        each.name = f"{each.family}_{number}"
    return drawn


class Bench:
    """`polyte bench` over chunks of Programs; what a chunk with a fault has is timed one by one."""

    def __init__(self, options):
        self.options, self.rows, self.peaks, self.faults = options, {}, [], []

    def run(self, drawn):
        with tempfile.NamedTemporaryFile("w", suffix=".program") as file:
            file.write("\n".join(each.text() for each in drawn))
            file.flush()
            done = subprocess.run([self.options.polyte, "bench", file.name, "--schedulers", "poly", "template", "--json",
                                   "--threads", str(self.options.threads), "--repetitions", str(self.options.rounds)],
                                  capture_output=True, text=True)
        if done.returncode != 0 and len(drawn) > 1:
            for each in drawn:
                self.run([each])
        elif done.returncode != 0:
            self.faults.append((drawn[0], done.stderr.strip()))
        else:
            self.add(json.loads(done.stdout)["benchmarks"])

    def add(self, benchmarks):
        for row in benchmarks:
            name, arm = row["name"].split()[:2]
            self.rows[name, arm] = row["real_time"] / 1e9, row["declined"]
            if row.get("peak_fraction"):
                self.peaks.append(row["flops_per_second"] / row["peak_fraction"])


def rate_of(rates, size):
    """Bytes a second of a copy as large, between the two that were measured."""
    for (small, low), (large, high) in zip(rates, rates[1:]):
        if small <= size <= large:
            share = math.log(size / small) / math.log(large / small)
            return low ** (1 - share) * high ** share
    return rates[0][1] if size < rates[0][0] else rates[-1][1]


def nest_of(options, each, arm):
    with tempfile.NamedTemporaryFile("w", suffix=".program") as file:
        file.write(each.text())
        file.flush()
        said = subprocess.run([options.polyte, "op", file.name, "--scheduler", arm, "--threads", str(options.threads), "--emit",
                               "nest"], capture_output=True, text=True)
    return said.stdout.strip() or "reference order"


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def table(rows, arm):
    """Share of the bound by family."""
    print(f"\n{arm}: share of the bound\n{'family':12}{'drawn':>6}{'median':>9}{'5th':>8}{'1st':>8}{'least':>8}")
    families = sorted({row["family"] for row in rows})
    for family in [*families, "all"]:
        shares = [row["share"] for row in rows if row["arm"] == arm and family in (row["family"], "all")]
        if shares:
            print(f"{family:12}{len(shares):6}{statistics.median(shares):9.2f}{quantile(shares, .05):8.2f}"
                  f"{quantile(shares, .01):8.2f}{min(shares):8.2f}")


def wordings(rows):
    """How much longer a wording takes than the plain form of the same product."""
    plain, times = None, {}
    for row in rows:
        if row["family"] != "wording":
            continue
        if row["word"] == "plain":
            plain = {**(plain or {}), row["arm"]: row["seconds"]}
        else:
            times.setdefault((row["word"], row["arm"]), []).append(row["seconds"] / plain[row["arm"]])
    if times:
        print(f"\ntime of a wording over that of the plain form\n{'wording':12}{'arm':10}{'median':>8}{'worst':>8}")
        for (word, arm), ratios in sorted(times.items(), key=lambda item: -max(item[1])):
            print(f"{word:12}{arm:10}{statistics.median(ratios):8.2f}{max(ratios):8.2f}")


def worst(options, rows, drawn):
    print("\nthe worst")
    by_name = {each.name: each for each in drawn}
    for row in sorted(rows, key=lambda each: each["share"])[:options.worst]:
        each = by_name[row["name"]]
        declined = f", declined: {row['declined']}" if row["declined"] else ""
        print(f"\n{row['share']:.2f} of the bound, {row['seconds'] * 1e6:.0f} us, by {row['arm']}{declined}\n{each.text()}"
              f"{nest_of(options, each, row['arm'])}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--polyte", default="build/release/polyte")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", default="", help=f"of {', '.join(sorted(set(FAMILIES)))}; commas between them")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    if unknown := [family for family in options.family.split(",") if family and family not in FAMILIES]:
        parser.error(f"no family {', '.join(unknown)}; there are {', '.join(sorted(set(FAMILIES)))}")
    return options


def main():
    options = arguments()
    probes, drawn, bench = copies(), draw(options), Bench(options)
    for number, each in enumerate(probes):
        each.name = f"copy_{number}"
    bench.run(probes)
    for first in range(0, len(drawn), CHUNK):
        bench.run(drawn[first:first + CHUNK])
        print(f"\r{min(first + CHUNK, len(drawn))} of {len(drawn)} drawn", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    rates = [(each.bytes, each.bytes / min(bench.rows[each.name, arm][0] for arm in ("poly", "template"))) for each in probes]
    peak = statistics.median(bench.peaks)
    rows = []
    for each in drawn:
        flops = peak if each.dtype == "f32" else peak / 2
        bound = max(each.flops / flops, each.bytes / rate_of(rates, each.bytes))
        for arm in ("poly", "template"):
            if (each.name, arm) in bench.rows and (bound >= LEAST_BOUND or each.family == "wording"):
                seconds, declined = bench.rows[each.name, arm]
                rows.append({"name": each.name, "family": each.family, "word": each.word, "arm": arm, "seconds": seconds,
                             "bound": bound, "share": bound / seconds, "declined": declined})
    copied = ", ".join(f"{size >> 10} KiB {rate / 1e9:.0f}" for size, rate in rates[::3])
    print(f"peak {peak / 1e9:.1f} GF/s; copies: {copied} GB/s")
    for arm in ("poly", "template"):
        table(rows, arm)
    wordings(rows)
    worst(options, rows, drawn)
    for each, why in bench.faults:
        print(f"\nnot timed: {why}\n{each.text()}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"seed": options.seed, "peak": peak, "copies": rates, "rows": rows}, file, indent=1)
            file.write("\n")
    return 1 if bench.faults else 0


if __name__ == "__main__":
    sys.exit(main())
