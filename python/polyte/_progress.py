"""A bar on stderr, for who asks for one; a terminal and a notebook both draw it in place."""

from __future__ import annotations

import sys


def draw(done: int, total: int, text: str) -> None:
    """`done` of `total`, 24 characters wide, and a text; the last one ends the line."""
    total = max(total, 1)
    filled = 24 * min(done, total) // total
    print(
        f"\r\x1b[K[{'#' * filled}{'.' * (24 - filled)}] {done}/{total} {text}"[:118],
        end="\n" if done >= total else "",
        file=sys.stderr,
        flush=True,
    )
