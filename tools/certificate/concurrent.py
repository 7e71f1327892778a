"""What iterations of a concurrent loop, and threads of a block, touch beside each other
(docs/certificate.md, 6)."""

import islpy as isl

from certificate.relations import Fault, first_times, maps_of, no_instances, no_pairs, product

ONE_WARP = isl.UnionMap("{ [t] -> [u] : floor(t/32) = floor(u/32) }")


class Concurrent:
    """The criterion for concurrent loops and for registers of threads; `judge` says what
    may change places."""

    def __init__(self, judge):
        self.judge = judge
        self.c, self.then, self.now, self.phi = judge.c, judge.then, judge.now, judge.phi

    def run(self):
        for loop in self.c.concurrent:
            self.check_races(loop)
        for buffer in self.c.buffers.values():
            if buffer.get("of_threads"):
                self.check_owners(buffer)

    def check_races(self, loop):
        depth = loop["depth"]
        touched, written = {}, {}
        for sid in loop["statements"]:
            s = self.now.statements[sid]
            for a in s.accesses:
                where = self.memory(s, a, depth)
                place = self.now.place[a.buffer]
                touched.setdefault(place, []).append((s, a, where))
                if a.write:
                    written.setdefault(place, []).append((s, a, where))
        for place, writes in written.items():
            if self.in_one_iteration(writes, touched[place], depth):
                continue
            for s, a, here in writes:
                for t, b, there in touched[place]:
                    self.check_race(loop, s, a, here, t, b, there)

    def memory(self, s, access, depth):
        """instance -> [rows outside the loop -> element in memory]"""
        return product(first_times(s.time, 0, depth), self.element(access))

    def element(self, access):
        """instance -> element in memory"""
        buffer = self.c.buffers[access.buffer]
        where = no_pairs()
        for piece in maps_of(self.now.located(access)):
            piece = piece.project_out(
                isl.dim_type.out, buffer["alloc_rows"], buffer["scope_rows"] - buffer["alloc_rows"]
            )
            piece = piece.set_tuple_name(isl.dim_type.out, self.now.place[access.buffer])
            where = where.union(isl.UnionMap.from_map(piece))
        return where

    # -- registers of a block of threads

    def check_owners(self, buffer):
        """One thread writes an element; threads of its warp read it."""
        touched = [
            (s, a.write, self.element(a))
            for s in self.now.statements.values()
            for a in s.accesses
            if a.buffer == buffer["id"]
        ]
        for s, s_writes, here in touched:
            for t, t_writes, there in touched:
                if not s_writes and not t_writes:
                    continue
                together = s.thread.apply_range(t.thread.reverse())
                if not (s_writes and t_writes):
                    together = s.thread.apply_range(ONE_WARP).apply_range(t.thread.reverse())
                pairs = here.apply_range(there.reverse()).subtract(together)
                if not pairs.is_empty():
                    raise Fault(f"two threads touch one register of {buffer['name']}", pairs)

    def in_one_iteration(self, writes, touched, depth):
        cells, rows = no_instances(), no_pairs()
        for _, _, where in writes:
            cells = cells.union(where.range())
        for s, _, where in touched:
            here = where.intersect_range(cells)
            rows = rows.union(here.reverse().apply_range(first_times(s.time, depth, 1)))
        return rows.is_single_valued()

    def check_race(self, loop, s, a, here, t, b, there):
        row = lambda x: first_times(x.time, loop["depth"], 1)
        pairs = here.apply_range(there.reverse()).subtract(row(s).apply_range(row(t).reverse()))
        both_own = s is t and all(x.own or x.write for x in (a, b)) and s.is_update
        if both_own and s.atomic and loop["kind"] == "parallel":
            r = self.then.statements[s.of]
            mapped = self.phi.reverse().apply_range(pairs).apply_range(self.phi)
            pairs = pairs.subtract(
                self.phi.apply_range(self.judge.exchangeable(r, r, mapped)).apply_range(
                    self.phi.reverse()
                )
            )
        if not pairs.is_empty():
            raise Fault(
                f"two iterations of the {loop['kind']} loop {loop['name']} touch one element of "
                f"{self.c.buffers[a.buffer]['name']}, and {s.name} writes it",
                pairs,
            )
