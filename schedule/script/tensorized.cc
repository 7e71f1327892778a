#include "schedule/script/tensorized.h"

#include <algorithm>

#include "ir/facts.h"
#include "schedule/script/primitives/edit.h"
#include "schedule/state/digits.h"
#include "schedule/state/fragments.h"

namespace polyte::schedule {

namespace {

// The loops of a chain and the leaf at its end; a refusal where it branches.
struct Chain {
  std::vector<const Loop*> loops;
  const Leaf* leaf = nullptr;
};

Result<Chain, Refusal> chain_of(const Loop& loop) {
  Chain chain;
  const Loop* at = &loop;
  while (at) {
    chain.loops.push_back(at);
    if (at->kind != LoopKind::Serial)
      return malformed(print_loop(at->name, at->kind) +
                       " is no plain loop: an instruction runs its iterations in its own way");
    const Loop* inner = std::get_if<Loop>(&at->body->op);
    if (std::holds_alternative<Sequence>(at->body->op)) {
      std::vector<std::string> statements;
      for (const Leaf* leaf : leaves_of(at->body)) statements.push_back(leaf->statement);
      return malformed("the nest of " + loop.name + " holds " + std::to_string(statements.size()) +
                       " statements (" + join_words(statements) + "), an instruction is one");
    }
    if (!inner) chain.leaf = std::get_if<Leaf>(&at->body->op);
    at = inner;
  }
  return chain;
}

bool uses_loop(const Chain& chain, const ir::Affine& e) {
  return std::ranges::any_of(chain.loops, [&](const Loop* loop) { return e.uses(loop->name); });
}

bool has_loop(const Chain& chain, LoopId id) {
  return std::ranges::any_of(chain.loops, [&](const Loop* loop) { return loop->id == id; });
}

// Refuses what happens once per iteration of these loops, or in parts of them: an instruction runs
// all iterations at once.
std::optional<Refusal> check_company(const State& state, const Chain& chain) {
  for (const StagedBuffer& b : state.staged) {
    const LoopId place = b.allocated_at();
    if (has_loop(chain, place) || has_loop(chain, b.scope_loop))
      return malformed(b.name + " begins anew in every iteration of " +
                       find_loop(state.tree, has_loop(chain, place) ? place : b.scope_loop)->name +
                       ", an instruction runs them all at once");
  }
  for (const PrefetchHint& hint : state.prefetches)
    if (has_loop(chain, hint.loop))
      return malformed(hint.buffer +
                       " is prefetched at a loop of the nest: prefetch at a loop outside it");
  for (const Loop* loop : chain.loops) {
    const LoopRow* row = row_of(state.at(chain.leaf->statement), loop->name);
    if (row && !row->cuts.empty())
      return malformed(loop->name + " runs in two parts, an instruction runs all of it");
  }
  return std::nullopt;
}

// Refuses a nest in which some iteration of the loops' box has no instance: constraints on
// these loops have to be true for the whole box.
std::optional<Refusal> check_whole(const Chain& chain, const ScheduledStatement& s,
                                   const ir::Ranges& ranges) {
  for (const Loop* loop : chain.loops) {
    const auto range = ranges.find(loop->name);
    if (range == ranges.end() || !range->second.min || !range->second.max)
      return conservative(loop->name + " has no constant extent: an instruction needs one");
  }
  for (const ir::Constraint& c : loop_constraints(s)) {
    if (!uses_loop(chain, c.expr) || ir::truth_of(c, ranges) == ir::Truth::True) continue;
    Refusal refusal = conservative("not every tile of " + chain.loops.front()->name + " is whole");
    refusal.details = {
        {"not always", ir::to_string(ir::Constraint{ir::simplified(c.expr, ranges), c.equality})},
        {"needed", "sizes that the tiles divide, or a last tile that runs whole (tail round)"}};
    return refusal;
  }
  if (s.body.guard)
    return malformed(s.body.name + " has a condition on data, an instruction has none");
  if (s.body.writes.size() != 1)
    return malformed(s.body.name + " writes two tensors, an instruction writes one");
  return std::nullopt;
}

// The value over loops instead of iterators. Subscripts are simplified, so that (8*n.o + n.i)//8 is
// n.o to the comparison with the instruction.
ir::Expr over_loops(const ir::Expr& value, const ScheduledStatement& s, const ir::Ranges& ranges) {
  return ir::rewrite(ir::substitute(value, s.inverse), [&](const ir::Expr& leaf) -> ir::Expr {
    const auto* load = std::get_if<ir::Load>(&leaf->op);
    if (!load) return leaf;
    ir::Load copy = *load;
    for (ir::Index& index : copy.indices) index.affine = ir::simplified(index.affine, ranges);
    return std::make_shared<const ir::ExprNode>(
        ir::ExprNode{leaf->type, leaf->lanes, std::move(copy)});
  });
}

// The store of the statement with its subscripts over loops, an update as acc = acc + a * b:
// what the point nest holds, to be compared with the instruction's own.
ir::Stmt store_of(const State& state, const ScheduledStatement& s, const ir::Ranges& ranges) {
  const ir::Access& write = s.body.writes.front();
  const ir::Expr current = ir::make_load(state.dtype_of(write.buffer), write.buffer, write.indices);
  const ir::Expr value = ir::combined_values(s.body, {current}).front();
  ir::Store store{write.buffer, write.indices,     over_loops(value, s, ranges),
                  {},           {s.reference, {}}, s.atomic};
  store.nontemporal = state.nontemporal.count(write.buffer) > 0;
  for (ir::Index& index : store.indices) {
    index.affine = ir::simplified(ir::substitute(index.affine, s.inverse), ranges);
    if (index.indirect) index.indirect = over_loops(index.indirect, s, ranges);
  }
  return ir::make_store(std::move(store));
}

// The nest over whole tiles. Constraints that cut some of them short become a condition of the
// store, which the instruction of a warp meets by zeros that it reads.
Result<ir::Stmt, Refusal> cut_nest(const State& state, const Chain& chain,
                                   const ScheduledStatement& s, const ir::Ranges& ranges) {
  if (s.body.guard)
    return malformed(s.body.name + " has a condition on data, an instruction has none");
  if (s.body.writes.size() != 1)
    return malformed(s.body.name + " writes two tensors, an instruction writes one");
  ir::Ranges whole = ranges;
  for (const Loop* loop : chain.loops) {
    const auto extent = tile_extent(state, s, loop->name);
    if (!extent)
      return conservative(loop->name + " has no constant extent: an instruction needs one");
    whole[loop->name] = {0, *extent - 1};
  }
  std::vector<ir::Constraint> conditions;
  for (const ir::Constraint& c : loop_constraints(s)) {
    const ir::Constraint simple{ir::simplified(c.expr, whole), c.equality};
    if (uses_loop(chain, simple.expr) && ir::truth_of(simple, whole) != ir::Truth::True)
      conditions.push_back(simple);
  }
  ir::Stmt nest = store_of(state, s, whole);
  if (!conditions.empty()) nest = ir::make_if({std::move(conditions), nullptr, std::move(nest)});
  for (std::size_t i = chain.loops.size(); i-- > 0;) {
    const std::string& name = chain.loops[i]->name;
    nest = ir::make_for(
        {name, {0}, {*whole.at(name).max + 1}, LoopKind::Serial, name, std::move(nest)});
  }
  return nest;
}

}  // namespace

bool may_be_cut(const ir::Intrinsic& intrinsic) { return ir::is_of_warps(intrinsic.scope); }

Result<ir::Stmt, Refusal> point_nest(const State& state, const Loop& loop, bool may_be_cut) {
  const auto chain = chain_of(loop);
  if (!chain) return chain.error();
  if (auto refusal = check_company(state, *chain)) return *refusal;
  for (const Loop* outer : path_to(state.tree, chain->leaf->statement)) {
    if (outer->id == loop.id) break;
    if (outer->kind == LoopKind::Vector)
      return malformed(loop.name + " is inside the vector loop " + outer->name +
                       ": an instruction is a vector itself");
  }
  const ScheduledStatement& s = state.at(chain->leaf->statement);
  const ir::Ranges ranges = loop_ranges(state, s);
  if (may_be_cut) return cut_nest(state, *chain, s, ranges);
  if (auto refusal = check_whole(*chain, s, ranges)) return *refusal;
  ir::Stmt nest = store_of(state, s, ranges);
  for (std::size_t i = chain->loops.size(); i-- > 0;) {
    const std::string& name = chain->loops[i]->name;
    const ir::Interval& range = ranges.at(name);
    nest = ir::make_for(
        {name, {*range.min}, {*range.max + 1}, LoopKind::Serial, name, std::move(nest)});
  }
  return nest;
}

// Strides are known as far as the extents behind a dimension are numbers; an instruction that
// loads a tile asks for them.
std::optional<ir::Mismatch> difference(const State& state, const ir::Intrinsic& intrinsic,
                                       const ir::Stmt& nest) {
  const auto strides = [&](const std::string& buffer) {
    const std::vector<ir::Affine> shape = state.shape_of(buffer);
    std::vector<std::optional<std::int64_t>> result(shape.size());
    std::optional<std::int64_t> stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      result[d] = stride;
      stride = stride && shape[d].is_constant() ? std::optional(*stride * shape[d].constant())
                                                : std::nullopt;
    }
    return result;
  };
  if (ir::is_of_warps(intrinsic.scope)) {  // where its operands lie is the fragments' business
    const auto match = ir::match_warp(intrinsic, nest);
    return match ? std::nullopt : std::optional(match.error());
  }
  const auto tiles = ir::match(intrinsic, nest, strides);
  if (tiles) return std::nullopt;
  return tiles.error();
}

