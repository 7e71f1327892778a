#!/usr/bin/env python3
"""The HTML report in a browser, by keyboard, wide and narrow, with 3 rows and with 3,000.

    tests/lab/check_page.py --polyte build/release/polyte [--keep FOLDER]

Samples are made up; times are not looked at. Every console message of a page is a failure. Exit
status 77, with the reason, where there is no Playwright (python3 -m pip install playwright) or
no Chromium on PATH.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

EXPERIMENT = """programs = ["C[m,n] = sum[k] A[m,k]*B[k,n]"]
arms = ["poly", "naive", "peer:gcc"]
sizes = { m = 8, n = 8, k = 8 }
stop = { rounds = 2, processes = 2, round_ms = 0.01 }
"""
WIDTHS = (1280, 390)  # a desk's, a telephone's


def made_up(run, folder, rows, name="op number {}, called <b>&amp; so on"):
    """A result folder with so many rows: the records of a real run, with times drawn anew."""
    draw = random.Random(rows)
    plan = json.loads((run / "plan.json").read_text())
    records = [json.loads(line) for line in (run / "samples.jsonl").read_text().splitlines()]
    first = plan["rows"][0]
    plan["rows"] = [
        dict(first, name=name.format(i), sizes=dict(first["sizes"], M=8 + i)) for i in range(rows)
    ]
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps(plan))
    with open(folder / "samples.jsonl", "w", encoding="utf-8") as file:
        file.write(json.dumps(next(r for r in records if r["kind"] == "context")) + "\n")
        for row in range(rows):
            scale = draw.uniform(0.5, 50)
            for record in records:
                if record.get("row") != 0:
                    continue
                record = dict(record, row=row)
                if record["kind"] == "round":
                    record["samples"] = [
                        [arm, time * scale * draw.uniform(0.9, 1.1), n]
                        for arm, time, n in record["samples"]
                    ]
                file.write(json.dumps(record) + "\n")
    return folder


def page_of(binary, folder, path):
    subprocess.run([binary, "lab", "report", folder, "--format", "html", "-o", path], check=True)
    return path.as_uri()


def focus_button(page, table, column):
    """Goes there by Tab alone, as somebody without a mouse does; how many it took."""
    for presses in range(1, 200):
        page.keyboard.press("Tab")
        place = page.evaluate("""() => {
          const at = document.activeElement, table = at.closest('table');
          return at.tagName === 'BUTTON' && table
              ? [Array.from(document.querySelectorAll('table')).indexOf(table),
                 at.closest('th').cellIndex]
              : null }""")
        if place == [table, column]:
            return presses
    return 0


def values(page, table, column):
    return page.evaluate(
        """([table, column]) =>
             Array.from(document.querySelectorAll('table')[table].tBodies[0].rows)
                  .map((row) => row.cells[column].dataset.value)""",
        [table, column],
    )


def check_order(page, rows, say):
    """The table of rows and arms is the second one: sorted by time with Enter, turned around
    with the blank."""
    table, column = 1, 2
    if not focus_button(page, table, column):
        return say("the head 'Time' cannot be reached by Tab")
    for key, word in (("Enter", "ascending"), ("Space", "descending")):
        page.keyboard.press(key)
        said = page.evaluate("document.activeElement.closest('th').getAttribute('aria-sort')")
        if said != word:
            say(f"{key} on 'Time': aria-sort is {said}, expected {word}")
        times = [float(value) for value in values(page, table, column) if value]
        if times != sorted(times, reverse=word == "descending") or len(times) < 2 * rows:
            say(f"{key} on 'Time': {len(times)} times, not {word}")
    return None


def check_page(page, rows, say):
    width = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    if width[0] > width[1]:
        say(f"the page is {width[0]} px wide, the window {width[1]}")
    check_order(page, rows, say)
    page.evaluate("document.querySelector('details:not([open]) > summary').focus()")
    page.keyboard.press("Enter")
    if not page.evaluate("document.activeElement.parentElement.open"):
        say("a closed part does not open by Enter")
    pictures = page.evaluate("""[document.querySelectorAll('svg').length,
                                 document.querySelectorAll('svg[role=img] > title').length]""")
    if pictures[0] < 3 or pictures[0] != pictures[1]:
        say(f"{pictures[0]} pictures, {pictures[1]} of them with a title")
    if page.evaluate("document.querySelectorAll('b').length"):
        say("a row's name is taken for a part of the page")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polyte", required=True, type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for pictures of the pages")
    options = parser.parse_args()
    chromium = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if not chromium:
        print("skipped: no Playwright for this Python, or no Chromium on PATH")
        return 77
    failures = []
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        scratch = pathlib.Path(scratch)
        (scratch / "e.toml").write_text(EXPERIMENT)
        run = scratch / "run"
        subprocess.run(
            [options.polyte, "lab", "run", scratch / "e.toml", "--out", run, "--quiet"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for rows in (3, 3000):
            address = page_of(
                options.polyte, made_up(run, scratch / str(rows), rows), scratch / f"{rows}.html"
            )
            for width in WIDTHS:
                page = browser.new_page(viewport={"width": width, "height": 900})

                def say(problem, rows=rows, width=width):
                    failures.append(f"{rows} rows, {width} px: {problem}")

                page.on("console", lambda message: say(f"console: {message.text}"))
                page.on("pageerror", lambda error: say(f"error: {error}"))
                page.set_default_timeout(120_000)
                page.goto(address)
                check_page(page, rows, say)
                if options.keep:
                    page.screenshot(path=options.keep / f"page-{rows}-{width}.png")
                page.close()
        browser.close()
    print(
        "\n".join(failures)
        or "3 and 3000 rows, at 1280 and 390 px: sorted and opened by keyboard, nothing on "
        "the console"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
