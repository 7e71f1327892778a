"""Polyte: tensor programs, two schedulers and one schedule language, to machine code.

    import numpy as np
    import polyte

    matmul = polyte.op("C[m,n] = sum[k] A[m,k]*B[k,n]")
    kernel = matmul.compile(m=256, n=256, k=256)
    C = kernel(np.ones((256, 256), np.float32), np.ones((256, 256), np.float32))

A schedule is an object whose methods are the directives of the language, each proved as it is said:

    s = matmul.script().split("m", 8).split("n", 16).reorder("m.o", "n.o", "m.i", "n.i",
                                                             statement="C.update")

Nothing is printed and no global state is changed. Errors are in polyte.errors.
"""

from __future__ import annotations

from typing import Any

from . import errors, expr, lab
from .builder import build
from .checks import Check, check
from .comparison import Comparison, compare
from .dependences import Dependence, Dependences
from .errors import Error, Refused
from ._polyte import DeviceArray, Kernel, to_device
from .images import image, top
from .network import Network, Session, compile_onnx
from .program import Program, load, op, program
from .script import Script

__all__ = [
    "Check",
    "Comparison",
    "Dependence",
    "Dependences",
    "DeviceArray",
    "Error",
    "Kernel",
    "Network",
    "Program",
    "Refused",
    "Script",
    "Session",
    "build",
    "check",
    "compare",
    "compile_onnx",
    "errors",
    "expr",
    "image",
    "lab",
    "load",
    "op",
    "program",
    "to_device",
    "top",
]
__version__ = "0.1.0"


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext polyte`: the cell magics of polyte.magic."""
    from . import magic

    magic.load(shell)
