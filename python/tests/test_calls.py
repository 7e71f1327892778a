"""Kernels, called with arrays: whole numbers, so that every result is exact."""

import array
import ctypes
import gc
import os
import sys
import threading

import numpy as np
import pytest

import polyte

TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
}


class Exported:
    """An array by DLPack alone."""

    def __init__(self, held):
        self._held = held

    def __dlpack__(self, **options):
        return self._held.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._held.__dlpack_device__()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("scheduler", ["naive", "poly", "template"])
def test_every_type(dtype, scheduler):
    kernel = polyte.op("y[i] = a[i] + b[i]", dtype).compile(scheduler, i=37)
    a = np.arange(37).astype(TYPES[dtype])
    b = (np.arange(37) % 5).astype(TYPES[dtype])
    y = kernel(a, b)
    assert y.dtype == TYPES[dtype]
    np.testing.assert_array_equal(y, a + b)


@pytest.mark.parametrize(
    "m,n,k", [(1, 1, 1), (3, 1, 7), (8, 12, 5), (33, 17, 9), (64, 64, 64), (5, 100, 1)]
)
@pytest.mark.parametrize("scheduler", ["naive", "isl", "poly", "template"])
@pytest.mark.parametrize("threads", [1, 2])
def test_products(matmul, m, n, k, scheduler, threads):
    rng = np.random.default_rng(m * n + k)
    a, b = rng.integers(-3, 4, (m, k)).astype("f4"), rng.integers(-3, 4, (k, n)).astype("f4")
    kernel = matmul.compile(scheduler, m=m, n=n, k=k, threads=threads)
    assert kernel.threads == threads
    np.testing.assert_array_equal(kernel(a, b), a @ b)


def test_by_name_and_out(kernel, operands):
    a, b = operands
    out = np.full((8, 12), np.nan, np.float32)
    assert kernel(B=b, A=a, out=out) is out
    np.testing.assert_array_equal(out, a @ b)
    named = np.empty_like(out)
    assert kernel(a, b, C=named) is named
    np.testing.assert_array_equal(named, out)
    assert kernel(a, b, out=(named,)) is named


def test_what_has_a_buffer(operands):
    kernel = polyte.op("y[i] = x[i] + x[i]").compile(i=4)
    want = [2, 4, 6, 8]
    for held in (
        array.array("f", [1, 2, 3, 4]),
        memoryview(np.array([1, 2, 3, 4], np.float32)),
        (ctypes.c_float * 4)(1, 2, 3, 4),
        Exported(np.array([1, 2, 3, 4], np.float32)),
    ):
        assert list(kernel(held)) == want
    y = array.array("f", [0] * 4)
    assert kernel(array.array("f", [1, 2, 3, 4]), out=y) is y
    assert list(y) == want
    assert (
        list(kernel(np.frombuffer(np.array([1, 2, 3, 4], np.float32).tobytes(), np.float32)))
        == want
    )


def test_bits_that_fill_no_bytes():
    class Odd(Exported):
        def __dlpack__(self, **options):
            capsule = super().__dlpack__(**options)
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            bits = pointer(capsule, b"dltensor") + 21  # of DLTensor's dtype
            ctypes.c_uint8.from_address(bits).value = 12
            return capsule

    kernel = polyte.op("y[i] = x[i] + x[i]", "i8").compile(i=4)
    with pytest.raises(ValueError, match="'x' has elements of DLPack type 0 in 12 bits"):
        kernel(Odd(np.arange(4, dtype=np.int8)))


