#!/usr/bin/env python3
"""Networks by Polyte beside onnxruntime and OpenVINO: one process a network, interleaved rounds,
batch 1, results compared before anything is timed.

  python3 bench/models --out build/models          # once: writes them
  bench/models.py [build/models/resnet50.onnx ...] [--schedulers template,poly] [--threads 1]
  [--json FILE]

`ours/peer` is our time divided by that of the better peer, from the rounds' pairs, with its
95 % interval. A network that does not compile is shown with the reasons; the geometric mean is
over those that do.

With several threads, `scales` is our time on one thread divided by that on all, in the same rounds.
The row `multiply-adds` says the same of arithmetic in registers: a virtual processor is not always
a core of its own.
"""

import argparse
import glob
import json
import math
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from operators import load_peers  # noqa: E402
from peers import machine, timing  # noqa: E402

TOLERANCE = 1e-4  # of the largest value of an output


def inputs_of(path):
    """Seeded data by name, for a model without open sizes: normal, integers from 0 to 99."""
    import numpy as np
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    random, inputs = np.random.default_rng(1), {}
    for value in graph.input:
        if value.name not in weights:
            shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
            kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            if kind.kind == "f":
                inputs[value.name] = random.standard_normal(shape).astype(kind)
            else:
                inputs[value.name] = random.integers(0, 100, shape).astype(kind)
    return inputs


def difference(ours, reference):
    import numpy as np

    worst = 0.0
    for a, b in zip(ours, reference, strict=True):
        largest = max(float(np.max(np.abs(b))), 1e-30)
        worst = max(
            worst, float(np.max(np.abs(a.astype(np.float64).reshape(b.shape) - b))) / largest
        )
    return worst


def ours(polyte, path, arm, inputs, options, row):
    from peers.polyte import aligned_copy

    start = time.perf_counter()
    artifact, notes = polyte.model(path, ["--scheduler", arm, *options.compile_options], arm)
    row["compile_seconds"] = time.perf_counter() - start
    row.update(polyte.compile_cost)
    start = time.perf_counter()
    session = polyte.session(artifact, options.threads)
    row["open_ms"] = (time.perf_counter() - start) * 1e3
    session.set_inputs({name: aligned_copy(array) for name, array in inputs.items()})
    start = time.perf_counter()
    session.run()
    row["first_run_ms"] = (time.perf_counter() - start) * 1e3
    row["notes"] = notes
    results = lambda: [array for _, array in session.outputs]  # noqa: E731
    contender = timing.Contender(f"polyte {arm}", session.run, results, ours=True)
    if options.threads > 1:
        single = polyte.session(artifact, 1)
        single.set_inputs({name: aligned_copy(array) for name, array in inputs.items()})
        contender.alone = timing.Contender(f"polyte {arm}, one thread", single.run, None)
    return contender


def is_right(row):
    return "failed" not in row and row.get("difference", 0) <= TOLERANCE


def contenders_of(path, polyte, peers, options, rows):
    inputs, contenders = inputs_of(path), []
    for peer in peers:
        run, results = peer.bound(path, inputs)
        contenders.append(timing.Contender(peer.version, run, results))
    reference = None
    if contenders:
        contenders[0].run()
        reference = [array.copy() for array in contenders[0].result()]
    for arm in options.schedulers.split(","):
        row = rows[f"polyte {arm}"] = {}
        try:
            contenders.append(ours(polyte, path, arm, inputs, options, row))
        except RuntimeError as error:
            row["failed"] = str(error)
    for contender in contenders:
        contender.run()
        row = rows.setdefault(contender.name, {})
        if reference is None:
            continue
        results = contender.result()
        if any(a.size != b.size for a, b in zip(results, reference, strict=True)):
            row["failed"] = "an output has another size than that of the first runtime"
        else:
            row["difference"] = difference(results, reference)
    return [c for c in contenders if is_right(rows[c.name])]


def multiply_adds(options):
    peak = machine.Peak(options.build)
    alone = timing.Contender("multiply-adds, one thread", lambda: peak.share_work(1), None)
    return timing.Contender(
        "multiply-adds", lambda: peak.share_work(options.threads), None, alone=alone
    )


