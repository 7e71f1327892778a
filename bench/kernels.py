#!/usr/bin/env python3
"""Where a network's time goes: the slowest kernels, each beside what the machine allows.

  bench/kernels.py build/models/resnet50.onnx [--scheduler template] [--threads 1] [--top 10]
  [--order time|lost]

`limit` is the greater of operations / FMA peak and bytes / copy bandwidth, both measured
in this process; operations are those of convolutions and matrix products (2 a multiply-add,
padding included), bytes those of the group's inputs, outputs and weights, each once. `share` is
limit / time: near 1 there is nothing left to gain.
"""

import argparse
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from peers import machine, timing  # noqa: E402


class Shapes:
    """Operations of nodes and bytes of values, by the names in the file."""

    def __init__(self, path):
        import onnx

        graph = onnx.shape_inference.infer_shapes(onnx.load(path)).graph
        self._nodes = {node.name: node for node in graph.node}
        self._shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
        for value in (*graph.input, *graph.output, *graph.value_info):
            self._shapes.setdefault(
                value.name, [d.dim_value for d in value.type.tensor_type.shape.dim]
            )

    def _elements(self, name):
        count = 1
        for size in self._shapes.get(name, []):
            count *= size
        return count

    def flops(self, name):
        node = self._nodes.get(name)
        if node is None:
            return 0
        if node.op_type == "Conv":
            weight = self._shapes[node.input[1]]
            return 2 * self._elements(node.output[0]) * self._elements(node.input[1]) // weight[0]
        if node.op_type == "ConvTranspose":
            weight = self._shapes[node.input[1]]
            return 2 * self._elements(node.input[0]) * self._elements(node.input[1]) // weight[0]
        if node.op_type in ("Gemm", "MatMul"):
            a = self._shapes[node.input[0]]
            transposed = any(
                attribute.name == "transA" and attribute.i for attribute in node.attribute
            )
            return 2 * self._elements(node.output[0]) * a[0 if transposed else -1]
        return 0

    def bytes(self, names):
        """What a group of nodes reads from outside, and what others read of it."""
        nodes = [self._nodes[name] for name in names if name in self._nodes]
        made = {output for node in nodes for output in node.output}
        read = {value for node in nodes for value in node.input if value and value not in made}
        inner = {value for node in nodes for value in node.input}
        written = [value for value in made if value not in inner] or list(made)
        return 4 * sum(self._elements(value) for value in (*read, *written))


def copy_bandwidth():
    """Bytes read and written a second by a copy that the second cache cannot hold."""
    import numpy as np
    from peers.polyte import aligned

    a, b = aligned((1 << 20,), np.float32), aligned((1 << 20,), np.float32)
    a[...] = 1
    return 2 * a.nbytes / min(timing.seconds_of(lambda: np.copyto(b, a), 5) / 5 for _ in range(9))


def groups_of(polyte, path):
    report = subprocess.run(
        [polyte.command, "inspect", path, "--groups", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    nodes = {}
    for group in json.loads(report.stdout)["groups"]:
        nodes[group["name"]] = [node.split("'")[1] for node in group["nodes"] if "'" in node]
    return nodes


def rows_of(path, options):
    from models import inputs_of
    from peers.polyte import Polyte, aligned_copy

    polyte, shapes = Polyte(options.build), Shapes(path)
    artifact, _ = polyte.model(path, ["--scheduler", options.scheduler], "profiled")
    session, nodes = polyte.session(artifact, options.threads), groups_of(polyte, path)
    session.set_inputs({name: aligned_copy(array) for name, array in inputs_of(path).items()})
    session.run()
    runs = [session.run_timed() for _ in range(options.rounds)]
    peak = machine.Peak(options.build).flops_per_second() * options.threads
    bandwidth, rows = copy_bandwidth() * options.threads, []
    for i, (group, kernel) in enumerate(session.steps()):
        names = nodes.get(group, [])
        seconds = timing.median([run[i] for run in runs])
        flops, moved = sum(map(shapes.flops, names)), shapes.bytes(names)
        limit = max(flops / peak if peak else 0, moved / bandwidth)
        rows.append(
            {
                "group": group,
                "kernel": kernel,
                "nodes": names,
                "real_time": seconds * 1e6,
                "time_unit": "us",
                "flops": flops,
                "bytes": moved,
                "limit": limit * 1e6,
                "bound": "FMA" if flops / max(peak, 1) >= limit else "bytes",
            }
        )
    return rows


def print_rows(rows, top, order):
    total = sum(row["real_time"] for row in rows)
    limit = sum(row["limit"] for row in rows)
    print(
        f"{len(rows)} steps, {total / 1e3:.2f} ms, limit {limit / 1e3:.2f} ms ({limit / total:.2f})"
    )
    keys = {
        "time": lambda row: -row["real_time"],
        "lost": lambda row: row["limit"] - row["real_time"],
    }
    for row in sorted(rows, key=keys[order])[:top]:
        rate = (
            f"{row['flops'] / row['real_time'] / 1e3:7.1f} GF/s"
            if row["flops"]
            else f"{row['bytes'] / row['real_time'] / 1e3:7.1f} GB/s"
        )
        print(
            f"{row['real_time']:10.1f} us {row['real_time'] / total:5.1%}  {rate}  share "
            f"{row['limit'] / row['real_time']:.2f} "
            f"of {row['bound']:5}  lost {(row['real_time'] - row['limit']) / total:5.1%}  "
            f"{row['group']:28} {row['kernel']}"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--scheduler", default="template")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument(
        "--order", choices=["time", "lost"], default="time", help="lost: time above the limit"
    )
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    machine.settle(options.threads)
    rows = rows_of(options.model, options)
    print_rows(rows, options.top, options.order)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(
                {
                    "context": {"cpu": machine.cpu_name(), "threads": options.threads},
                    "kernels": rows,
                },
                file,
                indent=1,
            )
            file.write("\n")


if __name__ == "__main__":
    main()
