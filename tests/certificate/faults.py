"""Faults planted in certificates of schedules that are right: tools/verify_certificate has to say
no to each.

A fault is (base, what, function that changes the certificate). Bases are tests/certificate/bases.
"""

import copy
import re

import islpy as isl

OUT, IN = isl.dim_type.out, isl.dim_type.in_


def statement(c, name):
    return next(s for s in c["schedule"] if s["name"] == name)


def access(s, buffer_name, c, write):
    ids = [b["id"] for b in c["buffers"] if b["name"] == buffer_name]
    return next(a for a in s["accesses"] if a["buffer"] in ids and a["write"] == write)


def buffer(c, name):
    return next(b for b in c["buffers"] if b["name"] == name)


def rewritten(text, function):
    return str(function(isl.Map(text)))


def fixed(text, dim, value):
    """The map with one output dimension set to a value."""
    change = lambda m: (
        m.project_out(OUT, dim, 1).insert_dims(OUT, dim, 1).fix_val(OUT, dim, isl.Val(value))
    )
    return rewritten(text, lambda m: keep_tuple(m, change))


def keep_tuple(m, change):
    name = m.get_tuple_name(OUT)
    m = change(m)
    return m.set_tuple_name(OUT, name) if name else m


def moved(text, dim, by):
    """The map with one output dimension shifted."""

    def change(m):
        dims = m.dim(OUT)
        source = ", ".join(f"d{i}" for i in range(dims))
        target = ", ".join(f"d{i} + {by}" if i == dim else f"d{i}" for i in range(dims))
        name = m.get_tuple_name(OUT) or ""
        return m.apply_range(isl.Map(f"{{ {name}[{source}] -> {name}[{target}] }}"))

    return rewritten(text, change)


def negated(text, dim):
    def change(m):
        dims = m.dim(OUT)
        source = ", ".join(f"d{i}" for i in range(dims))
        target = ", ".join(f"-d{i}" if i == dim else f"d{i}" for i in range(dims))
        return m.apply_range(isl.Map(f"{{ [{source}] -> [{target}] }}"))

    return rewritten(text, change)


def swap_time(first, second):
    """Two statements change places: their times differ first at a position in a sequence."""

    def plant(c):
        a, b = statement(c, first), statement(c, second)
        for dim in range(isl.Map(a["time"]).dim(OUT)):
            at = [isl.Map(s["time"]).plain_get_val_if_fixed(OUT, dim) for s in (a, b)]
            if all(v.is_int() for v in at) and at[0] != at[1]:
                a["time"], b["time"] = (
                    fixed(a["time"], dim, at[1].to_python()),
                    fixed(b["time"], dim, at[0].to_python()),
                )
                return
        raise AssertionError("their order is no matter of a sequence")

    return plant


def reverse_time(name, dim):
    def plant(c):
        s = statement(c, name)
        s["time"] = negated(s["time"], dim)

    return plant


def set_time(name, dim, value):
    def plant(c):
        s = statement(c, name)
        s["time"] = fixed(s["time"], dim, value)

    return plant


def shift_access(name, tensor, write, dim, by):
    def plant(c):
        a = access(statement(c, name), tensor, c, write)
        a["cells"] = moved(a["cells"], dim, by)

    return plant


def shift_phi(name, dim, by):
    def plant(c):
        s = statement(c, name)
        s["phi"] = moved(s["phi"], dim, by)

    return plant


def drop_statement(name):
    def plant(c):
        s = statement(c, name)
        c["schedule"].remove(s)
        for loop in c["concurrent"]:
            loop["statements"] = [i for i in loop["statements"] if i != s["id"]]

    return plant


def cut_domain(name, constraint):
    """A statement leaves instances out: constraint over i0, i1 ..."""

    def plant(c):
        s = statement(c, name)
        dims = ", ".join(f"i{i}" for i in range(len(s["iterators"])))
        keep = isl.Set(f"{{ {s['id']}[{dims}] : {constraint} }}")
        s["domain"] = str(isl.Set(s["domain"]).intersect(keep))
        for entry in [s] + s["accesses"]:
            for key in ("time", "phi", "cells"):
                if key in entry:
                    entry[key] = str(isl.Map(entry[key]).intersect_domain(keep))
        s["indices"] = [str(isl.Map(t).intersect_domain(keep)) for t in s["indices"]]

    return plant


def twice(name):
    """A statement runs a second time, as soon as the first is through."""

    def plant(c):
        s = statement(c, name)
        new = copy.deepcopy(s)
        new["id"], new["name"] = f"S{len(c['schedule'])}", s["name"] + " again"
        text = lambda t: re.sub(rf"\b{s['id']}\[", new["id"] + "[", t)
        for entry in [new] + new["accesses"]:
            for key in ("domain", "time", "phi", "cells", "outside"):
                if key in entry:
                    entry[key] = text(entry[key])
        new["indices"] = [text(t) for t in new["indices"]]
        for other in c["schedule"]:
            other["time"] = with_last(other["time"], 0)
        new["time"] = with_last(new["time"], 1)
        c["schedule"].append(new)

    return plant


def with_last(text, value):
    return rewritten(text, lambda m: m.add_dims(OUT, 1).fix_val(OUT, m.dim(OUT), isl.Val(value)))


def set_entry(name, key, value):
    def plant(c):
        statement(c, name)[key] = value

    return plant


def concurrent(kind, name, depth, statements):
    def plant(c):
        ids = [statement(c, s)["id"] for s in statements]
        c["concurrent"].append({"name": name, "kind": kind, "depth": depth, "statements": ids})

    return plant


