#!/usr/bin/env python3
"""Holds what polyte lab writes to docs/lab-results.schema.json, and what is not so to a refusal.

    tests/lab/check_schema.py --polyte build/release/polyte

Measures a tiny experiment with an arm of each status, validates its report, its plan and each line
of its samples, then breaks each in ways that must be refused. Exit status 77, with the reason,
where there is no jsonschema.
"""

import argparse
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("skipped: no jsonschema (Debian: python3-jsonschema)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPERIMENT = """programs = ["C[m,n] = sum[k] A[m,k]*B[k,n]"]
arms = ["poly", "isl", "script:wrong.sched", "peer:gcc"]
sizes = { m = 8, n = 8, k = 8 }
stop = { rounds = 2, processes = 2, round_ms = 0.01 }
"""


def polyte(binary, *arguments):
    return subprocess.run(
        [binary, *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def measured(binary, folder):
    """The report, the plan and the records of a run, as JSON."""
    (folder / "wrong.sched").write_text("schedule wrong/1 for op f32 exact\nparallel k\n")
    (folder / "e.toml").write_text(EXPERIMENT)
    out = str(folder / "out")
    polyte(binary, "lab", "run", str(folder / "e.toml"), "--out", out, "--quiet")
    lines = (folder / "out" / "samples.jsonl").read_text().splitlines()
    return (
        json.loads(polyte(binary, "lab", "report", out, "--format", "json")),
        json.loads((folder / "out" / "plan.json").read_text()),
        [json.loads(line) for line in lines],
    )


def breaks(results, plan, records):
    """(what is wrong, kind of document, the document) of each fault that the schema has to see."""
    first = {record["kind"]: record for record in reversed(records)}

    def arm_of(d):
        return d["rows"][0]["arms"][0]

    faults = [
        ("a time in words", "results", results, lambda d: arm_of(d).update(time_ns="5 us")),
        (
            "an interval without an end",
            "results",
            results,
            lambda d: arm_of(d)["time_ns"].pop("high"),
        ),
        ("an unknown verdict", "results", results, lambda d: arm_of(d).update(verdict="best")),
        (
            "a prediction in words",
            "results",
            results,
            lambda d: arm_of(d)["facts"]["predicted"].update(cycles="few"),
        ),
        ("another format", "results", results, lambda d: d.update(format="polyte-lab-results/2")),
        ("no rows", "results", results, lambda d: d.pop("rows")),
        ("a plan without arms", "plan", plan, lambda d: d.update(arms=[])),
        ("a size in words", "plan", plan, lambda d: d["rows"][0]["sizes"].update(M="8")),
        (
            "an unknown state of the caches",
            "plan",
            plan,
            lambda d: d["rows"][0].update(caches="hot"),
        ),
        ("a sample of two numbers", "record", first["round"], lambda d: d["samples"][0].pop()),
        (
            "a sample without its arm",
            "record",
            first["round"],
            lambda d: d["samples"][0].__setitem__(0, 3),
        ),
        ("an unknown kind", "record", first["row"], lambda d: d.update(kind="column")),
        ("an arm of no process", "record", first["arm"], lambda d: d.pop("process")),
        (
            "a process without its peak",
            "record",
            first["process"],
            lambda d: d.pop("peak_flops_a_thread"),
        ),
        ("a context without its machine", "record", first["context"], lambda d: d.pop("machine")),
    ]
    made = []
    for words, kind, document, change in faults:
        document = copy.deepcopy(document)
        change(document)
        made.append((words, kind, document))
    return made


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polyte", required=True)
    options = parser.parse_args()
    schema = json.loads((ROOT / "docs" / "lab-results.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)

    def problems(kind, document):
        own = {"$schema": schema["$schema"], "$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]}
        return [
            error.message for error in jsonschema.Draft202012Validator(own).iter_errors(document)
        ]

    with tempfile.TemporaryDirectory() as folder:
        results, plan, records = measured(options.polyte, pathlib.Path(folder))
    statuses = {arm["status"] for arm in results["rows"][0]["arms"]}
    failures = (
        [] if {"ok", "refused"} <= statuses else [f"the experiment has arms of {statuses} only"]
    )
    for kind, documents in (("results", [results]), ("plan", [plan]), ("record", records)):
        for document in documents:
            failures += [f"{kind}: {problem[:200]}" for problem in problems(kind, document)]
    faults = breaks(results, plan, records)
    failures += [
        f"not refused: {what}" for what, kind, document in faults if not problems(kind, document)
    ]
    print(
        "\n".join(failures)
        or f"1 report, 1 plan and {len(records)} records are as the schema says; "
        f"{len(faults)} broken ones are refused"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
