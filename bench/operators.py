#!/usr/bin/env python3
"""Single operators beside what other libraries of this machine make of them: one process,
interleaved rounds, results compared with a reference in double precision before anything is timed.

  bench/operators.py [--build build/release] [--threads 1] [--only transpose]
  [--json bench/results/peers_1t.json]
  bench/operators.py --drawn 150 --seed 1 [--only conv,pool]    # what nobody has tuned for

Peers are found at run time: onnxruntime, openvino, jax (XLA), numpy, and oneDNN 2 (libdnnl.so.2
of the loader's path). `peer/ours` is the time of the best peer divided by ours, from the rounds'
pairs, with its 95 % interval.
"""

import argparse
import importlib
import json
import math
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from peers import machine  # noqa: E402  (it loads nothing that counts processors)

PEERS = ["onednn", "onnxruntime", "openvino", "jax", "numpy"]


def load_peers(names, threads):
    peers, missing = [], []
    for name in names:
        try:
            peers.append(importlib.import_module(f"peers.{name}_peer").load(threads))
        except ImportError as error:
            missing.append(f"{name}: {error}")
    for line in missing:
        print(f"not compared with {line}")
    return peers


def agreed(contender, case):
    """The largest difference, relative to the largest value; contenders that differ are shown
    and left out."""
    import numpy as np

    contender.run()
    difference = float(np.max(np.abs(contender.result().astype(np.float64) - case.reference)))
    error = difference / max(float(np.max(np.abs(case.reference))), 1e-30)
    if not error <= case.tolerance:
        print(
            f"  {case.name}: {contender.name} differs from the reference by {error:.2e} of the "
            "largest value"
        )
        return False
    return True


def contenders_of(case, polyte, peers, threads):
    contenders, failures = [], []
    for number, variant in enumerate(case.variants):
        try:
            contenders.append(polyte.contender(case, variant, number, threads))
        except RuntimeError as error:
            failures.append(f"polyte {variant.label}: {error}")
    for peer in peers:
        try:
            contenders += peer.contenders(case)
        except Exception as error:  # a library's own kinds; a peer that cannot is no reason to stop
            failures.append(f"{peer.version}: {error}")
    for failure in failures:
        print(f"  {case.name}: {failure}")
    return [c for c in contenders if agreed(c, case)]


def row_of(case, contender, peak, threads, best_peer, timing):
    seconds = timing.median(contender.rounds)
    row = {
        "name": f"{case.name} / {contender.name}",
        "real_time": seconds * 1e9,
        "time_unit": "ns",
        "threads": threads,
        "interval": [t * 1e9 for t in timing.interval(contender.rounds)],
        "bytes_per_second": case.bytes / seconds,
    }
    if case.flops and not contender.name.startswith("("):
        row["flops_per_second"] = case.flops / seconds
        if peak:
            row["peak_fraction"] = case.flops / seconds / (peak * threads)
    if contender.ours and best_peer:
        row["best_peer"] = best_peer.name
        row["peer_over_ours"], low, high = timing.ratio(best_peer, contender)
        row["peer_over_ours_interval"] = [low, high]
    if contender.note:
        row["note"] = contender.note
    return row


def print_row(row):
    share = f"{row['peak_fraction']:6.3f} of peak" if "peak_fraction" in row else " " * 14
    text = (
        f"{row['name']:58} {row['real_time'] / 1e3:11.2f} us "
        f"{row['bytes_per_second'] / 1e9:7.1f} GB/s {share}"
    )
    if "peer_over_ours" in row:
        low, high = row["peer_over_ours_interval"]
        text += (
            f"  peer/ours {row['peer_over_ours']:6.2f} [{low:.2f}, {high:.2f}] {row['best_peer']}"
        )
    print(text + ("  NOTE " + row["note"] if row.get("note") else ""), flush=True)


