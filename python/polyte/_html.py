"""How things look in a notebook. Plain HTML with inline style; every text is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .checks import Check
    from .comparison import Comparison
    from .dependences import Dependences
    from .errors import Refused
    from .lab import Results
    from .script import Script

_BOX = (
    "font-family:monospace;white-space:pre-wrap;line-height:1.35;padding:.5em;border-left:3px solid"
)


def listing(text: str, colour: str = "#4a6fa5") -> str:
    return f'<div style="{_BOX} {colour}">{escape(text)}</div>'


def script_html(script: Script) -> str:
    parts = [f"<b>nest</b> <code>{escape(script.outline)}</code>", listing(script.text)]
    parts += [f"<div>note: {escape(note)}</div>" for note in script.notes]
    parts += [f"<div>rounding: {escape(note)}</div>" for note in script.rounding]
    return "".join(parts)


def comparison_html(comparison: Comparison) -> str:
    heads = "".join(f"<th>{head}</th>" for head in ("arm", "us", "ratio", "95 %", ""))
    cells = ""
    for row in comparison.rows:
        interval = (
            f"{row.ratio[1]:.3f} to {row.ratio[2]:.3f}" if row is not comparison.rows[0] else ""
        )
        cells += (
            f"<tr><td>{escape(row.name)}</td><td>{row.microseconds[0]:.2f}</td>"
            f"<td>{row.ratio[0]:.3f}</td><td>{interval}</td><td>{escape(row.verdict)}</td></tr>"
        )
    return f"<div>{escape(comparison.title)}</div><table><tr>{heads}</tr>{cells}</table>"


def refusal_html(error: Refused | Check) -> str:
    """The line, what is wrong, and the counterexample as a table."""
    refusal = error.refusal
    if not refusal:
        return listing(str(error), "#b04a4a")
    rows = [("line", refusal["directive"])] + list(refusal["details"])
    for one in refusal["counterexamples"]:
        sizes = ", ".join(f"{name} = {size}" for name, size in one["sizes"].items())
        rows += [
            ("dependence", one["dependence"]),
            ("reference", one["reference"]),
            ("scheduled", one["scheduled"]),
            ("smallest case", sizes),
        ]
    rows += [("would be legal", advice) for advice in refusal["advice"]]
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(label)}</th>'
        f'<td style="text-align:left"><code>{escape(text)}</code></td></tr>'
        for label, text in rows
        if text
    )
    return (
        f'<div style="{_BOX} #b04a4a"><b>{escape(refusal["kind"])}</b>: '
        f'{escape(refusal["headline"])}</div>'
        f"<table>{cells}</table>"
    )


def lab_html(results: Results) -> str:
    """A row and arm a line: what was measured, and what may be said of it."""
    heads = "".join(f"<th>{head}</th>" for head in ("row", "arm", "us", "ratio", "95 %", ""))
    cells = ""
    for row in results.rows():
        time, ratio, low, high = (
            row[name] for name in ("time_ns", "ratio", "ratio_low", "ratio_high")
        )
        texts = [
            row["row"],
            row["arm"],
            "" if time is None else f"{time / 1e3:.2f}",
            "" if ratio is None else f"{ratio:.3f}",
            "" if ratio is None else f"{low:.3f} to {high:.3f}",
            row["status"] if time is None else row["verdict"],
        ]
        cells += "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in texts) + "</tr>"
    notes = "".join(f"<div>warning: {escape(text)}</div>" for text in results.warnings)
    return f"<div>{escape(results.name)}</div><table><tr>{heads}</tr>{cells}</table>{notes}"


def check_html(check: Check) -> str:
    """The verdict, and the refusal as a table where there is one."""
    if check.refusal:
        return refusal_html(check)
    return listing(str(check), "#4a8a5a" if check.ok else "#b04a4a")


def dependences_html(dependences: Dependences, picture: str) -> str:
    """A line for each, and a picture of a small case."""
    heads = "".join(
        f"<th>{head}</th>" for head in ("", "source", "sink", "through", "distance", "example")
    )
    cells = ""
    for each in dependences:
        kind = f"{each.kind}{'' if each.exact else ', perhaps'}"
        texts = (kind, each.source, each.sink, each.tensor, each.distance_text, repr(each.example))
        cells += "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in texts) + "</tr>"
    notes = "".join(f"<div>note: {escape(note)}</div>" for note in dependences.notes)
    name = escape(dependences.program.name)
    return (
        f"<div>{name}: {len(dependences)} dependences</div>"
        f"<table><tr>{heads}</tr>{cells}</table>{notes}{picture}"
    )
