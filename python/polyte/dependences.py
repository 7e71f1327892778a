"""Which statement waits for which: what `polyte deps` says, as objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _polyte as _core, errors

if TYPE_CHECKING:
    from .program import Program

Range = tuple["int | None", "int | None"]  # the least and the most; None: no bound


class Instance:
    """One execution of a statement: `statement`, and `iterators` by name."""

    __slots__ = ("statement", "iterators")

    def __init__(self, statement: str, iterators: Mapping[str, int]):
        self.statement, self.iterators = statement, dict(iterators)

    def __repr__(self) -> str:
        at = ", ".join(f"{name}={value}" for name, value in self.iterators.items())
        return f"{self.statement}({at})"


class Example:
    """Two instances that depend on each other: `source` comes first, `element` is what both touch,
    `sizes` the smallest that show it."""

    __slots__ = ("source", "sink", "element", "sizes")

    def __init__(self, said: Mapping[str, Any]):
        self.source, self.sink = Instance(**said["source"]), Instance(**said["sink"])
        self.element: str = said["element"]
        self.sizes: dict[str, int] = dict(said["sizes"])

    def __repr__(self) -> str:
        return f"{self.source!r} then {self.sink!r}, {self.element}"


class Dependence:
    """`sink` has to come after `source`, by its `kind` (flow, anti, output), through `tensor`.

    `distances`: sink minus source in the `loops` that both have: of each possible distance a
    (least, most) for each loop, None where it has no bound. `reduction`: between terms of one sum;
    `exact`: False where subscripts or conditions are known at run time only. `relation`: in
    isl's text.
    """

    __slots__ = ("kind", "source", "sink", "tensor", "reduction", "exact", "loops", "distances",
                 "example", "relation")  # fmt: skip

    def __init__(self, said: Mapping[str, Any]):
        self.kind: str = said["kind"]
        self.source: str = said["source"]
        self.sink: str = said["sink"]
        self.tensor: str = said["tensor"]
        self.reduction: bool = said["reduction"]
        self.exact: bool = said["exact"]
        self.loops: tuple[str, ...] = tuple(said["loops"])
        self.distances: tuple[tuple[Range, ...], ...] = tuple(
            tuple((one["min"], one["max"]) for one in distance) for distance in said["distances"]
        )
        self.example = Example(said["example"])
        self.relation: str = said["relation"]

    @property
    def distance_text(self) -> str:
        """ "(t, i): (1, -1..1)"; * has no bound."""
        if not self.loops:
            return "no loop in common"
        each = [", ".join(map(_range_text, distance)) for distance in self.distances]
        if len(self.loops) == 1:
            return f"{self.loops[0]}: {' or '.join(each)}"
        return f"({', '.join(self.loops)}): {' or '.join(f'({one})' for one in each)}"

    def __repr__(self) -> str:
        return (
            f"<{self.kind} {self.source} -> {self.sink} through {self.tensor}, "
            f"{self.distance_text}>"
        )


def _range_text(limits: Range) -> str:
    least, most = limits
    if least is None and most is None:
        return "*"
    if least is None or most is None:
        return f"<={most}" if least is None else f">={least}"
    return str(least) if least == most else f"{least}..{most}"


class Dependences(Sequence):
    """Of Program.dependences(): a sequence of Dependence. str() is what `polyte deps` prints,
    `notes` what was not done as asked."""

    def __init__(self, program: Program, sizes: Mapping[str, int], statements: Iterable[str],
                 every: bool):  # fmt: skip
        self.program, self._sizes, self._statements = program, dict(sizes), list(statements)
        said, self.text = _core.dependences(program._core, self._sizes, self._statements, every)
        #: All of it, as `polyte deps --json` says it.
        self.data: dict[str, Any] = json.loads(said)
        self._all = [Dependence(each) for each in self.data["dependences"]]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not done as asked."""
        return tuple(self.data["notes"])

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, index: Any) -> Any:
        return self._all[index]

    def __iter__(self) -> Iterator[Dependence]:
        return iter(self._all)

    def svg(self, *statements: str) -> str:
        """A picture of a small case of one or two statements, in the order of the Program's text;
        without names of two that depend on each other. Raises UsageError, ResourceLimit where
        the case is too large to be seen."""
        return _core.dependence_picture(
            self.program._core, self._sizes, list(statements) or self._statements
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<polyte.Dependences of {self.program.name}: {len(self)}>"

    def _repr_html_(self) -> str:
        from ._html import dependences_html

        try:
            picture = self.svg()
        except errors.Error:  # nothing to draw, or too much
            picture = ""
        return dependences_html(self, picture)
