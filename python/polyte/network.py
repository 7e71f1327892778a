"""ONNX models, compiled; artifacts, run."""

import os

from . import _polyte as _core, errors
from ._options import threads_of


class Group:
    """Operators that became one kernel: its Program and Script as text, whose schedule it has, why
    not what was asked."""

    __slots__ = ("name", "program", "script", "scheduler", "declined")

    def __init__(self, name, program, script, asked, used, reason, where):
        self.name, self.program, self.script, self.scheduler = name, program, script, used
        self.declined = (reason, where) if reason else None

    def __repr__(self):
        return f"<group {self.name} by {self.scheduler}>"


class Report:
    """Of compile_onnx: `groups` in the order in which they run, and `notes` on what is not
    as asked."""

    __slots__ = ("groups", "notes")

    def __init__(self, groups, notes):
        self.groups, self.notes = tuple(Group(*each) for each in groups), tuple(notes)

    def __repr__(self):
        return f"<polyte.Report: {len(self.groups)} groups, {len(self.notes)} notes>"


_OPTIONS = ("scheduler", "scripts", "shapes", "target", "templates", "strict", "exact", "optimize")


def _chosen(options):
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise errors.ArgumentError(
            [f"there is no option '{name}': options are {', '.join(_OPTIONS)}" for name in unknown]
        )
    chosen = {name: value for name, value in options.items() if value is not None}
    if "scripts" in chosen:
        chosen["scripts"] = [str(script) for script in chosen["scripts"]]
    if "shapes" in chosen:
        chosen["shapes"] = {
            name: [int(extent) for extent in shape] for name, shape in chosen["shapes"].items()
        }
    return chosen


def compile_onnx(model, artifact="", **options):
    """Compiles an ONNX file and writes an artifact, which runs without the compiler; with an
    empty `artifact` nothing.

    Options: scheduler ("poly"), scripts, shapes ({"input": (1, 3, 224, 224)} or {"N": (4,)}),
    target, templates, strict, exact, optimize. Raises InvalidInput, Unsupported
    (all operators that are), UsageError, ResourceLimit.
    """
    return Report(*_core.compile_model(os.fspath(model), os.fspath(artifact), _chosen(options)))


def _by_name(names, arrays, named):
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

    def __init__(self, artifact, threads=None):
        self._core = _core.Session(os.fspath(artifact), threads_of(threads))

    @property
    def inputs(self):
        """(name, dtype, shape) of each; -1 where an extent is open."""
        return tuple(self._core.inputs)

    @property
    def outputs(self):
        """As `inputs`."""
        return tuple(self._core.outputs)

    @property
    def threads(self):
        """How many threads share a run."""
        return self._core.threads

    def __call__(self, *arrays, out=None, **named):
        """out: a dict of arrays for the outputs of these names; others are new."""
        return self._core.run(_by_name([each[0] for each in self.inputs], arrays, named), out or {})


class Network:
    """An ONNX file that is compiled for the shapes it is run on: the first run of a kind compiles.
    Options as compile_onnx."""

    def __init__(self, model, threads=None, **options):
        self._core = _core.open_network(os.fspath(model), _chosen(options), threads_of(threads))

    def __call__(self, **inputs):
        """Arrays by input name; a dict of numpy arrays by output name."""
        return self._core.run(inputs)

    @property
    def compilations(self):
        """How often a run had to compile."""
        return self._core.compilations

    @property
    def notes(self):
        """Of the last compilation: declines, fallbacks, what is not as asked."""
        return tuple(self._core.notes)
