#!/usr/bin/env python3
"""Experiments on a GPU from end to end without one: the driver of tests/stand_in in place of
NVIDIA's, modules of tests/lab/fakes in place of torch and Triton, a function of this file in
place of cuBLAS's.

    tests/lab/check_gpu.py --polyte build/release/polyte --driver
    build/release/tests/stand_in/libpolyte_stand_in.so

Peers need numpy, of the python3 that runs this or of POLYTE_PYTHON; without it their tests are
skipped, and say so.
"""

import argparse
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAKES = ROOT / "tests" / "lab" / "fakes"
PYTHON = os.environ.get("POLYTE_PYTHON", sys.executable)
HAS_NUMPY = subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode == 0
WITHOUT = "no numpy (Debian: python3-numpy, or POLYTE_PYTHON)"
POLYTE = DRIVER = ""

PRODUCT = "C[m,n] = sum[k] A[m,k]*B[k,n]"
TILES = """schedule tiles/1 for op f32 exact
param B = 8
split C.init: m by B
split C.update: m by B
nest block m.o > { thread m.i > n > C.init; thread m.i > n > k > C.update }
"""
ROWS = """program rows(M, N)
  in  x: f32[M, N]
  in  g: f32[N]
  out y: f32[M, N]

  m[i]    = max[j] x[i, j]
  e[i, j] = exp(x[i, j] - m[i])
  l[i]    = sum[j] e[i, j] * e[i, j]
  y[i, j] = e[i, j] / sqrt(l[i] + 1) * g[j]
"""
EXPERIMENT = """programs = [{programs}]
arms = [{arms}]
target = "{target}"
emulate = {emulate}
{more}
sizes = {sizes}
[[arm]]
script = "tiles.sched"
params = {{ B = [4, 8] }}
[stop]
rounds = 2
processes = 2
round_ms = 0.05
"""


def quoted(words):
    return ", ".join(json.dumps(word) for word in words)


class Lab:
    """A folder with an experiment, run behind the stand-in."""

    folders = []

    def __init__(
        self,
        arms,
        target="cuda:h100",
        emulate="true",
        programs=(PRODUCT,),
        more="",
        sizes="{ m = 12, n = 20, k = 9 }",
        scripts=(),
        driver=True,
        **environment,
    ):
        self.folders.append(tempfile.TemporaryDirectory())
        self.folder = pathlib.Path(self.folders[-1].name)
        for name, text in (("tiles.sched", TILES), ("rows.program", ROWS), *scripts):
            (self.folder / name).write_text(text)
        (self.folder / "e.toml").write_text(
            EXPERIMENT.format(
                programs=quoted(programs),
                arms=quoted(arms),
                target=target,
                emulate=emulate,
                more=more,
                sizes=sizes,
            )
        )
        (self.folder / "driver").mkdir()
        if driver:
            (self.folder / "driver" / "libcuda.so.1").symlink_to(os.path.abspath(DRIVER))
        self._environment = {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.folder / "driver"),
            "PYTHONPATH": str(FAKES),
            "POLYTE_PYTHON": PYTHON,
            **environment,
        }

    def polyte(self, *words):
        done = subprocess.run(
            [POLYTE, "lab", *words],
            capture_output=True,
            text=True,
            env=self._environment,
            cwd=self.folder,
        )
        return done.returncode, done.stdout + done.stderr

    def run(self):
        status, said = self.polyte("run", "e.toml", "--out", "out", "--quiet")
        assert status == 0, said
        return json.loads(self.polyte("report", "out", "--format", "json")[1])


def tearDownModule():
    for folder in Lab.folders:
        folder.cleanup()


def arms_of(report, row=0):
    return {arm["arm"]: arm for arm in report["rows"][row]["arms"]}


