#!/usr/bin/env python3
"""polyte profile on the shipped network.

tests/profile/profile_test.py --polyte build/release/polyte
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

MODEL = pathlib.Path("examples/digits/digits.onnx").resolve()
# What each group reads, by the network's own wiring: the sum takes the result of the second
# convolution, too.
READS = {
    "g0_conv_relu": [],
    "g1_conv_relu": ["g0_conv_relu"],
    "g2_conv_add_relu": ["g0_conv_relu", "g1_conv_relu"],
    "g3_maxpool": ["g2_conv_add_relu"],
    "g4_conv_relu": ["g3_maxpool"],
    "g5_averagepool": ["g4_conv_relu"],
    "g7_gemm_relu": ["g5_averagepool"],
    "g8_gemm": ["g7_gemm_relu"],
    "g9_softmax": ["g8_gemm"],
}
faults = []


def expect(what, condition):
    if not condition:
        faults.append(what)


def run(polyte, *arguments, cwd):
    done = subprocess.run([polyte, *map(str, arguments)], capture_output=True, cwd=cwd)
    if done.returncode != 0:
        sys.exit(
            f"polyte {' '.join(map(str, arguments))}: exit {done.returncode}\n"
            f"{done.stderr.decode()}"
        )
    return done.stdout.decode(), done.stderr.decode()


def check_figures(figures, is_model):
    steps = figures["steps"]
    shares = [step["share"] for step in steps]
    expect("shares add up to 1", abs(sum(shares) - 1) < 1e-9)
    expect("slowest first", shares == sorted(shares, reverse=True))
    groups = {step["step"]: step["group"] for step in steps}
    expect("each group once", sorted(groups.values()) == sorted(READS))
    for step in steps:
        group = step["group"]
        low, high = step["interval"]
        expect(f"{group}: the median lies in its interval", low <= step["real_time"] <= high)
        expect(
            f"{group}: reads {READS[group]}, not {[groups[one] for one in step['from']]}",
            sorted(groups[one] for one in step["from"]) == READS[group],
        )
        expect(f"{group}: bytes", step["bytes"] > 0)
        expect(
            f"{group}: operations are known of a model alone",
            (step["flops"] is not None) == is_model,
        )
    # 8 x 8 inputs by a convolution of 3 x 3 with 8 results: multiply-adds at least, each
    # two operations.
    if is_model:
        by_name = {step["group"]: step for step in steps}
        expect("the first convolution's operations", by_name["g0_conv_relu"]["flops"] > 2 * 64 * 9)
    ceilings = figures["ceilings"]
    expect("ceilings were measured", ceilings["bytes_a_second"] > 0)
    for step in steps:
        least = step["bytes"] / ceilings["bytes_a_second"]
        if step["bound"] == "memory":
            expect(
                f"{step['group']}: its share of the roofline",
                abs(step["roofline"] - least / (step["real_time"] * 1e-9))
                < 1e-6 * step["roofline"],
            )


def check_page(text):
    svg = text[text.index("<svg") : text.index("</svg>") + 6]
    root = xml.etree.ElementTree.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"
    boxes = root.findall(f".//{space}rect")
    expect("a box per step", len(boxes) == len(READS))
    expect("a line an edge", len(root.findall(f".//{space}path")) == sum(map(len, READS.values())))
    places = {(box.get("x"), box.get("y")) for box in boxes}
    expect("no box over another", len(places) == len(boxes))
    names = [node.text for node in root.findall(f".//{space}text[@class='name']")]
    expect("each group is named", sorted(names) == sorted(READS))
    expect("it is as wide as the window", 'name="viewport"' in text)
    expect("what is wider scrolls in a box of its own", '<div class="wide"' in text)
    expect("nothing is fetched", not re.search(r"(src|href)=", text))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--polyte", required=True, type=pathlib.Path)
    polyte = parser.parse_args().polyte.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        out, err = run(
            polyte,
            "profile",
            MODEL,
            "--runs",
            9,
            "--threads",
            1,
            "--json",
            "--html",
            "page.html",
            "--trace",
            "trace.json",
            "--onnx",
            "timed.onnx",
            cwd=folder,
        )
        check_figures(json.loads(out), True)
        check_page((folder / "page.html").read_text())
        events = json.loads((folder / "trace.json").read_text())["traceEvents"]
        expect("a span per step", sum(event.get("cat") == "step" for event in events) == len(READS))
        expect(
            "nodes are annotated",
            re.search(r"timed.onnx: (\d+) nodes", err)
            and b"% of the time, " in (folder / "timed.onnx").read_bytes(),
        )
        run(polyte, "run", MODEL, "--fill", "normal:1", "-o", "one.npz", cwd=folder)
        run(polyte, "run", "timed.onnx", "--fill", "normal:1", "--expect", "one.npz", cwd=folder)
        run(polyte, "compile", MODEL, "-o", "digits.polyte", cwd=folder)
        out, _ = run(polyte, "profile", "digits.polyte", "--runs", 3, "--json", cwd=folder)
        check_figures(json.loads(out), False)
        out, _ = run(polyte, "profile", "digits.polyte", "--runs", 3, "--top", 2, cwd=folder)
        lines = out.splitlines()
        expect("--top 2 prints two rows of two lines", len(lines) == 1 + 2 * 2 + 2)
        expect("the table fits 80 columns", max(map(len, lines)) <= 80)
    for fault in faults:
        print("expected:", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
