#!/usr/bin/env python3
"""Tests of bench/*.py. What needs numpy or onnx is skipped, and said to be, where they
are not installed."""

import argparse
import glob
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

BENCH = "bench"
BUILD = "build/release"
sys.path.insert(0, BENCH)
sys.dont_write_bytecode = True


def installed(*names):
    return all(importlib.util.find_spec(name) for name in names)


def run(*command):
    done = subprocess.run([sys.executable, "-B", *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Statistics(unittest.TestCase):
    def test_median_and_interval(self):
        from peers import timing

        self.assertEqual(timing.median([3, 1, 2]), 2)
        self.assertEqual(timing.median([4, 1, 2, 3]), 2.5)
        low, high = timing.interval(range(101))
        self.assertEqual((low, high), (40, 61))

    def test_ratio_pairs_the_rounds(self):
        from peers import timing

        a = timing.Contender("a", None, None, rounds=[1.0, 20.0, 3.0])
        b = timing.Contender("b", None, None, rounds=[2.0, 40.0, 6.0])
        self.assertEqual(timing.ratio(a, b)[0], 0.5)

    def test_every_contender_is_run_in_every_round(self):
        from peers import timing

        calls = []
        contenders = [
            timing.Contender(name, lambda name=name: calls.append(name), None) for name in "ab"
        ]
        timing.measure(contenders, rounds=4, round_seconds=1e-9, warm_up=1e-9)
        self.assertEqual([len(c.rounds) for c in contenders], [4, 4])
        self.assertEqual(calls[-8:], ["a", "b", "b", "a", "a", "b", "b", "a"])


class Scripts(unittest.TestCase):
    def test_they_compile(self):
        for path in glob.glob(f"{BENCH}/**/*.py", recursive=True):
            with open(path) as file:
                compile(file.read(), path, "exec")


class Cliffs(unittest.TestCase):
    def test_a_seed_draws_the_same_of_every_family(self):
        import drawn

        texts = []
        for _ in range(2):
            texts.append(
                [
                    each.text()
                    for family in sorted(set(drawn.FAMILIES))
                    for each in drawn.draw(5, 3, [family])
                ]
            )
        self.assertEqual(texts[0], texts[1])

    def test_they_are_timed_beside_their_bound_and_wordings_beside_the_plain_form(self):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            said = run(
                f"{BENCH}/cliffs.py",
                "--polyte",
                f"{BUILD}/polyte",
                "--family",
                "wording",
                "--draws",
                "10",
                "--rounds",
                "1",
                "--worst",
                "1",
                "--json",
                report,
            )
            with open(report) as file:
                rows = json.load(file)["rows"]
        self.assertEqual(len(rows), 20)
        self.assertEqual({row["declined"] for row in rows}, {None})
        self.assertTrue(all(0 < row["share"] < 2 for row in rows))
        self.assertIn("time of a wording over that of the plain form", said)


@unittest.skipUnless(installed("numpy"), "numpy is not installed")
class Operators(unittest.TestCase):
    def test_a_transpose_beside_numpy(self):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            run(
                f"{BENCH}/operators.py",
                "--build",
                BUILD,
                "--only",
                "transpose 1000",
                "--peers",
                "numpy",
                "--rounds",
                "3",
                "--round-seconds",
                "0.001",
                "--json",
                report,
            )
            with open(report) as file:
                rows = json.load(file)["benchmarks"]
        names = {row["name"] for row in rows}
        self.assertIn("transpose 1000 1500 / polyte transpose_tile", names)
        self.assertIn("transpose 1000 1500 / numpy", names)

    def test_wrong_results_are_not_timed(self):
        import numpy as np
        import operators
        from peers import case, timing

        made = case.transpose(32, 48)
        right = timing.Contender("right", lambda: None, lambda: made.inputs["x"].T)
        wrong = timing.Contender("wrong", lambda: None, lambda: np.zeros((48, 32)))
        self.assertTrue(operators.agreed(right, made))
        self.assertFalse(operators.agreed(wrong, made))


@unittest.skipUnless(installed("numpy", "onnx"), "onnx is not installed")
class Models(unittest.TestCase):
    def test_a_model_is_the_same_each_time_and_polyte_compiles_it(self):
        with tempfile.TemporaryDirectory() as folder:
            contents = []
            for _ in range(2):
                run(f"{BENCH}/models", "mlp", "--out", folder)
                with open(os.path.join(folder, "mlp.onnx"), "rb") as file:
                    contents.append(file.read())
            self.assertEqual(contents[0], contents[1])
            subprocess.run(
                [
                    os.path.join(BUILD, "polyte"),
                    "compile",
                    os.path.join(folder, "mlp.onnx"),
                    "--strict",
                    "-o",
                    os.path.join(folder, "mlp.polyte"),
                ],
                check=True,
                capture_output=True,
            )

    def test_unknown_names_are_refused(self):
        done = subprocess.run(
            [sys.executable, "-B", f"{BENCH}/models", "lenet"], capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn("no model lenet; there are resnet18", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=BUILD)
    options, rest = parser.parse_known_args()
    BUILD = options.build
    unittest.main(argv=[sys.argv[0], *rest])