class OnTheStandIn(unittest.TestCase):
    def test_all_arms(self):
        wrong = (
            "schedule wrong/1 for op f32 exact\nnest block k > thread m > thread n > { "
            "C.init; C.update }\n"
        )
        lab = Lab(
            ["poly", "template", "naive", "isl", "script:wrong.sched", "peer:gcc", "peer:numpy"],
            scripts=[("wrong.sched", wrong)],
        )
        report = lab.run()
        arms, row = arms_of(report), report["rows"][0]
        for name in (
            "poly",
            "template",
            "naive",
            "isl",
            "script:tiles.sched B=4",
            "script:tiles.sched B=8",
        ):
            self.assertEqual(arms[name]["status"], "ok", arms[name])
            self.assertEqual([len(own) for own in arms[name]["samples_ns"]], [2, 2])
            self.assertGreater(arms[name]["facts"]["predicted"]["nanoseconds"], 0)
            self.assertRegex(arms[name]["facts"]["launches"][0], "launches: .* of .* thread")
            self.assertRegex(arms[name]["facts"]["interpreter"], "the interpreter at K=")
        self.assertEqual(arms["script:wrong.sched"]["status"], "refused")
        for name, why in (
            ("peer:gcc", "it compiles for this processor, the target is a GPU"),
            ("peer:numpy", "peer:numpy: it is for this processor, the target is a GPU"),
        ):
            self.assertEqual((arms[name]["status"], arms[name]["reason"]), ("declined", why))
        self.assertEqual(row["reference"], "C with its order kept")
        self.assertGreater(row["at_least_ns"], 0)
        self.assertGreater(row["bandwidth_bytes_a_second"], 0)
        gpu = report["contexts"][0]["machine"]["gpu"]
        self.assertEqual(
            (gpu["name"], gpu["multiprocessors"], gpu["cuda"]), ("stand-in", 2, "12.8")
        )
        text = lab.polyte("report", "out")[1]
        self.assertIn("stand-in (0.0), 2 multiprocessors", text)
        self.assertRegex(
            text.replace("\n", " "), "the GPU's rates leave any schedule at least .* by memory"
        )
        self.assertIn("by its events", lab.polyte("report", "out")[1].replace("\n", " "))
        self.assertIn("launches", lab.polyte("report", "out", "--format", "html")[1])
        if jsonschema:
            schema = json.loads((ROOT / "docs" / "lab-results.schema.json").read_text())
            lines = (lab.folder / "out" / "samples.jsonl").read_text().splitlines()
            plan = json.loads((lab.folder / "out" / "plan.json").read_text())
            for kind, documents in (
                ("results", [report]),
                ("plan", [plan]),
                ("record", map(json.loads, lines)),
            ):
                for document in documents:
                    jsonschema.validate(
                        document, {**schema, "anyOf": [{"$ref": f"#/$defs/{kind}"}]}
                    )

    def test_caches(self):
        report = Lab(["poly"], more='caches = ["warm", "cold", "rotated"]').run()
        self.assertEqual([arms_of(report, row)["poly"]["status"] for row in range(3)], ["ok"] * 3)

    def test_in_place_and_constants(self):
        program = (
            "program twice(N)\n  inout x: f32[N]\n  const w: f32[N]\n  x[n] = x[n] * 2 + w[n]\n"
        )
        report = Lab(
            ["poly"],
            programs=["twice.program"],
            sizes="{ n = 40 }",
            scripts=[
                ("twice.program", program),
                (
                    "tiles.sched",
                    "schedule t/1 for twice f32 exact\nparam B = 8\nsplit n by B\n"
                    "nest block n.o > thread n.i > x\n",
                ),
            ],
        ).run()
        for arm in arms_of(report).values():
            self.assertEqual(arm["status"], "ok", arm)
            self.assertRegex(arm["facts"]["outputs"], "same bits")

    def test_model(self):
        lab = Lab(
            ["poly", "template", "naive", "peer:torch", "peer:onnxruntime"],
            programs=[PRODUCT, str(ROOT / "examples" / "digits" / "digits.onnx")],
            more='caches = "rotated"',
        )
        report = lab.run()
        rows = [row for row in report["rows"] if "digits" in row["row"]]
        self.assertEqual(len(rows), 1, [row["row"] for row in report["rows"]])
        for row in rows:
            arms = {arm["arm"]: arm for arm in row["arms"]}
            for name in ("poly", "template", "naive"):
                self.assertEqual(arms[name]["status"], "ok", arms[name])
                self.assertRegex(arms[name]["facts"]["outputs"], "same bits|within")
            for name in ("peer:torch", "peer:onnxruntime"):
                self.assertEqual(
                    (arms[name]["status"], arms[name]["reason"]),
                    ("declined", "the row is a model on a GPU"),
                )
            self.assertEqual(arms["script:tiles.sched B=4"]["status"], "other program")
            self.assertIn(
                row["reference"], ("onnxruntime", "poly on this processor with its order kept")
            )

    def test_no_gpu(self):
        status, said = Lab(["poly"], driver=False).polyte("run", "e.toml", "--out", "out")
        self.assertEqual(status, 6)
        self.assertRegex(
            said,
            "target 'cuda:h100': no CUDA driver: .*target = \"cpu:native\" measures this processor",
        )

    def test_another_gpu(self):
        status, said = Lab(["poly"], emulate="false").polyte("run", "e.toml", "--out", "out")
        self.assertEqual(status, 6)
        self.assertIn(
            'compute capability 9.0, the GPU here, stand-in, of 0.0; target = '
            '"cuda:native" is that',
            said,
        )

    def test_keys_of_one_kind_of_target(self):
        for changes, why in (
            ({"more": "threads = 2"}, "'threads': they are a processor's"),
            ({"target": "cpu:native"}, "'emulate': the emulator is of a GPU"),
        ):
            status, said = Lab(["poly"], **changes).polyte("run", "e.toml", "--out", "out")
            self.assertEqual(status, 3)
            self.assertIn(why, said)


