#!/usr/bin/env python3
"""Measures orders of the PolyBench kernels that poly prices, good ones and bad ones, and says
how well the price ranks them: Spearman's rank correlation between predicted cycles and measured
seconds, over all and kernel by kernel.

  python3 bench/polybench/candidates.py [--size LARGE] [--only gemm,lu] [--each 14] [--json FILE]

Of each kernel as many candidates as asked for, evenly spread over the predictions; what is
predicted to take more than --longest cycles is left out. A file that is there is added to.
Results are compared before anything is timed. tests/poly/price_test.cc holds the price to
tests/poly/measured_candidates.json, which this writes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, HERE)
from peers import machine  # noqa: E402  (it loads nothing that counts processors)

TOLERANCE = 1e-7  # of a result's greatest element
ROUNDS, PATIENCE = 3, 2.0  # executions at most, and seconds for those after the first


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default="build/release")
    parser.add_argument(
        "--size", default="LARGE", choices=["MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE"]
    )
    parser.add_argument("--only", default="", help="kernels, commas between them")
    parser.add_argument("--each", type=int, default=14, help="candidates of a kernel, at most")
    parser.add_argument("--longest", type=float, default=1.5e10, help="predicted cycles")
    parser.add_argument("--json", default="")
    return parser.parse_args()


def candidates_of(command, kernel):
    """(name, predicted cycles, script), the cheapest first; of equal scripts one."""
    said = subprocess.run(
        [
            command,
            "op",
            kernel.program,
            "--shape",
            kernel.shape,
            "--threads",
            "1",
            "--scheduler",
            "naive",
            "--emit",
            "candidates",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = {}
    for part in said.split("\n# ") if said else []:
        head, _, script = part.removeprefix("# ").partition("\n")
        cycles, _, name = head.partition(" cycles predicted: ")
        if name and script.startswith("schedule "):
            found.setdefault(script, (name, float(cycles), script))
    return sorted(found.values(), key=lambda candidate: candidate[1])


def spread(all_of_them, count):
    if len(all_of_them) <= count:
        return all_of_them
    return [all_of_them[round(i * (len(all_of_them) - 1) / (count - 1))] for i in range(count)]


def seconds_of(contender):
    rounds = [contender.run()]
    while len(rounds) < ROUNDS and sum(rounds) < PATIENCE:
        rounds.append(contender.run())
    return min(rounds)


def measured(name, options):
    import contenders as who
    from kernel import Kernel, difference
    from peers.polyte import Polyte

    kernel, polyte = Kernel(name, options.size), Polyte(options.build)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        reference = who.c_peer(kernel, "reference", who.REFERENCE, folder)
        expected = kernel.results_of(reference)
        short = [c for c in candidates_of(polyte.command, kernel) if c[1] <= options.longest]
        for number, (title, cycles, script) in enumerate(spread(short, options.each)):
            path = os.path.join(folder, f"{number}.sched")
            with open(path, "w") as file:
                file.write(script)
            contender = who.ours(kernel, polyte, str(number), ["--script", path], folder, 1)
            if contender.problem:
                print(f"{name}, {title}: {contender.problem}", flush=True)
                continue
            if not difference(kernel, kernel.results_of(contender), expected) <= TOLERANCE:
                sys.exit(f"{name}, {title}: another result than the C")
            seconds = seconds_of(contender)
            rows.append(
                {
                    "kernel": name,
                    "candidate": title,
                    "predicted": cycles,
                    "seconds": round(seconds, 7),
                }
            )
    return rows


def ranks(values):
    """Equal values share the middle of their places."""
    order = sorted(range(len(values)), key=values.__getitem__)
    place = [0.0] * len(values)
    first = 0
    while first < len(order):
        end = first
        while end < len(order) and values[order[end]] == values[order[first]]:
            end += 1
        for number in range(first, end):
            place[order[number]] = (first + end - 1) / 2
        first = end
    return place


def rank_correlation(rows):
    predicted, seconds = (
        ranks([row["predicted"] for row in rows]),
        ranks([row["seconds"] for row in rows]),
    )
    middle = (len(rows) - 1) / 2
    across = sum((p - middle) * (s - middle) for p, s in zip(predicted, seconds))
    alone = sum((p - middle) ** 2 for p in predicted) * sum((s - middle) ** 2 for s in seconds)
    return across / max(1e-9, alone) ** 0.5


def write(path, context, rows):
    """A line a candidate; those of the same machine and size that are there already stay."""
    known = {}
    if os.path.exists(path):
        with open(path) as file:
            before = json.load(file)
        if before["context"] != context:
            sys.exit(f"{path} is of {before['context']}, this is {context}")
        known = {(row["kernel"], row["candidate"]): row["seconds"] for row in before["candidates"]}
    known |= {(row["kernel"], row["candidate"]): row["seconds"] for row in rows}
    lines = [
        json.dumps({"kernel": kernel, "candidate": candidate, "seconds": seconds})
        for (kernel, candidate), seconds in sorted(known.items())
    ]
    head = '{\n "context": ' + json.dumps(context) + ',\n "candidates": [\n  '
    with open(path, "w") as file:
        file.write(head + ",\n  ".join(lines) + "\n ]\n}\n")


def main():
    options = arguments()
    machine.settle(1)
    from kernel import NAMES

    chosen = options.only.split(",") if options.only else NAMES
    rows = []
    for name in [name for name in NAMES if name in chosen]:
        found = measured(name, options)
        rows += found
        line = f"{name:15} {len(found):3}"
        if len(found) > 2:
            least = min(found, key=lambda row: row["predicted"])["seconds"] / min(
                row["seconds"] for row in found
            )
            line += (
                f"   rank correlation {rank_correlation(found):5.2f}   the first is "
                f"{least:5.2f} times the best"
            )
        print(line, flush=True)
    print(f"over all {len(rows)}: rank correlation {rank_correlation(rows):.3f}")
    if options.json:
        write(options.json, {"processor": machine.cpu_name(), "size": options.size}, rows)


if __name__ == "__main__":
    main()
