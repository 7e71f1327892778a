#!/usr/bin/env python3
"""Writes the networks that bench/models.py times, as ONNX files with seeded weights. Needs onnx
and numpy.

  python3 bench/models [NAME...] [--out build/models] [--coarse] [--list]
"""

import argparse
import os

import plain
import residual
import transformer
from coarse import coarse

MODELS = {
    function.__name__: function
    for function in [
        residual.resnet18,
        residual.resnet50,
        residual.mobilenet_v2,
        residual.mobilenet_v3_large,
        residual.mobilenet_v3_small,
        residual.efficientnet_b0,
        plain.squeezenet1_1,
        plain.densenet121,
        plain.inception_v3,
        residual.shufflenet_v2,
        plain.vgg11,
        plain.unet,
        plain.yolo,
        plain.mlp,
        transformer.bert_base,
    ]
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", default="build/models")
    parser.add_argument(
        "--coarse",
        action="store_true",
        help="weights of four values, which pack small: for bench/gpu/pack",
    )
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(MODELS))
        return
    unknown = sorted(set(options.names) - set(MODELS))
    if unknown:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    os.makedirs(options.out, exist_ok=True)
    for name in options.names or MODELS:
        path = os.path.join(options.out, f"{name}.onnx")
        with open(path, "wb") as file:
            model = MODELS[name]()
            file.write((coarse(model) if options.coarse else model).SerializeToString())
        print(f"{path} {os.path.getsize(path) / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
