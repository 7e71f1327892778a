#include "lower/vectorize_loops.h"

#include <algorithm>
#include <set>
#include <utility>

#include "lower/lane_rewriter.h"
#include "lower/names.h"
#include "lower/simplify.h"
#include "support/checked.h"

namespace polyte::lower {

using ir::Affine;
using ir::LoopKind;
using ir::Stmt;

namespace {

constexpr std::size_t kMostFirst = 3;   // values of which the first iteration may be the maximum
constexpr std::int64_t kMaxPieces = 8;  // side by side; beyond, a loop over whole vectors

std::int64_t next_power_of_two(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

class Vectorizer {
 public:
  Vectorizer(const ir::LoopProgram& program, const Machine& machine,
             std::vector<std::string>& notes)
      : machine_(machine),
        notes_(notes),
        names_(program, true),
        facts_(facts_of(program)),
        shapes_(shapes_of(program)) {}

  Stmt statement(const Stmt& s) {
    if (const auto* loop = std::get_if<ir::For>(&s->op)) return visit_loop(s, *loop);
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op);
        alloc && alloc->buffer.memory == ir::Memory::Register)
      return visit_registers(s, *alloc);
    const ir::Facts::Scope scope(facts_);
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      for (const ir::Constraint& c : branch->conditions) facts_.assume(c);
    return ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
  }

 private:
  const Machine& machine_;
  std::vector<std::string>& notes_;
  Names names_;
  ir::Facts facts_;
  Shapes shapes_;
  std::set<std::string> registers_;  // buffers around
  bool whole_ = false;               // what is left over keeps a vector's length, masked
  bool in_place_ = false;            // vectors of registers begin at multiples of their length

  // An element is kept in one register, which has one length and one place: where vectors that meet
  // in some elements have several, the shorter ones are masked instead, and all begin at multiples
  // of their length.
  Stmt visit_registers(const Stmt& s, const ir::Alloc& alloc) {
    const auto lanes_within = [&] {
      return ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
    };
    registers_.insert(alloc.buffer.name);
    const std::size_t notes = notes_.size();
    Stmt once = lanes_within();
    const bool wants_whole = !whole_ && has_several_lengths(once, alloc.buffer.name),
               wants_places = !in_place_ && has_several_places(once, alloc.buffer.name);
    if (!wants_whole && !wants_places) return once;
    notes_.resize(notes);
    const bool whole = std::exchange(whole_, whole_ || wants_whole || wants_places),
               in_place = std::exchange(in_place_, in_place_ || wants_places);
    const Stmt again = lanes_within();
    whole_ = whole;
    in_place_ = in_place;
    return again;
  }

  // Whether the lanes of the two touch different elements in every iteration: some subscripts
  // differ by a constant, and the intervals that the lanes reach from there do not overlap.
  static bool are_apart(const ir::Store& a, const ir::Store& b) {
    for (std::size_t d = 0; d < a.indices.size(); ++d) {
      if (a.indices[d].indirect || b.indices[d].indirect) continue;
      const Affine distance = b.indices[d].affine - a.indices[d].affine;
      const std::int64_t reach_a = a.lanes.strides[d] * (a.lanes.count - 1);
      const std::int64_t reach_b = b.lanes.strides[d] * (b.lanes.count - 1);
      if (!distance.is_constant() || reach_a < 0 || reach_b < 0) continue;
      if (distance.constant() > reach_a || distance.constant() + reach_b < 0) return true;
    }
    return false;
  }

  // Two vectors that are stored to the buffer, and may meet, of which this holds.
  template <class Differ>
  static bool meet_and(const Stmt& s, const std::string& buffer, const Differ& differ) {
    std::vector<const ir::Store*> stores;
    ir::for_each_stmt(s, [&](const Stmt& each) {
      const auto* store = std::get_if<ir::Store>(&each->op);
      if (store && store->buffer == buffer && store->lanes.count > 1) stores.push_back(store);
    });
    return std::ranges::any_of(stores, [&](const ir::Store* a) {
      return std::ranges::any_of(
          stores, [&](const ir::Store* b) { return differ(*a, *b) && !are_apart(*a, *b); });
    });
  }

  static bool has_several_lengths(const Stmt& s, const std::string& buffer) {
    return meet_and(s, buffer, [](const ir::Store& a, const ir::Store& b) {
      return a.lanes.count != b.lanes.count;
    });
  }

