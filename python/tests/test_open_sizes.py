"""One kernel for arrays of all sizes."""

import numpy as np
import pytest

import polyte

CUBES = [(1, 1, 1), (2, 3, 5), (16, 16, 16), (17, 31, 33), (64, 63, 65), (7, 1, 127), (1, 128, 2)]


def whole(*shape):
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype("f4")


def test_shapes_come_from_the_arrays(matmul):
    kernel = matmul.compile(open=True)
    assert kernel.sizes == {"M": (1, 65536), "N": (1, 65536), "K": (1, 65536)}
    assert [t.shape for t in kernel.tensors] == [("M", "K"), ("K", "N"), ("M", "N")]
    assert repr(kernel) == "<polyte.Kernel (A: f32[M, K], B: f32[K, N], C: f32[M, N]) by poly>"
    for m, n, k in CUBES:
        a, b = whole(m, k), whole(k, n)
        np.testing.assert_array_equal(kernel(a, b), a @ b)
        np.testing.assert_array_equal(
            kernel(a, b), matmul.compile("naive", m=m, n=n, k=k, cache=False)(a, b)
        )
        out = np.full((m, n), 9, "f4")
        assert kernel(B=b, A=a, out=out) is out and (out == a @ b).all()


def test_what_does_not_fit_is_listed(matmul):
    kernel = matmul.compile(open={"m": (1, 8, 9), "n": None}, k=3)
    a, b = whole(4, 3), whole(3, 6)
    with pytest.raises(polyte.errors.InvalidInput) as caught:
        kernel(whole(4, 4), whole(2, 6), out=np.empty((5, 7), "f4"))
    assert caught.value.problems == [
        "argument 'A' has shape [4, 4], expected [4, 3]: [M, 3]",
        "argument 'B' has shape [2, 6], expected [3, 6]: [3, N]",
        "argument 'C' has shape [5, 7], expected [4, 6]: [M, N], M is 4 by 'A', N is 6 by 'B'",
    ]
    with pytest.raises(ValueError, match="size 'M' is 10, expected 1 to 9"):
        kernel(whole(10, 3), b)
    with pytest.raises(ValueError, match=r"'B' has 1 dimensions, expected 2: \[3, N\]"):
        kernel(a, whole(3))
    with pytest.raises(TypeError, match="argument 'B' is missing"):
        kernel(a)
    with pytest.raises(ValueError, match="'B' is f64, expected f32"):
        kernel(a, b.astype("f8"))


def test_what_cannot_be_left_open_is_refused(matmul):
    with pytest.raises(TypeError, match="open: there is no size 'q'"):
        matmul.compile(open=["m", "q"], n=3, k=3)
    with pytest.raises(TypeError, match=r"'m' is \(1, 2\), expected \(least, typical, most\)"):
        matmul.compile(open={"m": (1, 2)}, n=3, k=3)
    with pytest.raises(ValueError, match="size 'M' is given, and left open"):
        matmul.compile(open="m", m=3, n=3, k=3)
    with pytest.raises(ValueError, match="size 'K' is missing"):
        matmul.compile(open=["m", "n"])
    with pytest.raises(NotImplementedError, match="kernels for a GPU are compiled for their sizes"):
        matmul.compile(open=True, target="cuda:h100")


def test_sizes_that_no_shape_says():
    grow = polyte.program(
        "program grow(T, N)\n  inout x: f32[2*N + 1]\n  in one: f32[N]\n  loop t in 0..T\n"
        "    x[i] += one[i]   for i in 0..N\n"
    ).compile(open=True)
    x = np.zeros(7, "f4")
    grow(x, np.ones(3, "f4"), T=5)
    assert list(x) == [5, 5, 5, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="size 'T' follows from no shape: give it"):
        grow(x, np.ones(3, "f4"))
    with pytest.raises(
        ValueError, match=r"'one' has shape \[4\], expected \[3\]: \[N\], N is 3 by 'x'"
    ):
        grow(x, np.ones(4, "f4"), T=5)
    with pytest.raises(ValueError, match=r"'x' has shape \[8\], expected \[7\]"):
        grow(np.zeros(8, "f4"), np.ones(3, "f4"), T=5)


def test_constants_are_bound_or_given(tmp_path):
    dense = polyte.program(
        "program dense(M, N, K)\n  in x: f32[M, K]\n  const w: f32[K, N]\n  out y: f32[M, N]\n"
        "  y[m, n] = sum[k] x[m, k] * w[k, n]\n"
    )
    w = whole(3, 7)
    for kernel in (dense.compile(open="M", N=7, K=3), dense.compile(open=True)):
        bound = kernel.bind(w=w)
        for rows in (1, 5, 66):
            x = whole(rows, 3)
            np.testing.assert_array_equal(bound(x), x @ w)
            np.testing.assert_array_equal(kernel(x, w), x @ w)
        # Of a kernel with K open both say it: the first tensor wins.
        with pytest.raises(
            ValueError, match=r"'x' has shape \[2, 4\], expected \[2, 3\]|K is 4 by 'x'"
        ):
            bound(whole(2, 4))
    kernel.save(tmp_path / "dense.kernel")
    x = whole(9, 5)
    assert (polyte.load(tmp_path / "dense.kernel")(x, whole(5, 2)) == x @ whole(5, 2)).all()


def test_a_script_of_ones_own_for_all_sizes(matmul):
    s = matmul.script().split("m", 8).split("n", 16)
    kernel = s.compile(open=True)
    for m, n, k in CUBES:
        np.testing.assert_array_equal(kernel(whole(m, k), whole(k, n)), whole(m, k) @ whole(k, n))
