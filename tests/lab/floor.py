#!/usr/bin/env python3
"""What `polyte lab compare` finds on this machine, with real times: the floor of what a run
can tell.

    tests/lab/floor.py --polyte build/release/polyte
        20 trials of 30 kernels: hours, on a quiet machine
    tests/lab/floor.py --polyte build/release/polyte --trials 2 --kernels 6 --processes 6

A trial measures the same kernels twice. In the second run one kernel does 5 % more work: its
Program has 5 % more rows, under the name of the row that it stands for. Right is a trial that finds
this one and nothing else. The first runs of two trials that follow each other are equal binaries:
any regression there is a false alarm. The planted effect is measured, too: the ratio that the
comparison gives the planted kernel, over all trials.

tests/lab/regression_test.cc holds the same rules to made-up samples, always; this says what they
are worth here. Exit status 0 whatever is found, but with --require: 1 where fewer than 19 of 20
trials are right, or more than 1 of 20 give a false alarm.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

DEGREE = 20  # of the polynomial that each element is: enough work that a call costs little


def polynomial():
    text = "x[r,c]"
    for _ in range(DEGREE):
        text = f"({text}*x[r,c] + x[r,c])"
    return f"y[r,c] = {text}"


def experiment(options):
    """Rows whose numbers of iterations are multiples of 20, so that 5 % more is a whole number."""
    shapes = [(r, c) for r in range(40, 40 + 20 * 60, 20) for c in (8, 16, 24, 32, 40)]
    shapes = shapes[: options.kernels]
    tables = "".join(f"[[sizes]]\nr = {r}\nc = {c}\n" for r, c in shapes)
    return (
        f'name = "floor"\nprograms = ["{polynomial()}"]\narms = ["poly"]\n{tables}[stop]\n'
        f"rounds = {options.rounds}\nprocesses = {options.processes}\n"
        f"round_ms = {options.round_ms}\n"
    )


def polyte(options, *arguments, check=True):
    done = subprocess.run(
        [options.polyte, "lab", *map(str, arguments)], capture_output=True, text=True
    )
    if check and done.returncode != 0:
        sys.exit(f"lab {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")
    return done.stdout


def with_more_work(plan, row, share):
    plan = json.loads(json.dumps(plan))
    rows = plan["rows"][row]["sizes"]
    rows["R"] = round(rows["R"] * (1 + share))
    return plan


def run(options, folder, plan):
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps(plan))
    polyte(options, "run", folder, "--quiet")
    return folder


def compared(options, before, now):
    """Names of the rows that are slower, and every ratio."""
    rows = json.loads(polyte(options, "compare", before, now, "--json", check=False))["rows"]
    return (
        {row["row"] for row in rows if row["verdict"] == "slower"},
        {row["row"] for row in rows if row["verdict"] == "faster"},
        {row["row"]: row["ratio"]["estimate"] for row in rows if row.get("ratio")},
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polyte", required=True)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--kernels", type=int, default=30)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--round-ms", type=float, default=2)
    parser.add_argument(
        "--effect", type=float, default=0.05, help="of the planted slowdown; a multiple of 0.05"
    )
    parser.add_argument("--require", action="store_true")
    options = parser.parse_args()
    right, found, alarms, pairs, planted = 0, 0, 0, 0, []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "e.toml").write_text(experiment(options))
        # The plan as polyte writes it; nothing is measured of it here but one shard of one row.
        polyte(
            options,
            "run",
            scratch / "e.toml",
            "--out",
            scratch / "plan",
            "--shard",
            f"0/{max(2, options.kernels)}",
            "--quiet",
        )
        plan = json.loads((scratch / "plan" / "plan.json").read_text())
        before = None
        for trial in range(options.trials):
            base = run(options, scratch / f"base{trial}", plan)
            row = trial % options.kernels
            name = plan["rows"][row]["name"]
            slow = run(options, scratch / f"slow{trial}", with_more_work(plan, row, options.effect))
            slower, faster, ratios = compared(options, base, slow)
            planted.append(ratios.get(name, 1))
            found += name in slower
            right += slower == {name} and not faster
            if before:
                pairs += 1
                alarms += bool(compared(options, before, base)[0])
            before = base
            print(
                f"trial {trial + 1}: planted {name} ({planted[-1]:.3f}x), slower "
                f"{sorted(slower) or 'none'}, faster {sorted(faster) or 'none'}; load "
                f"{os.getloadavg()[0]:.1f}",
                flush=True,
            )
    effect = math.exp(statistics.fmean(math.log(ratio) for ratio in planted))
    print(
        f"{found} of {options.trials} planted slowdowns of {options.effect:.0%} are found "
        f"(measured: {effect - 1:.1%}), {right} of them and nothing else; {alarms} of {pairs} "
        "pairs of equal runs give a "
        "false alarm"
    )
    is_kept = right * 20 >= 19 * options.trials and alarms * 20 <= pairs
    return 1 if options.require and not is_kept else 0


if __name__ == "__main__":
    sys.exit(main())
