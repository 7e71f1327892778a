"""Arrays that are not dense in row-major order: copied before a call and, where written, back."""

import numpy as np
import pytest

import polyte

SCALED = "program scaled(M, N)\n  inout x: f32[M, N]\n  in a: f32[]\n  x[m, n] = x[m, n] * a[]\n"


def padded(array):
    """The same values within a larger array, every second row and column, from the end."""
    whole = np.full([2 * extent + 3 for extent in array.shape], 99, array.dtype)
    part = whole[tuple(slice(2 * extent, 0, -2) for extent in array.shape)]
    part[...] = array
    return whole, part


WAYS = {
    "transposed": lambda a: np.asfortranarray(a),
    "reversed": lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
    "upside down": lambda a: np.ascontiguousarray(a[::-1])[::-1],
    "padded": lambda a: padded(a)[1],
    "columns": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
}


@pytest.mark.parametrize("way", WAYS)
def test_inputs_and_outputs(kernel, operands, way):
    a, b = operands
    other = WAYS[way]
    assert not other(a).flags.c_contiguous and np.array_equal(other(a), a)
    np.testing.assert_array_equal(kernel(other(a), b), a @ b)
    np.testing.assert_array_equal(kernel(A=a, B=other(b)), a @ b)
    out = other(np.zeros((8, 12), np.float32))
    assert kernel(other(a), other(b), out=out) is out
    np.testing.assert_array_equal(out, a @ b)


def test_only_the_elements_of_a_part_are_written(kernel, operands):
    a, b = operands
    whole, part = padded(np.zeros((8, 12), np.float32))
    before = whole.copy()
    kernel(a, b, out=part)
    np.testing.assert_array_equal(part, a @ b)
    part[...] = 0
    np.testing.assert_array_equal(whole, before)


def test_a_row_for_all(kernel, operands):
    a, b = operands
    same = np.broadcast_to(b[:1], b.shape)
    np.testing.assert_array_equal(kernel(a, same), a @ same)
    one = np.lib.stride_tricks.as_strided(np.zeros(12, "f4"), (8, 12), (0, 4))
    with pytest.raises(ValueError, match="'C' is written, and several of its elements are in one"):
        kernel(a, b, out=one)
    near = np.lib.stride_tricks.as_strided(np.zeros(40, "f4"), (8, 12), (4, 8))
    with pytest.raises(ValueError, match="several of its elements are in one place"):
        kernel(a, b, out=near)


def test_updated_in_place():
    kernel = polyte.program(SCALED).compile(M=3, N=4)
    dense = np.arange(12, dtype="f4").reshape(3, 4)
    whole, part = padded(dense)
    kernel(part, np.float32(2).reshape(()))
    np.testing.assert_array_equal(part, 2 * dense)
    assert (whole == 99).sum() == whole.size - 12


def test_a_result_over_its_own_input(matmul):
    a = np.arange(9, dtype="f4").reshape(3, 3)
    expected = a.T @ a.T
    matmul.compile(m=3, n=3, k=3)(a.T, a.T, out=a.T)
    np.testing.assert_array_equal(a.T, expected)


def test_constants(operands):
    layer = polyte.program(
        "program dense(M, N, K)\n  in x: f32[M, K]\n  const w: f32[K, N]\n  out y: f32[M, N]\n"
        "  y[m, n] = sum[k] x[m, k] * w[k, n]\n"
    ).compile(M=8, N=12, K=5)
    a, b = operands
    np.testing.assert_array_equal(layer.bind(w=np.asfortranarray(b))(a), a @ b)
    np.testing.assert_array_equal(layer(a, np.asfortranarray(b)), a @ b)


@pytest.mark.parametrize("dtype", ["f64", "f16", "i8", "i64", "u16", "bool"])
def test_elements_of_every_size(dtype):
    kernel = polyte.op("y[m,n] = x[m,n]", dtype).compile(m=3, n=5)
    x = (np.arange(15).reshape(5, 3) % 2).astype({"f64": "f8", "f16": "f2", "i8": "i1", "i64": "i8",
                                                  "u16": "u2", "bool": "?"}[dtype])  # fmt: skip
    out = np.zeros((5, 3), x.dtype).T
    np.testing.assert_array_equal(kernel(x.T, out=out), x.T)


def test_open_sizes_and_specialised(matmul, operands):
    a, b = operands
    every = matmul.compile(open=True)
    np.testing.assert_array_equal(every(np.asfortranarray(a), b[:, ::-1]), a @ b[:, ::-1])
    np.testing.assert_array_equal(matmul.specialised()(a[::-1], b), a[::-1] @ b)


def test_what_has_no_elements(matmul):
    kernel = matmul.compile(open={"m": (0, 4, 8)}, n=3, k=2)
    assert kernel(np.ones((4, 2), "f4")[4:, ::-1], np.ones((2, 3), "f4")).shape == (0, 3)
