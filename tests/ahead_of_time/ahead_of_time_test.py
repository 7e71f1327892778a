#!/usr/bin/env python3
"""Operators ahead of time, as a stranger uses them: objects, C text and headers of `polyte op
--emit object,header,c` linked into programs by gcc and clang, alone and with threads, natively
and for AArch64 under qemu; what they compute is compared with the interpreter. Only the standard
library, and the compilers that are there.

    tests/ahead_of_time/ahead_of_time_test.py --polyte build/release/polyte [--only NAME]
    [--keep DIR]
"""

import argparse
import ast
import io
import math
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

PROGRAMS = pathlib.Path("examples/programs")
# name: source, sizes, options of polyte op, largest relative difference (0: every bit)
CASES = {
    "gemm": ("C[m,n] = sum[k] A[m,k]*B[k,n]", "m=37,n=50,k=29", [], 0),
    "gemm_naive": ("C[m,n] = sum[k] A[m,k]*B[k,n]", "m=7,n=5,k=9", ["--scheduler", "naive"], 0),
    "gemm_parallel": ("C[m,n] = sum[k] A[m,k]*B[k,n]", "m=100,n=64,k=64", ["--threads", "2"], 0),
    "dense": (PROGRAMS / "dense_relu.program", "M=33,N=70,K=41", ["--scheduler", "template"], 0),
    "dense_poly": (PROGRAMS / "dense_relu.program", "M=128,N=256,K=256", [], 0),
    "conv_parallel": (
        PROGRAMS / "conv_3x3.program",
        "N=2,C=16,F=32,H=14,W=14",
        ["--threads", "2"],
        0,
    ),
    "conv": (PROGRAMS / "conv_3x3.program", "N=1,C=3,F=5,H=9,W=11", [], 0),
    "cholesky": (PROGRAMS / "cholesky.program", "N=1", [], 0),
    "jacobi": (PROGRAMS / "jacobi_2d.program", "T=4,N=21", [], 1e-12),
    "softmax": (PROGRAMS / "softmax.program", "M=9,N=37", [], 1e-5),
    "softmax_parallel": (PROGRAMS / "softmax.program", "M=64,N=512", ["--threads", "2"], 1e-5),
    "gather": (PROGRAMS / "gather.program", "N=6,V=9,D=7", [], 0),
    "bytes": (PROGRAMS / "quantized_gemm.program", "M=9,N=17,K=33", [], 0),
    "exp": ("y[i] = exp(x[i])", "i=100", [], 1e-5),  # a name that C has taken
    # names that the header's functions have
    "same": ("workspace[i] = threads[i] * 2", "i=13", [], 0),
}
FORMATS = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "i16": "h", "i8": "b", "u64": "Q",
           "u32": "I", "u16": "H", "u8": "B", "bool": "B"}  # fmt: skip
NUMPY = {"d": "<f8", "f": "<f4", "q": "<i8", "i": "<i4", "h": "<i2", "b": "|i1", "Q": "<u8",
         "I": "<u4", "H": "<u2", "B": "|u1"}  # fmt: skip
C = {"d": "double", "f": "float", "q": "int64_t", "i": "int32_t", "h": "int16_t", "b": "int8_t",
     "Q": "uint64_t", "I": "uint32_t", "H": "uint16_t", "B": "uint8_t"}  # fmt: skip
# What C's own libraries define; anything else that an object asks for would be ours.
LIBRARY = set("fma fmaf pow powf sin sinf cos cosf memcpy memset memmove".split())
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


class Buffer:
    def __init__(self, role, name, dtype, shape):
        self.role, self.name, self.shape = role, name, shape
        self.format = FORMATS[dtype]
        self.count = math.prod(shape)
        self.written = role in ("out", "inout")

    def bytes(self):
        return struct.calcsize(self.format) * self.count


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, **options)
    if done.returncode != 0:
        raise AssertionError(
            f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stderr.decode()[-3000:]}"
        )
    return done.stdout


def npy(format_, shape, values):
    head = f"{{'descr': '{NUMPY[format_]}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(head))
        + head.encode()
        + struct.pack(f"<{len(values)}{format_}", *values)
    )