  static bool has_several_places(const Stmt& s, const std::string& buffer) {
    return meet_and(s, buffer, [](const ir::Store& a, const ir::Store& b) {
      for (std::size_t d = 0; d < a.indices.size(); ++d) {
        if (a.lanes.strides[d] == 0 || a.indices[d].indirect || b.indices[d].indirect) continue;
        const Affine distance = b.indices[d].affine - a.indices[d].affine;
        if (distance.is_constant() && distance.constant() % a.lanes.count != 0) return true;
      }
      return false;
    });
  }

  Stmt visit_loop(const Stmt& s, const ir::For& loop) {
    ir::For copy = loop;
    {
      const ir::Facts::Scope scope(facts_);
      facts_.bind(loop.var, loop.lower, loop.upper);
      copy.body = statement(loop.body);
    }
    if (loop.kind != LoopKind::Vector)
      return copy.body == loop.body ? s : ir::make_for(std::move(copy));
    try {
      return vectorized(copy);
    } catch (const NoLanes& reason) {
      notes_.push_back("loop '" + loop.loop + "' is not vectorised: " + reason.text);
      copy.kind = LoopKind::Serial;
      copy.uncut = false;
      return ir::make_for(std::move(copy));
    }
  }

  Stmt vectorized(const ir::For& loop) {
    if (auto at_places = in_registers(loop)) return *std::move(at_places);
    if (loop.lower.size() > kMostFirst)
      throw NoLanes{"its first iteration is a maximum of more than three values"};
    if (loop.lower.size() > 1) return from_either(loop);
    const std::int64_t lanes = machine_.lanes(widest_type(loop.body, loop.var));
    if (lanes < 2) throw NoLanes{"a vector register holds one element of its widest type"};
    std::vector<Affine> extents;
    for (const Affine& upper : loop.upper) extents.push_back(upper - loop.lower[0]);
    if (extents.size() == 1) return guarded_pieces(loop, extents[0], lanes);
    if (extents.size() > 2)
      throw NoLanes{"its last iteration is a minimum of more than two values"};
    if (!extents[0].is_constant()) std::swap(extents[0], extents[1]);
    const bool is_few =
        extents[0].is_constant() && ceil_div(extents[0].constant(), lanes) <= kMaxPieces;
    if (is_few && extents[0].constant() % lanes == 0)
      return guarded_pieces(loop, extents[1], lanes, extents[0].constant());
    return either(loop, extents, lanes);
  }

  // A loop over places in a register buffer that does not begin at a constant, or at another one
  // than others do. Registers have fixed numbers, so that the vectors stay where they are, from the
  // least first iteration on, or from the multiple of a vector before it; lanes before the first
  // iteration are skipped, as those behind the last are masked.
  //
  //   for v in r..16  acc[v] = acc[v] + x[v]     acc[0; 8 by 1 if r..8], acc[8; 8 by 1 if r - 8..8]
  std::optional<Stmt> in_registers(const ir::For& loop) {
    if (!in_place_ && loop.lower.size() == 1 && loop.lower[0].is_constant()) return std::nullopt;
    const std::int64_t lanes = machine_.lanes(widest_type(loop.body, loop.var));
    if (lanes < 2 || !is_place_of_registers(loop)) return std::nullopt;
    std::optional<std::int64_t> first, end;
    for (const Affine& bound : loop.lower) {
      if (const auto least = facts_.range(bound).min)
        first = std::max(first.value_or(*least), *least);
      // Registers begin at place 0.
      if (facts_.proves(bound)) first = std::max<std::int64_t>(first.value_or(0), 0);
    }
    if (in_place_ && first) first = floor_div(*first, lanes) * lanes;
    for (const Affine& bound : loop.upper)
      if (const auto most = facts_.range(bound).max) end = std::min(end.value_or(*most), *most);
    if (!first || !end || *end <= *first || ceil_div(*end - *first, lanes) > kMaxPieces)
      return std::nullopt;
    std::vector<Affine> lower = loop.lower, upper = loop.upper;
    std::erase_if(lower, [&](const Affine& bound) { return facts_.proves(*first - bound); });
    std::erase_if(upper, [&](const Affine& bound) { return facts_.proves(bound - *end); });
    if (lower.size() > 1 || upper.size() > 1) return std::nullopt;
    const bool ends_twice = !upper.empty() && upper.size() < loop.upper.size();
    // The last vector would go past the one end.
    if (ends_twice && (*end - *first) % lanes != 0) return std::nullopt;
    lower.resize(1, *first), upper.resize(1, *end);
    std::vector<Piece> all;
    for (std::int64_t begin = *first; begin < *end; begin += lanes) {
      Piece piece{begin, static_cast<int>(lanes)};
      if (!facts_.proves(upper[0] - begin - lanes)) piece.active = upper[0] - begin;
      if (!facts_.proves(begin - lower[0])) piece.skipped = lower[0] - begin;
      all.push_back(std::move(piece));
    }
    Stmt body = LaneRewriter(loop.var, std::move(all), facts_, shapes_).rewrite(loop.body);
    if (facts_.proves(upper[0] - lower[0] - 1)) return body;
    return ir::make_if({{ir::less_than(lower[0], upper[0])}, nullptr, std::move(body)});
  }

