"""Programs called on arrays of any sizes."""

import threading

import numpy as np
import pytest

import polyte
from polyte._specialised import evaluated


def whole(rng, *shape):
    return rng.integers(-3, 4, shape).astype("f4")


@pytest.mark.parametrize("m,n,k", [(1, 1, 1), (3, 4, 5), (8, 2, 9), (3, 4, 5)])
def test_sizes_follow_from_shapes(matmul, m, n, k):
    f = matmul.specialised()
    a, b = whole(np.random.default_rng(m), m, k), whole(np.random.default_rng(n), k, n)
    np.testing.assert_array_equal(f(a, b), a @ b)
    np.testing.assert_array_equal(f(B=b, A=a), a @ b)
    out = np.empty((m, n), "f4")
    assert f(a, b, out=out) is out and list(f.kernels) == [(m, n, k)]


def test_kernels_are_kept_up_to_a_number(matmul):
    f = matmul.specialised("naive", keep=2)
    for n in (2, 3, 2, 4, 2, 5):
        f(np.ones((n, n), "f4"), np.ones((n, n), "f4"))
    assert (
        list(f.kernels) == [(2, 2, 2), (5, 5, 5)]
        and repr(f) == "<polyte.Specialised op(M, N, K): 2 kernels>"
    )


def test_sizes_that_no_shape_says():
    grow = polyte.program(
        "program grow(T, N)\n  inout x: f32[2*N + 1]\n  in one: f32[N]\n  loop t in 0..T\n"
        "    x[i] += one[i]   for i in 0..N\n"
    )
    x = np.zeros(7, "f4")
    grow.specialised(T=5)(x, np.ones(3, "f4"))
    assert list(x) == [5, 5, 5, 0, 0, 0, 0]
    with pytest.raises(TypeError, match="size 'T' is no extent of an argument"):
        grow.specialised()(x, np.ones(3, "f4"))
    with pytest.raises(
        ValueError, match=r"'x' has shape \[7\], expected \[9\]: inout x: f32\[2\*N \+ 1\]"
    ):
        grow.specialised(T=5)(x, np.ones(4, "f4"))


@pytest.mark.parametrize(
    "call,kind,words",
    [
        (lambda f, a: f(a, a[:3]), ValueError, r"'B' has shape \[3, 4\], expected \[4, 4\]"),
        (lambda f, a: f(a, a[0]), ValueError, "'B' has 1 dimensions, expected 2"),
        (lambda f, a: f(a, "text"), ValueError, "'B' is of type str, expected an array"),
        (lambda f, a: f(a), TypeError, "size 'N' is no extent"),
        (lambda f, a: f(a, a, a), TypeError, "3 positional arguments"),
        (lambda f, a: f(a, a, q=a), TypeError, "there is no tensor 'q'"),
        (lambda f, a: f(a, a.astype("f8")), ValueError, "'B' is f64, expected f32"),
    ],
)
def test_what_does_not_fit(matmul, call, kind, words):
    with pytest.raises(kind, match=words):
        call(matmul.specialised("naive"), np.ones((4, 4), "f4"))


def test_unknown_options_are_refused_at_once(matmul):
    with pytest.raises(TypeError, match="there is no option or size 'speed'"):
        matmul.specialised(speed=11)


def test_from_several_threads(matmul):
    f, wrong = matmul.specialised("naive", threads=1), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for n in (2, 3, 4) * 5:
            a, b = whole(rng, n, n), whole(rng, n, n)
            if not np.array_equal(f(a, b), a @ b):
                wrong.append((seed, n))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(f.kernels) == 3


@pytest.mark.parametrize(
    "text,value",
    [("4*H", 12), ("H + N", 10), ("N - 2*H", 1), ("N // 2", 3), ("N % 4 + 1", 4), ("-1 + H", 2)],
)
def test_extents(text, value):
    assert evaluated(text, {"H": 3, "N": 7}) == value
    program = polyte.program(
        f"program p(H, N)\n  in x: f32[{text}]\n  out y: f32[{text}]\n  y[i] = x[i]\n"
    )
    kernel = program.compile("naive", H=3, N=7)
    assert (
        kernel.tensors[0].shape
        == (value,)
        == (evaluated(program.tensors[0].shape[0], {"H": 3, "N": 7}),)
    )
