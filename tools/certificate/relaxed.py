"""Updates that may change places: generations, and what each reader sees of them
(docs/certificate.md, 5)."""

import islpy as isl

from certificate.relations import (
    Fault,
    at_times,
    distinct,
    identity,
    in_phase,
    last_writes,
    maps_of,
    no_instances,
    no_pairs,
    product,
    renamed,
    restricted,
)


class Relaxed:
    """The criterion for one buffer some of whose updates may change places (docs/certificate.md,
    5)."""

    def __init__(self, judge, buffer, reads):
        self.judge, self.buffer, self.reads = judge, buffer, reads
        self.name = judge.c.buffers[buffer]["name"]
        self.updates = {u.id: u for u in judge.updates_of(buffer) if judge.class_of(u)}
        self.in_then = self.instances(judge.then, lambda s: s.id in self.updates)
        self.in_now = self.instances(judge.now, lambda s: not s.is_copy and s.of in self.updates)
        self.in_now = self.in_now.intersect(judge.phi.domain())
        self.find_generations()

    @staticmethod
    def instances(side, chosen):
        found = no_instances()
        for s in side.statements.values():
            if chosen(s):
                found = found.union(s.domain)
        return found

    def same_class(self, links, of):
        """Those of the links between updates whose two ends have one class; of: tuple
        name -> reference update."""
        found = no_pairs()
        for piece in maps_of(links):
            ends = [of(piece.get_tuple_name(side)) for side in (isl.dim_type.in_, isl.dim_type.out)]
            if all(e in self.updates for e in ends) and self.judge.class_of(
                self.updates[ends[0]]
            ) == self.judge.class_of(self.updates[ends[1]]):
                found = found.union(isl.UnionMap.from_map(piece))
        return found

    def own_read(self, s):
        return next(
            k
            for k, a in self.judge.then.statements[s.of].reads()
            if a.own and a.buffer == self.buffer
        )

    def find_generations(self):
        """generation: writer of the reference -> beginning of the generation to which
        its value belongs."""
        then = self.judge.then
        self.own_then = no_pairs()
        for u in self.updates.values():
            self.own_then = self.own_then.union(self.judge.sources(then, u.id, self.own_read(u)))
        self.firsts = (
            self.own_then.subtract(self.same_class(self.own_then, lambda t: t))
            .intersect_range(self.in_then)
            .domain()
        )
        begins, times, sinks = no_pairs(), in_phase(then.times, 0), no_pairs()
        for s in then.statements.values():
            for a in s.accesses:
                if a.buffer == self.buffer and a.write:
                    here = (
                        a.cells.intersect_domain(self.firsts) if s.id in self.updates else a.cells
                    )
                    begins = begins.union(here)
                    if s.id in self.updates:
                        sinks = sinks.union(a.cells.subtract_domain(self.firsts))
        box = self.judge.c.boxes[self.buffer]
        if self.judge.c.buffers[self.buffer]["role"] != "temp":
            start = renamed(identity(box), isl.dim_type.in_, {self.buffer: f"IN_{self.buffer}"})
            depth = max(m.dim(isl.dim_type.out) for m in maps_of(then.times))
            zero = isl.UnionSet("{ [" + ", ".join(["-1"] + ["0"] * depth) + "] }")
            times = times.union(isl.UnionMap.from_domain_and_range(start.domain(), zero))
            begins = begins.union(start)
        self.generation = last_writes(sinks, begins, times).union(identity(begins.domain()))

    def run(self):
        judge, now, then = self.judge, self.judge.now, self.judge.then
        phi = judge.phi_and_virtual
        self.phi_here = judge.phi.intersect_domain(self.in_now)
        prefixes = no_pairs()
        for s in now.statements.values():
            prefixes = prefixes.union(s.prefix_map)
        # An update's place: the generation on which it acts, and for which iteration of its site
        # it does so.
        self.label = product(self.phi_here.apply_range(self.generation), prefixes)
        before_then = self.before(
            self.generation.intersect_domain(self.in_then), then, identity(self.in_then)
        )
        before_now = self.before(self.label, now, self.phi_here)
        links = no_pairs()
        for s, k, _, actual, expected in self.reads:
            if s and s.of in self.updates and s.accesses[k].own:
                links = links.union(actual.intersect_domain(self.in_now))
                continue
            self.check_read(s.name if s else "the end", actual, expected, before_now, before_then)
        starts = self.check_links(links)
        expected = self.phi_here.apply_range(self.generation)
        first = expected.intersect_range(self.firsts).apply_range(self.own_then)
        expected = (
            expected.subtract_range(self.firsts).union(first).intersect_domain(starts.domain())
        )
        self.check_read("the first update", starts, expected, before_now, before_then)
        self.check_once(starts)
        self.check_order()
        self.check_tuples(links)

    def before(self, label, side, phi):
        """writer -> updates (of the reference) of its generation and location up to
        and including itself."""
        pairs = label.apply_range(label.reverse())
        return at_times(pairs, side.times, "ge").apply_range(phi)

    def check_read(self, reader, actual, expected, before_now, before_then):
        judge = self.judge
        actual = actual.intersect_domain(expected.domain())
        here = actual.apply_range(judge.phi_and_virtual).apply_range(self.generation)
        there = expected.apply_range(self.generation)
        known = expected.subtract_range(self.generation.domain())  # a value of a guard
        here = here.union(
            restricted(actual.apply_range(judge.phi_and_virtual), range_=known.range())
        )
        there = there.union(known)
        for wrong in (here.subtract(there), there.subtract(here)):
            if not wrong.is_empty():
                raise Fault(
                    f"{reader} sees another generation of {self.name} than in the reference", wrong
                )
        here, there = actual.apply_range(before_now), expected.apply_range(before_then)
        if not here.subtract(there).is_empty():
            raise Fault(
                f"{reader} sees an update of {self.name} that comes after it in the reference",
                here.subtract(there),
            )
        if not there.subtract(here).is_empty():
            raise Fault(
                f"{reader} does not see an update of {self.name} that comes before it in the "
                "reference",
                there.subtract(here),
            )

    def check_links(self, links):
        """Every update goes on from one of its generation and location, or is the first; returns
        the firsts' links."""
        lost = self.in_now.subtract(links.domain())
        if not lost.is_empty():
            raise Fault(f"an update of {self.name} goes on from nothing", lost)
        inner = self.same_class(
            links,
            lambda t: self.judge.now.statements[t].of if t in self.judge.now.statements else t,
        )
        inner = inner.intersect_range(self.in_now)
        together = self.label.apply_range(self.label.reverse())
        wrong = inner.subtract(together)
        if not wrong.is_empty():
            raise Fault(
                f"an update of {self.name} goes on from one of another generation or location",
                wrong,
            )
        if not inner.is_injective():
            twice = distinct(inner.apply_range(inner.reverse()))
            raise Fault(f"two updates of {self.name} go on from one value", twice)
        return links.subtract(inner)

    def check_once(self, starts):
        starting = self.label.intersect_domain(starts.domain())
        twins = distinct(starting.apply_range(starting.reverse()))
        if not twins.is_empty():
            raise Fault(f"two updates of {self.name} begin one generation", twins)
        instance = product(self.phi_here, self.label)
        twins = distinct(instance.apply_range(instance.reverse()))
        if not twins.is_empty():
            raise Fault(f"an update of {self.name} runs twice in one generation", twins)

    def check_order(self):
        """Updates that the contract does not let change places have not."""
        together = self.label.apply_range(self.label.reverse())
        for update in self.updates.values():
            if not self.judge.is_by_contract(update):
                continue
            there = isl.UnionMap.from_domain_and_range(update.domain, update.domain)
            there = at_times(self.judge.ordered(update, update, there), self.judge.then.times, "lt")
            here = (
                self.phi_here.apply_range(there)
                .apply_range(self.phi_here.reverse())
                .intersect(together)
            )
            late = at_times(here, self.judge.now.times, "ge")
            if not late.is_empty():
                raise Fault(
                    f"two updates of {self.name} change places that the contract keeps in order",
                    late,
                )

    def check_tuples(self, links):
        """Value and position of an argmax take the same way."""
        for s in self.judge.now.statements.values():
            if s.is_copy or s.of not in self.updates:
                continue
            chains = [
                self.judge.followed(self.judge.sources(self.judge.now, s.id, k))
                for k, a in s.reads()
                if a.own
            ]
            for chain in chains[1:]:
                wrong = chain.intersect_range(self.in_now).subtract(chains[0])
                if not wrong.is_empty():
                    raise Fault(f"value and position of {s.name} go on from two updates", wrong)