  // Whether its iterations are at places of their own in a register buffer.
  bool is_place_of_registers(const ir::For& loop) const {
    bool found = false;
    const auto see = [&](const std::string& buffer, const std::vector<ir::Index>& indices) {
      found = found || (registers_.contains(buffer) &&
                        std::ranges::any_of(indices, [&](const ir::Index& index) {
                          return index.affine.uses(loop.var);
                        }));
    };
    ir::for_each_stmt(loop.body, [&](const Stmt& each) {
      if (const auto* store = std::get_if<ir::Store>(&each->op)) {
        see(store->buffer, store->indices);
        for (const ir::Load* load : ir::loads_of(store->value)) see(load->buffer, load->indices);
      }
    });
    return found;
  }

  // min(a, b) pieces: one copy of the loop for each side, under the condition that says which is
  // the smaller. In each the extent is one expression.
  Stmt either(const ir::For& loop, const std::vector<Affine>& extents, std::int64_t lanes) {
    return one_of(ir::at_least(extents[1], extents[0]), ir::less_than(extents[1], extents[0]),
                  [&](std::size_t side) { return guarded_pieces(loop, extents[side], lanes); });
  }

  // A loop from max(a, b) on, likewise in two copies: one from a, one from b.
  Stmt from_either(const ir::For& loop) {
    return one_of(ir::at_least(loop.lower[0], loop.lower[1]),
                  ir::less_than(loop.lower[0], loop.lower[1]), [&](std::size_t side) {
                    ir::For from_one = loop;
                    from_one.lower.erase(from_one.lower.begin() + (side == 0 ? 1 : 0));
                    return vectorized(from_one);
                  });
  }

  // Two copies, of which one runs; `copy` makes that of a side, under its condition.
  template <class Copy>
  Stmt one_of(const ir::Constraint& first, const ir::Constraint& second, const Copy& copy) {
    std::vector<Stmt> sides;
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const ir::Facts::Scope scope(facts_);
      facts_.assume(side == 0 ? first : second);
      Stmt body = copy(side);
      if (side == 1)
        body = ir::rename_bound(body, [&](const std::string& name) { return names_.fresh(name); });
      sides.push_back(ir::make_if({{side == 0 ? first : second}, nullptr, std::move(body)}));
    }
    return ir::make_block(std::move(sides));
  }

  // All iterations in vectors, under a test that there are any. `at_most`: a bound on their number
  // that the caller knows.
  Stmt guarded_pieces(const ir::For& loop, const Affine& extent, std::int64_t lanes,
                      std::optional<std::int64_t> at_most = std::nullopt) {
    Stmt body = pieces(loop, extent, lanes, at_most);
    if (facts_.proves(extent - 1)) return body;
    // Without an iteration nothing may run: what all lanes share is read even if no lane is active.
    return ir::make_if({{ir::at_least(extent, 1)}, nullptr, std::move(body)});
  }

  // Vectors side by side where a few hold all iterations, however many there are in the end: those
  // past the last are masked. Else a loop over vectors.
  Stmt pieces(const ir::For& loop, const Affine& extent, std::int64_t lanes,
              std::optional<std::int64_t> at_most) {
    // Masked vectors cost less than a loop that counts where masks are registers; elsewhere a
    // masked store is several of the processor's own instructions.
    const bool has_masks = machine_.vector_bits >= 512;
    const bool may_count = !has_masks && !at_most && !is_place_of_registers(loop);
    const auto most = has_masks ? facts_.most(extent) : facts_.range(extent).max;
    if (most && (!at_most || *most < *at_most)) at_most = most;
    const auto registers = most_in_registers(loop);
    if (registers && (!at_most || *registers < *at_most)) at_most = registers;
    if (at_most && ceil_div(*at_most, lanes) <= kMaxPieces &&
        (!may_count || is_whole_but_one(extent, lanes, *at_most)))
      return side_by_side(loop, extent, lanes, *at_most);
    return strips(loop, extent, lanes);
  }

