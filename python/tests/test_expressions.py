"""Programs from Python expressions: the same as from text, and the same numbers as numpy's."""

import operator
import os
import re

import numpy as np
import pytest
from shipped_programs import BUILT, built

import polyte
from polyte import expr as e

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHIPPED = os.path.join(ROOT, "examples", "programs")


def test_every_shipped_program_is_written_in_python_too():
    assert sorted(BUILT) == sorted(
        name[:-8] for name in os.listdir(SHIPPED) if name.endswith(".program")
    )


@pytest.mark.parametrize("name", BUILT)
def test_a_program_in_python_is_the_program_of_the_text(name):
    with open(os.path.join(SHIPPED, name + ".program")) as file:
        assert built(name).text == polyte.program(file.read()).text


def test_all_forms_of_the_guide():
    with open(os.path.join(ROOT, "docs", "program-text.md")) as page:
        text = re.search(r"(?ms)^```text forms.program\n(.*?)^```", page.read()).group(1)
    b = polyte.build("forms")
    N, V = b.sizes("N V")
    b.assume(N >= 2, V >= 1)
    i, j, first = b.iters("i"), b.iters("j"), b.iters("i", 1)
    row = b.iters("i", N)
    column = b.iters("j", row + 1)
    x, table, id = b.input("x", (N, N)), b.const("table", V), b.input("id", N, "i64")
    lower, best, at = b.output("lower", (N, N)), b.output("best", N), b.output("at", N, "i64")
    y, last, s = b.output("y", N), b.inout("last", N), b.temp("s", N, "f32")
    lower[i, j] = 0
    lower.label("L")[row, column] = x[row, column]
    b.pair(best, at)[i] = e.argmax(x[i, j], over=j)
    s[first] = 0
    with b.only_if(i >= 1):
        s.label("T")[i] = x[i, i] * x[i - 1, i]
    y[i] = s[i] + table[id[i]]
    with b.when(y[i] < 0.5):
        y.label("P")[i] = 0
    y.label("Q")[i] -= s[i] * 0.5
    with b.loop("t", 0, N - 1, step=-1) as t:
        last.label("R")[t] = e.max(last[t + 1], y[t])
    assert b.program().text == polyte.program(text).text


def test_numbers_in_place_of_sizes():
    b = polyte.build("small")
    i, k = b.iters("i k")
    a, x, y = b.input("a", (3, 4)), b.input("x", 4), b.output("y", 3)
    y[i] = e.sum(a[i, k] * x[k], over=k)
    kernel = b.program().compile()
    assert list(kernel(np.arange(12, dtype="f4").reshape(3, 4), np.ones(4, "f4"))) == [6, 22, 38]


def test_a_reduction_within_a_value_is_a_tensor_of_its_own():
    b = polyte.build("norm")
    M, N = b.sizes("M N")
    i, j, k = b.iters("i j k")
    x, y = b.input("x", (M, N)), b.output("y", (M, N))
    y[i, j] = (x[i, j] - e.min(x[i, k], over=k)) * (e.max(x[i, k], over=k) - e.sum(x[i, k], over=k))
    program = b.program()
    assert re.findall(r"(?m)^  (\S+)\[i\] = ", program.text) == ["y_min", "y_max", "y_sum"]
    v = np.random.default_rng(1).integers(-5, 6, (6, 7)).astype("f4")
    least, most, total = (f(v, axis=1, keepdims=True) for f in (np.min, np.max, np.sum))
    np.testing.assert_array_equal(program.compile(M=6, N=7)(v), (v - least) * (most - total))


def test_a_lifted_reduction_has_the_range_of_the_tensor_it_is_for():
    b = polyte.build("smooth")
    N = b.sizes("N")
    i, r = b.iters("i"), b.iters("r", 3)
    x, y = b.input("x", N), b.output("y", N)
    y[i] = e.sum(x[i + r - 1].otherwise(0), over=r) * 2
    v = np.arange(6, dtype="f4")
    padded = np.pad(v, 1)
    np.testing.assert_array_equal(
        b.program().compile(N=6)(v), 2 * (padded[:-2] + padded[1:-1] + padded[2:])
    )


