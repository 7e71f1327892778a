"""Polyte in this process: the runtime's C API (runtime/polyte_runtime.h) through ctypes."""

import ctypes as c
import os
import subprocess
import tempfile

import numpy as np

from .c_api import POINTER, DlTensor, TensorInfo, load_api
from .timing import Contender


def aligned(shape, dtype, to=64):
    """Uninitialised, on a cache line, as every contender's operands are."""
    items = int(np.prod(shape, dtype=np.int64))
    raw = np.empty(items * np.dtype(dtype).itemsize + to, np.uint8)
    start = -raw.ctypes.data % to
    return raw[start : start + items * np.dtype(dtype).itemsize].view(dtype).reshape(shape)


def aligned_copy(array, to=64):
    copy = aligned(array.shape, array.dtype, to)
    copy[...] = array
    return copy


class Session:
    def __init__(self, api, path, threads):
        self._api, self._handle, self._problem = api, POINTER(), POINTER()
        self._check(
            api.session_open(path.encode(), threads, c.byref(self._handle), c.byref(self._problem))
        )
        self.inputs = [self._empty(api.input_info, i) for i in range(api.input_count(self._handle))]
        self.outputs = [
            self._empty(api.output_info, i) for i in range(api.output_count(self._handle))
        ]
        self._bind()

    def _check(self, status):
        if status != 0:
            raise RuntimeError(self._api.problem_text(self._problem).decode())

    def _empty(self, describe, index):
        info = TensorInfo()
        describe(self._handle, index, c.byref(info))
        kinds = {0: "int", 1: "uint", 2: "float", 6: "bool"}
        dtype = np.dtype("bool" if info.code == 6 else f"{kinds[info.code]}{info.bits}")
        return info.name.decode(), aligned([info.shape[d] for d in range(info.ndim)], dtype)

    @staticmethod
    def _describe(arrays):
        tensors = (DlTensor * len(arrays))()
        codes = {"i": 0, "u": 1, "f": 2, "b": 6}
        for tensor, (_, array) in zip(tensors, arrays):
            shape = (c.c_int64 * array.ndim)(*array.shape)
            tensor.__init__(
                array.ctypes.data,
                1,
                0,
                array.ndim,
                codes[array.dtype.kind],
                8 * array.dtype.itemsize,
                1,
                shape,
                None,
                0,
            )
        return tensors

    def _bind(self):
        self._tensors = self._describe(self.inputs), self._describe(self.outputs)
        self._arguments = (
            self._handle,
            c.cast(self._tensors[0], POINTER),
            len(self.inputs),
            c.cast(self._tensors[1], POINTER),
            len(self.outputs),
            None,
        )

    def set_inputs(self, arrays):
        """By name; contiguous arrays on a cache line are taken as they are."""
        self.inputs = [(name, arrays[name]) for name, _ in self.inputs]
        self._bind()

    def set_outputs(self, arrays):
        """By name; where results go from now on."""
        self.outputs = [(name, arrays[name]) for name, _ in self.outputs]
        self._bind()

    def run(self):
        status = self._api.session_run(*self._arguments)
        if status != 0:
            raise RuntimeError(f"session_run: status {status}")

    def steps(self):
        """The group and the kernel of every step."""
        return [
            (
                self._api.step_group(self._handle, i).decode(),
                self._api.step_kernel(self._handle, i).decode(),
            )
            for i in range(self._api.step_count(self._handle))
        ]

    def run_timed(self):
        """Seconds of every step of one run."""
        times = np.zeros(self._api.step_count(self._handle), np.int64)
        status = self._api.session_run_timed(*self._arguments[:5], times.ctypes.data, None)
        if status != 0:
            raise RuntimeError(f"session_run_timed: status {status}")
        return times * 1e-9


class Polyte:
    """The command line to compile, the shared library to run."""

    def __init__(self, build):
        self.command = os.path.join(build, "polyte")
        self._api = load_api(os.path.join(build, "runtime", "libpolyte_runtime.so"))
        self._folder = tempfile.TemporaryDirectory()

    def _path(self, name):
        return os.path.join(self._folder.name, name)

    def compile(self, arguments, artifact):
        with tempfile.TemporaryFile("w+") as said:
            started = subprocess.Popen(
                [self.command, *arguments], stdout=subprocess.DEVNULL, stderr=said
            )
            _, status, used = os.wait4(started.pid, 0)
            started.returncode = os.waitstatus_to_exitcode(status)
            said.seek(0)
            lines = said.read().splitlines()
        if started.returncode != 0:
            raise RuntimeError("\n".join(lines).strip())
        self.compile_cost = {"compile_processor_seconds": used.ru_utime + used.ru_stime}
        for line in lines:
            if line.endswith(" MB  peak memory"):
                self.compile_cost["compile_peak_megabytes"] = float(line.split()[0])
        return artifact, [line for line in lines if "fall" in line or "declin" in line]

    def operator(self, variant, constants, number):
        """A compiled artifact of variant.program; the constants go into it."""
        artifact = self._path(f"{number}.polyte")
        arguments = ["op", variant.program, "--artifact", artifact]
        arguments += (
            ["--script", variant.script] if variant.script else ["--scheduler", variant.scheduler]
        )
        if variant.sizes:
            arguments += ["--shape", variant.sizes]
        for name, array in constants.items():
            np.save(self._path(f"{number}.{name}.npy"), array)
            arguments += ["-i", f"{name}=@{self._path(f'{number}.{name}.npy')}"]
        return self.compile(arguments, artifact)

    def model(self, path, options, number):
        artifact = self._path(f"{number}.polyte")
        return self.compile(["compile", path, "-o", artifact, "--time-passes", *options], artifact)

    def session(self, artifact, threads):
        return Session(self._api, artifact, threads)

    def contender(self, case, variant, number, threads):
        constants = {
            name: np.ascontiguousarray(variant.to_ours.get(name, lambda a: a)(array))
            for name, array in case.constants.items()
        }
        artifact, notes = self.operator(
            variant, constants if not variant.constants_are_inputs else {}, number
        )
        session = self.session(artifact, threads)
        given = dict(case.inputs)
        if variant.constants_are_inputs:
            given.update(case.constants)
        session.set_inputs(
            {
                name: aligned_copy(variant.to_ours.get(name, lambda a: a)(array))
                for name, array in given.items()
            }
        )
        return Contender(
            f"polyte {variant.label}",
            session.run,
            lambda: variant.from_ours(session.outputs[0][1]),
            ours=True,
            note="; ".join(notes),
        )
