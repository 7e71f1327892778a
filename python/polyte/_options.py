"""What several functions take, checked in one place."""

import os

from . import errors

_KNOWN = ("scheduler", "params", "templates", "target", "threads", "strict", "exact",
          "second_judge", "cache", "device", "driver", "emulate", "open")  # fmt: skip


def processors():
    """Those that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_of(threads):
    if threads is None:
        return processors()
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024:
        raise errors.UsageError(f"threads is {threads!r}, expected a number from 1 to 1024")
    return threads


def _open_sizes(program, given, sizes, problems):
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
            )
        elif numbers is not None and (
            len(numbers) not in (0, 3) or not all(type(n) is int for n in numbers)
        ):
            problems.append(f"open: {name!r} is {numbers!r}, expected (least, typical, most)")
        else:
            ranges[size] = tuple(numbers or ())
    return ranges


def parted(program, options):
    """(options of the compiler, sizes): what is no option is a size of the Program, by
    its name there."""
    chosen, sizes, problems = {}, {}, []
    for name, value in options.items():
        size = program._core.size_named(name)
        if size is not None:
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                problems.append(f"size '{name}' is {value!r}, expected a number")
            else:
                sizes[size] = value.__index__()
        elif name in _KNOWN:
            if value is not None:
                chosen[name] = value
        else:
            problems.append(
                f"there is no option or size '{name}': program '{program.name}' has the sizes "
                f"{', '.join(program.sizes) or '(none)'}, options are {', '.join(_KNOWN)}"
            )
    if "open" in chosen:
        chosen["open"] = _open_sizes(program, chosen["open"], sizes, problems)
    if problems:
        raise errors.ArgumentError(problems)
    if "params" in chosen:
        chosen["params"] = {name: str(value) for name, value in chosen["params"].items()}
    cache = chosen.pop("cache", True)
    if cache:
        chosen["cache"] = "default" if cache is True else os.fspath(cache)
    chosen["threads"] = threads_of(chosen.get("threads"))
    return chosen, sizes
