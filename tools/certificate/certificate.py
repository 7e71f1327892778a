"""What a certificate says: two sides of statements with their accesses, and the sources
of their reads."""

import json
import re

import islpy as isl

from certificate.relations import (
    Fault,
    identity,
    in_phase,
    last_writes,
    maps_of,
    no_instances,
    no_pairs,
    renamed,
)


class Access:
    def __init__(self, entry, read_map, read_set):
        self.buffer, self.write, self.own, self.exact = (
            entry[k] for k in ("buffer", "write", "own", "exact")
        )
        self.cells = read_map(entry["cells"])
        self.outside = read_set(entry["outside"]) if "outside" in entry else no_instances()
        self.fill = entry.get("fill", "")


class Statement:
    def __init__(self, entry, read_map, read_set):
        for key in (
            "id",
            "name",
            "kind",
            "combiner",
            "iterators",
            "operation",
            "reductions",
            "permitted",
            "atomic",
            "padded",
            "prefix",
        ):
            setattr(self, key, entry[key])
        self.domain = read_set(entry["domain"])
        self.time = read_map(entry["time"])
        self.phi = read_map(entry["phi"]) if "phi" in entry else None
        self.thread = read_map(entry["thread"]) if "thread" in entry else None
        self.of = (
            isl.Map(entry["phi"]).get_tuple_name(isl.dim_type.out)
            if "phi" in entry
            else entry["id"]
        )
        self.indices = [read_map(text) for text in entry["indices"]]
        self.accesses = [Access(a, read_map, read_set) for a in entry["accesses"]]
        prefix = ", ".join(f"i{i}" for i in range(self.prefix))
        dims = ", ".join(f"i{i}" for i in range(len(self.iterators)))
        self.prefix_map = isl.UnionMap(f"{{ {self.id}[{dims}] -> P{self.prefix}[{prefix}] }}")
        self.is_update, self.is_copy = self.kind == "update", self.kind == "copy"
        if (
            self.is_update == (self.combiner == "none")
            or self.is_copy != (self.phi is None)
            and "phi" in entry
        ):
            raise Fault(
                f"'{self.name}' is of kind {self.kind} and has the combiner {self.combiner}"
            )

    def reads(self):
        return [(k, a) for k, a in enumerate(self.accesses) if not a.write]

    def writes(self):
        return [a for a in self.accesses if a.write]


class Side:
    """The reference or the schedule: statements, where their accesses lie, and the sources
    of their reads."""

    def __init__(self, statements, buffers, place):
        self.statements = {s.id: s for s in statements}
        self.buffers, self.place = buffers, place
        self.times = no_pairs()
        for s in statements:
            self.times = self.times.union(s.time)
        self.found = {}  # (statement, read) -> sources; ("OUT", buffer) -> sources

    def located(self, access):
        return renamed(access.cells, isl.dim_type.out, self.place)

    def compute(self, place, virtual):
        """Sources of every read of this place: the last write before it, by isl's dataflow."""
        depth = max((m.dim(isl.dim_type.out) for m in maps_of(self.times)), default=0)
        sinks, writes, times = no_pairs(), no_pairs(), in_phase(self.times, 0)
        names = {}
        for s in self.statements.values():
            for k, access in enumerate(s.accesses):
                if self.place.get(access.buffer, access.buffer) != place:
                    continue
                if access.write:
                    writes = writes.union(self.located(access))
                    continue
                names[f"{s.id}.{k}"] = (s.id, k)
                sink = {s.id: f"{s.id}.{k}"}
                sinks = sinks.union(renamed(self.located(access), isl.dim_type.in_, sink))
                times = times.union(renamed(in_phase(s.time, 0), isl.dim_type.in_, sink))
        if place in virtual:
            role, cells = virtual[place]
            for tuple_name, phase in ((f"IN_{place}", -1), (f"OUT_{place}", 1)):
                accesses = renamed(identity(cells), isl.dim_type.in_, {place: tuple_name})
                if phase < 0:
                    writes = writes.union(accesses)
                elif role in ("out", "inout"):
                    names[tuple_name] = ("OUT", place)
                    sinks = sinks.union(accesses)
                zero = ", ".join([str(phase)] + ["0"] * depth)
                times = times.union(
                    isl.UnionMap.from_domain_and_range(
                        accesses.domain(), isl.UnionSet(f"{{ [{zero}] }}")
                    )
                )
        for piece in maps_of(last_writes(sinks, writes, times)):
            key = names[piece.get_tuple_name(isl.dim_type.in_)]
            if key[0] != "OUT":
                piece = piece.set_tuple_name(isl.dim_type.in_, key[0])
            self.found[key] = self.found.get(key, no_pairs()).union(isl.UnionMap.from_map(piece))


class Certificate:
    def __init__(self, text, sizes):
        entry = json.loads(text)
        if entry.get("format") != "polyte certificate 1":
            raise ValueError(
                "its format is " + repr(entry.get("format")) + ", expected 'polyte certificate 1'"
            )
        context = isl.Set(entry["context"])
        for name, value in sizes.items():
            if name in entry["params"]:
                at = context.find_dim_by_name(isl.dim_type.param, name)
                context = context.fix_val(isl.dim_type.param, at, isl.Val(value))
        self.context = context
        read_map = lambda t: isl.UnionMap(t).intersect_params(context)
        read_set = lambda t: isl.UnionSet(t).intersect_params(context)
        self.rewrites, self.concurrent = entry["rewrites"], entry["concurrent"]
        self.buffers = {b["id"]: b for b in entry["buffers"]}
        self.boxes = {b["id"]: read_set(b["box"]) for b in entry["buffers"]}
        place = {b["id"]: b["place"] for b in entry["buffers"]}
        ids = [each["id"] for part in ("program", "schedule", "buffers") for each in entry[part]]
        if len(ids) != len(set(ids)):
            raise ValueError("two statements or buffers have one id")
        self.then = Side(
            [Statement(s, read_map, read_set) for s in entry["program"]], self.buffers, {}
        )
        self.now = Side(
            [Statement(s, read_map, read_set) for s in entry["schedule"]], self.buffers, place
        )
        self.fills = {}

    def name_of(self, tuple_name):
        prefix, _, rest = tuple_name.rpartition("_")
        for side in (self.then, self.now):
            if tuple_name in side.statements:
                return ("reference " if side is self.then else "") + side.statements[
                    tuple_name
                ].name
        if rest in self.buffers:
            return (prefix + " " if prefix else "") + self.buffers[rest]["name"]
        return tuple_name

    def shown(self, pairs):
        """One element of a relation or a set, with names instead of tuples."""
        if pairs is None or pairs.is_empty():
            return ""
        text = str((pairs.wrap() if isinstance(pairs, isl.UnionMap) else pairs).sample_point())
        text = re.sub(r"\b((?:IN_|OUT_)?[RSB]\d+)(?=\[)", lambda m: self.name_of(m.group(1)), text)
        for fill, tuple_name in self.fills.items():
            text = text.replace(tuple_name + "[]", f"the value {fill} of a guard")
        return text
