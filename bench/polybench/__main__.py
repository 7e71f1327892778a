#!/usr/bin/env python3
"""Times the thirty kernels of PolyBench/C 4.2.1: Polyte's schedulers and the scripts of
examples/schedules/polybench beside C by clang, gcc and Polly. One process per kernel, interleaved
rounds; every result is compared before it is timed.

  python3 bench/polybench [--size LARGE] [--only gemm,lu] [--threads 1] [--rounds 5] [--json FILE]

A speed is clang's time by the contender's: above 1 is faster than clang -O3 -march=native
-ffast-math. An arm that declines a kernel is shown as `declined` and has no time, one that leaves
statements in reference order has a star. Of kernels that memory traffic bounds, the line ends with
the share that poly reaches of the contender `limit` (limits.py). What differs from the reference
(the C by gcc -O2, without fast-math) is shown as `wrong` and has no time either. The C and the
limit are serial: with --threads 2 only Polyte has two.
"""

import argparse
import json
import math
import multiprocessing
import os
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, HERE)
from peers import machine, timing  # noqa: E402  (it loads nothing that counts processors)

ARMS = ["naive", "isl", "poly", "template"]
COLUMNS = ["gcc", "polly", "polly-vec", *ARMS, "script"]
TOLERANCE = {"f64": 1e-7, "f32": 1e-3}  # of a result's greatest element
# compilers differ by as much among themselves
ILL_CONDITIONED = {("durbin", "f32"): 5e-2, ("gramschmidt", "f32"): 5e-2}
WORDS = ("declined", "wrong")
LIMIT = "limit"  # of limits.py


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default="build/release")
    parser.add_argument(
        "--size", default="LARGE", choices=["MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE"]
    )
    parser.add_argument("--only", default="", help="kernels, commas between them")
    parser.add_argument(
        "--contenders",
        default="",
        help="of clang, gcc, polly, polly-vec, naive, isl, poly, template, "
        "script, limit; clang is always there",
    )
    parser.add_argument(
        "--type",
        default="f64",
        choices=["f64", "f32"],
        help="element type, of the Programs and of the C; scripts by hand are of f64 alone",
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--round-seconds",
        type=float,
        default=0.05,
        help="a round of one contender, at the least once",
    )
    parser.add_argument(
        "--patience", type=float, default=30, help="seconds for all rounds of one contender"
    )
    parser.add_argument("--json", default="")
    return parser.parse_args()


def contenders_of(kernel, options, folder):
    import contenders as who
    import limits
    from peers.polyte import Polyte

    wanted = options.contenders.split(",") if options.contenders else ["clang", *COLUMNS]
    made = [
        who.c_peer(kernel, name, command, folder)
        for name, command in who.COMPILERS.items()
        if name in wanted or name == "clang"
    ]
    if limits.has_limit(kernel) and (not options.contenders or LIMIT in wanted):
        made.append(limits.limit(kernel, folder))
    polyte = Polyte(options.build)
    made += [
        who.ours(kernel, polyte, arm, ["--scheduler", arm], folder, options.threads)
        for arm in ARMS
        if arm in wanted
    ]
    if "script" in wanted:
        for script in kernel.scripts():
            name = "script " + os.path.basename(script)[: -len(".sched")]
            made.append(
                who.ours(kernel, polyte, name, ["--script", script], folder, options.threads)
            )
    return made, who.c_peer(kernel, "reference", who.REFERENCE, folder)


def measure(contenders, options):
    """The figure of a round is the least of its executions: what a shared machine adds is never
    less than nothing."""
    counts, least = [], []
    for contender in contenders:
        start = time.perf_counter()
        contender.run()
        wall = max(time.perf_counter() - start, 1e-6)
        counts.append(max(1, min(1000, round(options.round_seconds / wall))))
        least.append(max(1, min(options.rounds, int(options.patience / (wall * counts[-1])))))
    for number in range(options.rounds):
        for i in range(len(contenders)):
            at = (i + number) % len(contenders)
            if number < least[at]:
                contenders[at].rounds.append(min(contenders[at].run() for _ in range(counts[at])))


def time_kernel(name, options, answer):
    from kernel import Kernel, difference

    with tempfile.TemporaryDirectory() as folder:
        kernel = Kernel(name, options.size, options.type, folder)
        made, reference = contenders_of(kernel, options, folder)
        if reference.problem:
            raise RuntimeError(f"{name}: the reference: {reference.problem}")
        expected = kernel.results_of(reference)
        tolerance = ILL_CONDITIONED.get((name, options.type), TOLERANCE[options.type])
        for contender in made:
            if contender.problem or contender.name == LIMIT:
                continue
            contender.difference = difference(kernel, kernel.results_of(contender), expected)
            if not contender.difference <= tolerance:
                contender.problem = f"wrong: differs by {contender.difference:.1e}"
        measure([contender for contender in made if not contender.problem], options)
    clang = next(contender for contender in made if contender.name == "clang")
    rows = []
    for contender in made:
        row = {
            "kernel": name,
            "size": options.size,
            "type": options.type,
            "contender": contender.name,
            "problem": contender.problem,
            "notes": contender.notes,
            "difference": contender.difference,
            "seconds": contender.rounds,
        }
        if contender.rounds and clang.rounds:
            row["speed"] = timing.ratio(clang, contender)
        rows.append(row)
    answer.send(rows)


