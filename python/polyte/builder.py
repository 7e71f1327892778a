"""polyte.build: a Program, statement by statement, in Python."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Union

from . import _polyte as _core, errors
from . import expr as e
from .program import Program

Shape = Union[e.Value, "tuple[e.Value, ...]"]
Names = Union[str, Iterable[str]]  # "M N", or a list
_ROLES = ("in", "const", "out", "inout", "temp")
_HERE = os.path.dirname(os.path.abspath(__file__))


def _fraction(value: e.Expr) -> str:
    """What it is, where an index has a number in it that is no whole one; else nothing."""
    is_index = value.dtype is None and re.search(r"(?<![\w.])\d+(\.\d|e)", value.text)
    return "no whole number" if is_index else ""


def _caller() -> str:
    """Where the statement stands: "file.py:12"."""
    frame = sys._getframe(1)
    while frame.f_back and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _HERE:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


class TensorVariable:
    """x[i, j] reads, x[i, j] = value and x[i, j] += value write; s[()] is the element of a
    tensor without dimensions.

    `shape`: sizes, numbers and sums of them; None of a temporary whose extents follow from what
    writes it.
    """

    __iter__ = None

    def __init__(
        self,
        builder: Builder,
        name: str,
        role: str,
        dtype: str | None,
        shape: tuple[e.Expr, ...] | None,
        label: str | None = None,
    ):
        self._builder, self.name, self.role, self._label = builder, name, role, label
        self.dtype, self.shape = dtype, shape

    def label(self, name: str) -> TensorVariable:
        """The tensor, for a statement with a name of its own: `x.label("S1")[i] = ...`."""
        name = self._builder._named(name, "label")
        return TensorVariable(self._builder, self.name, self.role, self.dtype, self.shape, name)

    def _subscripts(self, index: Any) -> tuple[str, list[e.Expr]]:
        index = index if isinstance(index, tuple) else (index,)
        if any(isinstance(each, slice) or each is Ellipsis for each in index):
            raise errors.ArgumentError(
                f"{self.name}[..]: subscripts are iterators and numbers, slices are not possible"
            )
        subscripts = [e.of(each) for each in index]
        text = f"{self.name}[{', '.join(each.text for each in subscripts)}]"
        if self.shape is not None and len(subscripts) != len(self.shape):
            raise errors.InvalidInput(
                f"'{e.plain(text)}': {len(subscripts)} subscripts, the tensor has "
                f"{len(self.shape)} dimensions"
            )
        for each in subscripts:
            kind = each.dtype if each.dtype and each.dtype[0] not in "iu" else _fraction(each)
            if kind:
                raise errors.ArgumentError(
                    f"'{e.plain(text)}': subscript '{e.plain(each.text)}' is {kind}, "
                    "expected a whole number"
                )
        return text, subscripts

    def __getitem__(self, index: Any) -> e.Read:
        return e.Read(self, *self._subscripts(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        text, subscripts = self._subscripts(index)
        self._builder._assign([self], text, subscripts, value, self._label)

    def __repr__(self) -> str:
        shape = "" if self.shape is None else [each.text for each in self.shape]
        return f"<{self.role} {self.name}: {self.dtype}{shape}>"


class _Pair:
    """Two tensors that argmin and argmax write: the value and where it is."""

    def __init__(self, builder: Builder, value: TensorVariable, position: TensorVariable):
        self._builder, self._tensors = builder, [value, position]

    def __setitem__(self, index: Any, value: Any) -> None:
        text, subscripts = self._tensors[0]._subscripts(index)
        for tensor in self._tensors[1:]:
            tensor._subscripts(index)
        written = f"({', '.join(tensor.name for tensor in self._tensors)})[{text.split('[', 1)[1]}"
        self._builder._assign(self._tensors, written, subscripts, value, None)


class Builder:
    """A Program that is being written; program() gives it. Made by polyte.build."""

    def __init__(self, name: str = "op"):
        self.name = name
        self._sizes, self._tensors, self._facts = [], {}, []
        # (where it was written, its text) of each statement and loop, with their indentation
        self._lines = []
        self._loops, self._ifs, self._whens = [], [], []
        self._named(name, "program")

    # ---- names

    def _named(self, name: str, what: str) -> str:
        if not isinstance(name, str) or not name.isidentifier():
            raise errors.InvalidInput(f"{what} {name!r}: expected a name, letters, digits and _")
        return name

    def _listed(self, names: Names, what: str) -> list[str]:
        names = names.split() if isinstance(names, str) else list(names)
        if not names:
            raise errors.ArgumentError(f"no names of {what}s")
        return [self._named(name, what) for name in names]

    def sizes(self, names: Names) -> Any:
        """Sizes that stay open until the Program is compiled: `M, N = b.sizes("M N")`; one
        name gives one."""
        made = [e.Name(name, "size") for name in self._listed(names, "size")]
        for each in made:
            if any(each.text == other.text for other in self._sizes):
                raise errors.InvalidInput(f"size '{each.text}' is there already")
        self._sizes += made
        return made[0] if len(made) == 1 else tuple(made)

    def iters(self, names: Names, begin: e.Value | None = None, end: e.Value | None = None) -> Any:
        """Iterators, `i, j = b.iters("i j")`, of ranges that follow from the shapes that they
        subscript, or begin <= i < end (`b.iters("i", N)` is from 0). A range may use sizes, other
        iterators and numbers."""
        if end is None and begin is not None:
            begin, end = 0, begin
        bounds = (None, None) if end is None else (self._index(begin), self._index(end))
        made = [e.Name(name, "iterator", *bounds) for name in self._listed(names, "iterator")]
        return made[0] if len(made) == 1 else tuple(made)

    def _index(self, value: e.Value) -> e.Expr:
        value = e.of(value)
        kind = value.dtype or _fraction(value)
        if kind:
            raise errors.ArgumentError(
                f"'{e.plain(value.text)}' is {kind}, expected sizes, iterators and whole numbers"
            )
        return value

    # ---- tensors

    def _declare(self, name: str, role: str, shape: Shape | None, dtype: Any) -> TensorVariable:
        if self._named(name, "tensor") in self._tensors:
            raise errors.InvalidInput(f"tensor '{name}' is there already")
        if shape is not None:
            shape = tuple(
                self._index(each)
                for each in (shape if isinstance(shape, (tuple, list)) else (shape,))
            )
        made = TensorVariable(self, name, role, dtype and e.dtype_name(dtype), shape)
        self._tensors[name] = made
        return made

    def input(self, name: str, shape: Shape, dtype: Any = "f32") -> TensorVariable:
        """A tensor that is read. shape: a tuple of sizes and numbers, () for one number."""
        return self._declare(name, "in", shape, dtype)

    def const(self, name: str, shape: Shape, dtype: Any = "f32") -> TensorVariable:
        """An input that is known when compiling, such as weights (Kernel.bind)."""
        return self._declare(name, "const", shape, dtype)

    def output(self, name: str, shape: Shape, dtype: Any = "f32") -> TensorVariable:
        """A tensor that the Program defines and gives back."""
        return self._declare(name, "out", shape, dtype)

    def inout(self, name: str, shape: Shape, dtype: Any = "f32") -> TensorVariable:
        """A tensor that is updated where it is."""
        return self._declare(name, "inout", shape, dtype)

    def temp(self, name: str, shape: Shape | None = None, dtype: Any = None) -> TensorVariable:
        """A tensor in between. Without a shape its extents and type follow from the statement that
        writes it first; give both where several statements write parts of it."""
        if (shape is None) != (dtype is None):
            raise errors.ArgumentError(f"temp '{name}': give shape and dtype, or neither")
        return self._declare(name, "temp", shape, dtype)

    def pair(self, value: TensorVariable, position: TensorVariable) -> _Pair:
        """What argmin and argmax write: `b.pair(v, p)[m] = e.argmax(x[m, k], over=k)`."""
        for each in (value, position):
            if not isinstance(each, TensorVariable):
                raise errors.ArgumentError(f"pair of {each!r}, expected two tensors")
        return _Pair(self, value, position)

    # ---- around statements

    @contextlib.contextmanager
    def loop(
        self, name: str, begin: e.Value, end: e.Value | None = None, step: int = 1
    ) -> Iterator[e.Name]:
        """An ordered region, `with b.loop("t", 0, T) as t:`; step -1 runs it downwards."""
        if end is None:
            begin, end = 0, begin
        if step not in (1, -1):
            raise errors.InvalidInput(f"loop '{name}': step is {step!r}, expected 1 or -1")
        iterator = e.Name(
            self._named(name, "iterator"), "region", self._index(begin), self._index(end)
        )
        words = f"loop {name} in {iterator.begin.text}..{iterator.end.text}"
        self._line(words if step == 1 else f"{words} step -1")
        self._loops.append(iterator)
        try:
            yield iterator
        finally:
            self._loops.pop()

    @contextlib.contextmanager
    def _clause(self, clauses: list[e.Expr], made: list[e.Expr]) -> Iterator[None]:
        clauses += made
        try:
            yield
        finally:
            del clauses[-len(made) :]

    def only_if(self, *conditions: e.Value) -> contextlib.AbstractContextManager[None]:
        """Statements inside are only of the instances where these hold: comparisons of iterators,
        sizes and numbers, which the schedulers know."""
        return self._clause(self._ifs, self._comparisons("only_if", conditions))

    def when(self, condition: e.Value) -> contextlib.AbstractContextManager[None]:
        """Statements inside write nothing where this is false, which is looked at when they run."""
        condition = e.of(condition)
        if condition.dtype != "bool":
            raise errors.ArgumentError(
                f"when '{e.plain(condition.text)}': expected a condition, got "
                f"{condition.dtype or 'a number'}"
            )
        return self._clause(self._whens, [condition])

    def assume(self, *facts: e.Value) -> None:
        """What is known of the sizes: `b.assume(N >= 2)`."""
        self._facts += self._comparisons("assume", facts)

    def _comparisons(self, what: str, conditions: Iterable[e.Value]) -> list[e.Expr]:
        made = [e.of(each) for each in conditions]
        if not made:
            raise errors.ArgumentError(f"{what} takes conditions, i < N")
        for each in made:
            if each.dtype != "bool":
                raise errors.ArgumentError(f"{what} '{e.plain(each.text)}': expected a comparison")
        return made

    # ---- statements

    def _line(self, text: str) -> None:
        self._lines.append((_caller(), "  " * (len(self._loops) + 1) + text))

    def _assign(self, tensors, text, subscripts, value, label):
        sign = "="
        if isinstance(value, e.Update):
            if value.read.text != text:
                raise errors.InvalidInput(
                    f"'{e.plain(text)}' is assigned an update of '{value.read.text}'"
                )
            sign = f"{value.combiner}="
            value = value.value
        value = e.of(value)
        top = value if isinstance(value, e.Reduction) and sign == "=" else None
        if (len(tensors) == 2) != (top is not None and top.at is not None):
            raise errors.ArgumentError(
                f"'{e.plain(text)}' is assigned '{e.plain(value.text)}': argmin and argmax write a "
                "pair, b.pair(v, p)[..], and nothing else does"
            )
        body = value if top is None else top.value
        for part in [*subscripts, *self._ifs, *self._whens]:
            if part._reductions:
                raise errors.InvalidInput(
                    f"'{e.plain(text)}': '{e.plain(part.text)}' reduces within a subscript or "
                    "condition: assign it to a tensor before"
                )
        self._settle_type(tensors[0], body, text)
        replaced = self._lifted(tensors[0], subscripts, body)
        right = replaced(body.text) if top is None else self._value_text(top, replaced)
        parts = [*subscripts, body, *self._whens]
        clauses = self._clauses(text, parts, top, sign == "=")
        self._line((f"{label}: " if label else "") + f"{text} {sign} {right}" + clauses)

    def _settle_type(self, tensor, value, text):
        kept = self._tensors[tensor.name]
        if kept.dtype is None:
            kept.dtype = value.dtype or "f32"
        elif value.dtype and value.dtype != kept.dtype:
            raise errors.ArgumentError(
                f"'{e.plain(text)}' is {kept.dtype} and is assigned {value.dtype}, "
                f"'{e.plain(value.text)}': write .astype()"
            )

    def _value_text(self, top, replaced):
        over = ", ".join(
            each.text + (f" in {_range_text(each)}" if each.end is not None else "")
            for each in top.over
        )
        body = replaced(top.value.text)
        return f"{top.op}[{over}] " + (f"({body}, {top.at.text})" if top.at is not None else body)

    def _lifted(self, target, subscripts, value):
        """Reductions within a value become tensors, each over the iterators that are free in it.
        Gives what puts their names in."""
        names = {}
        for each in value._reductions:
            if each.at is not None:
                raise errors.ArgumentError(
                    f"{each.op} of '{e.plain(each.value.text)}' within a value: assign it to "
                    "b.pair(v, p)[..]"
                )
            if self._ifs or self._whens:
                raise errors.InvalidInput(
                    f"{e.plain(each.text)} within a value, under only_if or when: assign it to "
                    "a tensor before"
                )
            free = [name for name in each._names if name.kind == "iterator"]
            made = self.temp(self._fresh(f"{target.name}_{each.op}"))
            ranged = self._with_ranges(free, target, subscripts)
            made[tuple(ranged)] = e.Reduction(each.op, each.value, each.over)
            names[each.text] = f"{made.name}[{', '.join(name.text for name in free)}]"

        def replaced(text):
            for mark, name in names.items():
                text = text.replace(mark, name)
            return text

        return replaced

    @staticmethod
    def _with_ranges(free, target, subscripts):
        """An iterator without a range of its own has that of the dimension that it subscripts
        in the target."""
        extents = dict(zip((each.text for each in subscripts), target.shape or ()))
        return [
            name
            if name.end is not None or name.text not in extents
            else e.Name(name.text, "iterator", e.of(0), extents[name.text])
            for name in free
        ]

    def _fresh(self, base: str) -> str:
        name, number = base, 1
        while name in self._tensors:
            number += 1
            name = f"{base}_{number}"
        return name

    def _clauses(self, text, parts, top, is_definition):
        written = {name.text for part in parts[: -1 - len(self._whens)] for name in part._names}
        over = set() if top is None else {each.text for each in top.over}
        ranges = {}
        for part in [*parts, *self._ifs]:
            for name in part._names:
                self._check_name(name, text)
                if name.kind != "iterator" or name.text in over:
                    continue
                if is_definition and name.text not in written:
                    raise errors.InvalidInput(
                        f"'{e.plain(text)}' has no iterator '{name.text}', which "
                        f"'{e.plain(part.text)}' uses: sum over it, or write it"
                    )
                if name.end is not None and _range_text(
                    ranges.setdefault(name.text, name)
                ) != _range_text(name):
                    raise errors.InvalidInput(
                        f"'{e.plain(text)}': the iterators '{name.text}' have the ranges "
                        f"{_range_text(ranges[name.text])} and {_range_text(name)}"
                    )
        clauses = ", ".join(f"{name.text} in {_range_text(name)}" for name in _outer_first(ranges))
        return (
            (f"   for {clauses}" if clauses else "")
            + (f"   if {' and '.join(each.text for each in self._ifs)}" if self._ifs else "")
            + (
                f"   when {' and '.join(f'({each.text})' for each in self._whens)}"
                if self._whens
                else ""
            )
        )

    def _check_name(self, name, text):
        if name.kind == "region" and not any(name is each for each in self._loops):
            raise errors.InvalidInput(
                f"'{e.plain(text)}': '{name.text}' is used outside of its loop"
            )
        if name.kind == "iterator" and (
            name.text in self._tensors or any(name.text == each.text for each in self._sizes)
        ):
            raise errors.InvalidInput(
                f"'{e.plain(text)}': iterator '{name.text}' has the name of a tensor or size"
            )

    # ---- the result

    @property
    def text(self) -> str:
        """What was written so far, as Program text."""
        return "\n".join(text for _, text in self._all_lines()) + "\n"

    def _all_lines(self):
        facts = " and ".join(each.text for each in self._facts)
        sizes = ", ".join(each.text for each in self._sizes)
        lines = [("", f"program {self.name}({sizes})" + (f" where {facts}" if facts else ""))]
        for tensor in self._tensors.values():
            if tensor.shape is not None:
                shape = ", ".join(each.text for each in tensor.shape)
                lines.append(("", f"  {tensor.role} {tensor.name}: {tensor.dtype}[{shape}]"))
        return lines + self._lines

    def program(self) -> Program:
        """The Program, the same that polyte.program makes of `text`. Raises InvalidInput with every
        problem, each with the line of Python that wrote the statement."""
        lines = self._all_lines()
        try:
            return Program(_core.parse_program(self.text, self.name))
        except errors.InvalidInput as error:
            raise errors.InvalidInput(
                [self._told(problem, lines) for problem in error.problems]
            ) from None

    def _told(self, problem, lines):
        number, _, message = problem[len(self.name) + 1 :].partition(": ")
        if not number.isdigit() or not 1 <= int(number) <= len(lines):
            return problem
        where, text = lines[int(number) - 1]
        return f"{where or self.name}: '{text.strip()}': {message}"


def _range_text(name: e.Name) -> str:
    return f"{name.begin.text}..{name.end.text}"


def _outer_first(ranges):
    """Iterators whose range uses another one come after it."""
    placed, waiting = [], list(ranges.values())
    while waiting:
        names = [each.text for each in waiting]
        ready = next(
            (
                each
                for each in waiting
                if not any(
                    used.text in names and used.text != each.text
                    for used in (*each.begin._names, *each.end._names)
                )
            ),
            None,
        )
        if ready is None:
            raise errors.InvalidInput(
                f"the ranges of {', '.join(each.text for each in waiting)} use each other"
            )
        waiting = [each for each in waiting if each is not ready]
        placed.append(ready)
    return placed


def build(name: str = "op") -> Builder:
    """A Program in Python expressions, of the functions of polyte.expr:

        b = polyte.build("dense")
        M, N, K = b.sizes("M N K")
        m, n, k = b.iters("m n k")
        x, w, y = b.input("x", (M, K)), b.const("w", (K, N)), b.output("y", (M, N))
        y[m, n] = e.max(e.sum(x[m, k] * w[k, n], over=k), 0)
        dense = b.program()

    Statements are executed in the order in which they are written. Raises ArgumentError and
    InvalidInput that name the expression and, from program(), the line of Python.
    """
    return Builder(name)
