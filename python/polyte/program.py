"""What is computed."""

import os

from . import _polyte as _core
from ._options import parted, threads_of
from ._specialised import Specialised
from .script import Script


class Tensor:
    """A tensor of a Program's interface. `shape`: numbers, or expressions over the Program's
    sizes as text."""

    __slots__ = ("name", "role", "dtype", "shape")

    def __init__(self, name, role, dtype, shape):
        self.name, self.role, self.dtype, self.shape = name, role, dtype, shape

    def __repr__(self):
        return f"{self.role} {self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


class Program:
    """Statements over tensors, without an order that matters but their own. Made by op()
    and program(); immutable."""

    def __init__(self, core):
        self._core = core

    @property
    def name(self):
        """As its text names it."""
        return self._core.name

    @property
    def text(self):
        """As Program text (docs/program-text.md)."""
        return self._core.text

    @property
    def sizes(self):
        """Names of the sizes that are open, in order."""
        return tuple(self._core.sizes)

    @property
    def tensors(self):
        """The interface, in order: name, role, dtype, shape of each."""
        return tuple(Tensor(*each) for each in self._core.tensors)

    def compile(self, scheduler="poly", *, script=None, **options):
        """Machine code for these sizes: `compile(m=256, n=256, k=256)`; open=["m"], or open=True
        for all that are not given, leaves sizes to the arrays of each call: one kernel for all.
        open={"m": (1, 256, 4096)}: the least, typical and most.

        scheduler: "naive", "isl", "poly" or "template". script: a Script or its text, in place of
        a scheduler. Options: target ("native"), threads (all processors), exact, strict, params,
        templates, second_judge; cache: a folder where kernels are kept between processes, True for
        the default one, False for none. Of a GPU (target="cuda:h100"): device, its number; driver,
        the driver's library where it is not libcuda.so.1; emulate: this processor emulates the
        GPU's threads, and finds races, where arrays are in its memory and no driver is given.
        Raises ArgumentError, UsageError, Refused, Unsupported, ResourceLimit.
        """
        chosen, sizes = parted(self, {"scheduler": scheduler, **options})
        if script is not None:
            chosen["script"] = str(script)
        chosen["sizes"] = sizes
        return _core.compile(self._core, chosen, chosen["threads"])

    def specialised(self, scheduler="poly", *, keep=64, **options):
        """A callable for arrays of any sizes: the first call of each choice of sizes compiles
        for them, at most `keep` kernels are kept. Options as compile(); sizes that no shape of an
        argument says are given here."""
        _, given = parted(self, options)
        chosen = {
            name: value for name, value in options.items() if self._core.size_named(name) is None
        }
        return Specialised(self, scheduler, chosen, given, keep)

    def schedule(self, scheduler="poly", **options):
        """The Script that a scheduler writes for these sizes, to read, to edit and to compile.
        Options as compile()."""
        chosen, sizes = parted(self, {"scheduler": scheduler, **options})
        return Script(
            self,
            {**chosen, "sizes": sizes},
            *_core.write_script(self._core, {**chosen, "sizes": sizes}),
        )

    def script(self, text="", **options):
        """A Script of one's own, proved for all values of the sizes that are not given.

        text: with its header, or directives alone; empty: the order of the Program's text, to begin
        with. Raises Refused, with the counterexample as data.
        """
        chosen, sizes = parted(self, options)
        if not any(line.split()[:1] == ["schedule"] for line in text.splitlines()):
            text = f"schedule mine/1 for {self.name}\n{text}"
        return Script.checked(self, {**chosen, "sizes": sizes}, text)

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<polyte.Program {self.name}({', '.join(self.sizes)})>"

    def _repr_html_(self):
        from ._html import listing

        return listing(self.text)


def load(path, threads=None):
    """A kernel that Kernel.save wrote. It is machine code: load what you trust.
    Raises ArtifactError."""
    return _core.load_kernel(os.fspath(path), threads_of(threads))


def op(notation, dtype="f32"):
    """One operator in index notation: `op("y[m] = sum[k] A[m,k]*x[k]")`. Every extent is a
    size of the Program.

    dtype: of all its tensors; f64 f32 f16 bf16 i8 .. i64 u8 .. u64 bool. Raises
    InvalidInput, UsageError.
    """
    return Program(_core.parse_notation(notation, dtype))


def program(text, name="program"):
    """Program text with one program. `name` stands for a file's in messages. Raises InvalidInput
    with all problems."""
    return Program(_core.parse_program(text, name))
