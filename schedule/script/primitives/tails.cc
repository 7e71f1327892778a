// tail S:m.i round:   m.o in 0..3, m.i in 0..min(8, 18 - 8*m.o)   ->   m.o in 0..3, m.i in 0..8
//   The last tile runs whole. S then has instances that the Program has not; they read and write
//   padding: staged storage that is large enough (bound_storage) and filled (pad). Proved: no
//   access leaves its buffer, nothing is read there that was never written, and no read of the
//   Program, nor an output, takes what they have made.
//
// tail S:m.i shift:   m = 8*m.o + m.i   ->   m = min(8*m.o, 18 - 8) + m.i
//   The last tile moves inwards and runs some instances a second time. S(m) becomes S(m.o, m), as
//   a recomputed statement has its loops for iterators; every read is proved to take the value it
//   took before.
#include "schedule/script/primitives/tails.h"

#include <algorithm>

#include "schedule/script/primitives/lift.h"
#include "support/checked.h"

namespace polyte::schedule {

namespace {

using ir::Affine;
using ir::Constraint;

// n = iterator + shift, in tiles of `factor`. `whole`: the inner loop is n mod factor, nothing
// has split it since.
struct Tiles {
  std::string outer, inner, iterator;
  std::int64_t shift = 0, factor = 1;
  bool whole = true;
};

// Whether the value is (n mod factor) // d with d a divisor of the factor: the outer loop of a tile
// that has been split by d.
bool counts_parts_of_tile(const Affine& value, const Affine& n, std::int64_t factor) {
  return std::ranges::any_of(value.terms(), [&](const ir::Term& term) {
    if (!term.atom.div || term.coefficient != 1 || term.atom.div->numerator != n) return false;
    const std::int64_t d = term.atom.div->denominator;
    return factor % d == 0 && value == ir::mod(ir::floor_div(n, d), factor / d);
  });
}

// The outer loop is the one that counts the tiles, whatever it is called by now.
std::optional<Tiles> tiles_around(const ScheduledStatement& s, const std::string& inner) {
  const LoopRow* inner_row = row_of(s, inner);
  for (const LoopRow& outer : s.rows) {
    if (!inner_row || outer.value.terms().size() != 1 || outer.value.constant() != 0) continue;
    const ir::Term& term = outer.value.terms().front();
    if (!term.atom.div || term.coefficient != 1) continue;
    const Affine& n = term.atom.div->numerator;
    const std::int64_t factor = term.atom.div->denominator;
    const auto iterator = (n - n.constant()).as_symbol();
    const bool whole = inner_row->value == ir::mod(n, factor);
    if (iterator && (whole || counts_parts_of_tile(inner_row->value, n, factor)))
      return Tiles{outer.loop, inner, *iterator, n.constant(), factor, whole};
  }
  return std::nullopt;
}

Refusal no_tiles(const std::string& statement, const std::string& loop) {
  return conservative(loop + " of " + statement +
                      " is not the inner loop of a split of one iterator: its tail stays");
}

bool is_over_params(const State& state, const Affine& e) {
  std::set<std::string> symbols;
  e.collect_symbols(symbols);
  for (const std::string& param : state.basis->params) symbols.erase(param);
  return symbols.empty();
}

// Bounds of an iterator in a domain: first <= it, it <= last.
struct Limits {
  std::vector<Affine> first, last;
  std::vector<Constraint> others;  // constraints without it
};

std::optional<Limits> limits_of(const ScheduledStatement& s, const std::string& iterator) {
  Limits limits;
  for (const Constraint& c : s.body.domain) {
    const std::int64_t coefficient = c.expr.coefficient(iterator);
    const Affine rest = c.expr - Affine::symbol(iterator) * coefficient;
    if (rest.uses(iterator) || (coefficient != 0 && c.equality) || std::abs(coefficient) > 1)
      return std::nullopt;
    if (coefficient == 0) limits.others.push_back(c);
    if (coefficient == 1) limits.first.push_back(-rest);
    if (coefficient == -1) limits.last.push_back(rest);
  }
  return limits;
}

Refusal not_boxed(const ScheduledStatement& s, const std::string& iterator,
                  const std::string& what) {
  return conservative("the " + what + " of " + iterator + " in " + s.body.name +
                      " is not a bound of sizes alone");
}

// --- round

std::optional<Refusal> check_padding(const State& state, const ScheduledStatement& s,
                                     const Tiles& tiles) {
  const std::string& name = s.body.name;
  if (s.kind == StatementKind::Copy) return malformed(name + " is a copy: pad its buffer instead");
  for (const ir::Access& write : s.body.writes) {
    const bool moves = std::ranges::any_of(
        write.indices, [&](const ir::Index& index) { return index.affine.uses(tiles.iterator); });
    if (!moves)
      return malformed("all iterations of " + tiles.iterator + " in " + name +
                       " write one element: more of them would change it");
    if (const ir::Buffer* b = state.basis->find_buffer(write.buffer))
      return malformed(name + " writes " + write.buffer + ", " +
                       (b->role == ir::Role::Temp
                            ? "which has no padding: stage it first"
                            : "an " + ir::to_string(b->role) + " tensor: it has no padding"));
  }
  if (!is_total(s.body))
    return malformed(name + " has a subscript that it reads: padding may hold anything");
  return std::nullopt;
}

// Upper bounds over sizes alone go up to the end of their tile, it <= last becomes
//
//   it + shift <= factor * floor((last + shift) / factor) + factor - 1
//
// Other upper bounds, over other iterators, are dropped: padding lies beyond them as well.
// Where every bound is the end of a tile already nothing changes.
std::optional<Refusal> round_up(const State& state, ScheduledStatement& s, const Tiles& tiles) {
  if (auto refusal = check_padding(state, s, tiles)) return refusal;
  auto limits = limits_of(s, tiles.iterator);
  if (!limits) return not_boxed(s, tiles.iterator, "domain");
  std::vector<Constraint> domain = limits->others;
  for (const Affine& first : limits->first)
    domain.push_back(ir::at_least(Affine::symbol(tiles.iterator), first));
  bool is_bounded = false, is_same = true;
  for (const Affine& last : limits->last) {
    if (!is_over_params(state, last)) {
      is_same = false;
      continue;
    }
    const Affine whole =
        ir::floor_div(last + tiles.shift, tiles.factor) * tiles.factor + tiles.factor - 1;
    is_same = is_same && whole - tiles.shift == last;
    is_bounded = true;
    domain.push_back(ir::at_least(whole - tiles.shift, Affine::symbol(tiles.iterator)));
  }
  if (!is_bounded) return not_boxed(s, tiles.iterator, "end");
  if (is_same) return std::nullopt;
  s.body.domain = std::move(domain);
  s.padded = true;
  return std::nullopt;
}

// --- shift

std::optional<Refusal> check_twice(const ScheduledStatement& s, const Tiles& tiles) {
  if (s.kind == StatementKind::Update)
    return malformed(s.body.name + " updates in place, each update once: an iteration of " +
                     tiles.iterator + " would run twice");
  if (s.atomic) return malformed(s.body.name + " is atomic: it may not run twice");
  if (std::ranges::find(s.body.iterators, tiles.outer) != s.body.iterators.end())
    return conservative(s.body.name + " is computed anew in every " + tiles.outer + " already");
  for (const auto& [iterator, value] : s.inverse)
    if (iterator != tiles.iterator && (value.uses(tiles.outer) || value.uses(tiles.inner)))
      return conservative("a map ties " + iterator + " of " + s.body.name + " to " +
                          tiles.iterator + ": its tiles stay where they are");
  return std::nullopt;
}

// The tightest of several bounds: the largest of the lower ones, the least of the upper ones;
// nullopt where one is no number.
std::optional<std::int64_t> the_number(const std::vector<Affine>& bounds, bool largest) {
  std::optional<std::int64_t> best;
  for (const Affine& bound : bounds) {
    if (!bound.is_constant()) return std::nullopt;
    if (!best || (largest ? bound.constant() > *best : bound.constant() < *best))
      best = bound.constant();
  }
  return best;
}

// Gives the statement its tile as an iterator. Tile t begins at factor * t, but the last one `back`
// earlier, which floor((t - first) / (count - 1)), 0 before it and 1 there, switches on:
//
//   base(t) = factor * t - floor((t - first) / (count - 1)) * back
void recompute(ScheduledStatement& s, const Tiles& tiles, const Limits& limits,
               std::int64_t first_tile, std::int64_t count, std::int64_t back) {
  const Affine tile = Affine::symbol(tiles.outer), n = Affine::symbol(tiles.iterator) + tiles.shift;
  const Affine base = tile * tiles.factor - ir::floor_div(tile - first_tile, count - 1) * back;
  s.body.iterators.insert(s.body.iterators.begin() + s.lifted, tiles.outer);
  s.body.domain = limits.others;
  s.body.domain.push_back(ir::at_least(tile, first_tile));
  s.body.domain.push_back(ir::less_than(tile, first_tile + count));
  s.body.domain.push_back(ir::at_least(n, base));
  s.body.domain.push_back(ir::less_than(n, base + tiles.factor));
  for (LoopRow& row : s.rows) {
    if (row.loop == tiles.outer) row.value = tile;
    if (row.loop == tiles.inner) row.value = n - base;
  }
  s.inverse[tiles.outer] = tile;
  s.inverse[tiles.iterator] = base + Affine::symbol(tiles.inner) - tiles.shift;
}

std::optional<Refusal> shift_inwards(ScheduledStatement& s, const Tiles& tiles) {
  if (auto refusal = check_twice(s, tiles)) return refusal;
  const auto limits = limits_of(s, tiles.iterator);
  const auto first = limits ? the_number(limits->first, true) : std::nullopt;
  const auto last = limits ? the_number(limits->last, false) : std::nullopt;
  if (!first || !last)
    return conservative("the extent of " + tiles.iterator + " in " + s.body.name +
                        " is not a number");
  const std::int64_t begin = *first + tiles.shift, end = *last + tiles.shift + 1;
  if (begin % tiles.factor != 0)
    return conservative("the first tile of " + tiles.iterator + " in " + s.body.name +
                        " is not whole");
  if (end % tiles.factor == 0) return std::nullopt;
  if (end - begin < tiles.factor)
    return malformed(tiles.iterator + " of " + s.body.name + " has " + std::to_string(end - begin) +
                     " iterations, less than a tile of " + std::to_string(tiles.factor) +
                     ": it cannot move inwards");
  // count tiles cover more than there is: the last one moves back by the difference.
  const std::int64_t count = (end - begin + tiles.factor - 1) / tiles.factor;
  recompute(s, tiles, *limits, begin / tiles.factor, count, begin + count * tiles.factor - end);
  return std::nullopt;
}

// --- both

// The tensors of the Program behind all buffers that the statements touch.
std::set<std::string> tensors_of(const State& state, const std::vector<std::string>& statements) {
  std::set<std::string> tensors;
  for (const std::string& name : statements)
    for (const AccessRef& ref : accesses_of(state.at(name))) {
      tensors.insert(ref.access.buffer);
      for (const StagedBuffer& b : state.staged)
        if (b.name == ref.access.buffer) tensors.erase(b.name), tensors.insert(b.of);
    }
  return tensors;
}

std::optional<Refusal> prove(const State& state, const std::vector<std::string>& statements,
                             Tail tail, const std::string& loop, const PrimitiveContext& context) {
  if (!context.prover) return std::nullopt;
  const std::string with =
      "with " + loop + (tail == Tail::Round ? " rounded up, " : " shifted inwards, ");
  auto refusal = context.prover->check_bounds(state, statements);
  for (const std::string& tensor : tensors_of(state, statements))
    if (!refusal) refusal = context.prover->check_storage(state, tensor);
  if (!refusal) refusal = check_races(state, statements, context);
  if (refusal && refusal->kind == RefusalKind::Illegal)
    refusal->headline = with + refusal->headline;
  return refusal;
}

// A split has made the loop, and its last tile is still as it was.
std::optional<Refusal> check_open(const State& state, const std::vector<std::string>& statements,
                                  const std::string& inner) {
  for (const std::string& statement : statements) {
    const std::optional<Tail> tail = row_of(state.at(statement), inner)->tail;
    if (!tail) return malformed(inner + " is not the inner loop of a split: it has no tail");
    if (tail == Tail::Round || tail == Tail::Shift)
      return malformed("the last tile of " + inner + " is " +
                       (tail == Tail::Round ? "rounded up" : "shifted inwards") + " already");
  }
  return std::nullopt;
}

// A tail that is cut off, guarded or masked is that of the loop: of all that run in it.
Names sharing(const State& state, const Names& statements, const std::string& inner) {
  Names all;
  for (const std::string& name : statements)
    for (const Loop* loop : path_to(state.tree, name))
      for (const Leaf* leaf :
           loop->name == inner ? leaves_of(loop->body) : std::vector<const Leaf*>{})
        if (!has(all, leaf->statement)) all.push_back(leaf->statement);
  return all;
}

}  // namespace

std::optional<Tail> tail_of(const State& state, const Loop& loop) {
  std::optional<Tail> tail;
  for (const Leaf* leaf : leaves_of(loop.body)) {
    const LoopRow* row = row_of(state.at(leaf->statement), loop.name);
    if (row && row->tail && tail != Tail::Cut) tail = row->tail;
  }
  return tail;
}

Applied with_tail(const State& state, const std::vector<std::string>& statements,
                  const std::string& inner, Tail tail, const PrimitiveContext& context) {
  State next = state;
  const bool moves_instances = tail == Tail::Round || tail == Tail::Shift;
  for (const std::string& name : moves_instances ? statements : sharing(state, statements, inner))
    for (LoopRow& row : statement_of(next, name).rows)
      if (row.loop == inner && row.tail) row.tail = tail;
  if (!moves_instances) return next;
  for (const std::string& name : statements) {
    ScheduledStatement& s = statement_of(next, name);
    const auto tiles = tiles_around(s, inner);
    if (!tiles || (tail == Tail::Shift && !tiles->whole)) return no_tiles(name, inner);
    auto refusal = tail == Tail::Round ? round_up(state, s, *tiles) : shift_inwards(s, *tiles);
    if (refusal) return *refusal;
  }
  if (auto refusal = settle(next)) return *refusal;
  if (auto refusal = prove(next, statements, tail, inner, context)) return *refusal;
  return next;
}

Applied set_tail(const State& state, const SetTail& directive, const PrimitiveContext& context) {
  const std::string& inner = directive.loop.loop;
  std::vector<std::string> candidates, owners;
  if (directive.loop.statement.empty()) {
    for (const Leaf* leaf : leaves_of(state.tree)) candidates.push_back(leaf->statement);
  } else {
    candidates = select_statements(state, directive.loop.statement);
    if (candidates.empty()) return the_statement(state, directive.loop.statement).error();
  }
  for (const std::string& name : candidates)
    if (row_of(state.at(name), inner) && !is_pinned(state, name, inner)) owners.push_back(name);
  if (owners.empty()) {
    const auto loop = the_loop(state, directive.loop);
    if (!loop) return loop.error();
    return malformed("what is below " + inner + " runs in one of its iterations: there is no tail");
  }
  if (auto refusal = check_open(state, owners, inner)) return *refusal;
  return with_tail(state, owners, inner, directive.tail, context);
}

}  // namespace polyte::schedule