namespace {

// Statements that fill the buffer. More than one where a pipeline's first fills stand in front
// of its loop.
std::vector<const ScheduledStatement*> copies_into(const State& state, const std::string& buffer) {
  std::vector<const ScheduledStatement*> copies;
  for (const ScheduledStatement& s : state.statements)
    if (s.kind == StatementKind::Copy && s.body.writes.front().buffer == buffer)
      copies.push_back(&s);
  return copies;
}

// Where an iterator of a copy runs in the buffer: along one dimension, or along two of them as the
// digits of its number, [d] = x // n and [e] = x % n.
struct Along {
  std::size_t dimension = 0;
  std::optional<std::size_t> digits;  // the lower ones

  std::int64_t extent(const StagedBuffer& b) const {
    return b.shape[dimension] * (digits ? b.shape[*digits] : 1);
  }
  ir::Affine number(const std::vector<ir::Index>& at, const StagedBuffer& b) const {
    const ir::Affine& upper = at[dimension].affine;
    return digits ? upper * b.shape[*digits] + at[*digits].affine : upper;
  }
};

std::optional<Along> along(const std::vector<ir::Index>& indices, const ir::Affine& own,
                           const StagedBuffer& b) {
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (indices[d].affine == own) return Along{d, std::nullopt};
    for (std::size_t e = 0; e < indices.size(); ++e)
      if (indices[d].affine == ir::floor_div(own, b.shape[e]) &&
          indices[e].affine == ir::mod(own, b.shape[e]))
        return Along{d, e};
  }
  return std::nullopt;
}

