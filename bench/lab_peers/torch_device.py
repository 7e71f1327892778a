"""torch on a GPU: the words of torch_library.py there, one operator after another or all of them
as a CUDA graph."""

import math

import torch

from .arrays import Matmul
from .torch_library import TorchLibrary


def has_wide_products():
    """Products of 16-bit factors whose sums are not rounded to 16 bits at the end: torch 2.8
    has them."""
    short = torch.ones(16, 16, dtype=torch.bfloat16, device="cuda")
    try:
        return torch.mm(short, short, out_dtype=torch.float32).dtype == torch.float32
    except (TypeError, RuntimeError):
        return False


class TorchDeviceLibrary(TorchLibrary):
    device = "cuda"

    def __init__(self):
        self._is_wide = has_wide_products()

    def einsum(self, axes, kept, rank):
        """Without rows and columns it is no matrix product."""
        if len(axes) == 2:
            parts = Matmul(*axes, kept)
            if not (parts.m or parts.n or parts.only_a or parts.only_b):
                summed = tuple(parts.k)
                return lambda a, b: (a * b).sum(summed, keepdim=True) if summed else a * b
        return super().einsum(axes, kept, rank)

    def widened(self, axes, kept, rank):
        parts = Matmul(*axes, kept)
        if not self._is_wide or parts.only_a or parts.only_b:
            function = self.einsum(axes, kept, rank)
            return lambda a, b: function(a.float(), b.float())
        order_a, order_b = parts.orders()
        take_a, take_b = Taken(order_a, rank), Taken(order_b, rank)
        batch, m = len(parts.batch), len(parts.m)
        back = [parts.result.index(axis) for axis in sorted(parts.result)]
        expand = tuple(slice(None) if axis in parts.result else None for axis in range(rank))

        def run(a, b):
            a, b = take_a(a), take_b(b)
            shape = (*a.shape[: batch + m], *b.shape[batch + len(parts.k) :])
            count, inner = math.prod(a.shape[:batch]), math.prod(a.shape[batch + m :])
            rows, columns = math.prod(shape[batch : batch + m]), math.prod(shape[batch + m :])
            if batch:
                product = torch.bmm(
                    a.reshape(count, rows, inner),
                    b.reshape(count, inner, columns),
                    out_dtype=torch.float32,
                )
            else:
                product = torch.mm(
                    a.reshape(rows, inner), b.reshape(inner, columns), out_dtype=torch.float32
                )
            return product.reshape(shape).permute(back)[expand]

        return run


class Taken:
    """A value of the statement's rank with these axes alone, in this order."""

    def __init__(self, order, rank):
        self._index = tuple(slice(None) if axis in order else 0 for axis in range(rank))
        self._order = [sorted(order).index(axis) for axis in order]

    def __call__(self, value):
        return value[self._index].permute(self._order)
