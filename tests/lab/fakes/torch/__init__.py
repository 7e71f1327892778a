"""Plays torch on a GPU with NumPy's arrays, as far as bench/lab_peers asks it: what a test
can see of these peers without a GPU. POLYTE_FAKE_TORCH: "wrong" adds one to each product, "no
graph" captures none."""

import os

import numpy as np

__version__ = "0 (a test's own)"
float64, float32, float16, int8, int16, int32, int64, uint8, bool = (
    np.float64, np.float32, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8,
    np.bool_)  # fmt: skip
bfloat16 = "bfloat16"
_MODE = os.environ.get("POLYTE_FAKE_TORCH", "")
_NAMES = {"neg": "negative", "logical_not": "logical_not", "round": "rint", "mul": "multiply",
          "sub": "subtract", "div": "true_divide", "pow": "power", "eq": "equal", "ne": "not_equal",
          "lt": "less", "le": "less_equal", "sigmoid": "negative", "erf": "negative"}  # fmt: skip


class Tensor(np.ndarray):
    def cuda(self):
        return self.copy()

    def cpu(self):
        return self

    def contiguous(self):
        return np.ascontiguousarray(self).view(Tensor)

    def numpy(self):
        return np.asarray(self)

    def clone(self, memory_format=None):
        return self.copy()

    def copy_(self, other):
        self[...] = other

    def to(self, dtype):
        return self.astype(dtype)

    def float(self):
        return self.astype(np.float32)

    def permute(self, *order):
        return np.transpose(self, order[0] if isinstance(order[0], list) else order)

    def expand(self, shape):
        return np.broadcast_to(self, shape)

    def sum(self, axes, keepdim=False, dtype=None):
        return np.sum(np.asarray(self), axis=axes, keepdims=keepdim, dtype=dtype).view(Tensor)


def from_numpy(array):
    return array.view(Tensor)


def full(shape, value, dtype=None, device=None):
    return np.full(shape, value, dtype).view(Tensor)


def zeros(shape, dtype=None, device=None):
    return np.zeros(shape, dtype).view(Tensor)


def empty(shape, dtype=None, device=None):
    return zeros(shape, dtype)


def ones(*shape, dtype=None, device=None):
    return np.ones(shape, np.float32).view(Tensor)


def amax(a, axes, keepdim=False):
    return np.amax(np.asarray(a), axis=axes, keepdims=keepdim).view(Tensor)


def einsum(text, *factors):
    return np.einsum(text, *factors).view(Tensor) + (1 if _MODE == "wrong" else 0)


def mm(a, b, out_dtype=None):
    raise TypeError("no out_dtype")


def __getattr__(name):
    function = getattr(np, _NAMES.get(name, name), None)
    if function is None:
        raise AttributeError(name)
    return function


contiguous_format = set_num_threads = set_grad_enabled = lambda *_: None


class _Any:
    pass


backends = _Any()
backends.cuda, backends.cudnn = _Any(), _Any()
backends.cuda.matmul = _Any()


class cuda:
    """Captures nothing: what a replay would leave is there."""

    is_available = staticmethod(lambda: True)
    ExternalStream = staticmethod(lambda handle: handle)
    set_stream = synchronize = staticmethod(lambda *_: None)

    class CUDAGraph:
        def replay(self):
            pass

    class graph:
        def __init__(self, graph, stream=None):
            if _MODE == "no graph":
                raise RuntimeError("capture: not permitted\nmore")

        def __enter__(self):
            pass

        def __exit__(self, *_):
            pass
