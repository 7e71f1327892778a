"""A Program over rows as one kernel of Triton, written from its array form: an instance a row,
which stays in registers from the first statement to the last, as a softmax or a layer norm
by hand."""

import importlib.util
import os
import tempfile

from .arrays import Declined, View
from .torch_library import dtype_of

UNARY = {
    "neg": "-{}",
    "abs": "tl.abs({})",
    "sqrt": "tl.sqrt({})",
    "exp": "tl.exp({})",
    "log": "tl.log({})",
    "floor": "tl.floor({})",
    "ceil": "tl.ceil({})",
    "sin": "tl.sin({})",
    "cos": "tl.cos({})",
    "erf": "tl.erf({})",
    "sigmoid": "tl.sigmoid({})",
    "not": "~{}",
}
BINARY = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "min": "tl.minimum({}, {})",
    "max": "tl.maximum({}, {})",
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "le": "{} <= {}",
    "and": "{} & {}",
    "or": "{} | {}",
}
REDUCE = {
    "add": ("tl.sum({}, 0)", "0.0"),
    "max": ("tl.max({}, 0)", "float('-inf')"),
    "min": ("tl.min({}, 0)", "float('inf')"),
}
TYPES = {"f32": "tl.float32", "f16": "tl.float16", "bf16": "tl.bfloat16"}
MOST_COLUMNS = 16384  # a row lies in the registers of one block
ROWS, COLUMNS = 0, 1


class RowKernel:
    changed = []

    def __init__(self, form, torch):
        self._torch, self._buffers = torch, {b["name"]: b for b in form["buffers"]}
        self._lines, self._temporaries = [], {}
        self._rows, self._columns = self._extents(form)
        for buffer in form["buffers"]:
            if buffer["dtype"] not in TYPES or buffer["role"] == "inout":
                raise Declined(f"'{buffer['name']}' is {buffer['dtype']} and {buffer['role']}")
        for step in form["steps"]:
            write = getattr(self, "_" + step["op"], None)
            if write is None:
                raise Declined(f"'{step['op']}' is nothing that a row does by itself")
            write(step)
        self.inputs = [b["name"] for b in form["buffers"] if b["role"] in ("in", "const")]
        self.outputs = [b["name"] for b in form["buffers"] if b["role"] == "out"]
        self._kernel = compiled(self.source())

    def source(self):
        names = ", ".join(f"at_{name}" for name in self.inputs + self.outputs)
        return (
            "\n    ".join(
                [
                    "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                    f"def rows({names}, WIDTH: tl.constexpr, BLOCK: tl.constexpr):",
                    "row = tl.program_id(0).to(tl.int64)",
                    "column = tl.arange(0, BLOCK)",
                    "inside = column < WIDTH",
                    *self._lines,
                ]
            )
            + "\n"
        )

    def run(self, buffers):
        for name in self.outputs:
            buffer = self._buffers[name]
            buffers[name] = self._torch.empty(
                buffer["shape"], dtype=dtype_of(buffer["dtype"]), device="cuda"
            )
        block = 1 << max(self._columns - 1, 1).bit_length()
        self._kernel[(self._rows,)](
            *[buffers[name] for name in self.inputs + self.outputs],
            WIDTH=self._columns,
            BLOCK=block,
            num_warps=min(max(block // 512, 1), 16),
        )

    def _extents(self, form):
        """Of the rows and the columns, the same in all statements."""
        found = {
            (d["axis"], d["count"])
            for s in form["steps"]
            if s["op"] in ("view", "store")
            for d in s["dims"]
            if "axis" in d
        }
        extents = dict(found)
        if len(found) != 2 or set(extents) != {ROWS, COLUMNS} or extents[COLUMNS] > MOST_COLUMNS:
            raise Declined(
                "its statements are not all over the same rows, short enough for a block"
            )
        return extents[ROWS], extents[COLUMNS]

    # ---- a step each

    def _place(self, step, name):
        """(address, mask or "") of the whole tensor's part for a row, with which of the axes
        it has."""
        if not View(step["dims"], step["rank"]).is_whole(tuple(self._buffers[name]["shape"])):
            raise Declined(f"a part of '{name}'")
        axes = [d["axis"] for d in step["dims"]]
        places = {(ROWS, COLUMNS): "row * WIDTH + column", (ROWS,): "row", (COLUMNS,): "column"}
        if tuple(axes) not in places:
            raise Declined(f"'{name}' does not lie row by row")
        return places[tuple(axes)], COLUMNS in axes

    def _set(self, step, text):
        self._lines.append(f"v{step['out']} = {text}")

    def _view(self, step):
        name = step["from"]
        if not isinstance(name, str):
            raise Declined("a padded tensor")
        place, is_wide = self._place(step, name)
        if name in self._temporaries:
            if self._temporaries[name] != place:
                raise Declined(f"'{name}' is read in another order than it is written")
            return self._set(step, f"t_{name}")
        if self._buffers[name]["role"] not in ("in", "const"):
            raise Declined(f"'{name}' is read before it is written")
        self._set(
            step, f"tl.load(at_{name} + {place}{', mask=inside, other=0.0' if is_wide else ''})"
        )

    def _store(self, step):
        name = step["buffer"]
        place, is_wide = self._place(step, name)
        value = f"v{step['arg']}.to({TYPES[self._buffers[name]['dtype']]})"
        if is_wide:
            value = f"tl.broadcast_to({value}, (BLOCK,))"
        self._lines.append(f"t_{name} = {value}")
        self._temporaries[name] = place
        if self._buffers[name]["role"] == "out":
            self._lines.append(
                f"tl.store(at_{name} + {place}, t_{name}{', mask=inside' if is_wide else ''})"
            )

    def _literal(self, step):
        if step["dtype"] not in TYPES:
            raise Declined(f"a number of type {step['dtype']}")
        value = repr(float(step["value"]))
        self._set(
            step,
            f"tl.full((), {value if 'n' not in value else f'float({value!r})'}, "
            f"{TYPES[step['dtype']]})",
        )

    def _cast(self, step):
        if step["dtype"] not in TYPES:
            raise Declined(f"a cast to {step['dtype']}")
        self._set(step, f"v{step['arg']}.to({TYPES[step['dtype']]})")

    def _unary(self, step):
        self._set(step, self._words(UNARY, step["kind"]).format(f"v{step['arg']}"))

    def _binary(self, step):
        self._set(step, self._words(BINARY, step["kind"]).format(*(f"v{a}" for a in step["args"])))

    def _select(self, step):
        self._set(step, "tl.where({}, {}, {})".format(*(f"v{a}" for a in step["args"])))

    def _reduce(self, step):
        if step["axes"] != [COLUMNS]:
            raise Declined("a sum over something else than a row")
        text, identity = self._words(REDUCE, step["kind"])
        self._set(step, text.format(f"tl.where(inside, v{step['arg']}, {identity})"))

    def _einsum(self, step):
        if step["result"] != [ROWS] or any(axes != [ROWS, COLUMNS] for axes in step["axes"]):
            raise Declined("a product that is none of two rows")
        self._set(
            step, f"tl.sum(tl.where(inside, {' * '.join(f'v{a}' for a in step['args'])}, 0.0), 0)"
        )

    @staticmethod
    def _words(table, kind):
        if kind not in table:
            raise Declined(f"no words for '{kind}'")
        return table[kind]


def compiled(source):
    """Triton reads the text of a kernel from its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.py")
        with open(path, "w") as file:
            file.write(source)
        spec = importlib.util.spec_from_file_location("polyte_triton_rows", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.rows
