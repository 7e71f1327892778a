#!/usr/bin/env python3
"""Draws single operators that nobody has tuned for and times poly and the templates against a
bound, to find where they fall off.

  bench/cliffs.py [--draws 300] [--seed 1] [--family gemm,conv] [--json FILE]

The bound of an operator is the longer of two times: its flops at the FMA peak, and the bytes of
its interface at the rate at which this machine copies as many (programs of the same run). Both are
measured here, in the same processes. Printed are the distribution of the share of the bound and the
worst operators with their nests: the work list. Wordings of one product are drawn beside its plain
form, and are compared with that. The same seed draws the same operators.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile

from drawn import FAMILIES, Drawn, draw

CHUNK = 12  # operators of a process
COPIES = [1 << i for i in range(12, 25)]  # elements
LEAST_BOUND = 5e-6  # seconds: below, a call counts more than the operator


def copies():
    return [
        Drawn("copy", ["y[i] = x[i]"], [("in", "x", [n]), ("out", "y", [n])], 0) for n in COPIES
    ]


class Bench:
    """`polyte bench` over chunks of Programs; what a chunk with a fault has is timed one by one."""

    def __init__(self, options):
        self.options, self.rows, self.peaks, self.faults = options, {}, [], []

    def run(self, drawn):
        with tempfile.NamedTemporaryFile("w", suffix=".program") as file:
            file.write("\n".join(each.text() for each in drawn))
            file.flush()
            done = subprocess.run(
                [
                    self.options.polyte,
                    "bench",
                    file.name,
                    "--schedulers",
                    "poly",
                    "template",
                    "--json",
                    "--threads",
                    str(self.options.threads),
                    "--repetitions",
                    str(self.options.rounds),
                ],
                capture_output=True,
                text=True,
            )
        if done.returncode != 0 and len(drawn) > 1:
            for each in drawn:
                self.run([each])
        elif done.returncode != 0:
            self.faults.append((drawn[0], done.stderr.strip()))
        else:
            self.add(json.loads(done.stdout)["benchmarks"])

    def add(self, benchmarks):
        for row in benchmarks:
            name, arm = row["name"].split()[:2]
            self.rows[name, arm] = row["real_time"] / 1e9, row["declined"]
            if row.get("peak_fraction"):
                self.peaks.append(row["flops_per_second"] / row["peak_fraction"])


def rate_of(rates, size):
    """Bytes a second of a copy as large, between the two that were measured."""
    for (small, low), (large, high) in zip(rates, rates[1:]):
        if small <= size <= large:
            share = math.log(size / small) / math.log(large / small)
            return low ** (1 - share) * high**share
    return rates[0][1] if size < rates[0][0] else rates[-1][1]


def nest_of(options, each, arm):
    with tempfile.NamedTemporaryFile("w", suffix=".program") as file:
        file.write(each.text())
        file.flush()
        said = subprocess.run(
            [
                options.polyte,
                "op",
                file.name,
                "--scheduler",
                arm,
                "--threads",
                str(options.threads),
                "--emit",
                "nest",
            ],
            capture_output=True,
            text=True,
        )
    return said.stdout.strip() or "reference order"


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def table(rows, arm):
    """Share of the bound by family."""
    print(
        f"\n{arm}: share of the bound\n"
        f"{'family':12}{'drawn':>6}{'median':>9}{'5th':>8}{'1st':>8}{'least':>8}"
    )
    families = sorted({row["family"] for row in rows})
    for family in [*families, "all"]:
        shares = [
            row["share"] for row in rows if row["arm"] == arm and family in (row["family"], "all")
        ]
        if shares:
            print(
                f"{family:12}{len(shares):6}{statistics.median(shares):9.2f}"
                f"{quantile(shares, 0.05):8.2f}{quantile(shares, 0.01):8.2f}{min(shares):8.2f}"
            )


def wordings(rows):
    """How much longer a wording takes than the plain form of the same product."""
    plain, times = None, {}
    for row in rows:
        if row["family"] != "wording":
            continue
        if row["word"] == "plain":
            plain = {**(plain or {}), row["arm"]: row["seconds"]}
        else:
            times.setdefault((row["word"], row["arm"]), []).append(
                row["seconds"] / plain[row["arm"]]
            )
    if times:
        print(
            "\ntime of a wording over that of the plain form\n"
            f"{'wording':12}{'arm':10}{'median':>8}{'worst':>8}"
        )
        for (word, arm), ratios in sorted(times.items(), key=lambda item: -max(item[1])):
            print(f"{word:12}{arm:10}{statistics.median(ratios):8.2f}{max(ratios):8.2f}")


def worst(options, rows, drawn):
    print("\nthe worst")
    by_name = {each.name: each for each in drawn}
    for row in sorted(rows, key=lambda each: each["share"])[: options.worst]:
        each = by_name[row["name"]]
        declined = f", declined: {row['declined']}" if row["declined"] else ""
        print(
            f"\n{row['share']:.2f} of the bound, {row['seconds'] * 1e6:.0f} us, by "
            f"{row['arm']}{declined}\n{each.text()}"
            f"{nest_of(options, each, row['arm'])}"
        )


def judged(bench, drawn, rates, peak):
    """A row per operator and scheduler: its time, its bound and its share of that."""
    rows = []
    for each in drawn:
        flops = peak if each.dtype == "f32" else peak / 2
        bound = max(each.flops / flops, each.bytes / rate_of(rates, each.bytes))
        for arm in ("poly", "template"):
            if (each.name, arm) in bench.rows and (
                bound >= LEAST_BOUND or each.family == "wording"
            ):
                seconds, declined = bench.rows[each.name, arm]
                rows.append(
                    {
                        "name": each.name,
                        "family": each.family,
                        "word": each.word,
                        "arm": arm,
                        "seconds": seconds,
                        "bound": bound,
                        "share": bound / seconds,
                        "declined": declined,
                    }
                )
    return rows


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polyte", default="build/release/polyte")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--family", default="", help=f"of {', '.join(sorted(set(FAMILIES)))}; commas between them"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    if unknown := [
        family for family in options.family.split(",") if family and family not in FAMILIES
    ]:
        parser.error(
            f"no family {', '.join(unknown)}; there are {', '.join(sorted(set(FAMILIES)))}"
        )
    return options


def main():
    options = arguments()
    families = options.family.split(",") if options.family else FAMILIES
    probes, bench = copies(), Bench(options)
    drawn = draw(options.seed, options.draws, families)
    for number, each in enumerate(probes):
        each.name = f"copy_{number}"
    bench.run(probes)
    for first in range(0, len(drawn), CHUNK):
        bench.run(drawn[first : first + CHUNK])
        print(
            f"\r{min(first + CHUNK, len(drawn))} of {len(drawn)} drawn",
            end="",
            file=sys.stderr,
            flush=True,
        )
    print(file=sys.stderr)
    rates = [
        (
            each.bytes,
            each.bytes / min(bench.rows[each.name, arm][0] for arm in ("poly", "template")),
        )
        for each in probes
    ]
    peak = statistics.median(bench.peaks)
    rows = judged(bench, drawn, rates, peak)
    copied = ", ".join(f"{size >> 10} KiB {rate / 1e9:.0f}" for size, rate in rates[::3])
    print(f"peak {peak / 1e9:.1f} GF/s; copies: {copied} GB/s")
    for arm in ("poly", "template"):
        table(rows, arm)
    wordings(rows)
    worst(options, rows, drawn)
    for each, why in bench.faults:
        print(f"\nnot timed: {why}\n{each.text()}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(
                {"seed": options.seed, "peak": peak, "copies": rates, "rows": rows}, file, indent=1
            )
            file.write("\n")
    return 1 if bench.faults else 0


if __name__ == "__main__":
    sys.exit(main())