@unittest.skipUnless(HAS_NUMPY, WITHOUT)
class Peers(unittest.TestCase):
    arms = ["poly", "peer:torch", "peer:triton", "peer:cublas"]

    def test_right(self):
        arms = arms_of(Lab(self.arms).run())
        for name in ("peer:torch", "peer:triton"):
            self.assertEqual(arms[name]["status"], "ok", arms[name])
            self.assertEqual([len(own) for own in arms[name]["samples_ns"]], [2, 2])
            self.assertRegex(
                arms[name]["facts"]["command"], r"each execution .* \(graph .* us, eager .* us\)"
            )
        # no library of NVIDIA's runs on the stand-in
        self.assertNotEqual(arms["peer:cublas"]["status"], "ok")

    def test_rows(self):
        arms = arms_of(Lab(self.arms, programs=[PRODUCT, "rows.program"]).run(), row=1)
        self.assertEqual(
            [arms[name]["status"] for name in ("peer:torch", "peer:triton")], ["ok", "ok"], arms
        )

    def test_wrong(self):
        arms = arms_of(Lab(self.arms, POLYTE_FAKE_TORCH="wrong").run())
        self.assertEqual(arms["peer:torch"]["status"], "wrong")
        self.assertRegex(arms["peer:torch"]["reason"], "'C' differs from C with its order kept")
        self.assertEqual(arms["peer:torch"]["samples_ns"], [])
        self.assertEqual(arms["peer:triton"]["status"], "ok")

    def test_no_graph(self):
        arms = arms_of(Lab(self.arms, POLYTE_FAKE_TORCH="no graph").run())
        self.assertRegex(
            arms["peer:torch"]["facts"]["command"],
            "one after another .*no graph: capture: not permitted",
        )

    def test_no_library(self):
        arms = arms_of(Lab(self.arms, PYTHONPATH="").run())
        for name in ("peer:torch", "peer:triton"):
            if arms[name]["status"] != "ok":  # it is installed
                self.assertEqual(arms[name]["status"], "absent", arms[name])


class FakeCublas:
    """cublasGemmStridedBatchedEx by its manual: matrices by columns, each element at the address
    that it says."""

    def cublasGemmStridedBatchedEx(self, handle, first, second, rows, columns, depth, alpha, a,
                                   a_type, a_next, a_batch, b, b_type, b_next, b_batch, beta, c,
                                   c_type, c_next, c_batch, batches, compute,
                                   algorithm):  # fmt: skip
        rows, columns, depth, batches = rows.value, columns.value, depth.value, batches.value
        kind = {0: ctypes.c_float, 1: ctypes.c_double}[a_type.value]
        tall_a, tall_b = (depth if first.value else rows), (columns if second.value else depth)
        assert (
            a_next.value >= max(1, tall_a)
            and b_next.value >= max(1, tall_b)
            and c_next.value >= max(1, rows)
        )

        def at(place, next_column, batch, i, row, column):
            return ctypes.cast(
                place.value
                + ctypes.sizeof(kind) * (i * batch.value + row + column * next_column.value),
                ctypes.POINTER(kind),
            )

        for i in range(batches):
            for row in range(rows):
                for column in range(columns):
                    total = 0.0
                    for k in range(depth):
                        left = (k, row) if first.value else (row, k)
                        right = (column, k) if second.value else (k, column)
                        total += (
                            at(a, a_next, a_batch, i, *left)[0]
                            * at(b, b_next, b_batch, i, *right)[0]
                        )
                    at(c, c_next, c_batch, i, row, column)[0] = total
        return 0


def view(name, shape, axes, out, rank):
    return {
        "op": "view",
        "from": name,
        "out": out,
        "rank": rank,
        "dims": [
            {"axis": axis, "start": 0, "step": 1, "count": count}
            for axis, count in zip(axes, shape)
        ],
    }