// Whether the copy writes every element of a box of the buffer: each of its own iterators (those
// behind the lifted ones) runs along a dimension, from 0 to its end, whatever else holds.
bool fills_all(const State& state, const ScheduledStatement& copy, const StagedBuffer& b) {
  const ir::Ranges ranges = iterator_ranges(state, copy);
  const auto& indices = copy.body.writes.front().indices;
  for (std::size_t i = static_cast<std::size_t>(copy.lifted); i < copy.body.iterators.size(); ++i) {
    const ir::Affine own = ir::Affine::symbol(copy.body.iterators[i]);
    const auto where = along(indices, own, b);
    if (!where) return false;
    const std::int64_t extent = where->extent(b);
    bool whole = false;
    for (const ir::Constraint& c : copy.body.domain) {
      if (!c.expr.uses(copy.body.iterators[i]) || c == ir::at_least(own, 0)) continue;
      if (c == ir::less_than(own, extent))
        whole = true;
      else if (ir::truth_of(c, ranges) != ir::Truth::True)
        return false;
    }
    if (!whole) return false;
  }
  return true;
}

// The value of a lifted iterator of the copy, over the reader's loops. A pipelined copy runs ahead
// in loops of its own; there the reader's subscript that chooses among the buffers, e % depth,
// tells e.
ir::Affine outer_value(const ScheduledStatement& copy, const std::string& iterator,
                       const ir::Load& read, const StagedBuffer& b) {
  const std::vector<ir::Index>& written = copy.body.writes.front().indices;
  for (std::size_t d = 0; d < written.size(); ++d) {
    if (written[d].affine != ir::mod(ir::Affine::symbol(iterator), b.shape[d])) continue;
    // e % depth; e alone where it is always less.
    const ir::Affine& chosen = read.indices[d].affine;
    for (const ir::Term& term : chosen.terms())
      if (term.atom.div && term.atom.div->denominator == b.shape[d] &&
          term.coefficient == -b.shape[d])
        return chosen + ir::floor_div(term.atom.div->numerator, b.shape[d]) * b.shape[d];
    return chosen;
  }
  return copy.inverse.at(iterator);
}