def time_case(case, polyte, peers, peak, options, timing, copy):
    contenders = contenders_of(case, polyte, peers, options.threads)
    if case.memory_bound:
        contenders.append(copy(case))
    before = peak.flops_per_second()
    timing.measure(contenders, options.rounds, options.round_seconds)
    top = max(before, peak.flops_per_second())
    others = [c for c in contenders if not c.ours and not c.name.startswith("(")]
    best_peer = min(others, key=lambda c: timing.median(c.rounds), default=None)
    rows = [row_of(case, c, top, options.threads, best_peer, timing) for c in contenders]
    for row in sorted(rows, key=lambda r: r["real_time"]):
        print_row(row)
    return rows


def summary(rows):
    """The best of ours for each operator, and where the peers win: an interval around
    1 is neither."""
    best = {}
    for row in rows:
        if "peer_over_ours" in row:
            name = row["name"].split(" / ")[0]
            if name not in best or row["real_time"] < best[name]["real_time"]:
                best[name] = row
    losses = [row for row in best.values() if row["peer_over_ours_interval"][1] < 1]
    wins = [row for row in best.values() if row["peer_over_ours_interval"][0] > 1]
    print(
        f"\n{len(best)} operators: {len(wins)} faster than the best peer, {len(losses)} slower, "
        "the rest alike. Slower:"
    )
    for row in losses:
        print(f"  {row['name']:58} {row['peer_over_ours']:.2f} of {row['best_peer']}")


def shares(rows):
    """Of drawn operators: by family and arm, the geometric mean of the best peer's time over ours,
    each that takes 30 us or more and is below 0.8, and those without a figure, which failed or
    differ."""
    cases = {row["name"].split(" / ")[0] for row in rows}
    for arm in ("template", "poly"):
        found = {}
        for row in rows:
            if row["name"].endswith(f"polyte {arm}") and "peer_over_ours" in row:
                found.setdefault(row["name"].split()[0], []).append(row)
        print(f"\n{arm}: geometric mean of the best peer's time over ours")
        for family, own in sorted(found.items()):
            logs = [math.log(row["peer_over_ours"]) for row in own]
            print(f"  {family:12} {len(own):4} {math.exp(sum(logs) / len(logs)):6.2f}")
        every = [row for own in found.values() for row in own]
        low = [r for r in every if r["real_time"] >= 30e3 and r["peer_over_ours"] < 0.8]
        print(f"  of {len(every)}, {len(low)} of 30 us or more are below 0.8")
        for row in sorted(low, key=lambda r: r["peer_over_ours"]):
            print(f"    {row['peer_over_ours']:.2f} {row['name']}")
        missing = cases - {row["name"].split(" / ")[0] for row in every}
        if missing:
            print(f"  not compared: {', '.join(sorted(missing))}")


def cases_of(options, folder):
    """Names, and functions that make what is asked for."""
    only = options.only.split(",")
    if not options.drawn:
        from peers import case

        return [each for each in case.all_cases() if any(word in each[0] for word in only)]
    from drawn import draw
    from peers import drawn_cases

    families = [f for f in drawn_cases.FAMILIES if any(word in f for word in only)]
    return [
        (each.name, lambda each=each: drawn_cases.case_of(each, folder))
        for each in draw(options.seed, options.drawn, families)
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--round-seconds", type=float, default=0.02)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="operators whose name contains one of these")
    parser.add_argument("--drawn", type=int, default=0, help="this many of bench/drawn.py")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    machine.settle(options.threads)
    peers = load_peers([name for name in options.peers.split(",") if name], options.threads)
    from peers import timing  # after settle: it loads numpy
    from peers.numpy_peer import copy_of_as_many_bytes
    from peers.polyte import Polyte

    polyte, peak, rows = Polyte(options.build), machine.Peak(options.build), []
    with tempfile.TemporaryDirectory() as folder:
        for _, make in cases_of(options, folder):
            rows += time_case(make(), polyte, peers, peak, options, timing, copy_of_as_many_bytes)
    if options.drawn:
        shares(rows)
    else:
        summary(rows)
    if options.json:
        context = {
            "cpu": machine.cpu_name(),
            "threads": options.threads,
            "rounds": options.rounds,
            **({"drawn": options.drawn, "seed": options.seed} if options.drawn else {}),
            "peers": [peer.version for peer in peers],
        }
        with open(options.json, "w") as file:
            json.dump({"context": context, "benchmarks": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
