#!/usr/bin/env python3
"""Measures polybench.toml and blur.toml and writes docs/lab-published.md with its pictures: the
page's one command.

    python3 examples/lab/publish.py --polyte build/release/polyte [--keep FOLDER]

It takes half an hour on two cores. All figures come from `polyte lab report --format json`; this
puts them in order and says nothing of its own. A folder given by --keep holds the runs and goes on
where it was stopped.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
from xml.sax.saxutils import escape

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
WIDTH, LEFT, RIGHT, BAR = 640, 230, 20, 30  # of a picture, pixels

HEAD = """# Comparisons measured again

*For researchers.*

Two published comparisons, measured anew with the lab alone. `python3 examples/lab/publish.py
--polyte polyte` writes this page from the samples that it takes; every figure is of the machine
named below, every interval is 95 %, and a verdict is given where the rules of [the lab](lab.md)
give one. A ratio is a time over the baseline's: below 1 is faster.
"""
POLYBENCH = """## PolyBench by Clang, GCC, Polly and Pluto

The thirty kernels of PolyBench/C (L.-N. Pouchet and T. Yuki) at its sizes MEDIUM, f64, one thread:
compiled by C compilers as they stand; by Clang with Polly (T. Grosser et al., "Polly: performing
polyhedral optimizations on a low-level intermediate representation", 2012); rewritten by Pluto
(U. Bondhugula et al., "A practical automatic polyhedral parallelizer and locality optimizer", PLDI
2008) and compiled by GCC; and by Polyte's automatic scheduler. The baseline is Clang with `-O3
-march=native -ffast-math`. An arm whose outputs differ from those of the C with its order kept is
`wrong`, and not timed.
"""
BLUR = """## Halide's blur

The ladder of schedules by which Halide was introduced (J. Ragan-Kelley et al., "Halide: a language
and compiler for optimizing parallelism, locality, and recomputation in image processing pipelines",
PLDI 2013): a 3x3 box filter in two passes, the first one computed as a whole, within the second
at every use, in tiles, and as a window that slides. One thread, f32; the scripts are those of
`examples/schedules/`. The baseline is the breadth-first schedule, and the inner loop of every arm
is one of vectors.
"""


def measured(polyte, name, folder):
    run = folder / name
    subprocess.run(
        [polyte, "lab", "run", HERE / f"{name}.toml", "--out", run],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    report = subprocess.run(
        [polyte, "lab", "report", run, "--format", "json"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(report.stdout)


def interval(value):
    return f"{value['estimate']:.2f} [{value['low']:.2f}, {value['high']:.2f}]"


def cell(arm):
    if arm["ratio"]:
        word = {"faster": ", faster", "slower": ", slower", "same loops": ", same loops"}.get(
            arm["verdict"], ""
        )
        return interval(arm["ratio"]) + word
    if arm["verdict"] == "baseline":
        return f"{arm['time_ns']['estimate'] / 1e3:.4g} us"
    return arm["status"] + (f": {arm['reason'].splitlines()[0][:60]}" if arm["reason"] else "")


def table(results):
    names = [arm["arm"] for arm in results["arms"]]
    lines = ["| Row | " + " | ".join(names) + " | A/A |", "| --- |" + " --- |" * (len(names) + 1)]
    for row in results["rows"]:
        cells = [cell(arm).replace("|", "\\|") for arm in row["arms"]]
        noise = interval(row["noise"]) if row["noise"] else ""
        lines.append(f"| {row['row']} | " + " | ".join(cells) + f" | {noise} |")
    means = [
        interval(arm["geometric_mean"]) if arm["arm"] != results["baseline"] and arm["rows"] else ""
        for arm in results["arms"]
    ]
    return "\n".join([*lines, "| geometric mean | " + " | ".join(means) + " | |"])


def where(results):
    context = results["contexts"][0]
    machine = context["machine"]
    compilers = "; ".join(
        f"{name}: {version}"
        for name, version in context["compilers"].items()
        if name != "reference"
    )
    processes = sorted({row["processes"] for row in results["rows"]})
    warnings = sorted(
        {warning.split(": ")[0] for row in results["rows"] for warning in row["warnings"]}
    )
    text = (
        f"{machine['model']} ({machine['cpu']}), {machine['processors']} processors, "
        f"{machine['system']}; Polyte {context['polyte']['version']}, "
        f"{context['date'][:10]}, load average {context['load']:.1f} at the start; "
        f"{'/'.join(map(str, processes))} processes per row."
        + (f" {compilers}." if compilers else "")
    )
    if warnings:
        text += f" Warnings of its rows: {', '.join(warnings)}."
    return text


def place(value, low, high):
    import math

    return LEFT + (math.log(value) - math.log(low)) / (math.log(high) - math.log(low)) * (
        WIDTH - LEFT - RIGHT
    )


def picture(results, title):
    """Geometric means over all rows with their intervals, on a logarithmic axis."""
    arms = [arm for arm in results["arms"] if arm["rows"]]
    low = min([1, *(arm["geometric_mean"]["low"] for arm in arms)]) / 1.2
    high = max([1, *(arm["geometric_mean"]["high"] for arm in arms)]) * 1.2
    bottom = 40 + BAR * len(arms)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 40}" role="img" '
        f'font-family="sans-serif" font-size="13"><title>{escape(title)}</title>',
        f'<rect width="{WIDTH}" height="{bottom + 40}" fill="#fff"/>',
        f'<text x="10" y="22" font-weight="bold">{escape(title)}</text>',
    ]
    ticks = [
        tick for tick in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if low <= tick <= high
    ]
    for tick in ticks:
        x = place(tick, low, high)
        lines.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="34" y2="{bottom}" '
            f'stroke="{"#000" if tick == 1 else "#ddd"}"/>'
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        )
    for i, arm in enumerate(arms):
        mean, y = arm["geometric_mean"], 40 + BAR * i
        x, one = place(mean["estimate"], low, high), place(1, low, high)
        a, b = place(mean["low"], low, high), place(mean["high"], low, high)
        lines.append(
            f'<text x="10" y="{y + 17}">{escape(arm["arm"])}</text>'
            f'<rect x="{min(x, one):.1f}" y="{y + 5}" width="{abs(x - one):.1f}" height="16" '
            f'fill="{"#0072b2" if mean["estimate"] <= 1 else "#d55e00"}"/>'
            f'<path d="M{a:.1f} {y + 13}H{b:.1f}M{a:.1f} {y + 8}v10M{b:.1f} {y + 8}v10" '
            'stroke="#000" fill="none"/>'
        )
    lines.append(
        f'<text x="{WIDTH / 2:.0f}" y="{bottom + 34}" text-anchor="middle">time over that of '
        f'{escape(results["baseline"])}, geometric mean, '
        f'95 %: left is faster</text></svg>'
    )
    return "\n".join(lines) + "\n"


def section(results, words, name):
    (DOCS / "pictures" / f"lab-{name}.svg").write_text(picture(results, results["name"]))
    return (
        f"{words}\n{where(results)}\n\n![{results['name']}](pictures/lab-{name}.svg)\n\n"
        f"{table(results)}\n"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polyte", required=True, type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(exist_ok=True)
        polybench = measured(options.polyte.resolve(), "polybench", folder)
        blur = measured(options.polyte.resolve(), "blur", folder)
    text = "\n".join(
        [HEAD, section(polybench, POLYBENCH, "polybench"), section(blur, BLUR, "blur")]
    )
    (DOCS / "lab-published.md").write_text(text)


if __name__ == "__main__":
    main()
