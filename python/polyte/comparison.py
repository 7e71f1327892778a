"""Schedules side by side, timed in this process: for a look. What is to be published is
for `polyte lab`."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _polyte as _core, errors
from ._progress import draw
from .script import Script

if TYPE_CHECKING:
    import pandas

    from .program import Program

Estimate = tuple[float, float, float]  # with a 95 % interval

_TYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.uint16,
    "bool": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
}


class Row:
    """One arm: `microseconds` and `ratio` to the first arm, each (estimate, low, high) with
    a 95 % interval."""

    __slots__ = ("name", "microseconds", "ratio", "verdict", "scheduler", "samples")

    def __init__(
        self,
        name: str,
        microseconds: Estimate,
        ratio: Estimate,
        verdict: str,
        scheduler: str,
        samples: list[float],
    ):
        self.name, self.microseconds, self.ratio = name, microseconds, ratio
        self.verdict, self.scheduler, self.samples = verdict, scheduler, samples


class Comparison:
    """Of compare(): `rows` in the order of the arms. `frame()` needs pandas."""

    def __init__(self, title: str, rows: list[Row]):
        self.title, self.rows = title, tuple(rows)

    def __str__(self) -> str:
        lines = [self.title, f"{'':24}{'us':>10}{'ratio':>9}  95 %"]
        for row in self.rows:
            interval = (
                f"{row.ratio[1]:.3f} to {row.ratio[2]:.3f}  " if row is not self.rows[0] else ""
            )
            lines.append(
                f"{row.name[:24]:24}{row.microseconds[0]:10.2f}{row.ratio[0]:9.3f}  "
                f"{interval}{row.verdict}"
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from ._html import comparison_html

        return comparison_html(self)

    def frame(self) -> pandas.DataFrame:
        """The rows as a pandas.DataFrame: arm, microseconds and ratio with their
        intervals, verdict."""
        import pandas

        return pandas.DataFrame(
            [
                {
                    "arm": row.name,
                    "microseconds": row.microseconds[0],
                    "low": row.microseconds[1],
                    "high": row.microseconds[2],
                    "ratio": row.ratio[0],
                    "ratio_low": row.ratio[1],
                    "ratio_high": row.ratio[2],
                    "verdict": row.verdict,
                }
                for row in self.rows
            ]
        )


def _array(tensor, rng):
    """Small whole numbers, of which every order of a sum gives the same bits."""
    whole = rng.integers(0 if tensor.dtype[0] in "ub" else -3, 4, tensor.shape)
    if tensor.dtype == "bf16":
        return (whole.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return np.ascontiguousarray(whole.astype(_TYPES[tensor.dtype]))


def _kernel(program, arm, options):
    if isinstance(arm, _core.Kernel):
        return "kernel", arm
    if isinstance(arm, Script):
        return arm.text.split()[1], arm.compile(**options)
    if isinstance(arm, str):
        return arm, program.compile(arm, **options)
    raise errors.ArgumentError(
        f"an arm is {arm!r}, expected a Script, a Kernel or a scheduler's name"
    )


def _outputs(kernel, arrays):
    outs = {t.name: np.zeros(t.shape, _TYPES[t.dtype]) for t in kernel.tensors if t.role == "out"}
    given = {name: array.copy() for name, array in arrays.items()}
    kernel(**given, **outs)
    return [
        outs[t.name] if t.role == "out" else given[t.name]
        for t in kernel.tensors
        if t.role in ("out", "inout")
    ]


def compare(
    *arms: Script | _core.Kernel | str,
    program: Program | None = None,
    rounds: int = 20,
    milliseconds: float = 2.0,
    seed: int = 1,
    progress: bool = False,
    **options: Any,
) -> Comparison:
    """Times arms beside each other, the first one the baseline: Scripts, Kernels or names
    of schedulers.

    Each round runs every arm, in a random order, for about `milliseconds`; `options`
    (sizes, threads ..) are those of compile(). Outputs are held to the first arm's on whole
    numbers: equal, or within 1e-3 of the largest. A call costs about a microsecond of Python. One
    process, warm caches: where it matters, `polyte lab`. progress: a bar on stderr.
    """
    if not arms:
        raise errors.ArgumentError("compare takes at least one arm")
    programs = [program] + [arm.program for arm in arms if isinstance(arm, Script)]
    program = next((each for each in programs if each is not None), None)
    if program is None and any(isinstance(arm, str) for arm in arms):
        raise errors.ArgumentError("a scheduler's name needs `program=`, or a Script beside it")
    made = [_kernel(program, arm, options) for arm in arms]
    shapes = {
        tuple((t.name, t.role, t.dtype, t.shape) for t in kernel.tensors) for _, kernel in made
    }
    if len(shapes) != 1:
        raise errors.InvalidInput("the arms are kernels of different tensors or sizes")
    rng = np.random.default_rng(seed)
    arrays = {t.name: _array(t, rng) for t in made[0][1].tensors if t.role != "out"}
    expected = _outputs(made[0][1], arrays)
    for name, kernel in made[1:]:
        for got, right in zip(_outputs(kernel, arrays), expected):
            if not np.array_equal(got, right) and not np.allclose(
                got.astype(float),
                right.astype(float),
                rtol=0,
                atol=1e-3 * float(np.abs(right.astype(float)).max()),
            ):
                raise errors.Refused(f"the outputs of '{name}' differ from those of '{made[0][0]}'")
    return Comparison(
        _title(program, made[0][1]),
        _rows(made, _timed(made, arrays, rounds, milliseconds, seed, progress)),
    )


def _timed(made, arrays, rounds, milliseconds, seed, progress):
    """Nanoseconds a call of each arm, round by round."""
    calls, order, samples = [], list(range(len(made))), [[] for _ in made]
    for _, kernel in made:
        outs = {
            t.name: np.zeros(t.shape, _TYPES[t.dtype]) for t in kernel.tensors if t.role == "out"
        }
        bound = {t.name: arrays[t.name] for t in kernel.tensors if t.role == "const"}
        bare = kernel.bind(**bound) if bound else kernel
        given = {name: array.copy() for name, array in arrays.items() if name not in bound}

        def run(times, bare=bare, given=given, outs=outs):
            started = time.perf_counter_ns()
            for _ in range(times):
                bare(**given, **outs)
            return (time.perf_counter_ns() - started) / times

        run(1)
        calls.append((run, max(1, int(milliseconds * 1e6 / max(run(3), 1)))))
    shuffle = random.Random(seed).shuffle
    for done in range(1, rounds + 1):
        shuffle(order)
        for i in order:
            run, times = calls[i]
            samples[i].append(run(times))
        if progress:
            draw(done, rounds, "rounds")
    return samples


def _rows(made, samples):
    rows = []
    for i, (name, kernel) in enumerate(made):
        median = tuple(value / 1e3 for value in _core.median_interval([samples[i]]))
        ratio = _core.paired_ratio([samples[i]], [samples[0]]) if i else (1.0, 1.0, 1.0)
        verdict = "the first"
        if i:
            verdict = (
                "slower" if ratio[1] > 1 else "faster" if ratio[2] < 1 else "not distinguishable"
            )
            if kernel.loops == made[0][1].loops:
                verdict = f"the loops of {made[0][0]}"
        if kernel.declined:  # what is timed is the reference order, and has its name
            name, verdict = f"{name} (declined)", f"the reference order: {kernel.declined[0]}"
        rows.append(Row(name, median, ratio, verdict, kernel.scheduler, samples[i]))
    return rows


def _title(program, kernel):
    shapes = ", ".join(f"{t.name} {t.dtype}{list(t.shape)}" for t in kernel.tensors)
    return (
        f"{program.name if program else 'kernel'}: {shapes}; {kernel.threads} "
        f"thread{'s' * (kernel.threads > 1)}"
    )
