"""How it is computed: a schedule whose methods are the directives of the language
(docs/script-text.md)."""

from . import _polyte as _core, errors
from ._options import parted


def _listed(loops):
    return loops if isinstance(loops, str) else ", ".join(loops)


class Script:
    """A schedule of one Program. Immutable: each method gives a new one, proved, or raises Refused.

    Loops are named as in the language: "m", "m.o", "C.update:k.i". Sizes are numbers or texts
    over params ("2*L"). `text`: the script; `outline`: the loops that it leads to, in a line;
    `notes`: what a line did not do although it says so; `rounding`: what changes in the order
    of floating-point operations.
    """

    def __init__(self, program, options, text, nest, notes, rounding):
        self.program, self._options = program, options
        self.text, self.outline, self.notes, self.rounding = (
            text,
            nest,
            tuple(notes),
            tuple(rounding),
        )

    @classmethod
    def checked(cls, program, options, text):
        """The Script of this text, proved; raises errors.Refused with the counterexample where
        it is illegal."""
        chosen = {name: value for name, value in options.items() if name != "scheduler"}
        made = _core.check(program._core, {**chosen, "script": text})
        kept = {name: value for name, value in chosen.items() if name != "params"}
        return cls(program, kept, *made)

    # ---- what it is

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<polyte.Script for {self.program.name}: {self.outline}>"

    def __eq__(self, other):
        return isinstance(other, Script) and (self.text, self.program.text) == (
            other.text,
            other.program.text,
        )

    def __hash__(self):
        return hash((self.text, self.program.text))

    def _repr_html_(self):
        from ._html import script_html

        return script_html(self)

    def compile(self, **options):
        """A Kernel by this schedule. Sizes that are not given here are those that the Script
        was made with."""
        chosen, sizes = parted(
            self.program, {**self._options_without_sizes(), **self._options["sizes"], **options}
        )
        chosen.update(script=self.text, sizes=sizes)
        chosen.pop("scheduler", None)
        return _core.compile(self.program._core, chosen, chosen["threads"])

    def _options_without_sizes(self):
        return {name: value for name, value in self._options.items() if name != "sizes"}

    # ---- edits

    def add(self, line):
        """One more line of the language, or several."""
        return Script.checked(self.program, self._options, f"{self.text.rstrip()}\n{line}\n")

    def set(self, **params):
        """Other values for params and lets: `set(Mr=14)`; what the script leaves open is
        filled so."""
        values = {name: str(value) for name, value in params.items()}
        return Script.checked(self.program, {**self._options, "params": values}, self.text)

    def without(self, *lines):
        """Without these lines, by their text or by their number in `text`, the header being 1."""
        have, wanted = self.text.splitlines(), set()
        for line in lines:
            found = (
                [line]
                if isinstance(line, int)
                else [
                    i
                    for i, each in enumerate(have, 1)
                    if each.split("#:")[0].split() == line.split()
                ]
            )
            if not found or not 2 <= found[0] <= len(have):
                raise errors.UsageError(f"there is no line {line!r}: lines are 2 to {len(have)}")
            wanted.update(found)
        kept = [each for i, each in enumerate(have, 1) if i not in wanted]
        return Script.checked(self.program, self._options, "\n".join(kept) + "\n")

    # ---- loops

    def split(self, loop, by=None, *, into=None, start=None, tail=None):
        """loop becomes loop.o and loop.i, of `by` iterations, or of `into` tiles. tail: guard,
        mask, cut, round, shift."""
        if (by is None) == (into is None):
            raise errors.ArgumentError("split takes either `by` or `into`")
        size = f"by {by}" if into is None else f"into {into}"
        return self.add(
            f"split {loop} {size}"
            + (f" from {start}" if start is not None else "")
            + (f" tail {tail}" if tail else "")
        )

    def tile(self, statement, loops, sizes):
        """Splits several loops of a statement at once, tiles outside, points inside."""
        return self.add(f"tile {statement} ({_listed(loops)}) by ({_listed(map(str, sizes))})")

    def nest(self, path):
        """Order, placement and kinds of a whole nest at once: "par m.o > { n > acc.init;
        k > n > acc.update }"."""
        return self.add(f"nest {path}")

    def reorder(self, *loops, statement):
        """These loops of one statement, outermost first; others stay where they are."""
        return self.add(f"reorder {statement}: {' > '.join(loops)}")

    def order(self, statement, *loops):
        """The whole path of one statement, outermost first."""
        return self.add(f"order {statement}: {' > '.join(loops)}")

    def fuse(self, *loops, name, statement=None):
        """Perfectly nested loops become one."""
        return self.add(f"fuse {statement + ': ' if statement else ''}{', '.join(loops)} as {name}")

    def merge(self, first, second, through):
        """Two loops of different statements become one, around all down to the loop `through`."""
        return self.add(f"merge {first}, {second} through {through}")

    def distribute(self, loop):
        """The statements of a loop get a loop each."""
        return self.add(f"distribute {loop}")

    def rename(self, loop, name):
        """Another name for a loop."""
        return self.add(f"rename {loop} as {name}")

    def reverse(self, loop):
        """The loop runs downwards."""
        return self.add(f"reverse {loop}")

    def skew(self, loop, by):
        """The loop starts later with each iteration of those outside: `by` is over their
        names, "2*t"."""
        return self.add(f"skew {loop} by {by}")

    def shift(self, statement, loop, by):
        """A statement comes `by` iterations of `loop` later."""
        return self.add(f"shift {statement}: {loop} by {by}")

    def interchange(self, outer, inner, *, statement=None):
        """Two loops, one directly within the other, change places."""
        return self.add(f"interchange {statement + ': ' if statement else ''}{outer}, {inner}")

    def cut(self, loop, at):
        """Two loops in its place, before and from `at`."""
        return self.add(f"cut {loop} at {at}")

    def peel(self, loop, which, count=1):
        """which: "first" or "last"."""
        return self.add(f"peel {loop} {which} {count}")

    # ---- kinds

    def parallel(self, loop):
        """Its iterations are taken by threads; no dependence may be carried."""
        return self.add(f"parallel {loop}")

    def vectorize(self, loop):
        """Its iterations are lanes of vectors."""
        return self.add(f"vectorize {loop}")

    def unroll(self, loop, by=None):
        """Written out, all of it or `by` iterations at a time."""
        return self.add(f"unroll {loop}" + (f" by {by}" if by is not None else ""))

    def unroll_and_jam(self, loop, by):
        """`by` iterations at a time, their inner loops together."""
        return self.add(f"unroll_and_jam {loop} by {by}")

    def bind(self, loops, kind):
        """Of a GPU; kind: block, thread, warp or lane."""
        return self.add(f"bind {_listed(loops)} to {kind}")

    def gpu_tile(self, statement, loops, sizes, *, name=None):
        """Of a GPU: tiles are blocks, their points threads, in one loop `name` ("t")."""
        return self.add(
            f"gpu_tile {statement} ({_listed(loops)}) by ({_listed(map(str, sizes))})"
            + (f" as {name}" if name else "")
        )

    def tail(self, loop, how):
        """How the rest of a split is done: guard, mask, cut, round or shift."""
        return self.add(f"tail {loop} {how}")

    # ---- where and when

    def compute_inline(self, tensor):
        """What defines the tensor is put where it is read."""
        return self.add(f"compute_inline {tensor}")

    def compute_at(self, tensor, loop, *, once_per=None):
        """What defines the tensor runs at `loop` for what is needed there, again or once
        per `once_per`."""
        return self.add(
            f"compute_at {tensor} at {loop}" + (f" once per {once_per}" if once_per else "")
        )

    def reverse_compute_at(self, statement, loop):
        """The statement runs at `loop` of what it reads, as soon as that is there."""
        return self.add(f"reverse_compute_at {statement} at {loop}")

    def place(self, statement, when):
        """when: "first k.o", "last k.o and first j"."""
        return self.add(f"place {statement} when {when}")

    def split_reduction(self, tensor, loop, by, name, how=""):
        """Partial sums: the terms of `tensor` over `loop` in parts, added up in `name`. how:
        "", "blocks" or "tree"."""
        return self.add(f"split_reduction {tensor}: {loop} by {by} as {name} {how}".rstrip())

    # ---- storage

    def stage(
        self,
        tensor,
        at=None,
        memory=None,
        *,
        layout=None,
        pad=None,
        copy=None,
        when_compile=False,
        updates=False,
    ):
        """Accesses below `at` go to a local copy in memory "register", "stack", "shared"
        or "heap": all of them, what is written alone (`updates`), or one read, which `tensor`
        says as Program text does, "S: A[j, k]"."""
        parts = [
            f"stage {tensor}",
            f"at {at}" if at else "",
            f"in {memory}" if memory else "",
            f"layout {layout}" if layout else "",
            f"pad {pad}" if pad is not None else "",
            "when compile" if when_compile else "",
            "updates" if updates else "",
            f"copy {copy}" if copy else "",
        ]
        return self.add(" ".join(part for part in parts if part))

    def pad(self, tensor, dimension, to):
        """A dimension of a temporary gets the extent `to`."""
        return self.add(f"pad {tensor}: {dimension} to {to}")

    def fold_storage(self, tensor, dimension, by):
        """A dimension keeps the last `by` elements only."""
        return self.add(f"fold_storage {tensor}: {dimension} by {by}")

    def pipeline(self, tensors, at, depth):
        """Copies run ahead of their use: `depth` buffers in turn."""
        return self.add(f"pipeline {_listed(tensors)} at {at} depth {depth}")

    def prefetch(self, tensor, at, distance, *, level=None, along=None):
        """What the tensor needs `distance` iterations later is fetched into a cache."""
        return self.add(
            f"prefetch {tensor} at {at} distance {distance}"
            + (f" level {level}" if level else "")
            + (f" along {along}" if along else "")
        )

    def tensorize(self, loop, instruction):
        """The loops below become one instruction of a matrix unit."""
        return self.add(f"tensorize {loop} with {instruction}")

    def stream(self, tensor):
        """Stores to the tensor pass the caches by."""
        return self.add(f"stream {tensor}")