def test_bits_of_short_floats():
    kernel = polyte.op("y[i] = x[i] + x[i]", "bf16").compile(i=3)
    x = (np.array([1, 2, -3], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    y = kernel(x)
    assert y.dtype == np.uint16
    np.testing.assert_array_equal((y.astype(np.uint32) << 16).view(np.float32), [2, 4, -6])


def test_several_results_and_in_place():
    two = polyte.program(
        "program two(N)\n  in x: f32[N]\n  out y: f32[N]\n  out z: f32[N]\n"
        "  y[i] = x[i] + 1\n  z[i] = x[i] * 2\n"
    ).compile(N=3)
    y, z = two(np.array([1, 2, 3], np.float32))
    assert list(y) == [2, 3, 4] and list(z) == [2, 4, 6]
    z_given = np.zeros(3, np.float32)
    assert two(np.ones(3, np.float32), z=z_given)[1] is z_given
    grow = polyte.program(
        "program grow(N)\n  inout x: f32[N]\n  x[i] += 1   for i in 0..N\n"
    ).compile(N=3)
    x = np.zeros(3, np.float32)
    assert grow(x) is None and list(x) == [1, 1, 1]


def test_constants_are_packed_once():
    program = polyte.program(
        "program dense(M, N, K)\n  in x: f32[M, K]\n  const w: f32[K, N]\n  out y: f32[M, N]\n"
        "  y[m, n] = sum[k] x[m, k] * w[k, n]\n"
    )
    kernel = program.compile(M=6, N=32, K=9)
    rng = np.random.default_rng(3)
    x, w = rng.integers(-3, 4, (6, 9)).astype("f4"), rng.integers(-3, 4, (9, 32)).astype("f4")
    np.testing.assert_array_equal(kernel(x, w), x @ w)
    bound = kernel.bind(w=w)
    for _ in range(3):
        np.testing.assert_array_equal(bound(x), x @ w)
    del w
    gc.collect()
    assert bound(np.zeros((6, 9), np.float32)).sum() == 0
    with pytest.raises(polyte.Error, match="there is no constant 'x'"):
        kernel.bind(x=x)
    with pytest.raises(ValueError, match="'w' is of type str, expected an array"):
        kernel.bind(w="text")
    with pytest.raises(TypeError, match="expected at most 1"):
        bound(x, x)


def test_empty_extents():
    kernel = polyte.op("y[i] = x[i] + x[i]").compile(i=0)
    assert kernel(np.empty(0, np.float32)).shape == (0,)


def test_a_saved_kernel_comes_back(tmp_path, kernel, operands):
    path = tmp_path / "matmul.kernel"
    kernel.save(path)
    loaded = polyte.load(path, threads=1)
    assert loaded.script == kernel.script and loaded.loops == kernel.loops and loaded.threads == 1
    np.testing.assert_array_equal(loaded(*operands), kernel(*operands))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(polyte.Error):
        polyte.load(path)


def test_the_cache(tmp_path, matmul, operands):
    sizes = dict(m=8, n=12, k=5)
    first = matmul.compile(cache=tmp_path, **sizes)
    (file,) = tmp_path.iterdir()
    second = matmul.compile(cache=tmp_path, **sizes)
    assert second.script == first.script and [file] == list(tmp_path.iterdir())
    np.testing.assert_array_equal(second(*operands), first(*operands))
    matmul.compile("template", cache=tmp_path, **sizes)
    assert len(list(tmp_path.iterdir())) == 2
    matmul.compile("naive", cache=False, **sizes)
    assert len(list(tmp_path.iterdir())) == 2


# ---- what does not fit, all of it at once


@pytest.mark.parametrize(
    "call,kind,words",
    [
        (lambda k, a, b: k(a), TypeError, ["argument 'B' is missing"]),
        (lambda k, a, b: k(), TypeError, ["argument 'A' is missing", "argument 'B' is missing"]),
        (lambda k, a, b: k(a, b, b), TypeError, ["3 positional arguments, expected at most 2"]),
        (lambda k, a, b: k(a, b, q=a), TypeError, ["there is no tensor 'q'"]),
        (lambda k, a, b: k(a, b, A=a), TypeError, ["argument 'A' is given twice"]),
        (lambda k, a, b: k(a, b, out=(a, b)), TypeError, ["out has 2 arrays, expected at most 1"]),
        (
            lambda k, a, b: k(a.astype("f8"), b[:3]),
            ValueError,
            ["'A' is f64, expected f32", "'B' has shape [3, 12]"],
        ),
        (lambda k, a, b: k("text", b), ValueError, ["'A' is of type str, expected an array"]),
        (lambda k, a, b: k(None, b), ValueError, ["'A' is of type NoneType"]),
        (lambda k, a, b: k(a.astype(">f4"), b), ValueError, ["'A' has elements of format '>f'"]),
        (lambda k, a, b: k(a.astype("c8"), b), ValueError, ["'A' has elements of format 'Zf'"]),
        (
            lambda k, a, b: k(a, b, out=np.zeros((12, 8), "f4")),
            ValueError,
            ["'C' has shape [12, 8], expected [8, 12]"],
        ),
    ],
)
def test_arguments_that_do_not_fit(kernel, operands, call, kind, words):
    with pytest.raises(kind) as caught:
        call(kernel, *operands)
    assert isinstance(caught.value, polyte.Error)
    assert len(caught.value.problems) == len(words)
    for word in words:
        assert word in str(caught.value)


def test_memory_that_may_not_be_written(kernel, operands):
    a, b = operands
    out = np.zeros((8, 12), np.float32)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="'C' is written, and read-only"):
        kernel(a, b, out=out)
    square = polyte.op("C[m,n] = sum[k] A[m,k]*B[k,n]").compile(m=4, n=4, k=4)
    x = np.zeros((4, 4), np.float32)
    with pytest.raises(ValueError, match="argument 'C' is written and overlaps argument 'A'"):
        square(x, x.copy(), out=x)


def test_what_is_refused_is_let_go(kernel, operands):
    a, b = operands
    for wrong in (a.astype("c8"), a.astype("f8"), a[:3].copy(), np.ones((1,) * 20, "f4")):
        held = sys.getrefcount(wrong)
        for _ in range(5):
            with pytest.raises(ValueError):
                kernel(wrong, b)
        assert sys.getrefcount(wrong) == held


# ---- threads, forks, leaks


def test_calls_from_many_threads(matmul):
    kernel = matmul.compile(m=40, n=40, k=40, threads=2)
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        a, b = (
            rng.integers(-3, 4, (40, 40)).astype("f4"),
            rng.integers(-3, 4, (40, 40)).astype("f4"),
        )
        for _ in range(50):
            if not np.array_equal(kernel(a, b), a @ b):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_runs_and_compiles(matmul):
    kernel = matmul.compile(m=8, n=8, k=8, threads=2)
    ones = np.ones((8, 8), np.float32)
    kernel(ones, ones)
    child = os.fork()
    if child == 0:
        try:
            right = np.all(kernel(ones, ones) == 8)
            right = (
                right
                and polyte.op("y[i] = x[i] + x[i]").compile(i=4)(np.ones(4, np.float32)).sum() == 8
            )
            os._exit(0 if right else 1)
        except BaseException:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_nothing_leaks():
    kernel = polyte.op("y[i] = x[i] + x[i]").compile(i=1000, threads=1)
    x = np.ones(1000, np.float32)
    held = sys.getrefcount(x)

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(1000):
        kernel(x)
    before = resident()
    for _ in range(100_000):
        kernel(x)
    for _ in range(1000):
        with pytest.raises(TypeError):
            kernel()
        with pytest.raises(ValueError):
            kernel(x[:3])
    assert sys.getrefcount(x) == held
    if "POLYTE_SANITIZED" not in os.environ:  # which keeps for a while what is freed
        assert resident() - before < 8 << 20
