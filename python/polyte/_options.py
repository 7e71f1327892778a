"""What several functions take, checked in one place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _polyte as _core, errors

if TYPE_CHECKING:
    from .program import Program

#: Of a compilation, by keyword.
OPTIONS = ("scheduler", "script", "sizes", "params", "templates", "target", "threads", "strict",
          "exact", "second_judge", "cache", "device", "driver", "emulate", "open")  # fmt: skip
SCHEDULERS = ("naive", "isl", "poly", "template")


def processors() -> int:
    """Those that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_of(threads: int | None) -> int:
    if threads is None:
        return processors()
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise errors.UsageError(f"threads is {threads!r}, expected a number from 1 to 1024")
    return threads


def scheduler_of(name: Any) -> str:
    if name not in SCHEDULERS:
        raise errors.UsageError(
            f"scheduler {name!r}: expected naive, isl, poly or template"
            + _core.did_you_mean(str(name), list(SCHEDULERS))
        )
    return name


def is_path(text: Any, *endings: str) -> bool:
    """A pathlib.Path, or a text of one line that ends as such files do."""
    return hasattr(text, "__fspath__") or (
        isinstance(text, str) and "\n" not in text and text.endswith(endings)
    )


def existing(path: Any, kind: type[errors.MissingFile] = errors.MissingFile) -> str:
    """The path as a text, of a file or folder that is there; `kind` is raised where it is not."""
    path = os.fspath(path)
    if not os.path.exists(path):
        folder = os.path.dirname(path)
        near = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        meant = _core.did_you_mean(path, [os.path.join(folder, name) for name in near[:4096]])
        raise kind(f"{path}: there is no such file{meant}", filename=path)
    return path


def text_of(path: Any) -> str:
    path = existing(path)
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.InvalidInput(f"{path}: cannot be read: {error}") from None


def script_text(script: Any) -> str:
    """A Script, its text, or the file that has it."""
    return text_of(script) if is_path(script, ".sched") else str(script)


def _open_sizes(
    program: Program, given: Any, sizes: Mapping[str, int], problems: list[str]
) -> dict[str, tuple[int, ...]]:
    """{size: () or (least, typical, most)} of what `open` says: names, their ranges, or True for
    all that is not given."""
    if given is True:
        return {size: () for size in program.sizes if size not in sizes}
    ranges, given = {}, [given] if isinstance(given, str) else given
    for name in given or ():
        size, numbers = (
            program._core.size_named(name),
            given[name] if isinstance(given, dict) else (),
        )
        if size is None:
            problems.append(
                f"open: there is no size {name!r}: program '{program.name}' has the sizes "
                f"{', '.join(program.sizes) or '(none)'}"
                + _core.did_you_mean(str(name), list(program.sizes))
            )
        elif numbers is not None and (
            len(numbers) not in (0, 3) or not all(type(n) is int for n in numbers)
        ):
            problems.append(f"open: {name!r} is {numbers!r}, expected (least, typical, most)")
        else:
            ranges[size] = tuple(numbers or ())
    return ranges


def _sizes(
    program: Program, given: Iterable[tuple[str, Any]], problems: list[str]
) -> dict[str, int]:
    """Sizes by their names in the Program; `given`: those that go by a keyword, then those of
    `sizes`."""
    sizes: dict[str, int] = {}
    for name, value in given:
        size = program._core.size_named(name) if isinstance(name, str) else None
        if size is None:
            problems.append(
                f"sizes: there is no size {name!r}: program '{program.name}' has the sizes "
                f"{', '.join(program.sizes) or '(none)'}"
                + _core.did_you_mean(str(name), list(program.sizes))
            )
        elif isinstance(value, bool) or not hasattr(value, "__index__"):
            problems.append(f"size '{name}' is {value!r}, expected a number")
        elif size in sizes:
            problems.append(f"size '{name}' is given twice, {sizes[size]} and {value.__index__()}")
        else:
            sizes[size] = value.__index__()
    return sizes


def parted(
    program: Program,
    options: Mapping[str, Any],
    known: Mapping[str, int] | None = None,
    without: Iterable[str] = (),
) -> tuple[dict[str, Any], dict[str, int]]:
    """(options of the compiler, sizes): what is no option is a size of the Program, by
    its name there. `known`: sizes that hold where others are not given. `without`: options that
    do not apply."""
    chosen, numbers, problems = {}, [], []
    options = dict(options)
    mapping = options.pop("sizes", None)
    allowed = [name for name in OPTIONS if name not in without]
    for name, value in options.items():
        if program._core.size_named(name) is not None:
            numbers.append((name, value))
        elif name in allowed:
            if value is not None:
                chosen[name] = value
        else:
            problems.append(
                f"there is no option or size '{name}': program '{program.name}' has the sizes "
                f"{', '.join(program.sizes) or '(none)'}, options are {', '.join(allowed)}"
                + _core.did_you_mean(name, [*allowed, *program.sizes])
            )
    if mapping is not None and not hasattr(mapping, "items"):
        problems.append(f"sizes is {mapping!r}, expected a dict of sizes by name")
        mapping = {}
    sizes = _sizes(program, [*numbers, *(mapping or {}).items()], problems)
    sizes = {**(known or {}), **sizes}
    if "open" in chosen:
        chosen["open"] = _open_sizes(program, chosen["open"], sizes, problems)
    if problems:
        raise errors.ArgumentError(problems)
    return _settled(chosen), sizes


def _settled(chosen: dict[str, Any]) -> dict[str, Any]:
    """As the extension takes them."""
    if "scheduler" in chosen:
        scheduler_of(chosen["scheduler"])
    if "script" in chosen:
        chosen["script"] = script_text(chosen["script"])
    if "params" in chosen:
        chosen["params"] = {name: str(value) for name, value in chosen["params"].items()}
    cache = chosen.pop("cache", True)
    if cache:
        chosen["cache"] = "default" if cache is True else os.fspath(cache)
    chosen["threads"] = threads_of(chosen.get("threads"))
    return chosen
