"""How it is computed: a schedule whose methods are the directives of the language
(docs/script-text.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _polyte as _core, errors
from ._directives import Directives
from ._options import parted

if TYPE_CHECKING:
    from .program import Program


class Script(Directives):
    """A schedule of one Program. Immutable: each method gives a new one, proved, or raises Refused.

    Loops are named as in the language: "m", "m.o", "C.update:k.i". Sizes are numbers or texts
    over params ("2*L"). `text`: the script; `outline`: the loops that it leads to, in a line;
    `notes`: what a line did not do although it says so; `rounding`: what changes in the order
    of floating-point operations.
    """

    def __init__(
        self,
        program: Program,
        options: Mapping[str, Any],
        text: str,
        nest: str,
        notes: Iterable[str],
        rounding: Iterable[str],
    ):
        self.program, self._options = program, options
        self.text, self.outline, self.notes, self.rounding = (
            text,
            nest,
            tuple(notes),
            tuple(rounding),
        )

    @classmethod
    def checked(cls, program: Program, options: Mapping[str, Any], text: str) -> Script:
        """The Script of this text, proved; raises errors.Refused with the counterexample where
        it is illegal."""
        chosen = {name: value for name, value in options.items() if name != "scheduler"}
        made = _core.check(program._core, {**chosen, "script": text})
        kept = {name: value for name, value in chosen.items() if name != "params"}
        return cls(program, kept, *made)

    # ---- what it is

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<polyte.Script for {self.program.name}: {self.outline}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Script) and (self.text, self.program.text) == (
            other.text,
            other.program.text,
        )

    def __hash__(self) -> int:
        return hash((self.text, self.program.text))

    def _repr_html_(self) -> str:
        from ._html import script_html

        return script_html(self)

    def compile(
        self,
        *,
        sizes: Mapping[str, int] | None = None,
        target: str | None = None,
        threads: int | None = None,
        **options: Any,
    ) -> _core.Kernel:
        """A Kernel by this schedule; options as Program.compile(). Sizes that are not given here
        are those that the Script was made with."""
        given = {"target": target, "threads": threads, **options}
        chosen, numbers = parted(
            self.program,
            {
                **self._options_without_sizes(),
                **{name: value for name, value in given.items() if value is not None},
                "sizes": sizes,
            },
            known=self._options["sizes"],
            without=("script",),
        )
        chosen.update(script=self.text, sizes=numbers)
        chosen.pop("scheduler", None)
        return _core.compile(self.program._core, chosen, chosen["threads"])

    def _options_without_sizes(self) -> dict[str, Any]:
        return {name: value for name, value in self._options.items() if name != "sizes"}

    # ---- edits

    def add(self, line: str) -> Script:
        """One more line of the language, or several."""
        return Script.checked(self.program, self._options, f"{self.text.rstrip()}\n{line}\n")

    def set(self, **params: int | str) -> Script:
        """Other values for params and lets: `set(Mr=14)`; what the script leaves open is
        filled so."""
        values = {name: str(value) for name, value in params.items()}
        return Script.checked(self.program, {**self._options, "params": values}, self.text)

    def without(self, *lines: int | str) -> Script:
        """Without these lines, by their text or by their number in `text`, the header being 1."""
        have, wanted = self.text.splitlines(), set()
        for line in lines:
            wanted.update(self._numbers_of(line, have))
        kept = [each for i, each in enumerate(have, 1) if i not in wanted]
        return Script.checked(self.program, self._options, "\n".join(kept) + "\n")

    @staticmethod
    def _numbers_of(line: int | str, have: list[str]) -> list[int]:
        plain = [" ".join(each.split("#:")[0].split()) for each in have]
        if isinstance(line, int):
            if 2 <= line <= len(have):
                return [line]
            problem = f"there is no line {line}"
        else:
            words = " ".join(line.split())
            found = [i for i, each in enumerate(plain[1:], 2) if each == words]
            if found:
                return found
            problem = f"there is no line {line!r}{_core.did_you_mean(words, plain[1:])}"
        if len(have) == 1:
            raise errors.UsageError(f"{problem}: the script has its header alone")
        raise errors.UsageError(
            f"{problem}: the script's lines are "
            + "; ".join(f"{i} {each!r}" for i, each in enumerate(plain[1:], 2))
        )
