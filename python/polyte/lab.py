"""Experiments as in docs/lab.md, from Python: run, read, and tables of what may be said.

    results = polyte.lab.run({"programs": [matmul], "arms": ["poly", mine, "naive"],
                              "sizes": {"m": [64, 128], "n": 64, "k": 64}}, out="results")
    print(results.report())
    frame = results.to_pandas()

The same code as the verbs `polyte lab ..`: a folder of one is a folder of the other.
"""

from __future__ import annotations

import json
import numbers
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Union

from . import _polyte as _core
from . import errors
from ._options import existing, text_of
from ._progress import draw
from .program import Program
from .script import Script

if TYPE_CHECKING:
    import pandas
    import pyarrow

Path = Union[str, "os.PathLike[str]"]

# What a row and arm of a table has: its name, of which type, and where it is in report_json's
# row, arm or facts.
_COLUMNS = (
    ("row", str),
    ("arm", str),
    ("program", str),
    ("dtype", str),
    ("threads", int),
    ("fill", str),
    ("caches", str),
    ("status", str),
    ("verdict", str),
    ("reason", str),
    ("identical_to", str),
    ("time_ns", float),
    ("time_low", float),
    ("time_high", float),
    ("ratio", float),
    ("ratio_low", float),
    ("ratio_high", float),
    ("chance", float),
    ("processes", int),
    ("rounds", int),
    ("flops", float),
    ("bytes", float),
)


class Results:
    """A result folder, evaluated. `data`: all of it, as `lab report --format json` says it;
    `folder`: where it is."""

    def __init__(self, folder: Path):
        self.folder = existing(folder)
        self.data = json.loads(_core.lab_report(self.folder, "json"))

    @property
    def name(self) -> str:
        """The experiment's title."""
        return self.data["name"]

    @property
    def warnings(self) -> list[str]:
        """Of the run and of its rows."""
        return [
            *self.data.get("warnings", []),
            *(text for row in self.data["rows"] for text in row["warnings"]),
        ]

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each row and arm. time_ns and ratio (to the baseline, below 1 is faster) have
        their 95 % intervals as _low and _high; they are None of an arm that was not timed, and
        ratio of the baseline. The row's sizes are size_NAME."""
        sizes = sorted({name for row in self.data["rows"] for name in row["sizes"]})
        return [_flat(row, arm, sizes) for row in self.data["rows"] for arm in row["arms"]]

    def samples(self) -> list[dict[str, Any]]:
        """A dict for each round of each process: row, arm, process, round, nanoseconds."""
        return [
            {
                "row": row["row"],
                "arm": arm["arm"],
                "process": process,
                "round": number,
                "nanoseconds": float(sample),
            }
            for row in self.data["rows"]
            for arm in row["arms"]
            for process, rounds in enumerate(arm["samples_ns"])
            for number, sample in enumerate(rounds)
        ]

    def to_pandas(self, table: str = "rows") -> pandas.DataFrame:
        """rows() or samples() as a pandas.DataFrame, whole numbers and names typed as such. Raises
        Unsupported without pandas."""
        pandas = _module("pandas")
        rows = self._table(table)
        return pandas.DataFrame(
            {
                name: pandas.array([row[name] for row in rows], dtype=_PANDAS[kind])
                for name, kind in self._columns(table, rows)
            }
        )

    def to_arrow(self, table: str = "rows") -> pyarrow.Table:
        """rows() or samples() as a pyarrow.Table. Raises Unsupported without pyarrow."""
        arrow = _module("pyarrow")
        rows = self._table(table)
        types = {str: arrow.string(), int: arrow.int64(), float: arrow.float64()}
        return arrow.table(
            {
                name: arrow.array([row[name] for row in rows], type=types[kind])
                for name, kind in self._columns(table, rows)
            }
        )

    def to_parquet(self, path: Path, table: str = "rows") -> None:
        """rows() or samples() as a Parquet file, by pyarrow."""
        arrow = self.to_arrow(table)
        import pyarrow.parquet

        pyarrow.parquet.write_table(arrow, os.fspath(path))

    def report(self, format: str = "text") -> str:
        """As `polyte lab report`: text, markdown, csv, latex, json, benchmark or html."""
        return _core.lab_report(self.folder, format)

    def _table(self, table: str) -> list[dict[str, Any]]:
        if table not in ("rows", "samples"):
            raise errors.UsageError(f"table {table!r}: expected rows or samples")
        return self.rows() if table == "rows" else self.samples()

    def _columns(self, table, rows):
        if table == "samples":
            return (
                ("row", str),
                ("arm", str),
                ("process", int),
                ("round", int),
                ("nanoseconds", float),
            )
        known = {name for name, _ in _COLUMNS}
        return _COLUMNS + tuple(
            (name, int) for name in (rows[0] if rows else ()) if name not in known
        )

    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        return (
            f"<polyte.lab.Results {self.name}: {len(self.data['rows'])} rows, "
            f"{len(self.data['arms'])} arms>"
        )

    def _repr_html_(self) -> str:
        from ._html import lab_html

        return lab_html(self)


