"""The directives of storage as methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:
    from .script import Script

Size = Union[int, str]  # a number, or a text over params and sizes


def listed(names: str | Iterable[str]) -> str:
    return names if isinstance(names, str) else ", ".join(names)


class StorageDirectives(ABC):
    """Each method gives a new Script with one line more, proved, or raises Refused."""

    __slots__ = ()

    @abstractmethod
    def add(self, line: str) -> Script:
        """One more line of the language, or several."""

    def _staged(
        self,
        word: str,
        tensor: str,
        at: str | None,
        memory: str | None,
        layout: str | None,
        fold: bool,
        pad: Size | None,
        copy: str | None,
        when_compile: bool,
        updates: bool = False,
    ) -> Script:
        parts = [
            f"{word} {tensor}",
            f"at {at}" if at else "",
            f"in {memory}" if memory else "",
            f"layout {layout}" if layout else "",
            "fold" if fold else "",
            f"pad {pad}" if pad is not None else "",
            "when compile" if when_compile else "",
            "updates" if updates else "",
            f"copy {copy}" if copy else "",
        ]
        return self.add(" ".join(part for part in parts if part))

    def stage(
        self,
        tensor: str,
        at: str | None = None,
        memory: str | None = None,
        *,
        layout: str | None = None,
        fold: bool = False,
        pad: Size | None = None,
        copy: str | None = None,
        when_compile: bool = False,
        updates: bool = False,
    ) -> Script:
        """Accesses below `at` go to a local copy in memory "register", "stack", "shared"
        or "heap": all of them, what is written alone (`updates`), or one read, which `tensor`
        says as Program text does, "S: A[j, k]". layout: "(k, n) [n//16, k, n%16]"; `fold`: it may
        put elements of different times in one place. copy: the nest of the copy."""
        return self._staged(
            "stage", tensor, at, memory, layout, fold, pad, copy, when_compile, updates
        )

    def cache_read(
        self,
        tensor: str,
        at: str | None = None,
        memory: str | None = None,
        *,
        layout: str | None = None,
        fold: bool = False,
        pad: Size | None = None,
        copy: str | None = None,
        when_compile: bool = False,
    ) -> Script:
        """stage() of a tensor that is read below `at`."""
        return self._staged("cache_read", tensor, at, memory, layout, fold, pad, copy, when_compile)

    def cache_write(
        self,
        tensor: str,
        at: str | None = None,
        memory: str | None = None,
        *,
        layout: str | None = None,
        fold: bool = False,
        pad: Size | None = None,
        copy: str | None = None,
        updates: bool = False,
    ) -> Script:
        """stage() of a tensor that is written below `at`."""
        return self._staged(
            "cache_write", tensor, at, memory, layout, fold, pad, copy, False, updates
        )

    def pack(
        self,
        tensor: str,
        at: str | None = None,
        memory: str | None = None,
        *,
        layout: str | None = None,
        fold: bool = False,
        pad: Size | None = None,
        copy: str | None = None,
        when_compile: bool = False,
    ) -> Script:
        """stage() of what is read, in a layout of its own."""
        return self._staged("pack", tensor, at, memory, layout, fold, pad, copy, when_compile)

    def registers(self, tensor: str, at: str) -> Script:
        """stage() in registers."""
        return self.add(f"registers {tensor} at {at}")

    def store_at(self, tensor: str, loop: str, memory: str | None = None) -> Script:
        """Storage at a loop ("root": the whole kernel) around the one where it is computed: only
        what earlier iterations have not made is computed."""
        return self.add(f"store_at {tensor} at {loop}" + (f" in {memory}" if memory else ""))

    def hoist_storage(self, tensor: str, loop: str) -> Script:
        """Allocated once at `loop` ("root"), not in each of its iterations."""
        return self.add(f"hoist_storage {tensor} at {loop}")

    def set_scope(self, tensor: str, memory: str) -> Script:
        """Where a staged tensor is: "register", "stack", "shared" or "heap"."""
        return self.add(f"set_scope {tensor} {memory}")

    def pad(self, tensor: str, dimension: str, to: Size) -> Script:
        """A copy is extended along a dimension to a multiple of `to`, with zeros."""
        return self.add(f"pad {tensor}: {dimension} to {to}")

    def fold_storage(self, tensor: str, dimension: str, by: Size) -> Script:
        """A dimension keeps the last `by` elements only."""
        return self.add(f"fold_storage {tensor}: {dimension} by {by}")

    def bound_storage(self, tensor: str, dimension: str, by: Size) -> Script:
        """A dimension has room for `by` elements."""
        return self.add(f"bound_storage {tensor}: {dimension} by {by}")

    def storage_align(
        self, tensor: str, dimension: str, by: Size, offset: Size | None = None
    ) -> Script:
        """Two steps of a dimension are a multiple of `by` elements apart, plus `offset`."""
        return self.add(
            f"storage_align {tensor}: {dimension} by {by}"
            + (f" from {offset}" if offset is not None else "")
        )

    def swizzle(self, tensor: str, by: Size, every: Size | None = None) -> Script:
        """Of a GPU's shared memory: chunks of `by` elements change places within 128 bytes, by
        the number of their row, or of each `every` rows."""
        return self.add(
            f"swizzle {tensor} by {by}" + (f" every {every}" if every is not None else "")
        )

    def transform_layout(self, tensor: str, layout: str) -> Script:
        """The places of a temporary's elements: "(k, n) [n//16, k, n%16]"."""
        return self.add(f"transform_layout {tensor} {layout}")

    def view(self, tensor: str, shape: Iterable[Size]) -> Script:
        """The same elements in other dimensions: `view("C", (64, 63))`."""
        return self.add(f"view {tensor} as [{listed(map(str, shape))}]")

    def reuse(self, tensor: str, temporary: str) -> Script:
        """The elements of `temporary` live in the memory of `tensor` until it is written."""
        return self.add(f"reuse {tensor} for {temporary}")

    # ---- copies and caches

    def double_buffer(self, tensor: str, at: str) -> Script:
        """Two copies of a staged tensor: one is filled while the other is read."""
        return self.add(f"double_buffer {tensor} at {at}")

    def pipeline(self, tensors: str | Iterable[str], at: str, depth: Size) -> Script:
        """Copies run ahead of their use: `depth` buffers in turn."""
        return self.add(f"pipeline {listed(tensors)} at {at} depth {depth}")

    def prefetch(
        self,
        tensor: str,
        at: str,
        distance: Size = 1,
        *,
        level: int | None = None,
        along: str | None = None,
    ) -> Script:
        """What the tensor needs `distance` iterations later is fetched into a cache."""
        return self.add(
            f"prefetch {tensor} at {at} distance {distance}"
            + (f" along {along}" if along else "")
            + (f" level {level}" if level else "")
        )

    def stream(self, tensor: str) -> Script:
        """Stores to the tensor pass the caches by."""
        return self.add(f"stream {tensor}")
