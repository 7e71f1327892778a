"""The stages of bench/gpu/run, in its order."""

import json
import os
import shutil
import subprocess
import sys

from . import counters, report
from .crew import Stage

SANITIZERS = ("memcheck", "racecheck", "synccheck")
CLEAN = "ERROR SUMMARY: 0 errors"


class Run:
    def __init__(self, pack, crew, options, context, end):
        self._pack, self._crew, self._options, self._end = pack, crew, options, end
        words = [word for word in options.only.split(",") if word]
        self._items = {
            name: item
            for name, item in pack.items().items()
            if not words or any(w in name for w in words)
        }
        self._right = []
        self._report = {
            "context": context,
            "stages": {},
            "not_packed": pack.contents["refused"],
            "ceilings": {},
            "correctness": [],
            "sanitizer": [],
            "counters": [],
            "benchmarks": [],
        }

    # ---- around every stage

    def report_path(self):
        return self._options.out

    def _write(self):
        with open(self._options.out + ".part", "w") as file:
            json.dump(self._report, file, indent=1)
            file.write("\n")
        os.replace(self._options.out + ".part", self._options.out)

    def stage(self, name, budget):
        if name in self._options.skip.split(","):
            print(f"== {name}: skipped, by --skip", flush=True)
            self._report["stages"][name] = {"skipped": [{"what": "all", "why": "--skip"}]}
            return
        stage = Stage(name, budget, self._end)
        getattr(self, f"_{name}")(stage)
        self._report["stages"][name] = stage.report()
        self._write()

    def is_wrong(self):
        wrong = [
            row for row in self._report["correctness"] if row.get("problems") or row.get("failed")
        ]
        return bool(wrong) or any(not row["clean"] for row in self._report["sanitizer"])

    def finish(self):
        for line in report.table(self._report):
            print(line)
        self._write()

    # ---- the stages

    def machine(self, budget):
        """False where there is no device."""
        stage = Stage("machine", budget, float("inf"))
        for one in self._report["not_packed"]:
            stage.say(f"not in the pack: {one['what']}: {one['why'].splitlines()[0]}")
        line = next(
            self._crew.run(stage, "describe", ["device"]),
            {"failed": "the device did not answer in time"},
        )
        if "failed" in line:
            print(line["failed"], file=sys.stderr)
            return False
        facts = line["facts"]
        self._report["context"].update(facts)
        if self._options.flush_bytes < 0:
            self._options.flush_bytes = 2 * facts["l2_bytes"]
        self._report["context"]["flush_bytes"] = self._options.flush_bytes
        stage.say(
            f"{facts['device']}, compute capability {facts['compute_capability']}, "
            f"{facts['multiprocessors']} multiprocessors, {facts['memory_bytes'] / 2**30:.0f} "
            f"GiB, CUDA {facts['driver_cuda']}"
        )
        self._tools = {name: shutil.which(name) for name in ("compute-sanitizer", "ncu")}
        self._without_torch = "--no-torch" if self._options.no_torch else missing_torch()
        for name, path in self._tools.items():
            stage.say(f"{name}: {path or 'not found'}")
        stage.say(self._without_torch or "torch: found")
        self._report["stages"]["machine"] = stage.report()
        self._write()
        return True

    def _ceilings(self, stage):
        for work in ("copy", "launch", *(() if self._without_torch else ("torch",))):
            for line in self._crew.run(stage, work, [work]):
                if "failed" in line:
                    stage.skip(work, line["failed"])
                    continue
                self._report["ceilings"].update(
                    {
                        f"driver_{k}" if work == "copy" else k: v
                        for k, v in line.items()
                        if k != "id"
                    }
                )
        if self._without_torch:
            stage.skip("matrix products", self._without_torch)
        for name, rate in self._report["ceilings"].items():
            if name.endswith("_per_second"):
                unit = "TFLOP/s" if "flops" in name else "TB/s"
                stage.say(f"{name.removesuffix('_per_second')}: {rate / 1e12:.3f} {unit}")
            elif name == "launch_seconds":
                stage.say(f"a kernel that does nothing: {rate * 1e6:.1f} us")

    def _correctness(self, stage):
        for line in self._crew.run(stage, "correct", sorted(self._items, key=self._cost)):
            self._report["correctness"].append(line)
            problems = line.get("problems", []) + ([line["failed"]] if "failed" in line else [])
            for problem in problems:
                stage.say(f"WRONG {line['id']}: {problem}")
            if "not_checked" in line:
                stage.skip(line["id"], line["not_checked"])
            elif not problems:
                self._right.append(line["id"])
        same = sum(
            all(word == "same bits" for words in line.get("words", {}).values() for word in words)
            for line in self._report["correctness"]
            if line["id"] in self._right
        )
        stage.say(
            f"{len(self._right)} of {len(self._items)} right, {same} of them with the "
            "reference's bits on all data"
        )

    def _cost(self, name):
        """Of a check; arms of one Program stay beside each other, for they share its reference."""
        item = self._items[name]
        return item.get("flops", 0) + item.get("bytes", 0), item.get("program", ""), name

    def _small(self):
        """Kernels that tools which slow them down can run."""
        return [
            name
            for name, item in self._items.items()
            if item.get("counted") and name in self._right
        ]

    def _sanitizer(self, stage):
        tool, names = self._tools["compute-sanitizer"], self._small()
        if not tool or not names:
            return stage.skip(
                "all", "compute-sanitizer: not found" if not tool else "no small kernel is right"
            )
        for check in SANITIZERS:
            if stage.left() <= 0:
                stage.skip(check, "the stage's time is up")
                continue
            done = timed_out(stage, [tool, "--tool", check, *self._crew.command("once", names)])
            text = done if isinstance(done, str) else done.stdout + done.stderr
            came = sum(
                line.startswith('{"id"') and '"failed"' not in line for line in text.splitlines()
            )
            summary = [line.strip(" =") for line in text.splitlines() if "SUMMARY" in line]
            clean = came == len(names) and any(
                CLEAN in line or "RACECHECK SUMMARY: 0 hazards" in line for line in summary
            )
            if isinstance(done, str):
                stage.skip(check, done)
                continue
            row = {"tool": check, "kernels": names, "ran": came, "clean": clean, "summary": summary}
            if not clean:
                row["output"] = text[-4000:]
            self._report["sanitizer"].append(row)
            stage.say(
                f"{check}: {came} of {len(names)} kernels, {'; '.join(summary) or 'no summary'}"
                f"{'' if clean else ': NOT CLEAN'}"
            )

    def _counters(self, stage):
        tool, names = self._tools["ncu"], self._small()
        if not tool or not names:
            return stage.skip("all", "ncu: not found" if not tool else "no small kernel is right")
        for name in names:
            if stage.left() <= 0:
                stage.skip(name, "the stage's time is up")
                continue
            metrics = ",".join(counters.METRICS.values())
            done = timed_out(
                stage,
                [
                    tool,
                    "--csv",
                    "--page",
                    "raw",
                    "--clock-control",
                    "none",
                    "--metrics",
                    metrics,
                    *self._crew.command("once", [name]),
                ],
            )
            if isinstance(done, str):
                stage.skip(name, done)
                continue
            rows, why = counters.compared(done.stdout, self._items[name]["emulated"])
            if why:
                stage.skip(name, f"{why}: {counters.last_word(done)}")
                continue
            for row in rows:
                self._report["counters"].append({"id": name, **row})
                stage.say(f"{name} {row['launch']}: " + counters.text(row))

    def _timed(self, stage, works):
        more = [] if self._without_torch else ["--torch"]
        if self._without_torch:
            stage.skip("peers", self._without_torch)
        for line in self._crew.run(stage, "time", works, *more):
            if "failed" in line:
                stage.skip(line["id"], line["failed"])
                continue
            items = [self._items[name] for name in line["id"].split("+")]
            for note in line["notes"]:
                stage.say(f"{items[0].get('program') or items[0]['network']}: {note}")
            self._report["benchmarks"] += report.rows(line["rows"], items, self._report["ceilings"])

    def _works(self, key):
        """Arms of one Program, or network, in one piece: "a.poly+a.template"; of what is right."""
        works = {}
        for name in self._right:
            if key in self._items[name]:
                works.setdefault(self._items[name][key], []).append(name)
        return ["+".join(names) for names in works.values()]

    def _kernels(self, stage):
        self._timed(stage, self._works("program"))

    def _networks(self, stage):
        self._timed(stage, self._works("network"))


def missing_torch():
    """Asked in a process of its own: torch is slow to load, and takes memory of the device."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", "from kit import torch_peers; print(torch_peers.is_there())"],
        capture_output=True,
        text=True,
        cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[:2])},
    )
    return (
        done.stdout.strip()
        if done.returncode == 0
        else f"torch: {done.stderr.strip().splitlines()[-1]}"
    )


def timed_out(stage, command):
    """What the command did, or why there is nothing."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=max(stage.left(), 1))
    except subprocess.TimeoutExpired:
        return "the stage's time is up"
    except OSError as error:
        return str(error)
