#include "ir/relations.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <optional>

namespace polyte::ir {
namespace {

void collect(const Expr& e, std::vector<const Load*>& found) {
  if (!e) return;
  for (const Load* load : loads_of(e)) found.push_back(load);
}

bool is_apart_or_same(const std::string& buffer, const std::vector<Index>& indices,
                      const Access& other) {
  if (buffer != other.buffer) return true;
  return std::ranges::equal(indices, other.indices, [](const Index& a, const Index& b) {
    return !a.indirect && !b.indirect && a.affine == b.affine;
  });
}

bool is_apart_or_same(const Load& read, const Access& write) {
  return is_apart_or_same(read.buffer, read.indices, write);
}

}  // namespace

std::vector<const Load*> reads_of(const Statement& statement) {
  std::vector<const Load*> found;
  for (const Expr& value : statement.values) collect(value, found);
  collect(statement.guard, found);
  for (const Access& write : statement.writes)
    for (const Index& index : write.indices) collect(index.indirect, found);
  return found;
}

void rewrite_reads(Statement& statement, const std::function<Expr(const Expr&)>& leaf) {
  for (Expr& value : statement.values) value = rewrite(value, leaf);
  if (statement.guard) statement.guard = rewrite(statement.guard, leaf);
  for (Access& write : statement.writes)
    for (Index& index : write.indices)
      if (index.indirect) index.indirect = rewrite(index.indirect, leaf);
}

bool reads(const Statement& statement, const std::string& buffer) {
  return std::ranges::any_of(reads_of(statement),
                             [&](const Load* load) { return load->buffer == buffer; });
}

bool is_apart_or_same(const Access& a, const Access& b) {
  return is_apart_or_same(a.buffer, a.indices, b);
}

bool reads_apart(const Statement& reader, const Statement& writer) {
  const std::vector<const Load*> reads = reads_of(reader);
  return std::ranges::all_of(writer.writes, [&](const Access& write) {
    return std::ranges::all_of(reads,
                               [&](const Load* read) { return is_apart_or_same(*read, write); });
  });
}

// Writes against writes, and the reads of each against the writes of the other.
bool stay_at_their_point(const Statement& a, const Statement& b) {
  const auto write_one = [&](const Access& write) {
    return std::ranges::all_of(b.writes,
                               [&](const Access& other) { return is_apart_or_same(write, other); });
  };
  return std::ranges::all_of(a.writes, write_one) && reads_apart(a, b) && reads_apart(b, a);
}

namespace {

// The greatest step that all values of the subscript are a multiple of, from the first one on; 0 of
// a constant.
std::int64_t step_of(const Affine& subscript) {
  std::int64_t step = 0;
  for (const Term& term : subscript.terms()) step = std::gcd(step, term.coefficient);
  return step;
}

}  // namespace

// By residues: a's subscript is c modulo the step s, whatever the iterators are, and b's is c + d
// with 0 < |d| < s. These never meet, not even at different points. One such dimension is enough.
bool write_in_turn(const Statement& a, const Statement& b) {
  if (a.writes.size() != 1 || b.writes.size() != 1 || !reads_apart(a, b) || !reads_apart(b, a))
    return false;
  const Access &one = a.writes[0], &other = b.writes[0];
  if (one.buffer != other.buffer) return false;
  bool is_elsewhere = false;
  for (std::size_t d = 0; d < one.indices.size(); ++d) {
    if (one.indices[d].indirect || other.indices[d].indirect) return false;
    const Affine apart = one.indices[d].affine - other.indices[d].affine;
    if (!apart.is_constant()) return false;
    if (apart.constant() == 0) continue;
    if (std::abs(apart.constant()) >= step_of(one.indices[d].affine)) return false;
    is_elsewhere = true;
  }
  return is_elsewhere;
}

std::vector<std::size_t> statements_in(const std::vector<Item>& items) {
  std::vector<std::size_t> found;
  for (const Item& item : items) {
    if (const auto* index = std::get_if<std::size_t>(&item))
      found.push_back(*index);
    else
      std::ranges::copy(statements_in(std::get<Region>(item).body), std::back_inserter(found));
  }
  return found;
}

namespace {

// Where `now` has the position of each statement that stays.
std::vector<Item> kept_items(const std::vector<Item>& items,
                             const std::vector<std::optional<std::size_t>>& now) {
  std::vector<Item> kept;
  for (const Item& item : items) {
    if (const auto* region = std::get_if<Region>(&item)) {
      Region smaller = *region;
      smaller.body = kept_items(region->body, now);
      if (!smaller.body.empty()) kept.emplace_back(std::move(smaller));
    } else if (const auto& index = now[std::get<std::size_t>(item)]) {
      kept.emplace_back(*index);
    }
  }
  return kept;
}

}  // namespace

Program with_statements(const Program& program, const std::function<bool(const Statement&)>& keep) {
  Program result = program;
  result.statements.clear();
  std::vector<std::optional<std::size_t>> now;
  for (const Statement& s : program.statements) {
    const bool stays = keep(s);
    now.push_back(stays ? std::optional(result.statements.size()) : std::nullopt);
    if (stays) result.statements.push_back(s);
  }
  result.order = kept_items(program.order, now);
  return result;
}

// Roles follow from who touches a buffer. Of those that both parts touch:
//
//   the part only reads it                                            In (Const stays Const)
//   the part writes it, and another statement has written it before   InOut
//   the part writes it first                                          Out
//
// A buffer that only one side touches keeps its role.
Program part_of(const Program& program, const std::function<bool(const Statement&)>& keep) {
  Program part = with_statements(program, keep);
  for (Buffer& buffer : part.buffers) {
    bool is_here = false, is_elsewhere = false, is_written = false, was_begun = false;
    for (const Statement& s : program.statements) {
      const auto writes_it = [&](const Access& write) { return write.buffer == buffer.name; };
      const bool writes = std::ranges::any_of(s.writes, writes_it);
      if (!writes && !reads(s, buffer.name)) continue;
      if (keep(s)) {
        is_here = true;
        is_written = is_written || writes;
      } else {
        is_elsewhere = true;
        was_begun = was_begun || (writes && !is_here);
      }
    }
    if (!is_here || !is_elsewhere) continue;
    if (!is_written)
      buffer.role = buffer.role == Role::Const ? Role::Const : Role::In;
    else if (was_begun || buffer.role == Role::InOut)
      buffer.role = Role::InOut;
    else
      buffer.role = Role::Out;
  }
  return part;
}

std::vector<std::string> free_iterators(const Statement& update) {
  std::vector<std::string> free;
  for (const std::string& it : update.iterators)
    if (std::ranges::find(update.reductions, it) == update.reductions.end()) free.push_back(it);
  return free;
}

bool starts_reduction(const Statement& init, const Statement& update) {
  if (init.combiner != Combiner::None || update.combiner == Combiner::None || init.guard)
    return false;
  // As it is, or a tighter bound: i >= 1 for i >= 0.
  const auto holds_for_update = [&](const Constraint& c) {
    return std::ranges::any_of(update.domain, [&](const Constraint& known) {
      const Affine slack = c.expr - known.expr;
      return c == known ||
             (!c.equality && !known.equality && slack.is_constant() && slack.constant() >= 0);
    });
  };
  const std::vector<std::string> free = free_iterators(update);
  // The same elements: `init` runs wherever `update` does, perhaps in another order of its
  // iterators.
  return init.writes[0].buffer == update.writes[0].buffer &&
         std::ranges::is_permutation(init.iterators, free) &&
         std::ranges::all_of(init.domain, holds_for_update) && stay_at_their_point(init, init) &&
         stay_at_their_point(update, update) && stay_at_their_point(init, update);
}

}  // namespace polyte::ir
