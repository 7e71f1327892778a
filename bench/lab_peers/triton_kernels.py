"""Programs as kernels of Triton: one product, in tiles as its tutorial has them, and Programs over
rows, a row an instance.

What neither says is declined: several kernels a person would write by hand, and so would we."""

import triton
import triton.language as tl

from .arrays import Declined
from .products import product_of
from .torch_library import dtype_of
from .triton_rows import RowKernel

TILES = [
    triton.Config({"BM": bm, "BN": bn, "BK": bk, "GROUP": 8}, num_warps=warps, num_stages=stages)
    for bm, bn, bk, warps, stages in (
        (128, 256, 64, 8, 3),
        (128, 128, 32, 8, 3),
        (64, 64, 32, 4, 4),
        (32, 64, 32, 4, 4),
    )
]


@triton.autotune(TILES, key=["M", "N", "K"])
@triton.jit
def product_kernel(a, b, c, M, N, K, a_batch, a_row, a_column, b_batch, b_row, b_column, c_batch,
                   c_row, c_column, PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr, GROUP: tl.constexpr):  # fmt: skip
    tile, batch = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = tile // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)
    inside = tile % (GROUP * columns)
    m = (first + inside % height) * BM + tl.arange(0, BM)
    n = inside // height * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = a + batch * a_batch + m[:, None].to(tl.int64) * a_row + k[None, :] * a_column
    b_at = b + batch * b_batch + k[:, None] * b_row + n[None, :].to(tl.int64) * b_column
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a_at, mask=(m[:, None] < M) & (k[None, :] < K - start), other=0.0)
        right = tl.load(b_at, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
        a_at += BK * a_column
        b_at += BK * b_row
    c_at = c + batch * c_batch + m[:, None].to(tl.int64) * c_row + n[None, :] * c_column
    tl.store(c_at, total.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


class ProductKernel:
    changed = []

    def __init__(self, form, torch):
        self._p, self._torch = product_of(form), torch
        types = {self._p.a.dtype, self._p.b.dtype, self._p.c.dtype}
        if not types <= {"f32", "f16", "bf16"} or self._p.a.dtype != self._p.b.dtype:
            raise Declined(f"this kernel multiplies no {self._p.a.dtype} by {self._p.b.dtype}")
        if any(b["role"] == "inout" for b in form["buffers"]):
            raise Declined("the product is added to a tensor")
        self._shape = next(b["shape"] for b in form["buffers"] if b["name"] == self._p.c.name)
        self.inputs, self.outputs = [self._p.a.name, self._p.b.name], [self._p.c.name]

    def run(self, buffers):
        p = self._p
        c = buffers[p.c.name] = self._torch.empty(
            self._shape, dtype=dtype_of(p.c.dtype), device="cuda"
        )
        strides = [stride for x in (p.a, p.b, p.c) for stride in (x.batch, x.rows, x.columns)]
        product_kernel[
            lambda meta: (triton.cdiv(p.m, meta["BM"]) * triton.cdiv(p.n, meta["BN"]), p.batch)
        ](buffers[p.a.name], buffers[p.b.name], c, p.m, p.n, p.k, *strides, PRECISION="ieee")


def kernel_of(form, torch):
    """Like arrays.Steps: inputs, outputs, changed, run(buffers)."""
    try:
        return ProductKernel(form, torch)
    except Declined as why:
        try:
            return RowKernel(form, torch)
        except Declined as rows:
            raise Declined(f"no product: {why}; no rows: {rows}") from None