// Whether the copy has written zeros wherever the condition `beyond`, over the reader's loops,
// fails. Trivially so if it holds wherever the copy runs; else the copy must be a guarded read with
// 0 otherwise, and one of its guards, with the element that is read put in, must be the same
// condition.
bool writes_zeros(const State& state, const ScheduledStatement& copy, const ir::Load& read,
                  const StagedBuffer& b, const ir::Constraint& beyond, const ir::Ranges& ranges) {
  ir::Ranges around = ranges;
  const ir::Ranges of_copy = iterator_ranges(state, copy);
  ir::Bindings element;
  for (std::size_t i = 0; i < static_cast<std::size_t>(copy.lifted); ++i) {
    const ir::Affine& outer = element[copy.body.iterators[i]] =
        outer_value(copy, copy.body.iterators[i], read, b);
    const auto range = of_copy.find(copy.body.iterators[i]);
    if (const auto loop = outer.as_symbol(); loop && range != of_copy.end())
      around[*loop] = range->second;
  }
  if (ir::truth_of(beyond, around) == ir::Truth::True) return true;
  const auto* load = std::get_if<ir::Load>(&copy.body.values.front()->op);
  const auto* zero =
      load && load->otherwise ? std::get_if<ir::Literal>(&load->otherwise->op) : nullptr;
  if (!zero || zero->real != 0 || zero->integer != 0) return false;
  for (std::size_t i = static_cast<std::size_t>(copy.lifted); i < copy.body.iterators.size(); ++i) {
    const std::string& own = copy.body.iterators[i];
    if (const auto where = along(copy.body.writes.front().indices, ir::Affine::symbol(own), b))
      element[own] = where->number(read.indices, b);
  }
  return std::ranges::any_of(load->guard, [&](const ir::Constraint& c) {
    return !c.equality && ir::simplified(ir::substitute(c.expr, element), ranges) ==
                              ir::simplified(beyond.expr, ranges);
  });
}

