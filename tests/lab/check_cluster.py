#!/usr/bin/env python3
"""polyte lab on more machines: shards, a job array (a stand-in for sbatch runs its tasks), a Dask
cluster of two processes.

    tests/lab/check_cluster.py --polyte build/release/polyte [--python-package build/release/python]

Nothing here looks at a time. What is not installed is left out, and said.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

EXPERIMENT = """programs = ["C[m,n] = sum[k] A[m,k]*B[k,n]"]
arms = ["poly", "naive"]
sizes = { m = [8, 9, 10], n = 8, k = 8 }
stop = { rounds = 2, processes = 2, round_ms = 0.01 }
"""

# Runs the tasks of a job array one after the other, as Slurm would on its nodes.
SBATCH = """#!/bin/sh
for last; do :; done
case "$*" in *--wait*) ;; *) echo "expected --wait" >&2; exit 9 ;; esac
count=$(sed -n 's/^#SBATCH --array=0-//p' "$last")
grep -q '^#SBATCH --partition=short$' "$last" || { echo "no partition" >&2; exit 9; }
for task in $(seq 0 "$count"); do SLURM_ARRAY_TASK_ID=$task sh "$last" || exit 1; done
"""


class Lab:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.failures = binary, folder, []
        (folder / "e.toml").write_text(EXPERIMENT)

    def run(self, *arguments, status=0, env=None):
        done = subprocess.run(
            [self.binary, "lab", *map(str, arguments)], capture_output=True, text=True, env=env
        )
        self.expect(
            done.returncode == status,
            f"lab {' '.join(map(str, arguments))}: status {done.returncode}, "
            f"expected {status}: {done.stdout}{done.stderr}",
        )
        return done.stdout + done.stderr

    def expect(self, is_so, problem):
        if not is_so:
            self.failures.append(problem)

    def results(self, name):
        said = self.run("report", self.folder / name, "--format", "json")
        return json.loads(said) if said.startswith("{") else {"rows": []}

    def is_whole(self, name):
        rows = self.results(name)["rows"]
        self.expect(
            len(rows) == 3 and all(row["processes"] == 2 for row in rows),
            f"{name}: {[row['processes'] for row in rows]} processes, expected 2 of each of 3 rows",
        )


def changed_machine(folder, id_):
    """Another machine's samples, as far as anyone can tell."""
    path = folder / "samples.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "context":
            line["machine"]["id"] = id_
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def check_shards(lab):
    folder, toml = lab.folder, lab.folder / "e.toml"
    for i in range(2):
        lab.run("run", toml, "--out", folder / f"s{i}", "--shard", f"{i}/2", "--quiet")
    said = lab.run("merge", folder / "s0", folder / "s1", "--out", folder / "whole")
    lab.expect("6 processes of 3 rows, 1 machine" in said, said)
    lab.is_whole("whole")
    lab.run("merge", folder / "s0", "--out", folder / "whole", status=2)  # has samples already
    lab.run("run", toml, "--out", folder / "s2", "--shard", "2/2", "--quiet", status=2)
    lab.run("run", toml, "--out", folder / "s2", "--shard", "x", "--quiet", status=2)
    # Shards of two machines are joined, as no row has both; a row of both is refused, and a
    # folder goes on with one.
    changed_machine(folder / "s1", "another")
    said = lab.run("merge", folder / "s0", folder / "s1", "--out", folder / "two")
    lab.expect("2 machines" in said, said)
    lab.is_whole("two")
    lab.run("run", toml, "--out", folder / "s3", "--shard", "0/2", "--quiet")
    changed_machine(folder / "s3", "another")
    said = lab.run("merge", folder / "s0", folder / "s3", "--out", folder / "mixed", status=2)
    lab.expect(said.count("row 'op K=8 M=") == 2 and "never of two machines" in said, said)
    lab.run("merge", folder / "s0", folder / "s0", "--out", folder / "twice")
    lab.expect(
        [row["processes"] for row in lab.results("twice")["rows"]] == [4, 0, 4],
        "processes are numbered anew",
    )
    said = lab.run("run", folder / "s3", "--quiet", status=2)
    lab.expect("another machine" in said, said)
    # A record that mixes them all the same: one machine's samples stand, and that is said.
    text = (folder / "s0" / "samples.jsonl").read_text()
    moved = [
        json.loads(line) for line in (folder / "s3" / "samples.jsonl").read_text().splitlines()
    ]
    for line in moved:
        if "process" in line and line["process"] == 0:
            line["process"] = 7
    moved = [line for line in moved if line.get("process", 7) == 7]
    (folder / "s0" / "samples.jsonl").write_text(
        text + "".join(json.dumps(line) + "\n" for line in moved)
    )
    for row in lab.results("s0")["rows"][:1]:
        lab.expect(
            row["processes"] == 2 and any("2 machines" in warning for warning in row["warnings"]),
            f"{row['processes']} processes: {row['warnings']}",
        )