def read_npy(data):
    (length,) = struct.unpack("<H", data[8:10])
    head = ast.literal_eval(data[10 : 10 + length].decode())
    format_ = {text: code for code, text in NUMPY.items()}[head["descr"]]
    return list(struct.unpack(f"<{math.prod(head['shape'])}{format_}", data[10 + length :]))


class Operator:
    """One operator: its files in a folder, its data, what the interpreter makes of them."""

    def __init__(self, polyte, folder, name, target="cpu:native"):
        source, sizes, options, self.tolerance = CASES[name]
        self.folder, self.name, self.target = folder, name, target
        base = [
            polyte,
            "op",
            source,
            "--shape",
            sizes,
            "--name",
            name,
            "--target",
            target,
            *options,
        ]
        self.kinds = "object,header" if target.startswith("aarch64") else "object,header,c"
        run([*base, "--emit", self.kinds, "--emit-dir", folder])
        text = run([*base, "--emit", "program"]).decode()
        self.buffers = [
            Buffer(*match[:3], [int(n) for n in match[3].split(",") if n.strip()])
            for match in re.findall(r"^  (in|out|inout|const) +(\w+): (\w+)\[(.*)\]$", text, re.M)
        ]
        self.header = (folder / f"{name}.h").read_text()
        self.make_data()
        with zipfile.ZipFile(folder / "in.npz", "w") as archive:
            for buffer in self.buffers:
                if buffer.role != "out":
                    archive.writestr(
                        buffer.name + ".npy",
                        npy(buffer.format, buffer.shape, self.data[buffer.name]),
                    )
        run(
            [
                polyte,
                "interpret",
                source,
                "--shape",
                sizes,
                "-i",
                folder / "in.npz",
                "-o",
                folder / "ref.npz",
            ]
        )
        with zipfile.ZipFile(folder / "ref.npz") as archive:
            self.expected = {
                b.name: read_npy(archive.read(b.name + ".npy")) for b in self.buffers if b.written
            }

    def make_data(self):
        rng = random.Random(self.name)
        self.data = {}
        for b in self.buffers:
            low = 0 if b.format in "BHIQ" or b.name == "id" else -4
            self.data[b.name] = [rng.randint(low, 4) for _ in range(b.count)]
        if self.name == "cholesky":
            self.data["A"] = [4]

    def packed(self, buffer):
        return struct.pack(f"<{buffer.count}{buffer.format}", *self.data[buffer.name])

    def function(self):
        return "exp_" if self.name == "exp" else self.name

    def parameters(self, function):
        found = re.search(rf"^static inline int {function}\((.*)\) {{$", self.header, re.M)
        return re.findall(r"(\w+)\* (\w+)", found[1]) if found else []

    def call_text(self, threads):
        """The statements of C that pack and call, over arrays with the names of the Program."""
        c, prefix, text = self.function(), self.function().upper(), ""
        given = self.parameters(c + "_pack")
        known = {b.name for b in self.buffers}
        for kind, name in given:
            if name not in known:
                text += f"  {kind}* {name} = ({kind}*)memory({prefix}_BYTES_{name});\n"
        if given:
            text += (
                f"  code = {c}_pack({', '.join(name for _, name in given)});\n"
                "  if (code != 0) return code;\n"
            )
        arguments = [name for _, name in self.parameters(c)]
        text += (
            f"  code = {c}({', '.join(arguments[:-2])}, "
            f"workspace_of({prefix}_WORKSPACE(workers)), {threads});\n"
        )
        return text

    def main_text(self):
        declared = "".join(
            f"  {C[b.format]}* {b.name} = ({C[b.format]}*)memory({b.bytes()});\n"
            for b in self.buffers
        )
        reads = "".join(
            f"  if (fread({b.name}, 1, {b.bytes()}, in) != {b.bytes()}) return 91;\n"
            for b in self.buffers
        )
        writes = "".join(
            f"  fwrite({b.name}, 1, {b.bytes()}, out);\n" for b in self.buffers if b.written
        )
        return (
            (pathlib.Path(__file__).parent / "main.c")
            .read_text()
            .replace("@NAME@", self.name)
            .replace("@DECLARE@", declared)
            .replace("@READ@", reads)
            .replace("@CALL@", self.call_text("given"))
            .replace("@WRITE@", writes)
        )

    def check(self, data, how):
        at = 0
        for b in (b for b in self.buffers if b.written):
            got = struct.unpack(f"<{b.count}{b.format}", data[at : at + b.bytes()])
            at += b.bytes()
            for place, (one, other) in enumerate(zip(got, self.expected[b.name])):
                if abs(one - other) > self.tolerance * max(1, abs(other)):
                    raise AssertionError(
                        f"{self.name}, {how}: {b.name}[{place}] is {one}, expected {other}"
                    )
        if at != len(data):
            raise AssertionError(f"{self.name}, {how}: {len(data)} bytes of results, expected {at}")

    def natively(self, compiler, threads, code, *flags):
        """Builds the program around the object or the C text and compares what it computes."""
        folder = self.folder
        (folder / "main.c").write_text(self.main_text())
        (folder / "in.bin").write_bytes(b"".join(self.packed(b) for b in self.buffers))
        program = folder / "program"
        if threads == "&by_threads" and "It has parallel loops" in self.header:
            flags = (*flags, "-DPARALLEL")
        warnings = (
            STRICT
            if compiler != "g++"
            else ["-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror"]
        )
        run(
            [
                compiler,
                *warnings,
                *flags,
                "-DTHREADS=" + threads,
                "-O1",
                "-c",
                folder / "main.c",
                "-o",
                folder / "main.o",
            ]
        )
        linked = folder / f"{self.name}.{code}"
        if code == "c":
            run(
                [
                    compiler,
                    "-std=c99",
                    *flags,
                    "-O2",
                    "-ffp-contract=off",
                    "-c",
                    linked,
                    "-o",
                    folder / "text.o",
                ]
            )
            linked = folder / "text.o"
        run([compiler, *flags, folder / "main.o", linked, "-o", program, "-lm", "-pthread"])
        if "polyte" in run(["ldd", program]).decode():
            raise AssertionError(f"{self.name}: the program needs a library of Polyte")
        how = f"{compiler}, {code}, threads {threads}"
        self.check(run([program, folder / "in.bin"]), how)

    def check_symbols(self):
        for line in run(["nm", "-u", self.folder / f"{self.name}.o"]).decode().splitlines():
            if line.split()[-1] not in LIBRARY:
                raise AssertionError(f"{self.name}.o: undefined symbol {line.split()[-1]}")

    def on_aarch64(self):
        folder, here = self.folder, pathlib.Path(__file__).parent
        call = self.call_text("0")
        arrays = "".join(
            f"  {C[b.format]}* {b.name} = ({C[b.format]}*)buffers[{i}];\n"
            for i, b in enumerate(self.buffers)
        )
        entry = (
            (here / "entry.c").read_text().replace("@NAME@", self.name).replace("@ARRAYS@", arrays)
        )
        (folder / "entry.c").write_text(entry.replace("@CALL@", call))
        for source in (folder / "entry.c", here.parent / "aarch64" / "start.c"):
            run(
                [
                    "clang-19",
                    "--target=aarch64-linux-gnu",
                    "-O1",
                    "-ffreestanding",
                    "-fno-stack-protector",
                    "-fno-builtin",
                    "-c",
                    source,
                    "-o",
                    folder / (source.stem + ".o"),
                ]
            )
        run(
            [
                "ld.lld-19",
                "-static",
                folder / "start.o",
                folder / "entry.o",
                folder / f"{self.name}.o",
                "-o",
                folder / "program",
            ]
        )
        message = struct.pack("<qq", len(self.buffers), 0)
        message += b"".join(struct.pack("<q", b.bytes()) for b in self.buffers)
        message += b"".join(self.packed(b) for b in self.buffers)
        out = run(["qemu-aarch64", "-cpu", "neoverse-n1", folder / "program"], input=message)
        if struct.unpack("<q", out[:8]) != (0,):
            raise AssertionError(f"{self.name} on AArch64: code {struct.unpack('<q', out[:8])[0]}")
        at, results = 8, b""
        for b in self.buffers:
            results += out[at : at + b.bytes()] if b.written else b""
            at += b.bytes()
        self.check(results, "AArch64")