def row_of(name, rows):
    """One line of the table: clang's time, then how much faster everyone else is."""
    by_name = {row["contender"]: row for row in rows if not row["contender"].startswith("script ")}
    scripts = [row for row in rows if row["contender"].startswith("script ")]
    if scripts:
        by_name["script"] = max(scripts, key=lambda row: row["speed"][0] if "speed" in row else 0)
    cells = []
    for column in COLUMNS:
        row = by_name.get(column)
        if row is None:
            cells.append("")
        elif row["problem"]:
            word = row["problem"].split(":")[0]
            cells.append(word if word in WORDS else "refused")
        else:
            star = "*" if any("stays in reference order" in note for note in row["notes"]) else ""
            cells.append(f"{row['speed'][0]:.2f}{star}" if "speed" in row else "?")
    clang = by_name["clang"]
    first = (
        f"{timing.median(clang['seconds']) * 1e6:12.1f}" if clang["seconds"] else f"{'wrong':>12}"
    )
    return f"{name:15} {first} " + " ".join(f"{cell:>9}" for cell in cells) + limit_of(rows)


def limit_of(rows):
    """Of a kernel that has one: poly's share, round by round."""
    seconds = {row["contender"]: row["seconds"] for row in rows}
    limit, poly = seconds.get(LIMIT), seconds.get("poly")
    if not limit or not poly:
        return ""
    share = timing.median([bound / ours for bound, ours in zip(limit, poly)])
    return f" {share:7.2f} of the limit"


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def summary(rows):
    """Geometric means of those kernels that a contender ran; of an arm also over all, a decline
    taken as naive's time, which is what it runs."""
    kernels = list(dict.fromkeys(row["kernel"] for row in rows))
    speed = {}
    for row in rows:
        if "speed" in row:
            key = row["kernel"], row["contender"].split(" ")[0]
            speed[key] = max(speed.get(key, 0), row["speed"][0])
    print(f"\n{'geometric mean':15} {'':12} kernels    over all, what is declined as naive")
    for column in COLUMNS:
        own = [speed[kernel, column] for kernel in kernels if (kernel, column) in speed]
        if not own:
            continue
        line = f"  {column:13} {geomean(own):12.2f} {len(own):4} of {len(kernels):2}"
        if column in ARMS:
            every = [
                speed.get((kernel, column), speed.get((kernel, "naive"))) for kernel in kernels
            ]
            if all(every):
                line += f" {geomean(every):10.2f}"
        print(line)
    best = [
        max(
            [1.0]
            + [
                speed[kernel, peer]
                for peer in ("gcc", "polly", "polly-vec")
                if (kernel, peer) in speed
            ]
        )
        for kernel in kernels
    ]
    print(f"  {'best of the C':13} {geomean(best):12.2f} {len(best):4} of {len(kernels):2}")


def main():
    options = arguments()
    machine.settle(options.threads)
    from kernel import NAMES

    chosen = options.only.split(",") if options.only else NAMES
    unknown = sorted(set(chosen) - set(NAMES))
    if unknown:
        sys.exit(f"no kernel {', '.join(unknown)}; there are {', '.join(NAMES)}")
    print(
        f"PolyBench {options.size}, {options.type}, {options.threads} thread(s), "
        f"{machine.cpu_name()}; speed over clang"
    )
    print(
        f"{'kernel':15} {'clang, us':>12} " + " ".join(f"{column:>9}" for column in COLUMNS),
        flush=True,
    )
    rows = []
    for name in [name for name in NAMES if name in chosen]:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(
            target=time_kernel, args=(name, options, theirs)
        )
        child.start()
        theirs.close()
        try:
            found = ours.recv()
        except EOFError:
            found = []
        child.join()
        if not found:
            print(f"{name:15} stopped with exit status {child.exitcode}", flush=True)
            continue
        rows += found
        print(row_of(name, found), flush=True)
    for row in rows:
        if row["problem"]:
            print(f"\n{row['kernel']}, {row['contender']}: {row['problem']}")
    summary(rows)
    if options.json:
        context = {
            "processor": machine.cpu_name(),
            "threads": options.threads,
            "size": options.size,
            "type": options.type,
        }
        with open(options.json, "w") as file:
            json.dump({"context": context, "benchmarks": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