def check_slurm(lab):
    bin_ = lab.folder / "bin"
    bin_.mkdir()
    (bin_ / "sbatch").write_text(SBATCH)
    (bin_ / "sbatch").chmod(0o755)
    env = dict(os.environ, PATH=f"{bin_}:{os.environ['PATH']}")
    out, toml = lab.folder / "array", lab.folder / "e.toml"
    lab.run("run", toml, "--out", out, "--slurm", 2, "--sbatch=--partition=short", env=env)
    lab.is_whole("array")
    before = (out / "shards" / "0" / "samples.jsonl").read_text()
    # all is there
    lab.run("run", toml, "--out", out, "--slurm", 2, "--sbatch=--partition=short", env=env)
    lab.expect(
        (out / "shards" / "0" / "samples.jsonl").read_text() == before,
        "a shard that was done is measured again",
    )
    # the array fails
    lab.run("run", toml, "--out", lab.folder / "bad", "--slurm", 2, env=env, status=4)
    lab.run(
        "run", toml, "--out", lab.folder / "bad", "--slurm", 2, "--sbatch=x\ny", env=env, status=2
    )
    said = lab.run("run", toml, "--out", lab.folder / "s0", "--slurm", 2, env=env, status=2)
    lab.expect("has samples of a run on this machine" in said, said)
    said = lab.run(
        "run",
        toml,
        "--out",
        lab.folder / "bad",
        "--slurm",
        2,
        env=dict(os.environ, PATH=str(lab.folder)),
        status=5,
    )
    lab.expect("sbatch cannot be started" in said, said)


def check_dask(lab, package):
    try:
        from distributed import LocalCluster
    except ImportError:
        return print(
            "left out: Dask, which this Python has not (python3 -m pip install distributed)"
        )
    if not (package / "polyte" / "lab_dask.py").exists():
        return print("left out: Dask, as the Python package is not built")
    bin_ = lab.folder / "python"
    bin_.mkdir()
    (bin_ / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (bin_ / "python3").chmod(0o755)
    env = dict(os.environ, PATH=f"{bin_}:{os.environ['PATH']}", PYTHONPATH=str(package))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        said = lab.run(
            "run",
            lab.folder / "e.toml",
            "--out",
            lab.folder / "dask",
            "--workers",
            address,
            env=env,
        )
        # two workers, one machine: one at a time
        lab.expect("1 hosts measure a shard each" in said, said)
        lab.is_whole("dask")
    lab.run(
        "run",
        lab.folder / "e.toml",
        "--out",
        lab.folder / "x",
        "--workers",
        "ray://here",
        env=env,
        status=2,
    )
    print("Dask: a local cluster has measured the experiment")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polyte", required=True, type=pathlib.Path)
    parser.add_argument(
        "--python-package", type=pathlib.Path, default=pathlib.Path("build/release/python")
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options.polyte.resolve(), pathlib.Path(folder))
        check_shards(lab)
        check_slurm(lab)
        check_dask(lab, options.python_package.resolve())
    print("\n".join(lab.failures) or "shards, merging and a job array are right")
    return 1 if lab.failures else 0


if __name__ == "__main__":
    sys.exit(main())
