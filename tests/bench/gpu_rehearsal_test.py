#!/usr/bin/env python3
"""bench/gpu/pack and bench/gpu/run from end to end on a machine without a GPU: three kernels and
a network, behind the driver of tests/stand_in. What needs torch is skipped there, and has to say
so; compute-sanitizer and ncu are played by scripts that print what those print. A wrong kernel, a
damaged artifact and a count that differs have to show."""

import argparse
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

BUILD = "build/release"
PROGRAMS = "count_sums,count_transpose"
HAND = """schedule hand/1 for count_transpose  f32  exact
split i by 32, j by 8
nest block i.o > block j.o > thread i.i > j.i > y
"""

SANITIZER = """#!{python}
import os, subprocess, sys
tool = sys.argv[2]
sys.stdout.write(subprocess.run(sys.argv[3:], capture_output=True, text=True).stdout)
print("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"
      if tool == "racecheck"
      else "========= ERROR SUMMARY: " + os.environ.get("PLANTED_ERRORS", "0") + " errors")
"""

# Prints, as ncu does, what the emulator counted, one sector more than that where a test says so.
NCU = """#!{python}
import csv, json, os, subprocess, sys
sys.path[:0] = [{kit!r}]
from kit import counters
command = sys.argv[sys.argv.index("--metrics") + 2:]
print("==PROF== Connected to process 1")
sys.stdout.write(subprocess.run(command, capture_output=True, text=True).stdout)
pack = json.load(open(os.path.join(command[command.index("--pack") + 1], "pack.json")))
item = [i for i in pack["kernels"] if i["id"] == command[-1]][0]
names = list(counters.METRICS.values())
out = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL)
out.writerow(["ID", "Kernel Name", *names])
out.writerow(["", "", *("sector" for _ in names)])
for number, launch in enumerate(item["emulated"]):
    sums = counters.predicted(launch)
    sums["global", "read"] += int(os.environ.get("PLANTED_SECTORS", "0"))
    values = [f"{{sums[key]:,}}" for key in counters.METRICS]
    out.writerow([number, launch["name"] + "(unsigned long)", *values])
"""


