"""Programs as operators of torch: `import polyte.torch`. It needs torch 2.4 or later; polyte
itself does not.

    matmul = polyte.torch.op(polyte.op("C[m,n] = sum[k] A[m,k]*B[k,n]"), "matmul")
    C = matmul(A, B)                                      # torch.ops.polyte.matmul too
    fast = torch.compile(lambda A, B: matmul(A, B) + 1)   # stays one operator of the graph
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from . import errors
from ._specialised import evaluated, sizes_of
from .program import Program, Tensor

_TYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "bool": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
}
_TYPES.update(
    {
        f"u{bits}": getattr(torch, f"uint{bits}")
        for bits in (16, 32, 64)
        if hasattr(torch, f"uint{bits}")
    }
)


def _schema(tensors: Sequence[Tensor]) -> str:
    """`in` and `const` tensors are arguments, `inout` ones are written, `out` ones are returned."""
    arguments = [
        f"Tensor{f'(a{i}!)' if tensor.role == 'inout' else ''} {tensor.name}"
        for i, tensor in enumerate(tensors)
        if tensor.role != "out"
    ]
    results = ["Tensor"] * sum(tensor.role == "out" for tensor in tensors)
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join(arguments)}) -> {returned}"


class _Operator:
    """The calls of one operator, and the kernels compiled for them."""

    def __init__(self, program: Program, scheduler: str, keep: int, options: dict[str, Any]):
        problems = [
            f"tensor '{tensor.name}' is {tensor.dtype}, which this torch has not"
            for tensor in program.tensors
            if tensor.dtype not in _TYPES
        ]
        if problems:
            raise errors.Unsupported(problems)
        self._program = program
        self._made = program.specialised(scheduler, keep=keep, **options)
        self.read = [tensor for tensor in program.tensors if tensor.role != "out"]
        self._written = [tensor for tensor in program.tensors if tensor.role == "out"]

    def __call__(self, arguments: Iterable[torch.Tensor]) -> Any:
        outs = self.results(arguments)
        dense = [
            array.detach() if tensor.role == "inout" else array.detach().contiguous()
            for tensor, array in zip(self.read, arguments)
        ]
        self._made(*dense, out=tuple(outs))
        return self.returned(outs)

    def results(self, arguments: Iterable[torch.Tensor]) -> list[torch.Tensor]:
        """New tensors, of the shapes that those of the arguments imply."""
        wrong = [
            f"argument '{tensor.name}' is {array.dtype}, expected {_TYPES[tensor.dtype]}"
            for tensor, array in zip(self.read, arguments)
            if array.dtype != _TYPES[tensor.dtype]
        ]
        if wrong:
            raise errors.InvalidInput(wrong)
        sizes = sizes_of(
            self._program,
            {tensor.name: tuple(array.shape) for tensor, array in zip(self.read, arguments)},
            self._made.given,
        )
        return [
            torch.empty(
                [evaluated(extent, sizes) for extent in tensor.shape], dtype=_TYPES[tensor.dtype]
            )
            for tensor in self._written
        ]

    @staticmethod
    def returned(outs: list[torch.Tensor]) -> Any:
        """As torch wants them: None, one, or a tuple."""
        return None if not outs else outs[0] if len(outs) == 1 else tuple(outs)


def op(
    program: Program,
    name: str | None = None,
    scheduler: str = "poly",
    *,
    namespace: str = "polyte",
    keep: int = 64,
    **options: Any,
) -> Any:
    """A Program as a custom operator of torch, of tensors in this processor's memory:
    a torch.library.CustomOpDef.

    It is called with the tensors that are read, in the Program's order, or by name; it gives new
    tensors, and writes `inout` ones where they are. Its kernels are compiled for the shapes it is
    called with, at most `keep` are kept; sizes that no shape says are given here, by name, as are
    the options of Program.compile. Tensors that are not dense are copied first, and `inout` ones
    back after. torch.compile keeps it as one operator (its shapes may be symbolic);
    a gradient is what you register: `made.register_autograd(backward, setup_context=..)`. Without
    one, backward() is torch's error.

    name: of the operator, else the Program's; `namespace::name` may be taken once in a process.
    Raises Unsupported where torch has no such type or is too old, and what Program.compile raises,
    at the call.
    """
    if not hasattr(torch.library, "custom_op"):
        raise errors.Unsupported(
            f"torch {torch.__version__} has no custom operators, expected 2.4 or later"
        )
    operator = _Operator(program, scheduler, keep, options)

    def run(*arguments):
        return operator(arguments)

    run.__name__ = name or program.name
    defined = torch.library.custom_op(
        f"{namespace}::{run.__name__}",
        run,
        device_types="cpu",
        schema=_schema(program.tensors),
        mutates_args=[tensor.name for tensor in operator.read if tensor.role == "inout"],
    )
    defined.register_fake(lambda *arguments: operator.returned(operator.results(arguments)))
    return defined
