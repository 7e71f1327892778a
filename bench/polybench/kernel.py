"""A kernel of PolyBench: its Program, its sizes, and memory for its tensors."""

import functools
import json
import os
import re

import numpy as np
from inputs import COMPARED, MAKERS
from peers.polyte import aligned, aligned_copy

FOLDER = os.path.dirname(os.path.abspath(__file__))
SCHEDULES = os.path.normpath(os.path.join(FOLDER, "..", "..", "examples", "schedules", "polybench"))
NAMES = ["correlation", "covariance", "2mm", "3mm", "atax", "bicg", "doitgen", "mvt", "gemm",
         "gemver", "gesummv", "symm", "syr2k", "syrk", "trmm", "cholesky", "durbin", "gramschmidt",
         "lu", "ludcmp", "trisolv", "deriche", "floyd-warshall", "nussinov", "adi", "fdtd-2d",
         "heat-3d", "jacobi-1d", "jacobi-2d", "seidel-2d"]  # fmt: skip
SIZES = ["MINI", "SMALL", "MEDIUM", "LARGE", "EXTRALARGE"]
TYPES = {"f64": np.float64, "f32": np.float32, "i32": np.int32, "i8": np.int8}
PAGE = 4096
BUFFER = re.compile(r"\s+(in|out|inout)\s+(\w+)\s*:\s*(\w+)\[(.*?)\]")


def retyped(program, real, folder):
    """A copy of a Program of f64: what else it holds, such as numbers and i32, stays."""
    path = os.path.join(folder, os.path.basename(program))
    with open(program) as file, open(path, "w") as copy:
        copy.write(re.sub(r"\bf64\b", real, file.read()))
    return path


class Kernel:
    def __init__(self, name, size, real="f64", folder=None):
        """Of another type than f64 its Program is written to `folder`, which is then needed."""
        self.name, self.size, self.real = name, size, real
        self.program = os.path.join(FOLDER, f"{name}.program")
        if real != "f64":
            self.program = retyped(self.program, real, folder)
        with open(os.path.join(FOLDER, "sizes.json")) as file:
            self.sizes = json.load(file)[name][size]
        self.shape = ",".join(f"{name}={value}" for name, value in self.sizes.items())
        given = MAKERS[name](**self.sizes)
        self.inputs, self.outputs, self.extents = {}, [], {}
        with open(self.program) as file:
            for role, buffer, dtype, extents in (
                match.groups() for match in map(BUFFER.match, file) if match
            ):
                self.extents[buffer] = (eval(f"[{extents}]", {}, self.sizes), TYPES[dtype])
                if role != "out":
                    self.inputs[buffer] = aligned_copy(
                        np.ascontiguousarray(given[buffer], dtype=TYPES[dtype]), PAGE
                    )
                if role != "in":
                    self.outputs.append(buffer)

    def scripts(self):
        """Of a person, for this Program: NAME.sched and NAME.VARIANT.sched. They are written
        for lanes of f64."""
        if self.real != "f64":
            return []
        stem = self.name.replace("-", "_")
        found = sorted(os.listdir(SCHEDULES)) if os.path.isdir(SCHEDULES) else []
        return [
            os.path.join(SCHEDULES, file)
            for file in found
            if file.split(".")[0] == stem and file.endswith(".sched")
        ]

    @functools.cached_property
    def memory(self):
        """One array for each buffer of the interface, in the Program's order. All contenders
        compute in these, which begin on pages as PolyBench's own do: a load waits for an earlier
        store whose address differs from its own by few bytes and any number of pages (jacobi-1d
        takes up to twice as long), so places decide between contenders where they are not one."""
        return {
            buffer: aligned(*kind, PAGE) if buffer in self.outputs else self.inputs[buffer]
            for buffer, kind in self.extents.items()
        }

    def restore(self):
        for buffer in self.outputs:
            if buffer in self.inputs:
                np.copyto(self.memory[buffer], self.inputs[buffer])

    def results_of(self, contender):
        """Copies of what it computes, into memory where no result of another is left."""
        for buffer in self.outputs:
            self.memory[buffer].fill(-77)
        contender.run()
        return {buffer: self.memory[buffer].copy() for buffer in self.outputs}


def difference(kernel, got, expected):
    """The greatest one of any output, as a part of that output's greatest element; infinite for
    what is no number."""
    worst = 0.0
    for buffer in kernel.outputs:
        part = COMPARED.get((kernel.name, buffer), lambda whole: whole)
        right = part(expected[buffer]).astype(np.float64)
        apart = np.abs(part(got[buffer]).astype(np.float64) - right)
        if not np.isfinite(apart).all():
            return float("inf")
        worst = max(
            worst, float(apart.max(initial=0)) / max(float(np.abs(right).max(initial=0)), 1e-300)
        )
    return worst
