"""polyte.check: is a schedule legal? What `polyte check` says, as an object."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from . import _polyte as _core, errors
from ._options import existing, is_path, parted, script_text, text_of
from .program import Program, op, program as parsed, with_header
from .script import Script


class Check:
    """Of check(). `ok`: whether all is well, which is also its truth value.

    `verdict`: legal, or why not: illegal, malformed, stale, unknown, refused; of a model's bits
    equal or different. `problems`: a text for each, none where it is ok. `refusal`: of a script
    that is not legal, as errors.Refused has it. `data`: all of it, as `polyte check --json` says
    it: notes, rounding, second_judge, recomputed ..
    """

    def __init__(self, status: int, said: str, text: str, refusal: dict[str, Any] | None = None):
        self.ok, self.text, self.refusal = status == 0, text, refusal
        self.data: dict[str, Any] = json.loads(said)

    @property
    def verdict(self) -> str:
        """In a word."""
        return self.data["verdict"]

    @property
    def problems(self) -> tuple[str, ...]:
        """A text for each."""
        if self.ok:
            return ()
        if self.refusal:
            return (self.text.rstrip(),)
        fallbacks = [
            f"{each['kernel']}: {each['scheduler_asked']} declined: {each['declined']['reason']}"
            for each in self.data.get("fallbacks", ())
        ]
        found = [*self.data.get("problems", ()), *fallbacks]
        found += [f"{each['kind']}: {each['text']}" for each in self.data.get("faults", ())]
        return tuple(found or self.data.get("notes", ()))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a line of the script did not do although it says so."""
        return tuple(self.data.get("notes", ()))

    @property
    def rounding(self) -> tuple[str, ...]:
        """What changes in the order of floating-point operations."""
        return tuple(self.data.get("rounding", ()))

    @property
    def second_judge(self) -> Any:
        """What execution at small sizes said; None where it was not asked."""
        return self.data.get("second_judge")

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return f"verdict: {self.verdict}\n{self.text}".rstrip()

    def __repr__(self) -> str:
        return f"<polyte.Check {self.verdict}>"

    def _repr_html_(self) -> str:
        from ._html import check_html

        return check_html(self)


def _program_of(subject: Any) -> Program:
    if isinstance(subject, Program):
        return subject
    if is_path(subject, ".program"):
        return parsed(text_of(subject), os.fspath(subject))
    if isinstance(subject, str):
        return parsed(subject) if subject.lstrip().startswith(("program ", "#")) else op(subject)
    raise errors.ArgumentError(
        f"check of {subject!r}, expected a Program, a Script, a text or the path of a file"
    )


def _shape_texts(shapes: Mapping[str, Any] | None) -> list[str]:
    return [f"{name}={'x'.join(map(str, shape))}" for name, shape in (shapes or {}).items()]


def _check_model(path: str, script: Any, group: str, shapes: Mapping[str, Any] | None,
                 by_execution: bool, options: dict[str, Any]) -> Check:  # fmt: skip
    unknown = [name for name in options if name not in _MODEL_OPTIONS]
    if unknown:
        raise errors.ArgumentError(
            [
                f"there is no option '{name}': of a model they are {', '.join(_MODEL_OPTIONS)}"
                + _core.did_you_mean(name, list(_MODEL_OPTIONS))
                for name in unknown
            ]
        )
    chosen = {name: value for name, value in options.items() if value is not None}
    if "params" in chosen:
        chosen["params"] = {name: str(value) for name, value in chosen["params"].items()}
    if script is None:
        target = chosen.get("target", "native")
        return Check(*_core.check_bits(existing(path), _shape_texts(shapes), target))
    chosen["script"] = with_header(script_text(script), group)
    return Check(
        *_core.check_model(existing(path), group, _shape_texts(shapes), chosen, by_execution)
    )


_MODEL_OPTIONS = ("params", "target", "strict", "second_judge")


def check(
    subject: Any,
    script: Any = None,
    *,
    group: str = "",
    shapes: Mapping[str, Any] | None = None,
    by_execution: bool = False,
    **options: Any,
) -> Check:
    """Is the schedule legal, as `polyte check` says it? What is not is in the result, and raises
    nothing.

    subject: a Program, its text, index notation, the path of a .program file, or a Script, which
    is then what is checked; sizes and options as Program.script(): params, target, strict,
    second_judge. Or the path of an .onnx file: the group that the script's header names, or
    `group`; `shapes` as compile_onnx(). A model without a script: every group by every scheduler,
    with 1 and 2 threads and in the interpreter, has to give equal bits.
    script: a Script, its text, its directives alone, or the path of a .sched file.
    by_execution: decided by interpreting the loops, at sizes that are given. Raises InvalidInput,
    UsageError, ArgumentError where there is nothing that could be checked.
    """
    if is_path(subject, ".onnx") and os.fspath(subject).endswith(".onnx"):
        return _check_model(subject, script, group, shapes, by_execution, options)
    if group or shapes:
        raise errors.ArgumentError("group and shapes are of a model, the path of an .onnx file")
    known: Mapping[str, int] = {}
    if isinstance(subject, Script):
        if script is not None:
            raise errors.ArgumentError("check of a Script takes no other script")
        subject, script = subject.program, subject
    program = _program_of(subject)
    if script is None:
        raise errors.ArgumentError("check takes the script that is to be checked")
    if isinstance(script, Script):
        known = script._options["sizes"]
    chosen, sizes = parted(program, options, known=known, without=("script", "scheduler"))
    chosen.update(script=with_header(script_text(script), program.name), sizes=sizes)
    return Check(*_core.check_program(program._core, chosen, by_execution))
