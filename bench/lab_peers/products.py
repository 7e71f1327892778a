"""Matrix products in an array form: for libraries that have nothing else, and products of 16-bit
numbers with wide sums."""

import math
from dataclasses import dataclass

from .arrays import Declined, Matmul, View

SHORT = ("bf16", "f16")


def widened(form):
    """The form with casts of both factors of a product to f32 taken into the product, which is then
    marked `widened`, or not where its result is made short again: libraries have it in one call,
    and in no other way their fast one."""
    types = {b["name"]: b["dtype"] for b in form["buffers"]}
    views = {
        s["out"]: s for s in form["steps"] if s["op"] == "view" and types.get(s["from"]) in SHORT
    }
    casts = {
        s["out"]: s["arg"]
        for s in form["steps"]
        if s["op"] == "cast" and s["dtype"] == "f32" and s["arg"] in views
    }
    back, steps = {}, []  # the product of a cast back
    for step in form["steps"]:
        if (
            step["op"] == "einsum"
            and len(step["args"]) == 2
            and all(arg in casts for arg in step["args"])
        ):
            step = {**step, "args": [casts[arg] for arg in step["args"]], "widened": "f32"}
            types_of_factors = {types[views[arg]["from"]] for arg in step["args"]}
            users = [s for s in form["steps"] if step["out"] in values_of(s)]
            if (
                len(users) == 1
                and users[0]["op"] == "cast"
                and {users[0]["dtype"]} == types_of_factors
            ):
                del step["widened"]
                step["out"] = users[0]["out"]
                back[step["out"]] = True
        elif step.get("out") in back:
            continue
        steps.append(step)
    used = {value for step in steps for value in values_of(step)}
    return {**form, "steps": [s for s in steps if s.get("out") not in casts or s["out"] in used]}


def values_of(step):
    """The numbers of values that a step reads; those of a loop's body too."""
    if step["op"] == "loop":
        return [value for inner in step["body"] for value in values_of(inner)]
    single = [step[key] for key in ("arg", "weights") if key in step]
    source = [step["from"]] if isinstance(step.get("from"), int) else []
    return single + source + step.get("args", []) + step.get("indices", [])


@dataclass
class Operand:
    name: str
    dtype: str
    batch: int  # elements from one index to the next
    rows: int
    columns: int

    def swapped(self):
        return Operand(self.name, self.dtype, self.batch, self.columns, self.rows)


@dataclass
class Product:
    """c[i, m, n] = sum over k of a[i, m, k] * b[i, k, n]."""

    batch: int
    m: int
    n: int
    k: int
    a: Operand
    b: Operand
    c: Operand

    def transposed(self):
        """The same, its result by columns."""
        return Product(
            self.batch, self.n, self.m, self.k, self.b.swapped(), self.a.swapped(), self.c.swapped()
        )


def product_of(form):
    """The one product that a form is; Declined where it is more, less or something else."""
    form = widened(form)
    views = {s["out"]: s for s in form["steps"] if s["op"] == "view"}
    others = [s for s in form["steps"] if s["op"] != "view"]
    if [s["op"] for s in others] != ["einsum", "store"] or len(others[0]["args"]) != 2:
        raise Declined(
            "no single product of two tensors: "
            + ", ".join(sorted({s["op"] for s in others} - {"store"}))
        )
    einsum, store = others
    buffers = {b["name"]: b for b in form["buffers"]}
    taken = [views.get(arg) for arg in einsum["args"]]
    if None in taken or store["arg"] != einsum["out"]:
        raise Declined("a product of something that is made before")
    parts = Matmul(*einsum["axes"], einsum["result"])
    if parts.only_a or parts.only_b:
        raise Declined("a product whose factors are summed before it")
    strides = [
        strides_of(step, buffers[name])
        for step, name in (
            (taken[0], taken[0]["from"]),
            (taken[1], taken[1]["from"]),
            (store, store["buffer"]),
        )
    ]
    extents = {d["axis"]: d["count"] for step in taken for d in step["dims"] if "axis" in d}

    def operand(number, name, *groups):
        return Operand(
            name,
            buffers[name]["dtype"],
            *(joined(group, strides[number], extents) for group in groups),
        )

    sizes = [
        math.prod(extents[axis] for axis in group)
        for group in (parts.batch, parts.m, parts.n, parts.k)
    ]
    return Product(
        *sizes,
        operand(0, taken[0]["from"], parts.batch, parts.m, parts.k),
        operand(1, taken[1]["from"], parts.batch, parts.k, parts.n),
        operand(2, store["buffer"], parts.batch, parts.m, parts.n),
    )


def strides_of(step, buffer):
    """Elements from one index of an axis to the next, of a tensor that is taken whole."""
    if not View(step["dims"], step["rank"]).is_whole(tuple(buffer["shape"])):
        raise Declined(f"a product of a part of '{buffer['name']}'")
    strides, stride = {}, 1
    for dim, extent in reversed(list(zip(step["dims"], buffer["shape"]))):
        strides[dim["axis"]] = stride
        stride *= extent
    return strides


def joined(group, strides, extents):
    """The stride of several axes as one."""
    for outer, inner in zip(group, group[1:]):
        if strides[outer] != strides[inner] * extents[inner]:
            raise Declined("a product over axes that do not lie side by side")
    return strides[group[-1]] if group else 0
