"""Runs every held-out image through compiled artifacts and says how well they classify.

    python3 evaluate.py POLYTE NAME=ARTIFACT... [--images N] [--interpreted N]

Prints the accuracy of each artifact, whether all of them give the same bits, and how far they
are from the interpreter (on --interpreted images: it is slow by design). Exit status 1 where
an accuracy is below 0.97, where accuracies differ, or where the interpreter disagrees. Only the
standard library is needed: arrays are read from and written to NumPy's files directly.
"""

import argparse
import concurrent.futures
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE / "digits.onnx"
LEAST_ACCURACY = 0.97
TOLERANCE = 1e-5  # of probabilities; exp and the order of sums may differ from the interpreter's
FORMATS = {"<f4": "f", "<i8": "q"}


def read_array(data):
    """Shape and flat list of a .npy file's contents (float32 or int64, row-major)."""
    if data[:6] != b"\x93NUMPY":
        raise ValueError("not a .npy file")
    wide = data[6] > 1  # format versions 2 and 3 have a four-byte header length
    length = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
    begin = 12 if wide else 10
    header = data[begin : begin + length].decode("latin1")
    kind = re.search(r"'descr':\s*'([^']+)'", header).group(1)
    if kind not in FORMATS or "'fortran_order': False" not in header:
        raise ValueError(f"unexpected array {header.strip()}")
    shape = tuple(
        int(n) for n in re.findall(r"\d+", re.search(r"'shape':\s*\(([^)]*)\)", header).group(1))
    )
    return shape, list(
        struct.unpack_from(f"<{math.prod(shape)}{FORMATS[kind]}", data, begin + length)
    )


def write_array(path, shape, values):
    """A float32 .npy file."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1")
    path.write_bytes(start + struct.pack(f"<{len(values)}f", *values))


def read_npz(path):
    with zipfile.ZipFile(path) as archive:
        return {
            name.removesuffix(".npy"): read_array(archive.read(name)) for name in archive.namelist()
        }


class Runner:
    """Calls one polyte verb for an image and returns the probabilities."""

    def __init__(self, polyte, folder):
        self.polyte, self.folder = polyte, folder

    def __call__(self, verb, target, image):
        out = self.folder / f"{verb}-{pathlib.Path(target).stem}-{image}.npz"
        command = [
            self.polyte,
            verb,
            target,
            "-i",
            f"image=@{self.folder / f'{image}.npy'}",
            "-o",
            out,
        ]
        done = subprocess.run(
            [str(c) for c in command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(
                f"{' '.join(str(c) for c in command)}: exit status {done.returncode}\n{done.stderr}"
            )
        values = read_npz(out)["probabilities"][1]
        out.unlink()
        return values


def write_images(folder, count):
    arrays = read_npz(HERE / "held_out.npz")
    shape, pixels = arrays["images"]
    labels = arrays["labels"][1]
    size = math.prod(shape[1:])
    for i in range(min(count, shape[0])):
        write_array(folder / f"{i}.npy", (1, *shape[1:]), pixels[i * size : (i + 1) * size])
    return labels[:count]


def class_of(probabilities):
    return max(range(len(probabilities)), key=probabilities.__getitem__)


def largest_difference(results, others):
    return max(abs(a - b) for x, y in zip(results, others) for a, b in zip(x, y))


def report(labels, results, interpreted):
    """Prints the findings; the list of what is wrong."""
    faults = []
    right = {
        name: sum(class_of(p) == label for p, label in zip(r, labels))
        for name, r in results.items()
    }
    for name, count in right.items():
        print(
            f"{name:10} {count} of {len(labels)} images classified correctly: accuracy "
            f"{count / len(labels):.4f}"
        )
        if count / len(labels) < LEAST_ACCURACY:
            faults.append(f"{name}: accuracy below {LEAST_ACCURACY}")
    if len(set(right.values())) > 1:
        faults.append("accuracies differ")
    first = next(iter(results))
    for name in list(results)[1:]:
        difference = largest_difference(results[first], results[name])
        same = sum(a == b for a, b in zip(results[first], results[name]))
        print(
            f"{first} and {name}: equal bits for {same} of {len(labels)} images, largest "
            f"difference {difference:.2g}"
        )
    for name, r in results.items():
        difference = largest_difference(r, interpreted)
        print(
            f"{name} and the interpreter: largest difference {difference:.2g} over "
            f"{len(interpreted)} images"
        )
        if not difference <= TOLERANCE:
            faults.append(
                f"{name}: differs from the interpreter by {difference:.2g}, expected at most "
                f"{TOLERANCE}"
            )
    return faults


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("polyte")
    parser.add_argument("artifacts", nargs="+", metavar="NAME=ARTIFACT")
    parser.add_argument("--images", type=int, default=360)
    parser.add_argument("--interpreted", type=int, default=20)
    options = parser.parse_args()
    artifacts = dict(a.split("=", 1) for a in options.artifacts)
    with (
        tempfile.TemporaryDirectory() as folder,
        concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        runner = Runner(options.polyte, pathlib.Path(folder))
        labels = write_images(runner.folder, options.images)
        images = range(len(labels))
        results = {name: list(pool.map(lambda i, path=path: runner("run", path, i), images))
                   for name, path in artifacts.items()}  # fmt: skip
        interpreted = list(
            pool.map(lambda i: runner("interpret", MODEL, i), images[: options.interpreted])
        )
    faults = report(labels, results, interpreted)
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"error: {error}")