def time_model(path, polyte, peers, options):
    """Rows by contender; a difference too large or a failure leaves a row without a time."""
    rows = {}
    contenders = contenders_of(path, polyte, peers, options, rows)
    others = [c for c in contenders if not c.ours]
    if options.threads > 1:
        contenders.append(multiply_adds(options))
    alone = [c.alone for c in contenders if c.alone]
    timing.measure(contenders + alone, options.rounds, options.round_seconds, warm_up=0.2)
    best = min(others, key=lambda c: timing.median(c.rounds), default=None)
    for contender in contenders:
        row = rows.setdefault(contender.name, {})
        row["real_time"] = timing.median(contender.rounds) * 1e3
        row["interval"] = [t * 1e3 for t in timing.interval(contender.rounds)]
        if contender.ours and best:
            row["best_peer"] = best.name
            row["ours_over_peer"], low, high = timing.ratio(contender, best)
            row["ours_over_peer_interval"] = [low, high]
        if contender.alone:
            row["scales"], low, high = timing.ratio(contender.alone, contender)
            row["scales_interval"] = [low, high]
    model = os.path.basename(path).removesuffix(".onnx")
    return [
        {"name": f"{model} / {name}", "time_unit": "ms", "threads": options.threads, **row}
        for name, row in rows.items()
    ]


def print_row(row):
    text = f"{row['name']:42}"
    if "failed" in row:
        text += "  FAILED\n    " + "\n    ".join(row["failed"].splitlines()[:8])
    elif "real_time" not in row:
        text += f"  DIFFERS by {row['difference']:.1e} of the largest value"
    else:
        text += f" {row['real_time']:10.3f} ms"
    if "ours_over_peer" in row:
        low, high = row["ours_over_peer_interval"]
        text += f"  ours/peer {row['ours_over_peer']:6.2f} [{low:.2f}, {high:.2f}]"
    if "scales" in row:
        low, high = row["scales_interval"]
        text += f"  scales {row['scales']:.2f} [{low:.2f}, {high:.2f}]"
    if "compile_seconds" in row:
        text += (
            f"  compiled in {row['compile_seconds']:.1f} s "
            f"({row['compile_processor_seconds']:.1f} s of processor, "
            f"{row['compile_peak_megabytes']:.0f} MB), open {row['open_ms']:.0f} ms, "
            f"first run {row['first_run_ms']:.1f} ms"
            if "open_ms" in row
            else ""
        )
    print(text + (f"  {len(row['notes'])} notes" if row.get("notes") else ""), flush=True)


def measure_here(options):
    """One network, in this process."""
    machine.settle(options.threads)
    peers = load_peers([name for name in options.peers.split(",") if name], options.threads)
    from peers.polyte import Polyte

    rows = time_model(options.models[0], Polyte(options.build), peers, options)
    print(json.dumps({"peers": [peer.version for peer in peers], "rows": rows}))


def measure_apart(path, options):
    """One network in a process of its own, so that none inherits another's memory or threads."""
    command = [sys.executable, os.path.abspath(__file__), path, "--here"]
    for name in ("build", "schedulers", "peers", "threads", "rounds", "round_seconds"):
        command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    for each in options.compile_options:
        command.append(f"--compile-options={each}")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return [], [
            {
                "name": os.path.basename(path),
                "failed": f"the measuring process ended with {done.returncode}",
            }
        ]
    for line in done.stdout.splitlines()[:-1]:
        print(line)
    report = json.loads(done.stdout.splitlines()[-1])
    return report["peers"], report["rows"]


def summary(rows):
    for arm in sorted({row["name"].split(" / ")[1] for row in rows if "ours_over_peer" in row}):
        ratios = [
            row["ours_over_peer"]
            for row in rows
            if row["name"].endswith(f" / {arm}") and "ours_over_peer" in row
        ]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(
            f"{arm}: geometric mean of ours/peer {mean:.2f} over {len(ratios)} networks, worst "
            f"{max(ratios):.2f}"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="ONNX files; all of build/models without")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--schedulers", default="template,poly")
    parser.add_argument("--peers", default="onnxruntime,openvino")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--round-seconds", type=float, default=0.1)
    parser.add_argument(
        "--compile-options", action="append", default=[], help="for polyte compile, as --strict"
    )
    parser.add_argument("--json", default="")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        measure_here(options)
        return
    rows, versions = [], []
    for path in options.models or sorted(glob.glob("build/models/*.onnx")):
        peers, found = measure_apart(path, options)
        versions = peers or versions
        rows += found
        for row in found:
            print_row(row)
    summary(rows)
    if options.json:
        context = {
            "cpu": machine.cpu_name(),
            "threads": options.threads,
            "rounds": options.rounds,
            "peers": versions,
        }
        with open(options.json, "w") as file:
            json.dump({"context": context, "benchmarks": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
