"""Kernels for a GPU: emulated by this processor, and on tests/stand_in, a driver for machines
without a GPU. gpu_check.py has what needs a real one."""

import os

import numpy as np
import pytest

import polyte

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(polyte._polyte.__file__))))
DRIVER = os.path.join(BUILD, "tests", "stand_in", "libpolyte_stand_in.so")
on_stand_in = pytest.mark.skipif(not os.path.exists(DRIVER), reason="tests/stand_in is not built")
TWICE = "program twice(N)\n  inout x: f32[N]\n  x[n] = x[n] * 2\n"


def compiled(program, **options):
    return program.compile("poly", target="cuda:h100", emulate=True, driver=DRIVER, **options)


def whole(rng, *shape):
    return rng.integers(-3, 4, shape).astype("f4")


def on_device(array):
    return polyte.to_device(array, driver=DRIVER)


@pytest.fixture(scope="module")
def product():
    if not os.path.exists(DRIVER):
        pytest.skip("tests/stand_in is not built")
    return compiled(polyte.op("C[m,n] = sum[k] A[m,k]*B[k,n]"), m=24, n=40, k=12)


@pytest.fixture
def pair():
    rng = np.random.default_rng(7)
    return whole(rng, 24, 12), whole(rng, 12, 40)


class Interface:
    """An array by __cuda_array_interface__ alone, with other words where they are given."""

    def __init__(self, held, **words):
        self._held, self.__cuda_array_interface__ = held, {**held.__cuda_array_interface__, **words}


class Stream:
    def __init__(self, **said):
        self.__dict__.update(said)


# ---- without a driver


def test_this_processor_plays_a_gpu(matmul, pair):
    kernel = matmul.compile(m=24, n=40, k=12, target="cuda:h100", emulate=True)
    np.testing.assert_array_equal(kernel(*pair), pair[0] @ pair[1])
    assert kernel.wait() is None


def test_without_a_driver(matmul, pair):
    for kernel in (
        matmul.compile(m=24, n=40, k=12, target="cuda:h100"),
        matmul.compile(m=24, n=40, k=12, target="cuda:h100", driver="/nowhere/libcuda.so"),
    ):
        with pytest.raises(polyte.errors.DeviceError, match="libcuda"):
            kernel(*pair)
    with pytest.raises(polyte.errors.DeviceError, match="nowhere"):
        polyte.to_device(pair[0], driver="/nowhere/libcuda.so")


def test_a_stream_is_of_a_gpu(kernel, operands):
    with pytest.raises(TypeError, match="there is no tensor 'stream'"):
        kernel(*operands, stream=0)


# ---- on the stand-in


def test_arrays_in_its_memory(product, pair):
    a, b = map(on_device, pair)
    c = product(a, b)
    assert isinstance(c, polyte.DeviceArray) and (c.dtype, c.shape) == ("f32", (24, 40))
    np.testing.assert_array_equal(c.numpy(), pair[0] @ pair[1])
    out = on_device(np.full((24, 40), np.nan, "f4"))
    assert product(B=b, A=a, out=out) is out and product(a, b, C=out) is out
    np.testing.assert_array_equal(out.numpy(), pair[0] @ pair[1])
    assert repr(out) == "<polyte.DeviceArray f32[24, 40] on GPU 0>"


def test_arrays_of_this_processor_are_copied(product, pair):
    c = product(*pair)
    assert isinstance(c, np.ndarray)
    np.testing.assert_array_equal(c, pair[0] @ pair[1])


def test_by_the_cuda_array_interface(product, pair):
    a, b = map(on_device, pair)
    np.testing.assert_array_equal(
        product(Interface(a), Interface(b, strides=(160, 4))).numpy(), pair[0] @ pair[1]
    )


def test_a_buffer_that_is_not_the_memory_on_the_device(product, pair):
    """cupy's arrays have the buffer protocol, and refuse it."""

    class Both(bytearray):
        pass

    a, b = map(on_device, pair)
    both = Both(pair[0].nbytes)
    both.__cuda_array_interface__ = a.__cuda_array_interface__
    np.testing.assert_array_equal(product(both, b).numpy(), pair[0] @ pair[1])


