#!/usr/bin/env python3
"""Times every schedule of examples/schedules beside what poly and the templates make of the same
Program, interleaved in one process each, and writes the figures.

  bench/schedules.py [--polyte build/release/polyte] [--rounds 15] [--json
  bench/results/schedules.json]

Shares are of the FMA peak measured in the same process; GB/s count each element of
the interface once.
"""

import argparse
import json
import subprocess

SCHEDULES = "examples/schedules"
# Program, sizes, schedules with their params, contenders.
CASES = [
    ("bench/suites/gemm_1024.program", "", ["gemm_1024"], {}),
    (f"{SCHEDULES}/gemm_prepacked.program", "M=1024,N=1024,K=1024", ["gemm_prepacked"], {}),
    ("bench/suites/gemm_odd.program", "", ["gemm_odd"], {}),
    (f"{SCHEDULES}/gemm_u8i8.program", "M=1024,N=1024,K=1024", ["gemm_u8i8"], {}),
    ("bench/suites/conv_nhwc.program", "", ["conv_nhwc"], {}),
    (f"{SCHEDULES}/conv_nchwc.program", "C=4,F=4,N=56", ["conv_nchwc_rows"], {}),
    (f"{SCHEDULES}/conv_nchwc.program", "C=8,F=8,N=28", ["conv_nchwc_rows"], {}),
    (f"{SCHEDULES}/conv_nchwc.program", "C=16,F=16,N=14", ["conv_nchwc_rows"], {}),
    (f"{SCHEDULES}/conv_nchwc.program", "C=32,F=32,N=7", ["conv_nchwc_blocks"], {}),
    (f"{SCHEDULES}/depthwise.program", "C=9,N=56", ["depthwise_rows"], {}),
    (f"{SCHEDULES}/depthwise.program", "C=12,N=28", ["depthwise_rows"], {}),
    (f"{SCHEDULES}/depthwise.program", "C=24,N=14", ["depthwise_rows"], {}),
    (f"{SCHEDULES}/transpose.program", "M=1024,N=1024", ["transpose_tile"], {}),
    (f"{SCHEDULES}/transpose.program", "M=2048,N=2048", ["transpose_tile"], {}),
    (
        "examples/programs/softmax.program",
        "M=1024,N=1024",
        ["softmax_passes", "softmax_online"],
        {},
    ),
    ("examples/programs/layer_norm.program", "M=1024,N=768", ["layer_norm"], {}),
    ("examples/programs/attention.program", "M=256,N=256,D=64", ["attention_online"], {}),
    (
        "examples/programs/first_axis_sum.program",
        "M=1024,N=1024",
        ["first_axis_sum", "first_axis_parts"],
        {},
    ),
    ("examples/programs/dot.program", "N=100000", ["dot"], {}),
    ("examples/programs/batched_matmul.program", "B=12,M=128,N=128,K=64", ["batched_matmul"], {}),
    ("examples/programs/trmm.program", "M=512,N=512", ["trmm"], {}),
    ("examples/programs/syrk.program", "N=512,K=512", ["syrk"], {}),
    (
        "examples/programs/histogram.program",
        "N=1000000,B=256",
        ["histogram_atomic", "histogram_parts"],
        {},
    ),
    ("examples/programs/scan.program", "N=1000000", ["scan"], {}),
    (
        f"{SCHEDULES}/blur_3x3.program",
        "M=1536,N=2560",
        ["blur_root", "blur_inline", "blur_tile", "blur_strips", "blur_window"],
        {},
    ),
    (f"{SCHEDULES}/harris.program", "M=1536,N=2560", ["harris_tile"], {}),
    (
        "examples/programs/jacobi_2d.program",
        "T=50,N=1500",
        ["jacobi_2d_time", "jacobi_2d_wavefront"],
        {},
    ),
    ("examples/programs/seidel_2d.program", "T=10,N=1000", ["seidel_2d_wavefront"], {}),
]


def run(options, program, sizes, schedules, params):
    command = [
        options.polyte,
        "bench",
        program,
        "--schedulers",
        "template,poly",
        "--json",
        "--repetitions",
        str(options.rounds),
        "--threads",
        str(options.threads),
    ]
    for name in schedules:
        command += ["--script", f"{SCHEDULES}/{name}.sched"]
    if sizes:
        command += ["--shape", sizes]
    for name, value in params.items():
        command += ["--param", f"{name}={value}"]
    if "histogram" in program:
        command += ["--fill", "zeros"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polyte", default="build/release/polyte")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="programs whose path contains this")
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    rows, context = [], {}
    for program, sizes, schedules, params in CASES:
        if options.only not in program:
            continue
        report = run(options, program, sizes, schedules, params)
        context = report["context"]
        for row in report["benchmarks"]:
            row["sizes"] = sizes
            rows.append(row)
            share = f"{row['peak_fraction']:6.3f} of peak" if "peak_fraction" in row else ""
            print(
                f"{row['name']:72} {sizes:22} {row['real_time'] / 1e3:12.1f} us "
                f"{row.get('bytes_per_second', 0) / 1e9:7.2f} GB/s {share}",
                flush=True,
            )
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"context": context, "benchmarks": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
