"""ONNX models, compiled; artifacts, run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from . import _polyte as _core, errors
from ._options import existing, scheduler_of, script_text, threads_of
from .images import fitted_image, image, is_image


class Group:
    """Operators that became one kernel: its Program and Script as text, whose schedule it has, why
    not what was asked."""

    __slots__ = ("name", "program", "script", "scheduler", "declined")

    def __init__(
        self, name: str, program: str, script: str, asked: str, used: str, reason: str, where: str
    ):
        self.name, self.program, self.script, self.scheduler = name, program, script, used
        self.declined = (reason, where) if reason else None

    def __repr__(self) -> str:
        return f"<group {self.name} by {self.scheduler}>"


class Report:
    """Of compile_onnx: `groups` in the order in which they run, and `notes` on what is not
    as asked."""

    __slots__ = ("groups", "notes")

    def __init__(self, groups: Iterable[tuple[str, ...]], notes: Iterable[str]):
        self.groups, self.notes = tuple(Group(*each) for each in groups), tuple(notes)

    def __repr__(self) -> str:
        return f"<polyte.Report: {len(self.groups)} groups, {len(self.notes)} notes>"


_OPTIONS = ("scheduler", "scripts", "shapes", "target", "templates", "strict", "exact", "optimize")


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise errors.ArgumentError(
            [
                f"there is no option '{name}': options are {', '.join(_OPTIONS)}"
                + _core.did_you_mean(name, list(_OPTIONS))
                for name in unknown
            ]
        )
    chosen = {name: value for name, value in options.items() if value is not None}
    if "scheduler" in chosen:
        scheduler_of(chosen["scheduler"])
    if "scripts" in chosen:
        chosen["scripts"] = [script_text(script) for script in chosen["scripts"]]
    if "shapes" in chosen:
        chosen["shapes"] = {
            name: [int(extent) for extent in shape] for name, shape in chosen["shapes"].items()
        }
    return chosen


def compile_onnx(
    model: str | os.PathLike[str], artifact: str | os.PathLike[str] = "", **options: Any
) -> Report:
    """Compiles an ONNX file and writes an artifact, which runs without the compiler; with an
    empty `artifact` nothing.

    Options: scheduler ("poly"), scripts, shapes ({"input": (1, 3, 224, 224)} or {"N": (4,)}),
    target, templates, strict, exact, optimize. Raises InvalidInput, Unsupported
    (all operators that are), UsageError, ResourceLimit.
    """
    return Report(*_core.compile_model(existing(model), os.fspath(artifact), _chosen(options)))


def _by_name(names: list[str], arrays: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    problems = (
        [f"{len(arrays)} positional inputs, expected at most {len(names)}"]
        if len(arrays) > len(names)
        else []
    )
    inputs = dict(zip(names, arrays))
    problems += [f"input '{name}' is given twice" for name in named if name in inputs]
    if problems:
        raise errors.ArgumentError(problems)
    return {**inputs, **named}


class Session:
    """An artifact, ready to run: `session(x)` or `session(image=x)` gives a dict of numpy arrays
    by output name.

    Calls may come from several threads; the GIL is released meanwhile. Raises ArtifactError where
    it is damaged or for another processor.
    """

    def __init__(self, artifact: str | os.PathLike[str], threads: int | None = None):
        path = existing(artifact, errors.MissingArtifact)
        self._core = _core.Session(path, threads_of(threads))

    @property
    def inputs(self) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        """(name, dtype, shape) of each; -1 where an extent is open."""
        return tuple(self._core.inputs)

    @property
    def outputs(self) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
        """As `inputs`."""
        return tuple(self._core.outputs)

    @property
    def threads(self) -> int:
        """How many threads share a run."""
        return self._core.threads

    def __call__(
        self, *arrays: Any, out: Mapping[str, Any] | None = None, **named: Any
    ) -> dict[str, Any]:
        """Of an input that is an image its file will do, a .png or .jpg: polyte.image() says what
        its elements are. out: a dict of arrays for the outputs of these names; others are new."""
        given = _by_name([each[0] for each in self.inputs], arrays, named)
        for name, dtype, shape in self.inputs:
            if is_image(given.get(name)):
                given[name] = fitted_image(given[name], name, dtype, shape)
        return self._core.run(given, out or {})


class Network:
    """An ONNX file that is compiled for the shapes it is run on: the first run of a kind compiles.
    Options as compile_onnx."""

    def __init__(self, model: str | os.PathLike[str], threads: int | None = None, **options: Any):
        self._core = _core.open_network(existing(model), _chosen(options), threads_of(threads))

    def __call__(self, **inputs: Any) -> dict[str, Any]:
        """Arrays by input name, or of images their files, which become f32 [1, C, H, W] (others:
        polyte.image()); a dict of numpy arrays by output name."""
        return self._core.run({name: image(x) if is_image(x) else x for name, x in inputs.items()})

    @property
    def compilations(self) -> int:
        """How often a run had to compile."""
        return self._core.compilations

    @property
    def notes(self) -> tuple[str, ...]:
        """Of the last compilation: declines, fallbacks, what is not as asked."""
        return tuple(self._core.notes)
