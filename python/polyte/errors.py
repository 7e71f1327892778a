"""What can go wrong. Every exception is a polyte.Error and, where one fits, Python's own
kind too."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import Any


class Error(Exception):
    """`problems`: every one that was found, a text each. `status`: what the command line
    would exit with."""

    status = 70

    def __init__(self, problems: str | Iterable[str], refusal: dict[str, Any] | None = None):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        self.refusal = refusal
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems, self.refusal)


class UsageError(Error, ValueError):
    """An option, a size or a name that is not one."""

    status = 2


class InvalidInput(Error, ValueError):
    """A Program, script, model or array that does not say what it must."""

    status = 3


class MissingFile(InvalidInput, FileNotFoundError):
    """A file that is not there: its name is `filename`."""

    def __init__(
        self,
        problems: str | Iterable[str],
        refusal: dict[str, Any] | None = None,
        filename: str | None = None,
    ):
        super().__init__(problems, refusal)
        self.errno, self.filename = errno.ENOENT, filename

    def __str__(self) -> str:
        return "\n".join(self.problems)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems, self.refusal, self.filename)


class ArgumentError(Error, TypeError):
    """Arguments of a call that are missing, unknown, given twice, or too many."""

    status = 2


class Refused(Error, ValueError):
    """A schedule that is not legal, or not a schedule; of compare(), outputs that differ.

    `refusal` says why, as data: kind ("illegal", "malformed", "stale", "unknown"), headline, line,
    directive, advice, details, and counterexamples: of each its dependence, the two instances in
    the reference's order and in the schedule's, and the smallest sizes that show it. None where
    what is refused is no line of a script.
    """

    status = 1

    def _repr_html_(self) -> str:
        from ._html import refusal_html

        return refusal_html(self)


class Undecided(Refused):
    """Neither proved nor refuted."""

    status = 8


class Unsupported(Error, NotImplementedError):
    """An operator, attribute, type or processor that is not supported; all of them are listed."""

    status = 4


class MissingModule(Unsupported, ImportError):
    """A Python package that is not installed, which this call needs."""


class ResourceLimit(Error, MemoryError):
    """Memory, time or a size ran out."""

    status = 5


class DeviceError(Error, RuntimeError):
    """A GPU, or its driver, that is not there or has failed."""

    status = 6


class ArtifactError(Error, ValueError):
    """An artifact that is damaged, or made for another processor."""

    status = 7


class MissingArtifact(ArtifactError, MissingFile):
    """An artifact or a kernel's file that is not there."""


class InternalError(Error, RuntimeError):
    """Polyte broke a promise to itself: please report it."""


_KINDS = {
    kind.status: kind
    for kind in (
        UsageError,
        InvalidInput,
        Refused,
        Undecided,
        Unsupported,
        ResourceLimit,
        DeviceError,
        ArtifactError,
    )
}


def made(status: int, problems: list[str], refusal: dict[str, Any] | None = None) -> Error:
    """The exception of an exit status; called by the core."""
    return _KINDS.get(status, InternalError)(problems, refusal)