def set_buffer(name, key, value):
    def plant(c):
        buffer(c, name)[key] = value

    return plant


def place_in(name, host):
    def plant(c):
        buffer(c, name)["place"] = buffer(c, host)["id"]

    return plant


def no_guard(name, tensor):
    """A guarded read reads where its guard does not hold."""

    def plant(c):
        a = access(statement(c, name), tensor, c, False)
        a["cells"] = str(isl.Map(a["cells"]).subtract_domain(isl.Set(a["outside"])))
        del a["outside"], a["fill"]

    return plant


def set_fill(name, tensor, fill):
    def plant(c):
        access(statement(c, name), tensor, c, False)["fill"] = fill

    return plant


def permit(name, iterators):
    def plant(c):
        next(s for s in c["program"] if s["name"] == name)["permitted"] = iterators

    return plant


def combine(name, combiner):
    """Another combiner on both sides."""

    def plant(c):
        for s in c["program"] + c["schedule"]:
            if s["name"] == name:
                s["combiner"] = combiner

    return plant


def change_index(name):
    def plant(c):
        s = statement(c, name)
        s["indices"] = [moved(t, 0, 1) for t in s["indices"]]

    return plant


FAULTS = [
    ("gemm", "the copy of the weights after their use", swap_time("b.in", "acc.update")),
    ("gemm", "no copy of the weights", drop_statement("b.in")),
    ("gemm", "the copy takes the next row", shift_access("b.in", "b", False, 0, 1)),
    ("gemm", "the copy leaves a column out", cut_domain("b.in", "i4 != 1")),
    ("gemm", "the product reads the next row of x", shift_access("acc.update", "a", False, 0, 1)),
    ("gemm", "the update leaves its buffer", shift_access("acc.update", "b.c", False, 3, 5)),
    ("gemm", "the initial value after the sum", swap_time("acc.init", "acc.update")),
    ("gemm", "the result before the sum is whole", swap_time("y", "acc.update")),
    ("gemm", "every term is added twice", twice("acc.update")),
    ("gemm", "the initial value at the second block", set_time("acc.init", 2, 1)),
    ("gemm", "two statements at one time", set_time("y", 3, 2)),
    ("gemm", "terms are left out", cut_domain("acc.update", "i2 != 3")),
    ("gemm", "another term than phi says", shift_phi("acc.update", 2, -1)),
    ("gemm", "phi of the result is another element", shift_phi("y", 1, 1)),
    ("gemm", "sums in another order without permission", permit("acc.update", [])),
    (
        "gemm",
        "blocks of the sum in parallel",
        concurrent("parallel", "k.o", 2, ["b.in", "acc.init", "acc.update", "y"]),
    ),
    ("gemm", "one accumulator for all tiles in parallel", set_buffer("acc.c", "alloc_rows", 0)),
    ("gemm", "another operation", set_entry("y", "operation", "f32 min(f32 +(#0, #1), f32 0)")),
    ("gemm", "another combiner", set_entry("acc.update", "combiner", "max")),
    ("padded", "the border is copied from inside", shift_access("x.in", "x", False, 0, 1)),
    ("padded", "the border holds nothing", no_guard("x.in", "x")),
    ("padded", "the border holds another value", set_fill("x.in", "x", "i32 1")),
    (
        "two_sums",
        "two generations at once: the second sum before the first is read",
        swap_time("Y", "J"),
    ),
    ("two_sums", "the second sum before the first", swap_time("P", "Q")),
    ("two_sums", "the first sum read after the second", swap_time("Y", "Z")),
    ("two_sums", "the sum lies in the memory of the first result", place_in("acc", "y")),
    ("two_sums", "the second sum is not begun", drop_statement("J")),
    (
        "blur",
        "the lines of a strip in parallel strips share memory",
        set_buffer("bx.c", "alloc_rows", 0),
    ),
    ("blur", "a line is missing", cut_domain("bx", "i1 != i0 * 4 + 5")),
    ("blur", "the reader before the lines", swap_time("bx", "y")),
    ("blur", "the lines of another strip", shift_access("y", "bx.c", False, 0, -1)),
    ("running", "partial sums read before their term", swap_time("S", "P")),
    ("running", "the whole sum read in the middle", reverse_time("S", 1)),
    ("running", "the running sum in parallel", concurrent("parallel", "k", 1, ["S", "P"])),
    ("in_turn", "the second sum's loop is not permitted", permit("S", [])),
    ("in_turn", "the first sum's loop is not permitted", permit("P", [])),
    ("in_turn", "the sum begins after its first terms", swap_time("I", "S")),
    ("in_turn", "the second maximum is a minimum", combine("Q", "min")),
    ("in_turn", "the maximum is read before the last terms", swap_time("R", "Q")),
    (
        "two_loops",
        "terms of the loop that keeps its order change places",
        reverse_time("acc.update", 2),
    ),
]

# What looks like a fault and is none.
CONTROLS = [
    ("gemm", "as it was", lambda c: None),
    ("gemm", "the initial value twice before the sum", twice("acc.init")),
    ("two_sums", "the sum lies in the memory of the last result", place_in("acc", "z")),
    ("in_turn", "both are minima", lambda c: (combine("M", "min")(c), combine("Q", "min")(c))),
    ("two_loops", "terms of the loop that may change its order", reverse_time("acc.update", 3)),
    ("running", "rows in parallel", concurrent("parallel", "i", 3, ["S"])),
]