def check_errors(polyte, folder):
    """Every code that a call returns."""
    run(
        [
            polyte,
            "op",
            PROGRAMS / "gather.program",
            "--shape",
            "N=6,V=9,D=7",
            "--emit",
            "object,header",
            "--emit-dir",
            folder,
            "--name",
            "rows",
        ]
    )
    here = pathlib.Path(__file__).parent
    run(
        [
            "gcc",
            *STRICT,
            "-I",
            folder,
            here / "errors.c",
            folder / "rows.o",
            "-o",
            folder / "errors",
            "-lm",
        ]
    )
    print(run([folder / "errors"]).decode(), end="")


def check_processors(polyte, folder):
    """The header's word on the processor, for one that every machine is and for one that this
    one may not be."""
    known = pathlib.Path("/proc/cpuinfo").read_text()
    for name, flag in (
        ("x86-64", "fpu"),
        ("x86-64-v3", "avx2"),
        ("x86-64-v4", "avx512f"),
        ("sapphirerapids", "avx512_bf16"),
    ):
        run(
            [
                polyte,
                "op",
                "y[i] = x[i] + 1",
                "--shape",
                "i=64",
                "--target",
                "cpu:" + name,
                "--name",
                "one",
                "--emit",
                "object,header",
                "--emit-dir",
                folder,
            ]
        )
        (folder / "here.c").write_text(
            '#include "one.h"\nint main(void) { return one_runs_here(); }\n'
        )
        for compiler in compilers():
            run([compiler, *STRICT, folder / "here.c", folder / "one.o", "-o", folder / "here"])
            status = subprocess.run([folder / "here"]).returncode
            if status != (1 if flag in known.split() else 0):
                raise AssertionError(
                    f"{compiler}: one_runs_here() of {name} is {status}, /proc/cpuinfo knows better"
                )


