"""Cells of Program text and of scripts, for IPython and notebooks:

    %load_ext polyte

    %%polyte
    program dense(M, N, K) ...         the Program, as `dense` of the notebook, and shown

    %%polyte_script mine dense M=128   directives for `dense`, proved for these sizes, are `mine`
    split m by 8

What is refused is shown with its counterexample, and nothing is defined.
"""

from __future__ import annotations

import re
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.display import display

from . import _polyte as _core
from . import errors
from .program import Program, op

_SIZE = re.compile(r"(\w+)=(\d+)$")


def _programs(text: str) -> list[Program]:
    """The Programs of a cell: text, or a line of index notation."""
    if not re.search(r"(?m)^\s*program\b", text):
        return [op(text.strip())]
    starts = [found.start() for found in re.finditer(r"(?m)^program\b", text)]
    parts = [text[start:end] for start, end in zip(starts, [*starts[1:], None])]
    before = [text[:start].count("\n") for start in starts]  # lines are the cell's
    return [
        Program(_core.parse_program("\n" * skipped + part, "cell"))
        for skipped, part in zip(before, parts)
    ]


def _fail(error: errors.Error) -> NoReturn:
    if getattr(error, "refusal", None):
        display(error)
    raise UsageError(str(error))


def load(shell: Any) -> None:
    """Registers both cell magics with an InteractiveShell."""

    def polyte(line: str, cell: str) -> None:
        """%%polyte [NAME]: the cell's Programs become variables, by their names; NAME is for
        a single one."""
        try:
            made = _programs(cell)
        except errors.Error as error:
            _fail(error)
        names = line.split() or [program.name for program in made]
        if len(names) != len(made) or not all(name.isidentifier() for name in names):
            raise UsageError(
                f"%%polyte {line}: expected a name for each of {len(made)} programs, or none"
            )
        shell.push(dict(zip(names, made)))
        for program in made:
            display(program)

    def polyte_script(line: str, cell: str) -> None:
        """%%polyte_script NAME PROGRAM [SIZE=N ..]: a Script of the cell's directives."""
        words = line.split()
        if (
            len(words) < 2
            or not words[0].isidentifier()
            or not all(_SIZE.match(word) for word in words[2:])
        ):
            raise UsageError(
                f"%%polyte_script {line}: expected a name, a Program's name and sizes, M=128"
            )
        program = shell.user_ns.get(words[1])
        if not isinstance(program, Program):
            raise UsageError(f"%%polyte_script: {words[1]} is no Program")
        try:
            sizes = dict(_SIZE.match(word).groups() for word in words[2:])
            script = program.script(cell, **{name: int(size) for name, size in sizes.items()})
        except errors.Error as error:
            _fail(error)
        shell.push({words[0]: script})
        display(script)

    shell.register_magic_function(polyte, "cell", "polyte")
    shell.register_magic_function(polyte_script, "cell", "polyte_script")