_PANDAS = {str: "string", int: "Int64", float: "Float64"}


def _module(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        raise errors.Unsupported(
            f"{name} is not installed, which this table needs: rows() has the same as dicts"
        ) from None


def _flat(row, arm, sizes):
    flat = {name: row.get(name) for name, _ in _COLUMNS}
    flat.update(
        {
            name: arm.get(name)
            for name in ("arm", "status", "verdict", "reason", "identical_to", "chance")
        }
    )
    for name in ("time", "ratio"):
        interval = arm["time_ns" if name == "time" else name] or {}
        flat["time_ns" if name == "time" else name] = interval.get("estimate")
        flat[f"{name}_low"], flat[f"{name}_high"] = interval.get("low"), interval.get("high")
    return {**flat, **{f"size_{name}": row["sizes"].get(name) for name in sizes}}


# ---- running


def _toml(value: Any) -> str:
    """A value of an experiment, in TOML's inline form; strings of JSON are strings of TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{_toml(str(name))} = {_toml(each)}" for name, each in value.items())
            + " }"
        )
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if hasattr(value, "__fspath__"):
        return _toml(os.path.abspath(value))
    raise errors.ArgumentError(
        f"{value!r} is of type {type(value).__name__}, expected texts, numbers, lists and dicts, "
        "of `programs` Programs, of `arms` Scripts"
    )


class _Kept:
    """Programs and Scripts that an experiment names become files of the result folder,
    beside experiment.toml."""

    def __init__(self):
        self.files = {}

    def path(self, text, name, kind):
        name, number = re.sub(r"[^A-Za-z0-9_]+", "_", name), 1
        path = f"{name}.{kind}"
        while self.files.setdefault(path, text) != text:
            number += 1
            path = f"{name}_{number}.{kind}"
        return path

    def program(self, value):
        return self.path(value.text, value.name, "program") if isinstance(value, Program) else value

    def script(self, value):
        name = value.text.split()[1].split("/")[0]  # of its header, "schedule mine/1 for .."
        return self.path(value.text, f"{value.program.name}_{name}", "sched")

    def arm(self, value):
        if isinstance(value, Script):
            path = self.script(value)
            return {"name": os.path.splitext(path)[0], "script": path}
        if isinstance(value, dict) and isinstance(value.get("script"), Script):
            return {**value, "script": self.script(value["script"])}
        return value


def experiment(described: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """An experiment's dict as TOML, and {name: text} of the files that it names. The keys are
    docs/lab.md's; `programs` may hold Programs, `arms` Scripts and dicts (of an [[arm]]: name and
    script, scheduler or peer) beside names."""
    kept, made = _Kept(), dict(described)
    if "programs" in made:
        programs = made["programs"]
        made["programs"] = [
            kept.program(each)
            for each in (programs if isinstance(programs, (list, tuple)) else [programs])
        ]
    if "arms" in made:
        arms = [kept.arm(each) for each in made.pop("arms")]
        if any(isinstance(each, dict) for each in arms):
            made["arm"] = [each if isinstance(each, dict) else _arm(each) for each in arms]
        else:
            made["arms"] = arms
    return "".join(f"{name} = {_keyed(name, value)}\n" for name, value in made.items()), kept.files


def _keyed(name: str, value: Any) -> str:
    try:
        return _toml(value)
    except errors.ArgumentError as error:
        meant = _core.did_you_mean(str(name), ["programs", "arms", "arm", "sizes", "stop"])
        raise errors.ArgumentError(f"key '{name}': {error}{meant}") from None


def _arm(name: str) -> dict[str, str]:
    """A name of `arms` as an [[arm]]."""
    kind, _, what = name.partition(":")
    return {"name": name, kind: what} if what else {"name": name, "scheduler": name}


def _worker(folder: str) -> list[str]:
    """The command of a process that measures: this interpreter, with this one's modules."""
    if not sys.executable:
        raise errors.Unsupported(
            "there is no interpreter to start processes of (sys.executable is empty)"
        )
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; from polyte import lab; lab._work(sys.argv[1])"
    )
    return [sys.executable, "-c", program, folder]  # the folder last: parts of a run have others