// Whether an operand is filled up: all elements of a tile that the instruction reads lie in the
// buffer, and those beyond the terms of the sum are zero.
bool is_zero_filled(const State& state, const ScheduledStatement& s, const ir::Load& read,
                    const StagedBuffer& b, const ir::WarpMatch& match,
                    const std::set<std::string>& of_sum) {
  const std::vector<ir::Constraint>& conditions = match.conditions;
  ir::Ranges ranges = loop_ranges(state, s);
  for (std::size_t i = 0; i < match.loops.size(); ++i)
    ranges[match.loops[i]] = {0, match.extents[i] - 1};
  for (std::size_t d = 0; d < read.indices.size(); ++d) {
    const ir::Affine& index = read.indices[d].affine;
    if (std::ranges::none_of(match.loops,
                             [&](const std::string& loop) { return index.uses(loop); }))
      continue;
    const ir::Interval touched = ir::range_of(index, ranges);
    if (!touched.min || *touched.min < 0 || !touched.max || *touched.max >= b.shape[d])
      return false;
  }
  const auto copies = copies_into(state, b.name);
  return !copies.empty() && std::ranges::all_of(copies, [&](const ScheduledStatement* copy) {
    return fills_all(state, *copy, b) &&
           std::ranges::all_of(conditions, [&](const ir::Constraint& c) {
             const bool is_of_sum = std::ranges::any_of(
                 of_sum, [&](const std::string& loop) { return c.expr.uses(loop); });
             return !is_of_sum || writes_zeros(state, *copy, read, b, c, ranges);
           });
  });
}

}  // namespace

std::set<std::string> zero_filled(const State& state) {
  std::set<std::string> filled, others;
  for (const TensorizedLoop& tensorized : state.tensorized) {
    const ir::Intrinsic& intrinsic = *ir::find_intrinsic(tensorized.intrinsic);
    if (!may_be_cut(intrinsic)) continue;
    const auto nest = point_nest(state, *find_loop(state.tree, tensorized.loop), true);
    if (!nest) continue;
    const auto match = ir::match_warp(intrinsic, *nest);
    if (!match) continue;
    // Loops of the sum are those that the accumulator, the last operand, does not have.
    std::set<std::string> of_sum(match->loops.begin(), match->loops.end());
    for (const std::size_t i : ir::loops_of_operand(intrinsic, match->operands.size() - 1))
      of_sum.erase(match->loops[i]);
    const ScheduledStatement& s = state.at(statements_below(state.tree, tensorized.loop).front());
    for (std::size_t n = 0; n + 1 < match->operands.size(); ++n) {
      ir::Load read;
      read.buffer = match->operands[n].buffer;
      read.indices = *match->operands[n].indices;
      const auto b = std::ranges::find(state.staged, read.buffer, &StagedBuffer::name);
      const bool is_filled =
          b != state.staged.end() && is_zero_filled(state, s, read, *b, *match, of_sum);
      (is_filled ? filled : others).insert(read.buffer);
    }
  }
  // Filled for one instruction, but not for another that reads it: not filled.
  for (const std::string& name : others) filled.erase(name);
  return filled;
}

std::optional<Refusal> check_tensorized(const State& state) {
  for (const TensorizedLoop& tensorized : state.tensorized) {
    const std::string shown = tensorized.name + ", tensorized with " + tensorized.intrinsic + ", ";
    const Loop* loop = find_loop(state.tree, tensorized.loop);
    if (!loop) return malformed(shown + "would be gone: tensorize comes after");
    const ir::Intrinsic& intrinsic = *ir::find_intrinsic(tensorized.intrinsic);
    const auto nest = point_nest(state, *loop, may_be_cut(intrinsic));
    std::string why;
    if (!nest) {
      why = nest.error().headline;
    } else if (const auto mismatch = difference(state, intrinsic, *nest)) {
      why = mismatch->difference;
    }
    if (!why.empty())
      return malformed(shown + "would be something else (" + why + "): tensorize comes after");
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
