"""Who is timed: Polyte's arms and scripts by its runtime, the C of peers/ by each compiler. `run`
restores what a kernel overwrites, runs it once and returns the seconds of the kernel alone."""

import ctypes as c
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field

from kernel import FOLDER

FAST = ["-O3", "-march=native", "-ffast-math"]
POLLY = ["clang-19", *FAST, "-mllvm", "-polly"]
COMPILERS = {
    "clang": ["clang-19", *FAST],
    "gcc": ["gcc", *FAST],
    "polly": POLLY,
    "polly-vec": [*POLLY, "-mllvm", "-polly-vectorizer=stripmine"],
}
REFERENCE = ["gcc", "-O2", "-ffp-contract=off"]
C_TYPES = {"f64": "double", "f32": "float"}
PATIENCE = 300  # seconds to compile


@dataclass
class Contender:
    name: str
    run: object = None
    problem: str = ""  # why it is not timed
    notes: list = field(default_factory=list)
    rounds: list = field(default_factory=list)  # seconds an execution
    difference: float = 0.0


def running(kernel_seconds, threads=1):
    """On a machine with other work the process waits for the processor now and then. A call in
    which it did is made again; what takes so long that it always waits counts by the processor's
    share of the call."""
    spent = 0.0
    while True:
        start, used = time.perf_counter(), time.thread_time()
        seconds = kernel_seconds()
        wall = time.perf_counter() - start
        share = (time.thread_time() - used) / wall
        spent += wall
        if share > 0.95 or wall < 1e-4 or threads > 1:
            return seconds
        if spent > 0.5:
            return seconds * share


def said_by(command):
    """None where all went well, and what was said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"not compiled in {PATIENCE} s", []
    # Names of files as they are in the project, wherever it lies.
    said = (done.stderr + done.stdout).replace(
        os.path.dirname(os.path.dirname(FOLDER)) + os.sep, ""
    )
    lines = said.splitlines()
    return (
        None
        if done.returncode == 0
        else "\n".join(lines).strip() or f"exit status {done.returncode}"
    ), lines


def c_peer(kernel, name, command, folder):
    contender = Contender(name)
    if not shutil.which(command[0]):
        contender.problem = f"no {command[0]}"
        return contender
    library = os.path.join(folder, f"{name}.so")
    macros = [f"-D{size}={value}" for size, value in kernel.sizes.items()]
    macros += [f"-DBUFFERS={len(kernel.extents)}", f"-DDATA_TYPE={C_TYPES[kernel.real]}"]
    peers = os.path.join(FOLDER, "peers")
    sources = [os.path.join(peers, f"{kernel.name}.c"), os.path.join(peers, "call.c")]
    problem, _ = said_by(
        [*command, "-std=gnu11", "-w", "-shared", "-fPIC", *macros, "-o", library, *sources, "-lm"]
    )
    if problem:
        contender.problem = problem
        return contender
    seconds = c.CDLL(library).seconds
    seconds.restype = c.c_double
    arrays = kernel.memory.values()
    pointers = (c.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])

    def once():
        kernel.restore()
        return seconds(pointers)

    contender.run = lambda: running(once)
    return contender


def ours(kernel, polyte, name, options, folder, threads):
    """An arm of Polyte's or a script; what fell back to the reference order is not timed."""
    contender = Contender(name)
    artifact = os.path.join(folder, f"{name}.polyte")
    contender.problem, lines = said_by(
        [
            polyte.command,
            "op",
            kernel.program,
            "--shape",
            kernel.shape,
            "--threads",
            str(threads),
            "--artifact",
            artifact,
            *options,
        ]
    )
    contender.notes = [line for line in lines if line.startswith("note: ")]
    if contender.problem:
        return contender
    session = polyte.session(artifact, threads)
    # Each `inout` is copied to its output by a step of its own, which has no kernel: the last
    # step is the kernel.
    steps = [len(session.steps()) - 1]
    reasons = [session._api.step_declined(session._handle, number) for number in steps]
    if any(reasons):
        contender.problem = "declined: " + "; ".join(
            reason.decode() for reason in reasons if reason
        )
        return contender
    session.set_inputs(kernel.inputs)
    session.set_outputs(kernel.memory)
    contender.run = lambda: running(lambda: float(sum(session.run_timed()[steps])), threads)
    return contender
