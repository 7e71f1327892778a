#include "schedule/cost/lanes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <set>

#include "ir/contraction.h"
#include "ir/facts.h"
#include "ir/relations.h"
#include "schedule/cost/streaming.h"

namespace polyte::schedule {
namespace {

bool is_linear(const ir::Affine& value, const std::string& loop) {
  return !(value - ir::Affine::symbol(loop) * value.coefficient(loop)).uses(loop);
}

// Whether a subscript is itself read from memory, at an element that moves with the loop.
bool gathers(const ir::Load& load, const std::string& loop) {
  return std::ranges::any_of(load.indices, [&](const ir::Index& index) {
    return index.indirect && ir::symbols_of(index.indirect).contains(loop);
  });
}

// A value moves evenly along the loop if lanes are first + l * step: subscripts, index values and
// guards are linear in it, and a gather is linear besides what it reads. All lanes of a vector in
// one place are even, too.
bool advances_evenly(const ir::Program& program, const ir::ExprNode& node, const std::string& loop,
                     std::int64_t vector) {
  if (const auto* index = std::get_if<ir::IndexValue>(&node.op))
    return is_linear(index->value, loop);
  const auto* load = std::get_if<ir::Load>(&node.op);
  if (!load) return true;
  const bool is_even =
      gathers(*load, loop)
          ? std::ranges::all_of(
                load->indices,
                [&](const ir::Index& index) { return is_linear(index.affine, loop); })
          : ir::stride_of(program, *load, loop).has_value() ||
                (vector > 1 && iterations_in_place(load->indices, loop) % vector == 0);
  return is_even && std::ranges::all_of(load->guard, [&](const ir::Constraint& c) {
           return is_linear(c.expr, loop);
         });
}

bool advances_evenly(const ir::Program& program, const ir::Expr& value, const std::string& loop,
                     std::int64_t vector) {
  bool even = true;
  ir::for_each_node(value, [&](const ir::ExprNode& node) {
    even = even && advances_evenly(program, node, loop, vector);
  });
  return even;
}

// Whether it reads elements of its own result that other iterations of the loop may write: lanes
// would then run before values that they need.
bool reads_beside(const ir::Statement& statement, const std::string& loop) {
  const auto is_other = [&](const ir::Load& load) {
    return std::ranges::any_of(statement.writes, [&](const ir::Access& write) {
      if (write.buffer != load.buffer) return false;
      for (std::size_t d = 0; d < write.indices.size(); ++d)
        if (write.indices[d].affine.uses(loop) &&
            !(load.indices[d].affine == write.indices[d].affine))
          return true;
      return false;
    });
  };
  return std::ranges::any_of(ir::reads_of(statement),
                             [&](const ir::Load* load) { return is_other(*load); });
}

}  // namespace

std::int64_t iterations_in_place(const std::vector<ir::Index>& indices, const std::string& loop) {
  std::int64_t common = 0;
  for (const ir::Index& index : indices) {
    if (index.indirect) return 1;
    for (const ir::Term& term : index.affine.terms()) {
      if (!term.atom.div && term.atom.symbol == loop) return 1;
      if (!term.atom.div || !term.atom.div->numerator.uses(loop)) continue;
      if (term.atom.div->numerator != ir::Affine::symbol(loop)) return 1;
      common = std::gcd(common, term.atom.div->denominator);
    }
  }
  return std::max<std::int64_t>(1, common);
}

bool can_carry_lanes(const ir::Program& program, const ir::Statement& statement,
                     const std::string& loop, std::int64_t vector) {
  const auto even = [&](const ir::Expr& value) {
    return advances_evenly(program, value, loop, vector);
  };
  return std::ranges::all_of(statement.writes,
                             [&](const ir::Access& write) {
                               return ir::stride_of(program, write, loop).has_value();
                             }) &&
         !reads_beside(statement, loop) && std::ranges::all_of(statement.values, even) &&
         (!statement.guard || even(statement.guard));
}

bool fills_lines(const ir::Program& program, const ir::Statement& statement,
                 const std::string& loop, std::span<const ir::Statement* const> together) {
  const ir::Access& own = statement.writes[0];
  const std::int64_t step = ir::stride_of(program, own, loop).value_or(0);
  if (step == 1) return true;
  if (step < 1 || step > kNearLanes) return false;
  const ir::Index& last = own.indices.back();
  if (last.affine.coefficient(loop) != step) return false;
  // Remainders by `step` of the elements that the statements write together: all of them fill the
  // line.
  std::set<std::int64_t> filled = {0};
  for (const ir::Statement* other : together) {
    if (!ir::write_in_turn(statement, *other)) continue;
    const ir::Access& write = other->writes[0];
    const bool is_same_line =
        std::equal(own.indices.begin(), std::prev(own.indices.end()), write.indices.begin(),
                   [](const auto& a, const auto& b) { return a.affine == b.affine; });
    const ir::Affine apart = write.indices.back().affine - last.affine;
    if (is_same_line) filled.insert((apart.constant() + step) % step);
  }
  return static_cast<std::int64_t>(filled.size()) == step;
}

std::string turning_loop(const ir::Program& program, const ir::Statement& statement,
                         const std::string& lane) {
  std::string turning;
  for (const ir::Expr& value : statement.values) {
    for (const ir::Load* load : ir::loads_of(value)) {
      // Lanes near each other are loaded as vectors and shuffled; only those further apart need
      // squares.
      if (std::abs(ir::stride_of(program, *load, lane).value_or(0)) <= kNearLanes) continue;
      const auto along = std::ranges::find_if(statement.iterators, [&](const std::string& it) {
        return ir::stride_of(program, *load, it) == 1;
      });
      if (along == statement.iterators.end() || (!turning.empty() && *along != turning)) return "";
      turning = *along;
    }
  }
  return turning;
}

// A vector, or for a shorter loop the power of two that holds it.
std::int64_t square_side(std::int64_t lane_extent, std::int64_t lanes) {
  const auto extent = static_cast<std::uint64_t>(std::max<std::int64_t>(lane_extent, 1));
  return std::min(lanes, static_cast<std::int64_t>(std::bit_ceil(extent)));
}

namespace {

// The statement over the loops that a split of this one by `count` makes.
ir::Statement with_phases(ir::Statement s, const std::string& loop, std::int64_t count) {
  const std::string outer = loop + ".o", inner = loop + ".i";
  const ir::Bindings cut = {{loop, ir::Affine::symbol(outer) * count + ir::Affine::symbol(inner)}};
  std::erase(s.iterators, loop);
  s.iterators.insert(s.iterators.end(), {outer, inner});
  for (ir::Access& write : s.writes)
    for (ir::Index& index : write.indices) index.affine = ir::substitute(index.affine, cut);
  for (ir::Expr& value : s.values) value = ir::substitute(value, cut);
  if (s.guard) s.guard = ir::substitute(s.guard, cut);
  return s;
}

}  // namespace

std::optional<LanePhases> lane_phases(const ir::Program& program, const ir::Statement& statement) {
  for (const std::string& loop : statement.iterators) {
    if (ir::stride_of(program, statement.writes[0], loop) != 1 ||
        can_carry_lanes(program, statement, loop))
      continue;
    for (const std::int64_t count : {2, 3, 4})
      if (can_carry_lanes(program, with_phases(statement, loop, count), loop + ".o"))
        return LanePhases{loop, count};
  }
  return std::nullopt;
}

namespace {

ir::Expr simplified(const ir::Expr& value, const ir::Ranges& ranges) {
  return ir::rewrite(value, [&](const ir::Expr& leaf) -> ir::Expr {
    if (const auto* index = std::get_if<ir::IndexValue>(&leaf->op))
      return ir::make_index(ir::simplified(index->value, ranges), leaf->type);
    const auto* found = std::get_if<ir::Load>(&leaf->op);
    if (!found) return leaf;
    ir::Load load = *found;
    for (ir::Index& index : load.indices) index.affine = ir::simplified(index.affine, ranges);
    for (ir::Constraint& c : load.guard) c.expr = ir::simplified(c.expr, ranges);
    return std::make_shared<const ir::ExprNode>(
        ir::ExprNode{leaf->type, leaf->lanes, std::move(load)});
  });
}

// The statement over the loops that a split by `size` makes, simplified by the inner loop's range.
ir::Statement in_blocks(const ir::Statement& statement, const std::string& loop,
                        std::int64_t size) {
  ir::Statement s = with_phases(statement, loop, size);
  const ir::Ranges ranges = {{loop + ".i", {0, size - 1}}};
  for (ir::Access& write : s.writes)
    for (ir::Index& index : write.indices) index.affine = ir::simplified(index.affine, ranges);
  for (ir::Expr& value : s.values) value = simplified(value, ranges);
  if (s.guard) s.guard = simplified(s.guard, ranges);
  return s;
}

void add_divisors(const ir::Affine& e, const std::string& loop, std::set<std::int64_t>& divisors) {
  for (const ir::Term& term : e.terms())
    if (term.atom.div && term.atom.div->numerator.uses(loop))
      divisors.insert(term.atom.div->denominator);
}

// How much rows so far apart, `side` of them in a square, crowd in a cache's sets: 0, 1, or 2 where
// most of them share one. A set is chosen by the address within (bytes / ways).
int crowding(std::int64_t row_bytes, std::int64_t side, const Cache& cache) {
  const std::int64_t way = cache.bytes / cache.ways;
  if (way == 0) return 0;
  const std::int64_t sets = way / std::gcd(row_bytes, way);
  return 2 * sets < side ? 2 : sets < 2 * side ? 1 : 0;
}

}  // namespace

std::optional<std::int64_t> lane_block(const ir::Program& program,
                                       std::span<const ir::Statement* const> statements,
                                       const std::string& loop, std::int64_t lanes) {
  std::set<std::int64_t> divisors;
  for (const ir::Statement* s : statements)
    for (const ir::Expr& value : s->values)
      ir::for_each_node(value, [&](const ir::ExprNode& node) {
        if (const auto* index = std::get_if<ir::IndexValue>(&node.op))
          add_divisors(index->value, loop, divisors);
        if (const auto* load = std::get_if<ir::Load>(&node.op))
          for (const ir::Index& index : load->indices) add_divisors(index.affine, loop, divisors);
      });
  for (const std::int64_t size : divisors) {
    // Half a vector, or multiples of it up to four vectors: 2 * size is a multiple of `lanes`.
    if (2 * size % lanes != 0 || size > 4 * lanes) continue;
    if (std::ranges::all_of(statements, [&](const ir::Statement* s) {
          return can_carry_lanes(program, in_blocks(*s, loop, size), loop + ".i");
        }))
      return size;
  }
  return std::nullopt;
}

std::string stepping_loop(const ir::Program& program, const ir::Statement& statement,
                          const std::string& lane, const std::string& turning, std::int64_t side,
                          const Machine& machine) {
  // What it weighs that squares step across the rows of an access, by their crowding.
  constexpr std::array kRead = {1, 3, 5}, kWritten = {1, 4, 6}, kStreamed = {1, 6, 8};
  const std::vector<std::string> streamed = streamed_results(program, machine, {});
  int along_lane = 0, along_turning = 0;
  const auto count = [&](const auto& access, const std::array<int, 3>& weights) {
    const std::int64_t bytes = size_in_bytes(program.buffer(access.buffer).dtype);
    const auto by_lane = ir::stride_of(program, access, lane),
               by_turning = ir::stride_of(program, access, turning);
    const auto weight = [&](const std::optional<std::int64_t>& rows) {
      return weights.at(rows && *rows != 0 ? crowding(*rows * bytes, side, machine.l1) : 0);
    };
    if (by_lane == 1) along_lane += weight(by_turning);
    if (by_turning == 1) along_turning += weight(by_lane);
  };
  for (const ir::Access& write : statement.writes)
    count(write,
          std::ranges::find(streamed, write.buffer) == streamed.end() ? kWritten : kStreamed);
  for (const ir::Expr& value : statement.values)
    for (const ir::Load* load : ir::loads_of(value)) count(*load, kRead);
  return along_lane > along_turning ? lane : turning;
}

}  // namespace polyte::schedule
