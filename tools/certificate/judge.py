"""The criterion of docs/certificate.md, section by section; a Fault is raised where it does
not hold."""

import re

import islpy as isl

from certificate.concurrent import Concurrent
from certificate.relations import (
    Fault,
    Unknown,
    at_times,
    distinct,
    identity,
    no_instances,
    no_pairs,
    product,
    renamed,
    restricted,
    sets_of,
)
from certificate.relaxed import Relaxed

MOST_COPIES = 24  # links of a chain of copies
FLOATS = ("f16", "bf16", "f32", "f64")


class Judge:
    def __init__(self, certificate):
        self.c = certificate
        self.then, self.now = certificate.then, certificate.now
        self.phi = no_pairs()
        for s in self.now.statements.values():
            if not s.is_copy:
                known = self.then.statements[s.of].domain
                self.phi = self.phi.union(s.phi.intersect_range(known))
        self.relaxed = []

    def run(self):
        self.check_form()
        self.check_statements()
        self.check_bounds()
        self.check_families()
        Concurrent(self).run()

    def check_form(self):
        """What the definitions take for granted."""
        for side in (self.then, self.now):
            if not side.times.is_injective():
                raise Fault(
                    "two instances run at one time",
                    distinct(side.times.apply_range(side.times.reverse())),
                )
            for s in side.statements.values():
                self.check_accesses(s, side)
                own, writes = [a for a in s.accesses if a.own], s.writes()
                if len(own) != (len(writes) if s.is_update else 0) or any(
                    a.buffer != w.buffer or not a.cells.is_equal(w.cells)
                    for a, w in zip(own, writes)
                ):
                    raise Fault(f"{s.name} does not go on from what it writes")
        for b in self.c.buffers.values():
            if b["dtype"] != self.c.buffers[b["of"]]["dtype"]:
                raise Fault(f"{b['name']} holds {b['dtype']}")
            for s in self.now.statements.values():
                if (
                    b["at_compile_time"]
                    and any(a.buffer == b["id"] for a in s.writes())
                    and not (s.is_copy and self.c.buffers[s.accesses[0].buffer]["role"] == "const")
                ):
                    raise Fault(
                        f"{b['name']} is no copy of a constant, and is made when the kernel is "
                        "compiled"
                    )

    def check_accesses(self, s, side):
        if not s.time.domain().is_equal(s.domain) or not s.time.is_single_valued():
            raise Fault(f"{s.name} has instances without a time, or with two", s.domain)
        for a in s.accesses:
            name, reads = self.c.buffers[a.buffer]["name"], a.cells.domain()
            said, wanted = reads.union(a.outside), s.domain
            # an element that data choose is none where the tensor has none: the Program is
            # wrong there
            if not a.exact:
                wanted = wanted.intersect_params(self.c.boxes[a.buffer].params())
            if not said.is_equal(wanted) or not reads.intersect(a.outside).is_empty():
                raise Fault(
                    f"{s.name} has instances whose access to {name} is not said, or twice", s.domain
                )
            if a.exact and not a.cells.is_single_valued():
                raise Fault(f"{s.name} accesses two elements of {name} at once", a.cells)
            if a.write and self.c.buffers[side.place.get(a.buffer, a.buffer)]["role"] in (
                "in",
                "const",
            ):
                raise Fault(f"{s.name} writes the input {name}", a.cells)

    # -- what each statement computes

    def check_statements(self):
        for s in self.now.statements.values():
            if any(not piece.is_bounded() for piece in sets_of(s.domain)):
                raise Fault(f"{s.name} runs without an end", s.domain)
            if s.is_copy:
                self.check_copy(s)
                continue
            r = self.then.statements[s.of]
            beyond = s.domain.subtract(restricted(s.phi, range_=r.domain).domain())
            if not s.padded and not beyond.is_empty():
                raise Fault(f"{s.name} runs an instance that the reference has not", beyond)
            if s.padded and (any(not a.exact for a in s.accesses)):
                raise Fault(f"{s.name} runs in padding, and what it computes there may fail")
            if not s.phi.is_single_valued() or not s.phi.domain().is_equal(s.domain):
                raise Fault(f"phi of {s.name} is not a function of its instances", s.domain)
            if (s.operation, s.combiner, len(s.accesses)) != (
                r.operation,
                r.combiner,
                len(r.accesses),
            ):
                raise Fault(
                    f"{s.name} computes {s.combiner} {s.operation}, the reference {r.combiner} "
                    f"{r.operation}"
                )
            for now, then in zip(s.indices, r.indices):
                self.check_equal(
                    f"an index value of {s.name} is another than in the reference", s, now, then
                )
            for now, then in zip(s.accesses, r.accesses):
                if (now.own, now.write) != (then.own, then.write):
                    raise Fault(
                        f"the accesses of {s.name} are not those of the reference, in order"
                    )
                if now.exact != then.exact:
                    raise Fault(f"what {s.name} accesses is known at run time only on one side")

    def check_equal(self, words, s, now, then):
        now = now.intersect_domain(self.phi.domain())
        then = restricted(self.phi, s.domain).apply_range(then)
        for difference in (now.subtract(then), then.subtract(now)):
            if not difference.is_empty():
                raise Fault(words, difference)

    def check_copy(self, s):
        kinds = [(a.write, a.exact) for a in s.accesses]
        if kinds != [(False, True), (True, True)] and kinds != [(False, False), (True, True)]:
            raise Fault(f"{s.name} is no copy: it has other accesses than one read and one write")
        types = {self.c.buffers[a.buffer]["dtype"] for a in s.accesses}
        if len(types) != 1 or not re.fullmatch(r"#0(\[.*\])?", s.operation) or s.combiner != "none":
            raise Fault(f"{s.name} is no copy: it computes {s.operation}")

    def check_bounds(self):
        for s in self.now.statements.values():
            for a in s.accesses:
                outside = a.cells.subtract_range(self.c.boxes[a.buffer])
                if not outside.is_empty():
                    raise Fault(f"{s.name} leaves {self.c.buffers[a.buffer]['name']}", outside)

    # -- sources

    def check_families(self):
        """A family: buffers of the reference that share storage in the schedule, mostly one."""
        inexact = self.inexact_families()
        originals = [b for b in self.c.buffers.values() if b["of"] == b["id"]]
        virtual = {
            b["id"]: (b["role"], self.c.boxes[b["id"]]) for b in originals if b["role"] != "temp"
        }
        for b in originals:
            self.then.compute(b["id"], virtual) if b["id"] not in inexact else None
        places = {b["place"] for b in self.c.buffers.values() if b["of"] not in inexact}
        for place in sorted(places):
            self.now.compute(place, virtual)
        self.add_fills()
        self.copies = no_pairs()
        for s in self.now.statements.values():
            if s.is_copy and self.c.buffers[s.accesses[0].buffer]["of"] not in inexact:
                self.copies = self.copies.union(self.sources(self.now, s.id, 0))
        self.copy_instances = no_instances()
        for s in self.now.statements.values():
            if s.is_copy:
                self.copy_instances = self.copy_instances.union(s.domain)
        for b in originals:
            if b["id"] in inexact:
                self.check_by_order(b["id"], inexact)
            else:
                self.check_sources(b["id"])

    def inexact_families(self):
        found = set()
        for side in (self.then, self.now):
            for s in side.statements.values():
                found |= {self.c.buffers[a.buffer]["of"] for a in s.accesses if not a.exact}
        shared = [{b["of"], self.c.buffers[b["place"]]["of"]} for b in self.c.buffers.values()]
        for _ in shared:  # what shares their storage, and what shares that
            found = found.union(*(each for each in shared if each & found))
        return found

    def add_fills(self):
        """A guarded read that reads nothing takes the value FILL<n>[], the same n for the
        same text."""
        for side in (self.then, self.now):
            for s in side.statements.values():
                for a in s.accesses:
                    if not a.outside.is_empty():
                        self.c.fills.setdefault(a.fill, f"FILL{len(self.c.fills)}")
        tuples = "; ".join(f"{name}[]" for name in self.c.fills.values())
        self.phi_and_virtual = self.phi.union(identity(isl.UnionSet(f"{{ {tuples} }}")))
        for b in self.c.buffers.values():
            cells = identity(self.c.boxes[b["id"]])
            name = {b["id"]: f"IN_{b['id']}"}
            self.phi_and_virtual = self.phi_and_virtual.union(
                renamed(renamed(cells, isl.dim_type.in_, name), isl.dim_type.out, name)
            )

    def sources(self, side, statement, read):
        found = side.found.get((statement, read), no_pairs())
        if statement == "OUT":
            return found
        a = side.statements[statement].accesses[read]
        if a.outside.is_empty():
            return found
        if "#" in a.fill or "@" in a.fill:
            raise Unknown(f"the value {a.fill} of a guarded read is no constant")
        fill = isl.UnionSet(f"{{ {self.c.fills[a.fill]}[] }}")
        return found.union(isl.UnionMap.from_domain_and_range(a.outside, fill))

    def followed(self, sources):
        for _ in range(MOST_COPIES):
            through = sources.intersect_range(self.copy_instances)
            if through.is_empty():
                return sources
            sources = sources.subtract(through).union(through.apply_range(self.copies)).coalesce()
        raise Unknown(f"a chain of copies has more than {MOST_COPIES} links")

    def reads_of(self, buffer):
        """(statement of the schedule or OUT, read, instances, sources here, sources in the
        reference through phi)"""
        for s in self.now.statements.values():
            if s.is_copy:
                continue
            r = self.then.statements[s.of]
            for k, a in r.reads():
                if a.buffer != buffer:
                    continue
                expected = restricted(self.phi, s.domain).apply_range(
                    self.sources(self.then, r.id, k)
                )
                yield s, k, s.domain, self.followed(self.sources(self.now, s.id, k)), expected
        if self.c.buffers[buffer]["role"] in ("out", "inout"):
            expected = self.sources(self.then, "OUT", buffer)
            yield (
                None,
                0,
                expected.domain(),
                self.followed(self.sources(self.now, "OUT", buffer)),
                expected,
            )

    def check_sources(self, buffer):
        reads = list(self.reads_of(buffer))
        name = self.c.buffers[buffer]["name"]
        wrong = None
        for s, k, instances, actual, expected in reads:
            reader = s.name if s else "the end"
            undefined = instances.subtract(actual.domain())
            beyond = instances.subtract(self.phi.domain()) if s else no_instances()
            undefined = undefined.intersect(expected.domain().union(beyond))
            if not undefined.is_empty():
                raise Fault(f"{reader} reads of {name} what nothing has written", undefined)
            wrong = wrong or self.difference(reader, name, actual, expected)
        if wrong and not any(self.class_of(u) for u in self.updates_of(buffer)):
            raise wrong
        if wrong:
            Relaxed(self, buffer, reads).run()
            self.relaxed.append(name)

    def difference(self, reader, name, actual, expected):
        within = actual.intersect_domain(expected.domain())
        found = within.apply_range(self.phi_and_virtual)
        lost = expected.domain().subtract(found.domain())
        if not lost.is_empty():
            return Fault(
                f"{reader} reads of {name} what is no value of the reference",
                within.intersect_domain(lost),
            )
        wrong = found.subtract(expected)
        if wrong.is_empty():
            return None
        at = isl.UnionSet.from_point(wrong.domain().sample_point())
        return Fault(
            f"{reader} reads of {name} another value than in the reference, where it is "
            f"{self.c.shown(expected.intersect_domain(at))}",
            wrong.intersect_domain(at),
        )

    # -- updates that may change places

    def updates_of(self, buffer):
        return [
            s
            for s in self.then.statements.values()
            if s.is_update and any(a.buffer == buffer for a in s.writes())
        ]

    def class_of(self, update):
        """Updates of one class may change places: the combiner, and the one statement whose they
        are, or none; None: this one may not at all."""
        for _, read in update.reads():  # of the element that it updates: no reduction
            if not read.own and any(
                not read.cells.intersect(w.cells).is_empty() for w in update.writes()
            ):
                return None
        if update.combiner in ("argmin", "argmax"):
            known = self.is_one_pair(update) and (
                not self.is_of_floats(update) or self.has_unique_positions(update)
            )
            return (update.combiner, update.id) if known else None
        if not self.is_by_contract(update):
            return (update.combiner, None)
        whole = set(update.permitted) == set(update.reductions)
        return (update.combiner, None if whole else update.id) if update.permitted else None

    def is_of_floats(self, update):
        return any(self.c.buffers[w.buffer]["dtype"] in FLOATS for w in update.writes())

    def is_by_contract(self, update):
        """Its order changes bits."""
        return update.combiner in ("sum", "product") and self.is_of_floats(update)

    @staticmethod
    def is_one_pair(update):
        """Each element of one tensor goes with one of the other."""
        value, position = (w.cells for w in update.writes())
        pairs = value.reverse().apply_range(position)
        return pairs.is_single_valued() and pairs.is_injective()

    def has_unique_positions(self, update):
        """Two terms of one cell have two positions: which of -0 and 0 is kept does not depend
        on the order."""
        position = re.fullmatch(r".*; \w+ @(\d+)", update.operation)
        return (
            bool(position)
            and product(update.writes()[0].cells, update.indices[int(position[1])]).is_injective()
        )

    # -- accesses known at run time only

    def check_by_order(self, buffer, inexact):
        name = self.c.buffers[buffer]["name"]
        for b in self.c.buffers.values():
            if (
                b["of"] in inexact
                and (b["of"] == buffer or b["place"] == buffer)
                and (b["of"] != b["id"] or b["place"] != b["id"])
            ):
                raise Unknown(
                    f"which elements of {name} are accessed is known at run time, and its "
                    "storage changed"
                )
        for s in self.now.statements.values():
            if s.is_copy and any(self.c.buffers[a.buffer]["of"] == buffer for a in s.accesses):
                raise Unknown(
                    f"which elements of {name} are accessed is known at run time, and it is copied"
                )
        for s in self.now.statements.values():
            for now, then in (
                [] if s.is_copy else zip(s.accesses, self.then.statements[s.of].accesses)
            ):
                if then.buffer == buffer:
                    self.check_equal(
                        f"{s.name} accesses other elements than the reference",
                        s,
                        now.cells,
                        then.cells,
                    )
        touching = [
            s for s in self.then.statements.values() if any(a.buffer == buffer for a in s.accesses)
        ]
        if not any(a.write and a.buffer == buffer for s in touching for a in s.accesses):
            return  # nothing to change places with
        for s in touching:
            here = restricted(self.phi, range_=s.domain)
            if not here.is_injective() or not here.range().is_equal(s.domain):
                raise Unknown(
                    f"which elements of {name} are accessed is known at run time, and {s.name} "
                    "runs more or less often than in the reference"
                )
        for first in touching:
            for second in touching:
                self.check_pairs(buffer, first, second)

    def check_pairs(self, buffer, first, second):
        for a in first.accesses:
            for b in second.accesses:
                if a.buffer != buffer or b.buffer != buffer or not (a.write or b.write):
                    continue
                pairs = at_times(a.cells.apply_range(b.cells.reverse()), self.then.times, "lt")
                if all(x.own or (x.write and s.is_update) for x, s in ((a, first), (b, second))):
                    pairs = pairs.subtract(self.exchangeable(first, second, pairs))
                there = self.phi.apply_range(pairs).apply_range(self.phi.reverse())
                late = at_times(there, self.now.times, "ge")
                if not late.is_empty():
                    raise Fault(
                        f"two accesses of {self.c.buffers[buffer]['name']} change places, "
                        f"{first.name} and {second.name}",
                        late,
                    )

    def exchangeable(self, first, second, pairs):
        """Those of the pairs of updates of one class that may change places."""
        if self.class_of(first) is None or self.class_of(first) != self.class_of(second):
            return no_pairs()
        return pairs.subtract(self.ordered(first, second, pairs))

    def ordered(self, first, second, pairs):
        """Those of the pairs of two updates of one class that the contract keeps in order."""
        if first is not second or not self.is_by_contract(first):
            return no_pairs()
        values = isl.UnionMap(
            f"{{ {first.id}[{', '.join(f'i{i}' for i in range(len(first.iterators)))}] -> "
            f"[{', '.join('i%d' % first.iterators.index(n) for n in first.permitted)}] }}"
        )
        return pairs.intersect(values.apply_range(values.reverse()))