  // Whether all pieces but the last are whole vectors.
  bool is_whole_but_one(const Affine& extent, std::int64_t lanes, std::int64_t at_most) const {
    return at_most <= lanes || facts_.proves(extent - (at_most - 1) / lanes * lanes);
  }

  // The most iterations of a loop that writes an element of its own in registers in each: no more
  // than there are elements. What is left of a tile, `j in 0..i - 32*(i//32)  acc[j] = ..`, is no
  // longer than the tile.
  std::optional<std::int64_t> most_in_registers(const ir::For& loop) const {
    const auto* store = std::get_if<ir::Store>(&loop.body->op);
    if (!store || !loop.lower[0].is_constant() || !registers_.contains(store->buffer))
      return std::nullopt;
    const auto shape = shapes_.find(store->buffer);
    for (std::size_t d = 0; shape != shapes_.end() && d < store->indices.size(); ++d) {
      const Affine place = store->indices[d].affine - Affine::symbol(loop.var);
      if (!store->indices[d].indirect && place.is_constant())
        return shape->second[d] - place.constant() - loop.lower[0].constant();
    }
    return std::nullopt;
  }

  Stmt side_by_side(const ir::For& loop, const Affine& extent, std::int64_t lanes,
                    std::int64_t at_most) {
    std::vector<Piece> all;
    for (std::int64_t begin = 0; begin < at_most; begin += lanes)
      all.push_back(piece(loop.lower[0] + begin, extent - begin, lanes));
    return LaneRewriter(loop.var, std::move(all), facts_, shapes_).rewrite(loop.body);
  }

  // A known remainder of 5 of 16 lanes becomes a vector of 8 with 5 active ones: a shorter
  // instruction, and a mask all the same.
  Piece piece(const Affine& base, const Affine& left, std::int64_t lanes) const {
    if (!whole_ && left.is_constant() && left.constant() < lanes)
      lanes = next_power_of_two(left.constant());
    Piece result{base, static_cast<int>(lanes), std::nullopt};
    if (!facts_.proves(left - lanes)) result.active = left;
    return result;
  }

  // for t in 0..extent // lanes  a whole vector;  then the rest, masked
  Stmt strips(const ir::For& loop, const Affine& extent, std::int64_t lanes) {
    const Affine count = ir::floor_div(extent, lanes);
    const std::string var = names_.fresh(loop.var);
    const Affine base = loop.lower[0] + Affine::symbol(var) * lanes;
    std::vector<Stmt> parts;
    {
      const ir::Facts::Scope scope(facts_);
      facts_.bind(var, {0}, {count});
      const Piece whole{base, static_cast<int>(lanes), std::nullopt};
      parts.push_back(
          ir::make_for({var,
                        {0},
                        {count},
                        LoopKind::Serial,
                        loop.loop,
                        LaneRewriter(loop.var, {whole}, facts_, shapes_).rewrite(loop.body)}));
    }
    const Affine left = facts_.simplify(extent - count * lanes);
    if (left == Affine(0)) return parts[0];
    const Piece rest = piece(loop.lower[0] + count * lanes, left, lanes);
    const Stmt tail =
        ir::rename_bound(LaneRewriter(loop.var, {rest}, facts_, shapes_).rewrite(loop.body),
                         [&](const std::string& name) { return names_.fresh(name); });
    parts.push_back(ir::make_if({{ir::at_least(left, 1)}, nullptr, tail}));
    if (facts_.proves(left - 1)) parts.back() = tail;
    return ir::make_block(std::move(parts));
  }
};

}  // namespace

ir::LoopProgram vectorize_loops(const ir::LoopProgram& program, const Machine& machine,
                                std::vector<std::string>& notes) {
  ir::LoopProgram result = program;
  result.body = Vectorizer(program, machine, notes).statement(program.body);
  return result;
}

}  // namespace polyte::lower