@pytest.mark.parametrize(
    "stream",
    [
        0,
        1,
        Stream(cuda_stream=0),
        Stream(ptr=0),
        Stream(__cuda_stream__=(0, 0)),
        Stream(__cuda_stream__=lambda: (0, 0)),
    ],
)
def test_streams(product, pair, stream):
    a, b = map(on_device, pair)
    c = product(a, b, stream=stream)
    assert c.__cuda_array_interface__["stream"] == 1
    d = product(Interface(a, stream=1), Interface(b, stream=1), stream=stream)
    product.wait()
    for made in (c, d):
        np.testing.assert_array_equal(made.numpy(), pair[0] @ pair[1])


def test_results_go_on_to_other_kernels_in_a_stream(pair):
    program = polyte.op("C[m,n] = sum[k] A[m,k]*B[k,n]")
    first, second = compiled(program, m=24, n=40, k=12), compiled(program, m=24, n=12, k=40)
    a, b, back = on_device(pair[0]), on_device(pair[1]), on_device(pair[1].T.copy())
    c = second(first(a, b, stream=0), back, stream=0)
    np.testing.assert_array_equal(c.numpy(), pair[0] @ pair[1] @ pair[1].T)


@on_stand_in
def test_in_place():
    kernel = compiled(polyte.program(TWICE), N=100)
    x = np.arange(100, dtype="f4")
    there = on_device(x)
    for _ in range(2):
        assert kernel(there) is None
    assert kernel(there, stream=0) is None
    np.testing.assert_array_equal(there.numpy(), 8 * x)
    here = x.copy()
    assert kernel(here) is None
    np.testing.assert_array_equal(here, 2 * x)


@on_stand_in
def test_constants():
    kernel = compiled(
        polyte.program(
            "program dense(M, N, K)\n  in x: f32[M, K]\n  const w: f32[K, N]\n  out y: f32[M, N]\n"
            "  y[m, n] = sum[k] x[m, k] * w[k, n]\n"
        ),
        M=9,
        N=33,
        K=7,
    )
    rng = np.random.default_rng(3)
    x, w = whole(rng, 9, 7), whole(rng, 7, 33)
    with pytest.raises(
        TypeError, match=r"constant 'w' is no argument of a kernel for a GPU: kernel.bind\(w=..\)"
    ):
        kernel(on_device(x))
    np.testing.assert_array_equal(kernel.bind(w=w)(on_device(x)).numpy(), x @ w)
    with pytest.raises(ValueError, match="'w' is in the memory of device type 2"):
        kernel.bind(w=on_device(w))


@on_stand_in
@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.int64, np.uint16, np.bool_])
def test_types(dtype):
    x = np.arange(50).astype(dtype)
    there = on_device(x)
    np.testing.assert_array_equal(there.numpy(), x)
    assert np.dtype(there.__cuda_array_interface__["typestr"]) == x.dtype
    name = there.dtype
    kernel = compiled(
        polyte.program(f"program copy(N)\n  in x: {name}[N]\n  out y: {name}[N]\n  y[i] = x[i]\n"),
        N=50,
    )
    for given in (there, Interface(there)):
        np.testing.assert_array_equal(kernel(given).numpy(), x)


@on_stand_in
def test_dlpack():
    there = on_device(np.arange(6, dtype="f4").reshape(2, 3))
    assert there.__dlpack_device__() == (2, 0)
    kept = [
        there.__dlpack__(stream=1),
        there.__dlpack__(stream=-1, max_version=(1, 0)),
        there.__dlpack__(),
    ]
    assert all("dltensor" in repr(each) for each in kept)
    kernel = compiled(polyte.program(TWICE.replace("[N]", "[2, N]").replace("[n]", "[m, n]")), N=3)
    kernel(there)
    np.testing.assert_array_equal(there.numpy(), [[0, 2, 4], [6, 8, 10]])


