"""A Program that is compiled when it is called, for the sizes that the shapes of its
arguments say."""

from __future__ import annotations

import ast
import operator
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _polyte as _core, errors

if TYPE_CHECKING:
    from .program import Program

_SIGNS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def evaluated(extent: int | str, sizes: Mapping[str, Any]) -> Any:
    """An extent as Program.tensors gives it, a number or a text over sizes, which may be a
    tracer's own numbers."""

    def value(node: Any) -> Any:
        if isinstance(node, ast.BinOp):
            return _SIGNS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp):
            return -value(node.operand)
        return sizes[node.id] if isinstance(node, ast.Name) else node.value

    return extent if isinstance(extent, int) else value(ast.parse(extent, mode="eval").body)


def sizes_of(
    program: Program, shapes: Mapping[str, tuple[Any, ...]], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The Program's sizes by the shapes of tensors, {name: shape}; `given`: those that are known.
    Raises InvalidInput with all shapes that do not fit, ArgumentError where a size is no extent
    of its own."""
    sizes, problems = dict(given), []
    tensors = [tensor for tensor in program.tensors if tensor.name in shapes]
    for tensor in tensors:
        shape = shapes[tensor.name]
        if len(shape) != len(tensor.shape):
            problems.append(
                f"argument '{tensor.name}' has {len(shape)} dimensions, expected "
                f"{len(tensor.shape)}: {tensor!r}"
            )
            continue
        for extent, size in zip(tensor.shape, shape):
            if isinstance(extent, str) and extent in program.sizes:
                sizes.setdefault(extent, size)
    if problems:
        raise errors.InvalidInput(problems)
    missing = [name for name in program.sizes if name not in sizes]
    if missing:
        raise errors.ArgumentError(
            [f"size '{name}' is no extent of an argument: give it, {name}=.." for name in missing]
        )
    for tensor in tensors:
        expected = tuple(evaluated(extent, sizes) for extent in tensor.shape)
        if any(got != right for got, right in zip(shapes[tensor.name], expected)):
            problems.append(
                f"argument '{tensor.name}' has shape {list(shapes[tensor.name])}, expected "
                f"{list(expected)}: {tensor!r}"
            )
    if problems:
        raise errors.InvalidInput(problems)
    return sizes


class Specialised:
    """Of Program.specialised: called as a Kernel is, on arrays of any sizes that fit together. The
    first call of a choice of sizes compiles (or finds it in the cache), later ones look it up. From
    any number of threads.

    `kernels`: those that there are, by their sizes in the Program's order; the one called last is
    the last. `given`: sizes that are known.
    """

    def __init__(
        self,
        program: Program,
        scheduler: str,
        options: Mapping[str, Any],
        given: Mapping[str, int],
        keep: int,
    ):
        self.program, self.given, self._keep = program, given, keep
        self._scheduler, self._options = scheduler, options
        self._read = [tensor for tensor in program.tensors if tensor.role != "out"]
        self._lock = threading.Lock()
        self.kernels: dict[tuple[int, ...], _core.Kernel] = {}

    def kernel(self, **shapes: tuple[int, ...]) -> _core.Kernel:
        """The Kernel for arguments of these shapes, {name: shape}."""
        sizes = sizes_of(self.program, shapes, self.given)
        key = tuple(sizes[name] for name in self.program.sizes)
        with self._lock:
            found = self.kernels.pop(key, None)
            if found is None:
                numbers = {name: int(size) for name, size in sizes.items()}
                found = self.program.compile(self._scheduler, sizes=numbers, **self._options)
            self.kernels[key] = found
            while len(self.kernels) > self._keep:
                del self.kernels[next(iter(self.kernels))]
        return found

    def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> Any:
        """As Kernel.__call__: arrays in the order of the tensors that are read, or by name."""
        given = dict(zip((tensor.name for tensor in self._read), arrays))
        given.update(named)
        kernel = self.kernel(
            **{
                name: _shape(name, array)
                for name, array in given.items()
                if any(tensor.name == name for tensor in self.program.tensors)
            }
        )
        return kernel(*arrays, out=out, **named)

    def __repr__(self) -> str:
        return (
            f"<polyte.Specialised {self.program.name}({', '.join(self.program.sizes)}): "
            f"{len(self.kernels)} kernels>"
        )


def _shape(name: str, array: Any) -> tuple[int, ...]:
    try:
        return tuple(array.shape if hasattr(array, "shape") else memoryview(array).shape)
    except TypeError:
        raise errors.InvalidInput(
            f"argument '{name}' is of type {type(array).__name__}, expected an array: something "
            "with the buffer protocol or with __dlpack__"
        ) from None
