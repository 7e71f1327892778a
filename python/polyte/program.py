"""What is computed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _polyte as _core, errors
from ._options import OPTIONS, existing, is_path, parted, text_of, threads_of
from ._specialised import Specialised
from .dependences import Dependences
from .expr import dtype_name
from .script import Script


class Tensor:
    """A tensor of a Program's interface. `shape`: numbers, or expressions over the Program's
    sizes as text."""

    __slots__ = ("name", "role", "dtype", "shape")

    def __init__(self, name: str, role: str, dtype: str, shape: tuple[int | str, ...]):
        self.name, self.role, self.dtype, self.shape = name, role, dtype, shape

    def __repr__(self) -> str:
        return f"{self.role} {self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


class Program:
    """Statements over tensors, without an order that matters but their own. Made by op()
    and program(); immutable."""

    def __init__(self, core: _core.Program):
        self._core = core

    @property
    def name(self) -> str:
        """As its text names it."""
        return self._core.name

    @property
    def text(self) -> str:
        """As Program text (docs/program-text.md)."""
        return self._core.text

    @property
    def sizes(self) -> tuple[str, ...]:
        """Names of the sizes that are open, in order."""
        return tuple(self._core.sizes)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The interface, in order: name, role, dtype, shape of each."""
        return tuple(Tensor(*each) for each in self._core.tensors)

    def compile(
        self,
        scheduler: str = "poly",
        *,
        script: Script | str | os.PathLike[str] | None = None,
        sizes: Mapping[str, int] | None = None,
        target: str | None = None,
        threads: int | None = None,
        **options: Any,
    ) -> _core.Kernel:
        """Machine code for these sizes: `compile(m=256, n=256, k=256)`, or
        `compile(sizes={"m": 256, ..})`; open=["m"], or open=True for all that are not given, leaves
        sizes to the arrays of each call: one kernel for all. open={"m": (1, 256, 4096)}: the least,
        typical and most.

        scheduler: "naive", "isl", "poly" or "template". script: a Script, its text or the path of
        its file, in place of a scheduler. target: "native". threads: all processors. Options:
        exact, strict, params, templates, second_judge; cache: a folder where kernels are kept
        between processes, True for the default one, False for none. Of a GPU (target="cuda:h100"):
        device, its number; driver, the driver's library where it is not libcuda.so.1; emulate: this
        processor emulates the GPU's threads, and finds races, where arrays are in its memory and no
        driver is given. Raises ArgumentError, UsageError, Refused, Unsupported, ResourceLimit.
        """
        given = {"scheduler": scheduler, "script": script, "target": target, "threads": threads}
        given = {name: value for name, value in given.items() if value is not None}
        chosen, numbers = parted(self, {**given, "sizes": sizes, **options})
        chosen["sizes"] = numbers
        return _core.compile(self._core, chosen, chosen["threads"])

    def specialised(
        self, scheduler: str = "poly", *, keep: int = 64, **options: Any
    ) -> Specialised:
        """A callable for arrays of any sizes: the first call of each choice of sizes compiles
        for them, at most `keep` kernels are kept. Options as compile(); sizes that no shape of an
        argument says are given here."""
        _, given = parted(self, options)
        chosen = {
            name: value
            for name, value in options.items()
            if name != "sizes" and self._core.size_named(name) is None
        }
        return Specialised(self, scheduler, chosen, given, keep)

    def schedule(self, scheduler: str = "poly", **options: Any) -> Script:
        """The Script that a scheduler writes for these sizes, to read, to edit and to compile.
        Options as compile()."""
        chosen, sizes = parted(self, {"scheduler": scheduler, **options}, without=("script",))
        return Script(
            self,
            {**chosen, "sizes": sizes},
            *_core.write_script(self._core, {**chosen, "sizes": sizes}),
        )

    def script(self, text: str | os.PathLike[str] = "", **options: Any) -> Script:
        """A Script of one's own, proved for all values of the sizes that are not given.

        text: with its header, or directives alone, or the path of a .sched file; empty: the order
        of the Program's text, to begin with. Raises Refused, with the counterexample as data.
        """
        chosen, sizes = parted(self, options, without=("script",))
        if is_path(text, ".sched"):
            text = text_of(text)
        return Script.checked(self, {**chosen, "sizes": sizes}, with_header(str(text), self.name))

    def dependences(
        self,
        *,
        statements: Iterable[str] = (),
        every: bool = False,
        sizes: Mapping[str, int] | None = None,
        **named: int,
    ) -> Dependences:
        """Which statement waits for which, through which tensor and how far apart, for all values
        of the sizes that are not given.

        statements: only what is between these. every: all pairs that touch one element, not only
        those without a write between. Raises UsageError, ArgumentError.
        """
        _, numbers = parted(self, {"sizes": sizes, **named}, without=OPTIONS)
        names = [statements] if isinstance(statements, str) else list(statements)
        return Dependences(self, numbers, names, every)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<polyte.Program {self.name}({', '.join(self.sizes)})>"

    def _repr_html_(self) -> str:
        from ._html import listing

        return listing(self.text)


def with_header(text: str, program: str) -> str:
    """Directives alone get the header of a Script for the program."""
    if any(line.split()[:1] == ["schedule"] for line in text.splitlines()):
        return text
    return f"schedule mine/1 for {program}\n{text}"


def load(path: str | os.PathLike[str], threads: int | None = None) -> _core.Kernel:
    """A kernel that Kernel.save wrote. It is machine code: load what you trust.
    Raises ArtifactError."""
    return _core.load_kernel(existing(path, errors.MissingArtifact), threads_of(threads))


def op(notation: str, dtype: Any = "f32") -> Program:
    """One operator in index notation: `op("y[m] = sum[k] A[m,k]*x[k]")`. Every extent is a
    size of the Program.

    dtype: of all its tensors; f64 f32 f16 bf16 i8 .. i64 u8 .. u64 bool, or as numpy names it.
    Raises InvalidInput.
    """
    return Program(_core.parse_notation(notation, dtype_name(dtype)))


def program(text: str | os.PathLike[str], name: str = "program") -> Program:
    """Program text with one program, or the path of a .program file that has it. `name` stands
    for a file's in messages. Raises InvalidInput with all problems."""
    if is_path(text, ".program"):
        return Program(_core.parse_program(text_of(text), os.fspath(text)))
    return Program(_core.parse_program(str(text), name))
