#!/usr/bin/env python3
"""Image pipelines beside OpenCV: one process, one thread, interleaved rounds; results are compared
before anything is timed. OpenCV is given the same image in f32, rim included, and computes the rim
as well; its calls write into memory that is there.

  bench/images.py [--build build/release] [--rounds 15]     # needs numpy and opencv-python-headless
"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from peers import machine  # noqa: E402

ROWS, COLUMNS = 1536, 2560
TAPS = [0.00598, 0.060626, 0.241843, 0.383103, 0.241843, 0.060626, 0.00598]
TOLERANCE = 1e-4  # of the largest value


def blur(cv2, np):
    image = np.random.default_rng(1).random((ROWS + 2, COLUMNS + 2), np.float32)
    out = np.empty_like(image)
    return (
        "blur_3x3",
        f"M={ROWS},N={COLUMNS}",
        image,
        (lambda: cv2.blur(image, (3, 3), dst=out), lambda: out[1:-1, 1:-1]),
    )


def unsharp(cv2, np):
    image = np.random.default_rng(2).random((3, ROWS + 6, COLUMNS + 6), np.float32)
    soft, out, taps = np.empty_like(image), np.empty_like(image), np.array(TAPS, np.float32)

    def run():
        for colour in range(3):
            cv2.sepFilter2D(image[colour], -1, taps, taps, dst=soft[colour])
            cv2.addWeighted(image[colour], 2, soft[colour], -1, 0, dst=out[colour])

    return "unsharp", f"C=3,M={ROWS},N={COLUMNS}", image, (run, lambda: out[:, 3:-3, 3:-3])


def harris(cv2, np):
    image = np.random.default_rng(3).random((ROWS + 4, COLUMNS + 4), np.float32)
    out = np.empty_like(image)
    gradients = 12.0  # OpenCV scales them by 1 / (4 * 3); a response has four as factors
    return (
        "harris",
        f"M={ROWS},N={COLUMNS}",
        image,
        (
            lambda: cv2.cornerHarris(image, 3, 3, 0.25, dst=out),
            lambda: out[2:-2, 2:-2] * gradients**4,
        ),
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    machine.settle(1)
    import cv2
    import numpy as np
    from peers import timing
    from peers.case import Variant
    from peers.polyte import Polyte, aligned_copy

    cv2.setNumThreads(1)
    polyte = Polyte(options.build)
    print(f"{machine.cpu_name()}, one thread, OpenCV {cv2.__version__}")
    for make in (blur, unsharp, harris):
        name, sizes, image, (run, result) = make(cv2, np)
        program = f"examples/schedules/{name}.program"
        artifact, _ = polyte.operator(Variant(program, sizes, scheduler="poly"), {}, name)
        session = polyte.session(artifact, 1)
        session.set_inputs({"a": aligned_copy(image)})
        session.run(), run()
        expected = result()
        apart = float(np.abs(session.outputs[0][1] - expected).max() / np.abs(expected).max())
        if apart > TOLERANCE:
            print(f"{name:10} differs by {apart:.1e} of the largest value")
            continue
        ours, theirs = (
            timing.Contender("poly", session.run, None),
            timing.Contender("cv", run, None),
        )
        timing.measure([ours, theirs], options.rounds, 0.05)
        share, low, high = timing.ratio(theirs, ours)
        print(
            f"{name:10} poly {timing.median(ours.rounds) * 1e3:7.2f} ms   OpenCV "
            f"{timing.median(theirs.rounds) * 1e3:7.2f} ms   OpenCV/poly {share:.2f} "
            f"[{low:.2f}, {high:.2f}]",
            flush=True,
        )


if __name__ == "__main__":
    main()
