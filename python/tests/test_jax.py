"""Kernels with arrays of jax. Skipped where jax is not installed."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")
import jax.numpy as jnp  # noqa: E402


def test_kernels_take_arrays_of_jax(kernel, operands):
    a, b = operands
    np.testing.assert_array_equal(kernel(jnp.asarray(a), jnp.asarray(b)), a @ b)


def test_arrays_of_jax_are_not_written(kernel, operands):
    a, b = operands
    with pytest.raises(ValueError, match="read-only"):
        kernel(a, b, out=jnp.zeros((8, 12), jnp.float32))


def test_within_a_traced_function(matmul):
    f = matmul.specialised()

    @jax.jit
    def twice(a, b):
        shape = jax.ShapeDtypeStruct((a.shape[0], b.shape[1]), a.dtype)
        return 2 * jax.pure_callback(f, shape, a, b, vmap_method="sequential")

    rng = np.random.default_rng(1)
    for m, n, k in ((3, 4, 5), (1, 7, 2)):
        a, b = (rng.integers(-3, 4, shape).astype("f4") for shape in ((m, k), (k, n)))
        np.testing.assert_array_equal(twice(a, b), 2 * (a @ b))
    stack = rng.integers(-3, 4, (2, 3, 3)).astype("f4")
    np.testing.assert_array_equal(jax.vmap(twice)(stack, stack), 2 * (stack @ stack))
