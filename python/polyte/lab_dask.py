"""Measures an experiment of `polyte lab` on the hosts of a Dask cluster: what `polyte lab run
--workers dask://HOST:PORT` starts.

    python3 -m polyte.lab_dask tcp://HOST:8786 FOLDER polyte

One host measures one shard of the plan's rows, alone; its samples come back as text into
FOLDER/shards/I, which `polyte lab merge` joins. Hosts need the same build of `polyte`, at the same
path or on PATH, and nothing else.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Mapping
from typing import Any


def measure_shard(plan: str, shard: str, binary: str) -> tuple[str, str]:
    """On a host: the samples of these rows of the plan, and what was said while they were taken."""
    import os
    import shutil
    import subprocess
    import tempfile

    polyte = binary if os.access(binary, os.X_OK) else shutil.which("polyte")
    if not polyte:
        return "", f"no {binary} here, and no polyte on PATH"
    with tempfile.TemporaryDirectory(prefix="polyte-lab-") as folder:
        with open(os.path.join(folder, "plan.json"), "w", encoding="utf-8") as file:
            file.write(plan)
        run = subprocess.run(
            [polyte, "lab", "run", folder, "--shard", shard, "--quiet"],
            capture_output=True,
            text=True,
        )
        samples = os.path.join(folder, "samples.jsonl")
        text = open(samples, encoding="utf-8").read() if os.path.exists(samples) else ""
        return (
            text,
            "" if run.returncode == 0 else f"ended with status {run.returncode}: {run.stderr}",
        )


def one_worker_a_host(workers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Two workers of one host would disturb each other's times."""
    hosts: dict[Any, str] = {}
    for address, facts in sorted(workers.items()):
        hosts.setdefault(facts.get("host", address), address)
    return list(hosts.values())


def run(address: str, folder: pathlib.Path, binary: str) -> list[str]:
    """Returns what went wrong, a line each."""
    from distributed import Client

    plan = (folder / "plan.json").read_text(encoding="utf-8")
    with Client(address, timeout=30, set_as_default=False) as client:
        workers = one_worker_a_host(client.scheduler_info(n_workers=-1)["workers"])
        if not workers:
            return [f"{address}: has no workers"]
        print(f"{len(workers)} hosts measure a shard each")
        futures = [
            client.submit(
                measure_shard,
                plan,
                f"{i}/{len(workers)}",
                binary,
                workers=[worker],
                allow_other_workers=False,
                pure=False,
            )
            for i, worker in enumerate(workers)
        ]
        problems = []
        for i, (worker, future) in enumerate(zip(workers, futures)):
            samples, problem = future.result()
            shard = folder / "shards" / str(i)
            shard.mkdir(parents=True, exist_ok=True)
            (shard / "plan.json").write_text(plan, encoding="utf-8")
            (shard / "samples.jsonl").write_text(samples, encoding="utf-8")
            problems += [f"{worker}: {problem}"] if problem else []
        return problems


def main() -> int:
    """The shards of a run, one per worker of a cluster; exit 1 where one of them failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("address", help="of the scheduler, tcp://HOST:PORT")
    parser.add_argument("folder", type=pathlib.Path, help="the result folder, with its plan.json")
    parser.add_argument("binary", help="polyte, as the hosts have it")
    options = parser.parse_args()
    try:
        import distributed  # noqa: F401: said before anything is begun
    except ImportError:
        print(
            "dask.distributed is not installed here: python3 -m pip install distributed",
            file=sys.stderr,
        )
        return 2
    try:
        problems = run(options.address, options.folder, options.binary)
    except OSError as error:
        problems = [f"{options.address}: {error}"]
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
