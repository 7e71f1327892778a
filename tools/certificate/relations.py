"""Relations and sets of isl, as the definitions of docs/certificate.md use them; what a judgement
may end with."""

import islpy as isl


class Fault(Exception):
    """The certificate is wrong: why, and the pairs or instances that show it."""

    def __init__(self, words, shown=None):
        super().__init__(words)
        self.words, self.shown = words, shown


class Unknown(Exception):
    pass


def no_pairs():
    return isl.UnionMap("{ }")


def no_instances():
    return isl.UnionSet("{ }")


def identity(instances):
    return instances.identity()


def restricted(um, domain=None, range_=None):
    if domain is not None:
        um = um.intersect_domain(domain)
    return um if range_ is None else um.intersect_range(range_)


def renamed(um, side, names):
    """The relation with tuple names of one side replaced by names[old] where there is one."""
    result = no_pairs()
    for piece in maps_of(um):
        name = piece.get_tuple_name(side)
        result = result.union(
            isl.UnionMap.from_map(piece.set_tuple_name(side, names.get(name, name)))
        )
    return result


def maps_of(um):
    pieces = []
    um.foreach_map(pieces.append)
    return pieces


def sets_of(instances):
    pieces = []
    instances.foreach_set(pieces.append)
    return pieces


def at_times(pairs, times, relation):
    """Those of the pairs whose time vectors are in the relation lt, le, gt or ge."""
    if pairs.is_empty():
        return pairs
    order = isl.MultiUnionPwAff.from_union_map(times)
    return getattr(pairs, f"lex_{relation}_at_multi_union_pw_aff")(order)


def last_writes(reads, writes, times):
    """reader -> the last write of its cell before it, by isl's dataflow; where that loses readers
    (the isl of islpy 2026.2 does, at times that are written with a remainder) by the definition."""
    flow = (
        isl.UnionAccessInfo.from_sink(reads)
        .set_must_source(writes)
        .set_schedule_map(times)
        .compute_flow()
    )
    found = flow.get_must_dependence().reverse()
    if reads.domain().is_subset(found.domain().union(flow.get_must_no_source().domain())):
        return found
    before = at_times(reads.apply_range(writes.reverse()), times, "gt")
    overtaken = at_times(writes.apply_range(writes.reverse()), times, "gt")
    return before.subtract(before.apply_range(overtaken))


def product(a, b):
    """x -> [a(x) -> b(x)]"""
    return a.range_product(b)


def distinct(pairs):
    return pairs.subtract(identity(pairs.domain()))


def in_phase(times, phase):
    result = no_pairs()
    for piece in maps_of(times):
        piece = piece.insert_dims(isl.dim_type.out, 0, 1).fix_val(
            isl.dim_type.out, 0, isl.Val(phase)
        )
        result = result.union(isl.UnionMap.from_map(piece))
    return result


def first_times(times, first, count):
    """The time vector's dimensions first .. first + count - 1."""
    result = no_pairs()
    for piece in maps_of(times):
        dims = piece.dim(isl.dim_type.out)
        piece = piece.project_out(isl.dim_type.out, first + count, dims - first - count)
        result = result.union(isl.UnionMap.from_map(piece.project_out(isl.dim_type.out, 0, first)))
    return result