def _work(folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word
    try:
        _core.lab_work(folder, sys.stdin.read())
    except errors.Error as error:
        raise SystemExit("\n".join(f"error: {problem}" for problem in error.problems)) from None


def run(
    described: Mapping[str, Any] | Path,
    out: Path | None = None,
    progress: Callable[[str], Any] | bool | None = None,
) -> Results:
    """Measures an experiment in processes of their own and gives its Results.

    described: a dict (see experiment()), the path of an experiment.toml, or a result folder to go
    on with. out: the result folder; of a file by default its name with .lab, of a dict it has to
    be given. progress: called with a line of text after each process; None: nothing is said; True:
    a bar with what remains, on stderr. What was stopped goes on where it was. Raises InvalidInput
    with all that is wrong with the experiment, UsageError where the folder holds another one,
    KeyboardInterrupt where Ctrl-C stopped it (nothing is lost but the process at hand).
    """
    say = _say_bar if progress is True else progress or (lambda line: None)
    if isinstance(described, dict):
        if out is None:
            raise errors.ArgumentError("an experiment that is a dict needs out=, the result folder")
        folder = os.path.abspath(out)
        text, files = experiment({"name": os.path.basename(folder), **described})
        os.makedirs(folder, exist_ok=True)
        origin = os.path.join(folder, "experiment.toml")
        for path, content in {**files, "experiment.toml": text}.items():
            with open(os.path.join(folder, path), "w") as file:
                file.write(content)
    elif os.path.isdir(described):
        if out is not None:
            raise errors.ArgumentError(f"out: {os.fspath(described)} is a result folder already")
        text, origin, folder = "", "", os.path.abspath(described)
    else:
        text = text_of(described)
        origin = os.path.abspath(described)
        folder = os.path.abspath(out if out is not None else os.path.splitext(origin)[0] + ".lab")
    if _core.lab_run(text, origin, folder, _worker(folder), say):
        raise KeyboardInterrupt(f"stopped; polyte.lab.run({folder!r}) goes on")
    return Results(folder)


def _say_bar(line: str) -> None:
    """A runner's line, "[3/10] process 2 of ..", as a bar."""
    found = re.match(r"\[(\d+)/(\d+)\] (.*)", line)
    if found:
        draw(int(found[1]), int(found[2]), found[3])
    else:
        print(line, file=sys.stderr)


def compare(
    before: Results | Path, after: Results | Path, filter: str = "", min_effect: float = 0.01
) -> RunComparison:
    """Two runs of the same rows: has anything become slower? A RunComparison."""
    folders = [os.fspath(getattr(each, "folder", each)) for each in (before, after)]
    return RunComparison(*_core.lab_compare(*folders, filter, min_effect))


class RunComparison:
    """`text`, as `polyte lab compare` prints it; `data`, its JSON; `is_regression`."""

    def __init__(self, text: str, data: str, is_regression: bool):
        self.text, self.data, self.is_regression = text, json.loads(data), is_regression

    def __str__(self) -> str:
        return self.text
