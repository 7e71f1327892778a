import os
import tempfile

import numpy as np
import pytest

os.environ["POLYTE_CACHE"] = tempfile.mkdtemp(prefix="polyte-test-")  # not the user's own

import polyte  # noqa: E402


@pytest.fixture(scope="session")
def matmul():
    return polyte.op("C[m,n] = sum[k] A[m,k]*B[k,n]")


@pytest.fixture(scope="session")
def kernel(matmul):
    return matmul.compile(m=8, n=12, k=5)


@pytest.fixture(scope="session")
def operands():
    rng = np.random.default_rng(1)
    return (
        rng.integers(-4, 5, (8, 5)).astype(np.float32),
        rng.integers(-4, 5, (5, 12)).astype(np.float32),
    )