@pytest.mark.parametrize(
    "op,of_numpy",
    [
        (e.sum, np.sum),
        (e.product, np.prod),
        (e.all, np.all),
        (e.any, np.any),
        (lambda v, over: e.min(v, over=over), np.min),
        (lambda v, over: e.max(v, over=over), np.max),
    ],
)
def test_reductions(op, of_numpy):
    dtype = "bool" if of_numpy in (np.all, np.any) else "i32"
    b = polyte.build()
    i, j, k = b.iters("i j k")
    x, y = b.input("x", (4, 3, 5), dtype), b.output("y", 4, dtype)
    y[i] = op(x[i, j, k], over=(j, k))
    v = np.random.default_rng(2).integers(-3, 4, (4, 3, 5)).astype(np.int32)
    v[0] = 1
    v = v if dtype == "i32" else v > 0
    np.testing.assert_array_equal(b.program().compile()(v), of_numpy(v, axis=(1, 2)))


FUNCTIONS = {
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "trunc": np.trunc,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "erf": lambda v: np.array([__import__("math").erf(each) for each in v]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    b = polyte.build()
    i = b.iters("i")
    x, y = b.input("x", 40, np.float64), b.output("y", 40, np.float64)
    y[i] = getattr(e, name)(x[i])
    v = np.linspace(0.25, 6.5, 40)
    np.testing.assert_allclose(b.program().compile()(v), FUNCTIONS[name](v), rtol=1e-12, atol=1e-14)


def test_what_python_writes_for_operators():
    b = polyte.build()
    i, (x, z) = b.iters("i"), (b.input("x", 9, "i32"), b.input("z", 9))
    assert (
        (x[i] & 3) | ((x[i] >> 1) ^ (x[i] << 2))
    ).text == "(x[i] & 3) | ((x[i] >> 1) ^ (x[i] << 2))"
    assert (~(x[i] > 2) & (x[i] != 4)).text == "not(x[i] > 2) and (x[i] != 4)"
    assert (1 - z[i] - (2 - z[i])).text == "1 - z[i] - (2 - z[i])"
    assert (z[i] * (z[i] * 2) / -3).text == "z[i] * (z[i] * 2) / (-3)"
    assert (-(z[i] ** 2)).text == "-pow(z[i], 2)" and (2 ** z[i]).text == "pow(2, z[i])"
    assert (np.float32(0.5) * z[i]).text == "0.5 * z[i]" and (np.int64(4) + x[i]).text == "4 + x[i]"
    assert z[i // 2 + i % 3].text == "z[(i // 2) + (i % 3)]" and abs(z[i]).text == "abs(z[i])"
    assert e.where(True, z[i], 1e-8).text == "select(true, z[i], 1e-08)"
    assert (
        (z[i] < 1).dtype == "bool"
        and x[i].astype(np.float16).dtype == "f16"
        and (i + 1).dtype is None
    )


# ---- random expressions


class Random:
    """A value as an expression and as numpy's array over the iterators i and j; whole numbers, so
    that both are exact."""

    def __init__(self, rng, arrays, iterators):
        self.rng, self.arrays, self.iterators = rng, arrays, iterators

    def leaf(self):
        which = self.rng.integers(5)
        i, j = self.iterators
        if which == 0:
            number = int(self.rng.integers(-3, 4))
            return e.of(number), np.float64(number)
        (x, xv), (row, rv) = self.arrays
        return [(x[i, j], xv), (row[j], rv[None, :]), (x[j, i], xv.T), (x[i, 0], xv[:, :1])][
            which - 1
        ]

    def value(self, depth):
        if depth == 0:
            return self.leaf()
        (a, av), (b, bv) = self.value(depth - 1), self.value(self.rng.integers(depth))
        which = self.rng.integers(8)
        if which == 0:
            return -a, -av
        if which == 1:
            return abs(a), np.abs(av)
        if which == 2:
            condition, mask = [
                (a < b, av < bv),
                (a >= b, av >= bv),
                (a == b, av == bv),
                ((a > 0) & ~(b > 1), (av > 0) & ~(bv > 1)),
            ][self.rng.integers(4)]
            return e.where(condition, a, b), np.where(mask, av, bv)
        if which == 3 and a.dtype:
            k = self.iterators[1]
            _, reduced = self.arrays
            return a * e.sum(reduced[0][k], over=k), av * reduced[1].sum()
        of_python, of_numpy = [
            (e.min, np.minimum),
            (e.max, np.maximum),
            (operator.add, np.add),
            (operator.sub, np.subtract),
            (operator.mul, np.multiply),
        ][self.rng.integers(5)]
        return of_python(a, b), of_numpy(av, bv)


@pytest.mark.parametrize("seed", range(24))
def test_random_expressions(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    b = polyte.build("random")
    N = b.sizes("N")
    i, j = b.iters("i j")
    x, row, y = b.input("x", (N, N), "f64"), b.input("row", N, "f64"), b.output("y", (N, N), "f64")
    xv, rv = rng.integers(-2, 3, (n, n)).astype(float), rng.integers(-2, 3, n).astype(float)
    value, right = Random(rng, [(x, xv), (row, rv)], (i, j)).value(int(rng.integers(1, 5)))
    y[i, j] = value
    program = b.program()
    assert program.text == polyte.program(b.text).text
    given = {"x": xv, "row": rv}
    kernel = program.compile(["naive", "poly", "template"][seed % 3], N=n)
    made = kernel(**{t.name: given[t.name] for t in kernel.tensors if t.role == "in"})
    np.testing.assert_array_equal(made, np.broadcast_to(right, (n, n)))


# ---- what cannot be written


def small():
    b = polyte.build("small")
    N = b.sizes("N")
    return b, N, b.iters("i"), b.input("x", N), b.input("c", N, "i32"), b.output("y", N)


def assign(y, i, value):
    y[i] = value


@pytest.mark.parametrize(
    "write,kind,words",
    [
        (lambda b, N, i, x, c, y: x[i] + c[i], TypeError, r"'x\[i\] \+ c\[i\]' joins f32 and i32"),
        (
            lambda b, N, i, x, c, y: x[i] + "one",
            TypeError,
            r"'x\[i\] \+ 'one'': 'one' is of type str",
        ),
        (lambda b, N, i, x, c, y: x[i] + x, TypeError, r"tensor 'x' has no subscripts"),
        (lambda b, N, i, x, c, y: x[i] * float("nan"), ValueError, "nan cannot be written"),
        (lambda b, N, i, x, c, y: x[i] // 2, TypeError, r"'x\[i\] // 2'"),
        (
            lambda b, N, i, x, c, y: x[i] << 2,
            TypeError,
            r"'x\[i\] << 2': << is of whole numbers, not f32",
        ),
        (lambda b, N, i, x, c, y: max(x[i], 0), TypeError, r"'x\[i\] < 0' has no truth value"),
        (lambda b, N, i, x, c, y: 0 < i < N, TypeError, "has no truth value"),
        (lambda b, N, i, x, c, y: list(x), TypeError, "not iterable"),
        (
            lambda b, N, i, x, c, y: x[i, i],
            ValueError,
            r"'x\[i, i\]': 2 subscripts, the tensor has 1 dimensions",
        ),
        (lambda b, N, i, x, c, y: x[1:3], TypeError, "slices are not possible"),
        (lambda b, N, i, x, c, y: x[x[i]], TypeError, r"subscript 'x\[i\]' is f32"),
        (
            lambda b, N, i, x, c, y: e.where(x[i], 1, 2),
            TypeError,
            "the condition is f32, expected bool",
        ),
        (
            lambda b, N, i, x, c, y: e.sum(x[i], over=N),
            TypeError,
            r"sum of 'x\[i\]' is over .*expected iterators",
        ),
        (lambda b, N, i, x, c, y: e.sum(x[i], over=()), TypeError, "is over no iterator"),
        (lambda b, N, i, x, c, y: e.max(x[i]), TypeError, "max takes two values or more"),
        (
            lambda b, N, i, x, c, y: assign(y, i, c[i]),
            TypeError,
            r"'y\[i\]' is f32 and is assigned i32, 'c\[i\]'",
        ),
        (
            lambda b, N, i, x, c, y: assign(y, i, x[b.iters("k")]),
            ValueError,
            r"'y\[i\]' has no iterator 'k', which 'x\[k\]' uses",
        ),
        (
            lambda b, N, i, x, c, y: assign(y, i, e.argmax(x[i], over=i)),
            TypeError,
            "argmin and argmax write a pair",
        ),
        (
            lambda b, N, i, x, c, y: assign(y, i, x[i].updated("+", 1)),
            ValueError,
            r"'y\[i\]' is assigned an update of 'x\[i\]'",
        ),
        (
            lambda b, N, i, x, c, y: assign(y, e.sum(c[i], over=i), 0),
            ValueError,
            r"'sum\[..\]' reduces within a subscript",
        ),
        (
            lambda b, N, i, x, c, y: assign(y, b.iters("i", 2), x[b.iters("i", 1, 3)]),
            ValueError,
            r"ranges 0..2 and 1..3",
        ),
        (
            lambda b, N, i, x, c, y: assign(y, b.iters("N"), 0),
            ValueError,
            "iterator 'N' has the name of a tensor or size",
        ),
        (
            lambda b, N, i, x, c, y: assign(y, b.iters("x"), 0),
            ValueError,
            "iterator 'x' has the name of a tensor or size",
        ),
        (lambda b, N, i, x, c, y: x[i].updated("/", 1), ValueError, "expected \\+, -, \\*"),
        (lambda b, N, i, x, c, y: x[i].updated("+", 1) + 1, TypeError, "unsupported operand"),
        (
            lambda b, N, i, x, c, y: 1 + x[x[i].updated("+", 1)],
            TypeError,
            "the update of 'x\\[i\\]' is no value",
        ),
        (lambda b, N, i, x, c, y: b.input("x", N), ValueError, "tensor 'x' is there already"),
        (lambda b, N, i, x, c, y: b.input("1x", N), ValueError, "'1x': expected a name"),
        (lambda b, N, i, x, c, y: b.input("z", N, "float13"), ValueError, "dtype 'float13'"),
        (
            lambda b, N, i, x, c, y: b.input("z", x[i]),
            TypeError,
            r"'x\[i\]' is f32, expected sizes",
        ),
        (lambda b, N, i, x, c, y: b.sizes("M N"), ValueError, "size 'N' is there already"),
        (lambda b, N, i, x, c, y: b.temp("t", N), TypeError, "give shape and dtype, or neither"),
        (lambda b, N, i, x, c, y: b.when(i), TypeError, "when 'i': expected a condition"),
        (lambda b, N, i, x, c, y: b.only_if(), TypeError, "only_if takes conditions"),
        (lambda b, N, i, x, c, y: b.loop("t", N, step=2).__enter__(), ValueError, "step is 2"),
    ],
)
def test_what_cannot_be_written(write, kind, words):
    with pytest.raises(kind, match=words):
        write(*small())


def test_problems_name_the_statement_and_the_line_of_python():
    b, N, i, x, c, y = small()
    z = b.output("z", N)
    y[i] = x[i + 1] * 2
    z[i] = x[i - 1]
    with pytest.raises(polyte.errors.InvalidInput) as caught:
        b.program()
    first, second = caught.value.problems
    assert re.match(
        r"test_expressions.py:\d+: 'y\[i\] = x\[i \+ 1\] \* 2': .*reaches beyond the extent N",
        first,
    )
    assert re.match(r"test_expressions.py:\d+: 'z\[i\] = x\[i - 1\]': ", second)
    lines = [int(each.split(":")[1]) for each in caught.value.problems]
    assert lines[1] == lines[0] + 1


def test_a_loop_ends():
    b, N, i, x, c, y = small()
    with b.loop("t", N) as t:
        y[t] = x[t]
    with pytest.raises(ValueError, match="'t' is used outside of its loop"):
        y[i] = x[t]