def compilers():
    return [name for name in ("gcc", "clang") if shutil.which(name)]


def check(polyte, name, folder):
    op = Operator(polyte, folder, name)
    op.check_symbols()
    for compiler in compilers():
        op.natively(compiler, "0", "o")
        op.natively(compiler, "&by_threads", "o")
        op.natively(compiler, "0", "c")
    op.natively("gcc", "&by_openmp", "o", "-fopenmp")
    op.natively("gcc", "0", "c", "-fopenmp")
    if shutil.which("g++"):
        op.natively("g++", "&by_threads", "o")
    level = Operator(polyte, folder, name, "cpu:x86-64-v2")
    level.natively("gcc", "0", "o")


def check_aarch64(polyte, name, folder):
    if CASES[name][3] == 1e-5:
        return False  # needs no C library here: exp may
    Operator(polyte, folder, name, "aarch64:neoverse-n1").on_aarch64()
    return True


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--polyte", required=True, type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    polyte = options.polyte.resolve()
    if not shutil.which("gcc"):
        print("skipped: no gcc")
        return 77
    missing = [tool for tool in ("qemu-aarch64", "clang-19", "ld.lld-19") if not shutil.which(tool)]
    with tempfile.TemporaryDirectory() as scratch:
        root = options.keep or pathlib.Path(scratch)
        for name in CASES:
            if options.only not in (None, name):
                continue
            for what, test in (("x86-64", check), ("aarch64", check_aarch64)):
                if what == "aarch64" and missing:
                    continue
                folder = root / f"{name}-{what}"
                folder.mkdir(parents=True)
                is_left_out = test(polyte, name, folder) is False
                print(f"{name}, {what}: {'left out' if is_left_out else 'equal'}")
        for test in (check_errors, check_processors):
            if options.only is None:
                folder = root / test.__name__
                folder.mkdir()
                test(polyte, folder)
    if missing:
        print(f"AArch64 left out: no {missing[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
