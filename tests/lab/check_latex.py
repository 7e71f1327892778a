#!/usr/bin/env python3
"""The LaTeX report and a bundle's report.tex set by pdflatex, with 3 rows and with 300.

    tests/lab/check_latex.py --polyte build/release/polyte [--keep FOLDER]

Samples are made up, and names hold every character that LaTeX reads as its own. No error of LaTeX
is allowed, no undefined reference, and no line that leaves the page. Exit status 77, with the
reason, where there is no pdflatex or no pgfplots (Debian: texlive-latex-recommended,
texlive-pictures).
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from check_page import EXPERIMENT, made_up

PAPER = r"""\documentclass{article}
\usepackage[margin=2cm]{geometry}
\usepackage{pgfplots}
\usepackage{longtable}
\begin{document}
\input{report.tex}
\end{document}
"""
ROWS = (3, 300)
WIDEST = 1.0  # points over the margin


def has_pgfplots():
    return not subprocess.run(["kpsewhich", "pgfplots.sty"], stdout=subprocess.DEVNULL).returncode


def problems_of(folder, report):
    """What pdflatex says of a paper that has this report."""
    folder.mkdir()
    (folder / "report.tex").write_text(report)
    (folder / "paper.tex").write_text(PAPER)
    problems = []
    for _ in range(2):  # the widths of a longtable are known in the second
        ran = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )
        log = ran.stdout.decode(errors="replace")
        problems = re.findall(r"^! .*", log, re.MULTILINE)
        problems += [
            f"a line is {points} pt too wide"
            for points in re.findall(r"Overfull \\hbox \(([0-9.]+)pt", log)
            if float(points) > WIDEST
        ]
        if ran.returncode:
            return problems or [f"pdflatex ends with {ran.returncode}"]
    return problems if (folder / "paper.pdf").stat().st_size > 10000 else ["the PDF is empty"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polyte", required=True)
    parser.add_argument("--keep", metavar="FOLDER", help="leave the papers there")
    options = parser.parse_args()
    if not shutil.which("pdflatex") or not has_pgfplots():
        print("skipped: no pdflatex with pgfplots (texlive-latex-recommended, texlive-pictures)")
        return 77

    failures = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(exist_ok=True)
        (folder / "e.toml").write_text(EXPERIMENT)

        def polyte(*arguments):
            ran = [options.polyte, "lab", *map(str, arguments)]
            return subprocess.run(ran, check=True, stdout=subprocess.PIPE, text=True).stdout

        polyte("run", folder / "e.toml", "--out", folder / "run", "--quiet")
        for rows in ROWS:
            results = made_up(
                folder / "run", folder / f"rows{rows}", rows, r"op_{} #1 50% of $x^2$ & {{~}}\n"
            )
            report = polyte("report", results, "--format", "latex")
            failures += [
                f"{rows} rows: {problem}"
                for problem in problems_of(folder / f"paper{rows}", report)
            ]
            # A report that LaTeX has to refuse: this test sees what it is for.
            if not problems_of(folder / f"broken{rows}", report.replace(r"\_", "_")):
                failures.append(f"{rows} rows: an underscore as it is was set")
    print(
        "\n".join(failures) or f"papers of {' and '.join(map(str, ROWS))} rows are set by pdflatex"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