def product_form(a, b, c, types=("f32", "f32", "f32")):
    """Of letters: 'mk', 'kn' -> 'mn'; extents 2, 3, 4.. by letter."""
    letters = "".join(dict.fromkeys(c + a + b))
    extents = {letter: 2 + i for i, letter in enumerate(letters)}
    rank, axes = len(letters), {letter: i for i, letter in enumerate(letters)}
    shapes = {word: [extents[letter] for letter in word] for word in (a, b, c)}
    buffers = [
        {"name": name, "dtype": kind, "shape": shapes[word], "role": role}
        for name, word, kind, role in zip("abc", (a, b, c), types, ("in", "in", "out"))
    ]
    numbers = [[axes[letter] for letter in word] for word in (a, b, c)]
    store = view("c", shapes[c], numbers[2], 3, rank)
    steps = [
        view("a", shapes[a], numbers[0], 0, rank),
        view("b", shapes[b], numbers[1], 1, rank),
        {
            "op": "einsum",
            "args": [0, 1],
            "axes": [sorted(n) for n in numbers[:2]],
            "result": sorted(numbers[2]),
            "out": 2,
            "rank": rank,
        },
        {**store, "op": "store", "buffer": "c", "arg": 2},
    ]
    return {"buffers": buffers, "steps": steps}


@unittest.skipUnless(HAS_NUMPY and PYTHON == sys.executable, WITHOUT)
class Products(unittest.TestCase):
    def setUp(self):
        sys.path[:0] = [str(ROOT / "bench")]

    def test_calls_of_cublas(self):
        import numpy as np
        from lab_peers import cublas
        from lab_peers.products import product_of

        for a, b, c in (
            ("mk", "kn", "mn"),
            ("km", "kn", "mn"),
            ("mk", "nk", "mn"),
            ("km", "nk", "mn"),
            ("mk", "kn", "nm"),
            ("imk", "ikn", "imn"),
            ("imk", "ink", "imn"),
            ("mik", "ikn", "imn"),
            ("mk", "k", "m"),
            ("k", "kn", "n"),
            ("pqk", "kn", "pqn"),
            ("mkl", "kln", "mn"),
            ("m", "n", "mn"),
        ):
            for kind, dtype in (("f32", np.float32), ("f64", np.float64)):
                form = product_form(a, b, c, (kind, kind, kind))
                tensors = [
                    np.random.default_rng(i).integers(-3, 4, buffer["shape"]).astype(dtype)
                    for i, buffer in enumerate(form["buffers"])
                ]
                fake = cublas.Cublas.__new__(cublas.Cublas)
                fake._library, fake._handle = FakeCublas(), None
                fake.product(product_of(form), dict(zip("abc", (t.ctypes.data for t in tensors))))()
                np.testing.assert_array_equal(
                    tensors[2], np.einsum(f"{a},{b}->{c}", *tensors[:2]), f"{a},{b}->{c}"
                )

    def test_what_is_no_product(self):
        from lab_peers import cublas
        from lab_peers.arrays import Declined
        from lab_peers.products import product_of

        for form, why in (
            (product_form("mkl", "lkn", "mn"), "do not lie side by side"),
            (product_form("mkl", "kn", "mn"), "summed before"),
            (product_form("mki", "ikn", "imn"), "both have steps"),
            (product_form("mk", "kn", "mn", ("i32", "i32", "i32")), "multiplies no i32"),
        ):
            with self.assertRaisesRegex(Declined, why):
                cublas.by_rows(product_of(form))
        part = product_form("mk", "kn", "mn")
        part["buffers"][0]["shape"][0] += 1
        with self.assertRaisesRegex(Declined, "a part of 'a'"):
            product_of(part)

    def test_short_factors(self):
        from lab_peers.products import product_of, widened

        form = product_form("mk", "kn", "mn", ("bf16", "bf16", "f32"))
        first, second, einsum, store = form["steps"]
        casts = [{"op": "cast", "dtype": "f32", "arg": i, "out": 10 + i, "rank": 3} for i in (0, 1)]
        wide = {**form, "steps": [first, second, *casts, {**einsum, "args": [10, 11]}, store]}
        made = widened(wide)
        self.assertEqual([s["op"] for s in made["steps"]], ["view", "view", "einsum", "store"])
        self.assertEqual((made["steps"][2]["args"], made["steps"][2]["widened"]), ([0, 1], "f32"))
        self.assertEqual(product_of(wide).a.dtype, "bf16")
        back = {"op": "cast", "dtype": "bf16", "arg": 2, "out": 12, "rank": 3}
        short = widened({**wide, "steps": [*wide["steps"][:-1], back, {**store, "arg": 12}]})
        self.assertEqual([s["op"] for s in short["steps"]], ["view", "view", "einsum", "store"])
        self.assertNotIn("widened", short["steps"][2])
        self.assertEqual(short["steps"][2]["out"], short["steps"][3]["arg"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polyte", required=True)
    parser.add_argument("--driver", required=True)
    options, rest = parser.parse_known_args()
    POLYTE, DRIVER = os.path.abspath(options.polyte), options.driver
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
