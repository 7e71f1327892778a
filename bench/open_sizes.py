#!/usr/bin/env python3
"""What an artifact for every batch costs: networks compiled once with their batch open, beside
artifacts made for one batch each, interleaved. Needs onnx, to open the first dimension of models
that have it fixed.

  bench/open_sizes.py [--batches 1,8,16] [--threads 1] [--json FILE] [build/models/*.onnx]

A row: microseconds of the closed artifact (template), and of the open ones (template, poly) divided
by it.
"""

import argparse
import glob
import json
import os
import subprocess
import tempfile
import time

import onnx

BATCH = "batch"


def open_batch(source, target):
    model = onnx.load(source)
    given = {tensor.name for tensor in model.graph.initializer}
    for value in list(model.graph.input) + list(model.graph.output):
        if value.name not in given and value.type.tensor_type.shape.dim:
            value.type.tensor_type.shape.dim[0].dim_param = BATCH
    del model.graph.value_info[:]
    onnx.save(model, target)


def compile_model(options, model, artifact, scheduler, batch=None):
    """Seconds, or None where it is refused: a model may have its batch fixed inside as well."""
    command = [
        options.polyte,
        "compile",
        model,
        "--scheduler",
        scheduler,
        "--strict",
        "-o",
        artifact,
    ]
    start = time.monotonic()
    done = subprocess.run(
        command + (["--shape", f"{BATCH}={batch}"] if batch else []), capture_output=True, text=True
    )
    if done.returncode != 0:
        print(f"{os.path.basename(model)}: {done.stderr.strip().splitlines()[0]}", flush=True)
        return None
    return time.monotonic() - start


def times(options, artifacts, batch):
    command = [
        options.polyte,
        "bench",
        *artifacts,
        "--shape",
        f"{BATCH}={batch}",
        "--json",
        "--repetitions",
        str(options.rounds),
        "--threads",
        str(options.threads),
    ]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [row["real_time"] / 1e3 for row in report["benchmarks"]], report["context"]


def measure(options, source, folder):
    """The rows of one network, and the machine."""
    name = os.path.basename(source).removesuffix(".onnx")
    model, opened, rows, context = f"{folder}/{name}.onnx", [], [], {}
    open_batch(source, model)
    for scheduler in ("template", "poly"):
        opened.append(f"{folder}/{name}.{scheduler}.polyte")
        seconds = compile_model(options, model, opened[-1], scheduler)
        if seconds is None:
            return [], {}
    for batch in options.batches:
        closed = f"{folder}/{name}.{batch}.polyte"
        compile_model(options, model, closed, "template", batch)
        (own, template, poly), context = times(options, [closed, *opened], batch)
        rows.append(
            {
                "model": name,
                "batch": batch,
                "closed_us": own,
                "open_template": template / own,
                "open_poly": poly / own,
                "compile_open_poly_s": seconds,
            }
        )
        print(
            f"{name:20} {batch:4} {own:12.1f} us   template {template / own:5.2f}   poly "
            f"{poly / own:5.2f}",
            flush=True,
        )
    return rows, context


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="default: build/models/*.onnx")
    parser.add_argument("--polyte", default="build/release/polyte")
    parser.add_argument(
        "--batches", type=lambda text: [int(n) for n in text.split(",")], default=[1, 8, 16]
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    rows, context = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for source in options.models or sorted(glob.glob("build/models/*.onnx")):
            of_model, machine = measure(options, source, folder)
            rows += of_model
            context = machine or context
    if options.json:
        with open(options.json, "w") as file:
            json.dump(
                {"context": context, "threads": options.threads, "benchmarks": rows}, file, indent=1
            )
            file.write("\n")


if __name__ == "__main__":
    main()
