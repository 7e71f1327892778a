"""The directives of the language as methods, but for those of storage: docs/script-text.md says
what each does and what is proved of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Union

from . import errors
from ._storage_directives import StorageDirectives, listed

if TYPE_CHECKING:
    from .script import Script

Size = Union[int, str]  # a number, or a text over params and sizes


def _named(name: str | None) -> str:
    return f" as {name}" if name else ""


def _parts(names: Iterable[str] | None) -> str:
    return f" as {listed(names)}" if names else ""


def _of(statement: str | None) -> str:
    return f"{statement}: " if statement else ""


def _lines(directives: str | Iterable[str]) -> list[str]:
    lines = [directives] if isinstance(directives, str) else list(directives)
    return [line for text in lines for line in text.splitlines() if line.strip()]


class Directives(StorageDirectives):
    """Each method gives a new Script with one line more, proved, or raises Refused."""

    def _tiled(self, word: str, statement: str, loops: str | Iterable[str],
               sizes: Iterable[Size]) -> str:  # fmt: skip
        return f"{word} {statement} ({listed(loops)}) by ({listed(map(str, sizes))})"

    # ---- names and conditions

    def param(self, name: str, value: Size, among: Iterable[Size] = ()) -> Script:
        """A size with a name, for lines that follow; `among`: the values that set() may give it.
        "?" is a hole."""
        allowed = listed(map(str, among))
        return self.add(f"param {name} = {value}" + (f" in {{{allowed}}}" if allowed else ""))

    def let(self, name: str, value: Size) -> Script:
        """A name for a size, or for a part of a nest: `let("tile", "[m.i] > <n.i>")`."""
        return self.add(f"let {name} = {value}")

    def where(self, condition: str) -> Script:
        """What has to hold of params and sizes: "Mr * Nr <= 4 * L"."""
        return self.add(f"where {condition}")

    def specialize(
        self, condition: str, then: str | Iterable[str], otherwise: str | Iterable[str] = ()
    ) -> Script:
        """Some lines where a condition on sizes holds, others where it does not."""
        lines = [f"specialize {condition}", *(f"  {line}" for line in _lines(then))]
        other = [f"  {line}" for line in _lines(otherwise)]
        return self.add("\n".join(lines + (["else", *other] if other else [])))

    # ---- loops

    def split(
        self,
        loop: str,
        by: Size | None = None,
        *,
        into: Size | None = None,
        start: Size | None = None,
        tail: str | None = None,
    ) -> Script:
        """loop becomes loop.o and loop.i, of `by` iterations, or of `into` tiles. tail: guard,
        mask, cut, round, shift."""
        if (by is None) == (into is None):
            raise errors.ArgumentError("split takes either `by` or `into`")
        size = f"by {by}" if into is None else f"into {into}"
        return self.add(
            f"split {loop} {size}"
            + (f" from {start}" if start is not None else "")
            + (f" tail {tail}" if tail else "")
        )

    def tile(
        self,
        statement: str,
        loops: str | Iterable[str],
        sizes: Iterable[Size],
        *,
        tail: str | None = None,
    ) -> Script:
        """Splits several loops of a statement at once, tiles outside, points inside."""
        return self.add(
            self._tiled("tile", statement, loops, sizes) + (f" tail {tail}" if tail else "")
        )

    def nest(self, path: str, *, name: str | None = None) -> Script:
        """Order, placement and kinds of a whole nest at once: "par m.o > { n > acc.init;
        k > n > acc.update }"."""
        return self.add(f"nest {_of(name)}{path}")

    def reorder(self, *loops: str, statement: str | None = None) -> Script:
        """These loops of one statement, outermost first; others stay where they are."""
        return self.add(f"reorder {_of(statement)}{' > '.join(loops)}")

    def order(self, statement: str, *loops: str) -> Script:
        """The whole path of one statement, outermost first."""
        return self.add(f"order {statement}: {' > '.join(loops)}".rstrip())

    def fuse(self, *loops: str, name: str, statement: str | None = None) -> Script:
        """Perfectly nested loops become one."""
        return self.add(f"fuse {_of(statement)}{listed(loops)} as {name}")

    def merge(
        self, first: str, second: str, through: str, *, shifted: str | Iterable[str] = ()
    ) -> Script:
        """The loops of two statements become one, from the outermost down to `through`. shifted:
        "i+1", the loops of the second are shifted before."""
        moved = listed(shifted)
        return self.add(
            f"merge {first}, {second} through {through}" + (f" with {moved}" if moved else "")
        )

    def distribute(self, loop: str) -> Script:
        """The statements of a loop get a loop each."""
        return self.add(f"distribute {loop}")

    def rename(self, loop: str, name: str) -> Script:
        """Another name for a loop."""
        return self.add(f"rename {loop} as {name}")

    def cut(self, loop: str, at: Size, *, names: Iterable[str] | None = None) -> Script:
        """Two loops in its place, before and from `at`; with two `names`, each with statements of
        its own."""
        return self.add(f"cut {loop} at {at}{_parts(names)}")

    def peel(
        self, loop: str, which: str, count: Size = 1, *, names: Iterable[str] | None = None
    ) -> Script:
        """The first or last iterations by themselves; which: "first" or "last"."""
        return self.add(f"peel {loop} {which} {count}{_parts(names)}")

    def tail(self, loop: str, how: str) -> Script:
        """How the rest of a split is done: guard, mask, cut, round or shift."""
        return self.add(f"tail {loop} {how}")

    # ---- kinds

    def parallel(self, loop: str) -> Script:
        """Its iterations are taken by threads; no dependence may be carried."""
        return self.add(f"parallel {loop}")

    def vectorize(self, loop: str) -> Script:
        """Its iterations are lanes of vectors."""
        return self.add(f"vectorize {loop}")

    def unroll(self, loop: str, by: Size | None = None) -> Script:
        """Written out, all of it or `by` iterations at a time."""
        return self.add(f"unroll {loop}" + (f" by {by}" if by is not None else ""))

    def unroll_and_jam(self, loop: str, by: Size) -> Script:
        """`by` iterations at a time, their inner loops together."""
        return self.add(f"unroll_and_jam {loop} by {by}")

    def bind(self, loops: str | Iterable[str], kind: str) -> Script:
        """Of a GPU; kind: block, thread, warp or lane."""
        return self.add(f"bind {listed(loops)} to {kind}")

    def gpu_tile(
        self,
        statement: str,
        loops: str | Iterable[str],
        sizes: Iterable[Size],
        *,
        name: str | None = None,
    ) -> Script:
        """Of a GPU: tiles are blocks, their points threads, in one loop `name` ("t")."""
        return self.add(self._tiled("gpu_tile", statement, loops, sizes) + _named(name))

    def tensorize(self, loop: str, instruction: str) -> Script:
        """The loops below become one instruction of a matrix unit."""
        return self.add(f"tensorize {loop} with {instruction}")

    # ---- maps

    def map(
        self,
        values: Mapping[str, Size | Iterable[Size]],
        *,
        loops: Iterable[str] | None = None,
        replaced: str | Iterable[str] | None = None,
        statements: str | Iterable[str] = (),
    ) -> Script:
        """All rows of some statements, over their iterators, `loops` being the new ones; or some
        loops by expressions over loops, `replaced` being the old ones:

            s.map({"S": ("i", "i + j")}, loops=("i", "w"))
            s.map({"w": "i + j"}, replaced="j", statements="S")
        """
        if loops is not None:
            items = [
                f"{name} ({value if isinstance(value, str) else listed(map(str, value))})"
                for name, value in values.items()
            ]
            return self.add(f"map {', '.join(items)} as ({listed(loops)})")
        made = ", ".join(f"{name} = {value}" for name, value in values.items())
        return self.add(
            f"map {_of(listed(statements))}{made}"
            + (f" for {listed(replaced)}" if replaced else "")
        )

    def skew(self, loop: str, by: Size, *, name: str | None = None) -> Script:
        """The loop starts later with each iteration of those outside: `by` is over their
        names, "2*t"."""
        return self.add(f"skew {loop} by {by}{_named(name)}")

    def shift(self, statement: str, loop: str, by: Size, *, name: str | None = None) -> Script:
        """A statement comes `by` iterations of `loop` later."""
        return self.add(f"shift {statement}: {loop} by {by}{_named(name)}")

    def reverse(self, loop: str, *, name: str | None = None) -> Script:
        """The loop runs downwards."""
        return self.add(f"reverse {loop}{_named(name)}")

    def affine(
        self,
        loops: Iterable[str],
        matrix: Iterable[Iterable[Size]],
        names: Iterable[str],
        *,
        statement: str | None = None,
    ) -> Script:
        """New loops by a matrix with determinant 1 or -1, a row for each."""
        rows = ", ".join(f"[{listed(map(str, row))}]" for row in matrix)
        return self.add(
            f"affine {_of(statement)}({listed(loops)}) by [{rows}] as ({listed(names)})"
        )

    def interchange(self, outer: str, inner: str, *, statement: str | None = None) -> Script:
        """Two loops, one directly within the other, change places."""
        return self.add(f"interchange {_of(statement)}{outer}, {inner}")

    def wavefront(
        self, name: str, value: str, replaced: str, *, statement: str | None = None
    ) -> Script:
        """A skewed loop becomes the outermost, and what is left in it parallel:
        `wavefront("w", "t + 2*i", "t")`."""
        return self.add(f"wavefront {_of(statement)}{name} = {value} for {replaced}")

    # ---- where and when

    def compute_inline(self, *tensors: str) -> Script:
        """What defines the tensors is put where they are read; "all": of every temporary."""
        return self.add(f"compute_inline {listed(tensors)}")

    def compute_at(self, tensor: str, loop: str, *, once_per: str | None = None) -> Script:
        """What defines the tensor runs at `loop` for what is needed there, again or once
        per `once_per`."""
        return self.add(
            f"compute_at {tensor} at {loop}" + (f" once per {once_per}" if once_per else "")
        )

    def compute_root(self, *tensors: str) -> Script:
        """All of a tensor is computed before the nests that read it."""
        return self.add(f"compute_root {listed(tensors)}")

    def compute_with(self, statement: str, other: str, through: str) -> Script:
        """Two statements share their loops down to `through`, as by merge."""
        return self.add(f"compute_with {statement}, {other} at {through}")

    def reverse_compute_at(self, statement: str, loop: str, *, when: str | None = None) -> Script:
        """The statement runs at `loop` of what it reads, as soon as that is there."""
        return self.add(
            f"reverse_compute_at {statement} at {loop}" + (f" when {when}" if when else "")
        )

    def place(self, statement: str, when: str) -> Script:
        """when: "first k.o", "last k.o and first j"."""
        return self.add(f"place {statement} when {when}")

    # ---- algebra

    def rewrite(
        self,
        rule: str,
        tensors: str | Iterable[str],
        over: str,
        *,
        name: str | None = None,
        maximum: str | None = None,
    ) -> Script:
        """By a rule: `rewrite("rfactor", "C", "k.o", name="P")`, as rfactor(); or sums of
        exponentials along with their maximum in one pass, `rewrite("online", ("s", "o"), "k.o",
        maximum="mx")`."""
        if rule not in ("rfactor", "online"):
            raise errors.ArgumentError(f"rewrite by {rule!r}, expected rfactor or online")
        if (rule == "rfactor") != (name is not None) or (rule == "online") != (maximum is not None):
            raise errors.ArgumentError("rewrite: rfactor takes name=, online takes maximum=")
        middle = f" from {maximum}" if maximum else ""
        return self.add(f"rewrite {rule} {listed(tensors)}{middle} over {over}{_named(name)}")

    def rfactor(self, tensor: str, over: str, name: str) -> Script:
        """The sum `tensor` in parts, one for each iteration of the loop `over`, in a tensor
        `name`, which are then added up."""
        return self.add(f"rfactor {tensor} over {over} as {name}")

    def split_reduction(self, tensor: str, loop: str, by: Size, name: str, how: str = "") -> Script:
        """Partial sums: the terms of `tensor` over `loop` in parts, added up in `name`. how:
        "", "blocks" or "tree"."""
        return self.add(f"split_reduction {tensor}: {loop} by {by} as {name} {how}".rstrip())

    def reassociate(self, tensor: str, *loops: str) -> Script:
        """From here on the terms of a sum may be added in another order along these loops."""
        return self.add(f"reassociate {tensor} over {listed(loops)}")

    def reciprocal(self, statement: str) -> Script:
        """a / b becomes a * (1 / b), where b stays the same along an iterator."""
        return self.add(f"reciprocal {statement}")

    def defer_division(self, tensor: str, name: str) -> Script:
        """Terms of a sum that share a divisor are added up in `name`, which is divided at
        the end."""
        return self.add(f"defer_division {tensor} as {name}")

    def precompute(
        self, statement: str, name: str, iterators: str | Iterable[str], value: str
    ) -> Script:
        """A value in a statement is computed before it, into a tensor `name` over `iterators`:
        `precompute("C.update", "a", ("m", "k"), "2 * A[m, k]")`."""
        return self.add(f"precompute {statement}: {name}[{listed(iterators)}] = {value}")

    def atomic(self, *statements: str) -> Script:
        """Updates of one element by several threads are atomic."""
        return self.add(f"atomic {listed(statements)}")