@pytest.mark.parametrize(
    "call,kind,words",
    [
        (
            lambda k, a, b: k(a, np.ones((12, 40), "f4")),
            ValueError,
            "some arguments are in the memory of a GPU and some",
        ),
        (
            lambda k, a, b: k(np.ones((24, 12), "f4"), np.ones((12, 40), "f4"), stream=0),
            ValueError,
            "stream is given, and the",
        ),
        (
            lambda k, a, b: k(a, b, stream="fast"),
            TypeError,
            "stream is of type str, expected None, the number",
        ),
        (lambda k, a, b: k(a), TypeError, "argument 'B' is missing"),
        (lambda k, a, b: k(a, a), ValueError, r"'B' has shape \[24, 12\], expected \[12, 40\]"),
        (lambda k, a, b: k(Interface(a, typestr="<f8"), b), ValueError, "'A' is f64, expected f32"),
        (
            lambda k, a, b: k(Interface(a, typestr="<c8"), b),
            ValueError,
            "'A' has elements of type '<c8'",
        ),
        (lambda k, a, b: k(Interface(a, strides=(4, 96)), b), ValueError, "'A' is not dense"),
        (
            lambda k, a, b: k(Interface(a, shape="wide"), b),
            ValueError,
            "'A' is of type Interface, whose",
        ),
        (
            lambda k, a, b: k(Stream(__cuda_array_interface__={"version": 3}), b),
            ValueError,
            "'A' is of type Stream, whose",
        ),
        (
            lambda k, a, b: k(Stream(__cuda_array_interface__=7), b),
            ValueError,
            "'A' is of type Stream, whose",
        ),
        (
            lambda k, a, b: k(
                Interface(a, data=(a.__cuda_array_interface__["data"][0] + 4, False)), b
            ),
            ValueError,
            "'A' begins at an address that is no multiple of 16",
        ),
        (
            lambda k, a, b: k(
                a, b, out=Interface(on_device(np.zeros((24, 40), "f4")), data=(16, True))
            ),
            ValueError,
            "'C' is written, and read-only",
        ),
        (lambda k, a, b: k(a, b, out=Interface(a, shape=(24, 40))), ValueError, "overlaps"),
    ],
)
def test_what_does_not_fit(product, pair, call, kind, words):
    with pytest.raises(kind, match=words):
        call(product, *map(on_device, pair))


def test_a_kernel_of_this_processor_refuses_arrays_of_a_gpu(matmul, product, pair):
    a, b = map(on_device, pair)
    with pytest.raises(ValueError, match="'A' is in the memory of device type 2"):
        matmul.compile(m=24, n=40, k=12)(a, b)


@on_stand_in
def test_what_a_call_in_a_stream_finds_is_raised_by_wait():
    kernel = compiled(
        polyte.program(
            "program pick(N, V)\n  in x: f32[V]\n  in id: i64[N]\n  out y: f32[N]\n"
            "  y[n] = x[id[n]]\n"
        ),
        N=40,
        V=50,
    )
    x, wrong = on_device(np.arange(50, dtype="f4")), on_device(np.where(np.arange(40) == 17, 50, 3))
    with pytest.raises(ValueError, match="outside its dimension"):
        kernel(x, wrong)
    y = kernel(x, wrong, stream=0)
    with pytest.raises(ValueError, match="outside its dimension"):
        kernel.wait()
    kernel(x, on_device(np.full(40, 49)), out=y)
    assert set(y.numpy()) == {49}


@on_stand_in
def test_memory_is_given_back():
    import ctypes

    library = ctypes.CDLL(DRIVER)
    library.polyte_stand_in_allocated.restype = ctypes.c_int64
    before = library.polyte_stand_in_allocated()
    there = on_device(np.zeros(1000, "f4"))
    capsule = there.__dlpack__()
    assert library.polyte_stand_in_allocated() - before == 4000
    del there
    assert library.polyte_stand_in_allocated() - before == 4000
    del capsule
    assert library.polyte_stand_in_allocated() == before
