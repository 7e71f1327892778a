"""numpy: what a person without a compiler has. Its products are OpenBLAS's."""

import numpy as np

from .polyte import aligned, aligned_copy
from .timing import Contender


def load(threads):
    return NumpyPeer()


class NumpyPeer:
    version = f"numpy {np.__version__}"

    def contenders(self, case):
        if case.plain:
            return self._plain(case) if case.plain.into else []
        make = getattr(self, case.kind, None)
        return [make(case)] if make else []

    def _plain(self, case):
        inputs = [aligned_copy(array) for array in case.plain.inputs.values()]
        y = aligned(case.reference.shape, inputs[0].dtype)
        return [Contender("numpy", lambda: case.plain.into(y, *inputs), lambda: y)]

    def transpose(self, case):
        x = aligned_copy(case.inputs["x"])
        y, turned = aligned(case.reference.shape, np.float32), x.T
        return Contender("numpy", lambda: np.copyto(y, turned), lambda: y)

    def first_axis_sum(self, case):
        x, y = aligned_copy(case.inputs["x"]), aligned(case.reference.shape, np.float32)
        return Contender("numpy", lambda: np.add.reduce(x, axis=0, out=y), lambda: y)

    def gemm(self, case):
        a, b = (aligned_copy({**case.inputs, **case.constants}[name]) for name in "AB")
        y = aligned(case.reference.shape, np.float32)
        return Contender("numpy (OpenBLAS)", lambda: np.matmul(a, b, out=y), lambda: y)

    gemm_prepacked = gemm


def copy_of_as_many_bytes(case):
    """Not a peer: a plain copy that reads and writes as many bytes as the operator's
    interface holds."""
    x = aligned((max(1, int(case.bytes / 2)),), np.uint8)
    x[...] = 1
    y = aligned(x.shape, np.uint8)
    return Contender("(a copy of as many bytes)", lambda: np.copyto(y, x), lambda: None)