def run(*command, status=0, path="", **more):
    env = {**os.environ, **more, "PATH": path + os.pathsep + os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-B", *command], capture_output=True, text=True, env=env)
    assert done.returncode == status, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


class Rehearsal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.pack = os.path.join(cls.scratch.name, "pack")
        scripts = os.path.join(cls.scratch.name, "scripts")
        os.makedirs(scripts)
        for name, text in (
            ("hand.sched", HAND),
            ("other.sched", HAND.replace("count_transpose", "other")),
        ):
            with open(os.path.join(scripts, name), "w") as file:
                file.write(text)
        cls.said = run(
            "bench/gpu/pack",
            "--scripts",
            scripts,
            "--build",
            BUILD,
            "--out",
            cls.pack,
            "--only",
            PROGRAMS,
            "--networks",
            "examples/digits/digits.onnx,no_such.onnx",
            "--emulate",
        )
        cls.tools = os.path.join(cls.scratch.name, "tools")
        os.makedirs(cls.tools)
        for name, text in (("compute-sanitizer", SANITIZER), ("ncu", NCU)):
            path = os.path.join(cls.tools, name)
            with open(path, "w") as file:
                file.write(
                    text.format(python=sys.executable, kit=os.path.join(cls.pack, "bench", "gpu"))
                )
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def measure(self, *more, pack="", status=0, **environment):
        """(report, what was printed)"""
        report = os.path.join(self.scratch.name, "report.json")
        pack = pack or self.pack
        said = run(
            os.path.join(pack, "bench", "gpu", "run"),
            "--driver",
            os.path.join(BUILD, "tests", "stand_in", "libpolyte_stand_in.so"),
            "--out",
            report,
            "--copy-bytes",
            "65536",
            "--flush-bytes",
            "4096",
            "--rounds",
            "1",
            *more,
            status=status,
            **environment,
        )
        with open(report) as file:
            return json.load(file), said

    def copy_of_pack(self):
        copy = os.path.join(self.scratch.name, "copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.pack, copy)
        return copy

    def test_all_of_it(self):
        report, said = self.measure(path=self.tools)
        ids = {
            f"{name}.{arm}"
            for name in (*PROGRAMS.split(","), "digits")
            for arm in ("poly", "template")
        }
        ids.add("count_transpose.script hand")
        self.assertEqual({row["id"] for row in report["correctness"]}, ids)
        for row in report["correctness"]:
            self.assertEqual(row["problems"], [])
            self.assertEqual(
                set(row["words"]), {"int:1", "int:1, replayed", "normal:1", "normal:1, replayed"}
            )
        self.assertEqual(
            {row["name"].split(" / ")[0] for row in report["benchmarks"]},
            {*PROGRAMS.split(","), "digits"},
        )
        self.assertTrue(all(row["real_time"] > 0 for row in report["benchmarks"]))
        self.assertTrue(
            all(
                "ceiling_fraction" in row
                for row in report["benchmarks"]
                if row["name"].startswith("count")
            )
        )
        self.assertEqual([row["clean"] for row in report["sanitizer"]], [True, True, True])
        # the columns of poly are parts, and their sums
        self.assertEqual(len(report["counters"]), 6)
        for row in report["counters"]:
            for count in row["counts"]:
                self.assertEqual(count["counted"], count["predicted"])
        self.assertEqual(report["context"]["device"], "stand-in")
        if "torch: found" not in said:
            self.assertIn("skipped in kernels: peers: torch", said)
            self.assertIn("skipped in ceilings: matrix products: torch", said)
        self.assertIn("no_such.onnx", report["not_packed"][0]["what"])
        self.assertIn("not packed: no_such.onnx: no such file", self.said)

    def test_stages_without_their_tools_say_so(self):
        report, said = self.measure("--skip", "correctness,kernels,networks")
        for stage in ("sanitizer", "counters"):
            if not shutil.which("compute-sanitizer" if stage == "sanitizer" else "ncu"):
                self.assertRegex(said, f"skipped in {stage}: all: .*not found")
        for stage in ("correctness", "kernels", "networks"):
            self.assertIn(f"skipped in {stage}: all: --skip", said)
        self.assertEqual(report["benchmarks"], [])

    def test_a_wrong_kernel_is_red_and_not_timed(self):
        pack = self.copy_of_pack()
        with open("bench/suites/gpu.program") as file:
            text = re.search(r"(?ms)^program count_transpose.*?(?=^program )", file.read())[0]
        wrong = os.path.join(self.scratch.name, "wrong.program")
        with open(wrong, "w") as file:
            file.write(text.replace("= x[j, i] ", "= x[j, i] * 1.001 "))
        subprocess.run(
            [
                os.path.join(BUILD, "polyte"),
                "op",
                wrong,
                "--target",
                "cuda:h100",
                "--emulate",
                "--artifact",
                os.path.join(pack, "kernels", "count_transpose.poly.polyte"),
            ],
            check=True,
            capture_output=True,
        )
        report, said = self.measure("--only", "count_transpose", pack=pack, status=1)
        self.assertRegex(
            said, "WRONG count_transpose.poly: int:1, y: .*whole numbers have to be equal"
        )
        self.assertEqual(
            {row["name"] for row in report["benchmarks"]},
            {"count_transpose / polyte template", "count_transpose / polyte script hand"},
        )

    def test_a_damaged_artifact_is_one_failure(self):
        pack = self.copy_of_pack()
        for name, change in (
            ("kernels/count_sums.poly.polyte", lambda data: data[: len(data) // 2]),
            ("networks/digits.poly.polyte", lambda data: data[:2000] + b"?" + data[2001:]),
        ):
            path = os.path.join(pack, name)
            with open(path, "rb") as file:
                data = file.read()
            with open(path, "wb") as file:
                file.write(change(data))
        report, said = self.measure("--skip", "networks", pack=pack, status=1)
        self.assertIn("WRONG count_sums.poly: ", said)
        self.assertRegex(
            said,
            "WRONG digits.poly: .*the artifact put together again is not the one that was packed",
        )
        self.assertEqual(len([row for row in report["correctness"] if "failed" not in row]), 5)

    def test_what_the_tools_find_is_told(self):
        report, said = self.measure(
            "--only",
            "count_sums",
            "--skip",
            "kernels",
            path=self.tools,
            status=1,
            PLANTED_ERRORS="2",
            PLANTED_SECTORS="1",
        )
        self.assertIn("memcheck: 2 of 2 kernels, ERROR SUMMARY: 2 errors: NOT CLEAN", said)
        self.assertRegex(
            said, r"count_sums.poly count_sums_launch0: .*global reads \d+ predicted \d+"
        )
        self.assertEqual([row["clean"] for row in report["sanitizer"]], [False, True, False])

    def test_time_that_is_up_is_told(self):
        report, said = self.measure("--minutes", "0")
        self.assertRegex(
            said, "skipped in correctness: 7 of 7: .* and after: the stage.s time is up"
        )
        self.assertEqual(report["correctness"], [])

    def test_no_driver_is_exit_6(self):
        said = run(
            os.path.join(self.pack, "bench", "gpu", "run"),
            "--driver",
            "./none.so",
            "--out",
            os.path.join(self.scratch.name, "none.json"),
            status=6,
        )
        self.assertIn("no CUDA driver: ./none.so", said)

    def test_a_pack_is_not_written_over_another(self):
        said = run("bench/gpu/pack", "--build", BUILD, "--out", self.pack, status=2)
        self.assertIn("is there already", said)


# Says a line for each id; "hang" says nothing more, "die" ends the process, "lose" the device.
WORKER = """
import json, sys, time
for name in sys.argv[sys.argv.index("--ids") + 1:]:
    if name == "die": sys.exit("no more")
    if name == "hang": time.sleep(60)
    fault = {"failed": "gone", "lost": True} if name == "lose" else {}
    print(json.dumps({"id": name, **fault}), flush=True)
    if name == "lose": sys.exit(6)
"""


class Crews(unittest.TestCase):
    def setUp(self):
        sys.path[:0] = ["bench/gpu", "bench"]
        from kit.crew import Crew, Stage

        self.script = tempfile.NamedTemporaryFile("w", suffix=".py")
        self.script.write(WORKER)
        self.script.flush()
        self.stage, self.crew = (
            Stage("test", 1000, float("inf")),
            Crew(self.script.name, [], patience=10),
        )

    def tearDown(self):
        self.script.close()

    def test_what_hangs_dies_or_loses_the_device_is_one_failure(self):
        lines = list(self.crew.run(self.stage, "any", ["a", "die", "b", "hang", "c", "lose", "d"]))
        self.assertEqual(
            [line["id"] for line in lines], ["a", "die", "b", "hang", "c", "lose", "d"]
        )
        failed = {line["id"]: line["failed"] for line in lines if "failed" in line}
        self.assertEqual(
            failed,
            {
                "die": "the process ended with 1: no more",
                "hang": "nothing came for 10 s: it was ended",
                "lose": "gone",
            },
        )
        self.assertEqual(self.stage.skipped, [])

    def test_the_stage_ends_when_its_time_is_up(self):
        lines = self.crew.run(self.stage, "any", ["a", "hang", "b"])
        self.assertEqual(next(lines), {"id": "a"})
        self.stage.end = self.stage.started
        self.assertEqual(list(lines), [])
        self.assertEqual(
            self.stage.skipped,
            [{"what": "2 of 3: hang and after", "why": "the stage's time is up"}],
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=BUILD)
    options, rest = parser.parse_known_args()
    BUILD = options.build
    unittest.main(argv=[sys.argv[0], *rest])
