#include "poly/shared_nest.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "ir/contraction.h"
#include "schedule/cost/lanes.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/state/digits.h"
#include "support/checked.h"
#include "support/is_among.h"

namespace polyte::poly {
namespace {

constexpr std::int64_t kPointwiseVectors = 4;

using schedule::NestPath;
using schedule::tiles_of;
using schedule::within_tile;

// Iterations of the loop write side by side, evenly, and fill a vector at least.
bool carries_lanes(const ir::Program& program, const schedule::State& reference,
                   const Machine& machine, const ir::Statement& s, const std::string& loop) {
  return ir::stride_of(program, s.writes[0], loop) == 1 &&
         schedule::can_carry_lanes(program, s, loop) &&
         iterations_of(reference, s, loop) >=
             machine.lanes(program.buffer(s.writes[0].buffer).dtype);
}

// Loops that several statements share come first, in isl's order; each statement's own stand
// below.
class SharedNestPlanner {
 public:
  explicit SharedNestPlanner(const SharedNest& nest)
      : program_(*nest.program),
        reference_(*nest.reference),
        machine_(*nest.machine),
        shared_(nest.shared),
        parts_(nest.parts),
        as_isl_says_(nest.as_isl_says) {
    for (const BandMember& member : shared_) taken_.insert(member.loop);
  }

  schedule::NestPlan run() {
    lies_along_ = is_along_innermost();
    if (lies_along_ && !block_) choose_vectors();
    const std::string lane = lies_along_ ? shared_.back().loop : this->lane();
    if (!lane.empty())
      for (const ir::Statement* s : statements())
        plan_.splits.emplace_back(schedule::PlannedSplit{s->name, lane, lane_tile()});
    std::vector<schedule::NestTree> leaves;
    for (const ir::Statement* s : statements())
      leaves.push_back(nest_path(own_path(*s, lane), schedule::nest_statement(s->name)));
    plan_.tree = nest_path(shared_path(lane), schedule::nest_sequence(std::move(leaves)));
    plan_.tree_by = schedule::Provenance::Isl;
    if (lies_along_)
      for (const ir::Statement* s : kept())
        plan_.stages.push_back({.tensor = s->writes[0].buffer,
                                .at = {{s->name, tiles_of(lane)}},
                                .memory = schedule::Memory::Register});
    return std::move(plan_);
  }

  std::string lane() const {
    if (shared_.empty() || !shared_.back().coincident || as_isl_says_) return "";
    const std::string& lane = shared_.back().loop;
    bool found = false;
    for (const Cluster* part : parts_)
      for (const ir::Statement* s : part->statements) {
        if (std::ranges::find(s->iterators, lane) == s->iterators.end()) return "";
        found = found || turns(*s, lane);
      }
    return found ? lane : "";
  }

 private:
  const ir::Program& program_;
  const schedule::State& reference_;
  const Machine& machine_;
  const std::vector<BandMember>& shared_;
  const std::vector<const Cluster*>& parts_;
  const bool as_isl_says_;
  std::set<std::string> taken_;  // by the shared loops
  schedule::NestPlan plan_;
  bool lies_along_ = false;  // vectors of the innermost shared loop, innermost in every statement
  std::int64_t vectors_ = 1;
  std::optional<std::int64_t> block_;  // iterations that advance evenly, in place of vectors

  const ir::Statement& main() const {
    const Cluster& first = *parts_[0];
    return first.update() ? *first.update() : *first.statements.back();
  }
  std::vector<const ir::Statement*> statements() const {
    std::vector<const ir::Statement*> all;
    for (const Cluster* part : parts_)
      all.insert(all.end(), part->statements.begin(), part->statements.end());
    return all;
  }
  void split(const ir::Statement& s, const std::string& loop, std::int64_t vectors) {
    plan_.splits.emplace_back(schedule::PlannedSplit{s.name, loop, schedule::Vectors{vectors}});
  }
  int lanes(const ir::Statement& s) const {
    return machine_.lanes(program_.buffer(s.writes[0].buffer).dtype);
  }

  // The shared loops, the first that is long enough parallel.
  NestPath shared_path(const std::string& lane) const {
    NestPath path;
    bool is_parallel = machine_.cores < 2;
    for (const BandMember& member : shared_) {
      const bool is_lane = member.loop == lane;
      const std::int64_t points = is_lane ? block_.value_or(vectors_ * lanes(main())) : 1;
      const std::int64_t trips = ceil_div(iterations_of(reference_, main(), member.loop), points);
      const bool here = !is_parallel && member.coincident && trips >= machine_.cores;
      path.push_back({is_lane ? tiles_of(member.loop) : member.loop,
                      here ? schedule::LoopKind::Parallel : schedule::LoopKind::Serial});
      is_parallel = is_parallel || here;
    }
    return path;
  }

  schedule::TileSize lane_tile() const {
    // Blocks of iterations that advance evenly, where lanes of one vector would not.
    if (block_) return schedule::Elements{*block_};
    return schedule::Vectors{vectors_};
  }

  // Along the innermost shared loop every statement writes side by side and no read strides.
  bool is_along_innermost() {
    if (shared_.empty() || !shared_.back().coincident || as_isl_says_) return false;
    const std::string& lane = shared_.back().loop;
    const std::vector<const ir::Statement*> all = statements();
    const bool is_even = std::ranges::all_of(all, [&](const ir::Statement* s) {
      return schedule::fills_lines(program_, *s, lane, all) && !strides(*s, lane) &&
             lanes(*s) == lanes(main()) && iterations_of(reference_, *s, lane) >= lanes(*s);
    });
    const auto carries = [&](const ir::Statement* s) {
      return schedule::can_carry_lanes(program_, *s, lane);
    };
    if (!is_even || std::ranges::all_of(all, carries)) return is_even;
    block_ = schedule::lane_block(program_, all, lane, lanes(main()));
    return block_.has_value();
  }

  // Several chains of a sum where the registers hold what is kept of them.
  void choose_vectors() {
    const auto values = std::max<std::int64_t>(1, static_cast<std::int64_t>(kept().size()));
    const std::int64_t most =
        iterations_of(reference_, main(), shared_.back().loop) / lanes(main());
    vectors_ =
        std::clamp<std::int64_t>(machine_.vector_registers / 2 / values, 1, kPointwiseVectors);
    vectors_ = std::max<std::int64_t>(1, std::min(vectors_, most));
  }

  // Statements whose result stays in registers: defined at a point of the shared loops, and read by
  // this nest alone.
  std::vector<const ir::Statement*> kept() const {
    std::vector<const ir::Statement*> all;
    if (!std::ranges::all_of(shared_, &BandMember::coincident)) return all;
    const std::vector<const ir::Statement*> here = statements();
    std::set<std::string> buffers;
    for (const Cluster* part : parts_)
      for (const ir::Statement* s : part->statements) {
        if (part->update() && s != part->update()) continue;
        const bool has_point = std::ranges::all_of(s->iterators, [&](const std::string& it) {
          return std::ranges::find(s->reductions, it) != s->reductions.end() ||
                 std::ranges::find(shared_, it, &BandMember::loop) != shared_.end();
        });
        if (has_point && schedule::stays_inside(program_, s->writes[0].buffer, *s, here) &&
            schedule::can_stage_accumulator(program_, *s, here, false) &&
            buffers.insert(s->writes[0].buffer).second)
          all.push_back(s);
      }
    return all;
  }

  // Whether the statement is a sum with a row for each lane, whose operands are read by register
  // transposes (one dimension along the lanes, the other along the sum). A statement alone has
  // tiles for that; several also take sums whose rows are so short that lanes are near each other
  // anyway.
  bool turns(const ir::Statement& s, const std::string& lane) const {
    if (s.reductions.empty() || s.combiner == ir::Combiner::None ||
        !carries_lanes(program_, reference_, machine_, s, lane))
      return false;
    const std::string turning = schedule::turning_loop(program_, s, lane);
    return turning == s.reductions.back() ||
           (parts_.size() > 1 && turning.empty() && strides(s, lane));
  }

  // A loop of an update's own that can be lanes: they go innermost, past the reduction, which
  // keeps each sum's order.
  std::string own_lane(const ir::Statement& s) const {
    if (s.combiner == ir::Combiner::None || as_isl_says_) return "";
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value))
        if (load->buffer == s.writes[0].buffer) return "";
    std::string lane;
    for (const std::string& it : s.iterators) {
      if (taken_.contains(it) || is_among(it, s.reductions) ||
          !carries_lanes(program_, reference_, machine_, s, it))
        continue;
      if (turns(s, it) || !strides(s, it)) lane = it;
    }
    return lane;
  }

  bool strides(const ir::Statement& s, const std::string& lane) const {
    bool found = false;
    for (const ir::Expr& value : s.values)
      for (const ir::Load* load : ir::loads_of(value))
        found = found || std::abs(ir::stride_of(program_, *load, lane).value_or(0)) > 1;
    return found;
  }

  // Lanes of a loop of its own, innermost.
  NestPath path_with_lane(const ir::Statement& s, const std::string& lane) {
    const bool turned = turns(s, lane);
    split(s, lane, turned ? 1 : kPointwiseVectors);
    NestPath path, steps;
    for (const std::string& it : s.iterators) {
      if (taken_.contains(it)) continue;
      if (turned && it == s.reductions.back())
        add_square(s, it, steps);
      else
        (is_among(it, s.reductions) ? steps : path).push_back({it == lane ? tiles_of(it) : it});
    }
    return joined(joined(std::move(path), steps), {lanes_of(lane)});
  }

  static schedule::NestLoop lanes_of(const std::string& lane) {
    return {within_tile(lane), schedule::LoopKind::Vector};
  }

  // The steps of a reduction that turns its lanes: one side of a square in each, where they are
  // as many.
  void add_square(const ir::Statement& s, const std::string& step, NestPath& path) {
    if (iterations_of(reference_, s, step) < lanes(s)) {
      path.push_back({step, schedule::LoopKind::Unrolled});
      return;
    }
    split(s, step, 1);
    path.push_back({tiles_of(step)});
    path.push_back({within_tile(step), schedule::LoopKind::Unrolled});
  }

  // The loops of one statement below the shared ones. With lanes of these: what turns has them
  // innermost, and so has a definition of a point each; others have them outermost.
  NestPath own_path(const ir::Statement& s, const std::string& lane) {
    NestPath path;
    if (lies_along_) {
      for (const std::string& it : s.iterators)
        if (!taken_.contains(it)) path.push_back({it});
      return joined(std::move(path), {lanes_of(lane)});
    }
    const bool turned = !lane.empty() && turns(s, lane);
    const std::string own = turned ? "" : own_lane(s);
    if (!own.empty()) {
      path = path_with_lane(s, own);
      return lane.empty() ? path : joined({{within_tile(lane)}}, path);
    }
    for (const std::string& it : s.iterators) {
      if (taken_.contains(it)) continue;
      if (turned && it == s.reductions.back())
        add_square(s, it, path);
      else
        add_loop(s, it, path);
    }
    if (lane.empty()) return path;
    if (turned || (path.empty() && carries_lanes(program_, reference_, machine_, s, lane)))
      return joined(std::move(path), {lanes_of(lane)});
    return joined({{within_tile(lane)}}, path);
  }

  // A loop of its own; in vectors where it is the last of a definition that writes side by side.
  void add_loop(const ir::Statement& s, const std::string& it, NestPath& path) {
    const bool last = s.iterators.back() == it && s.combiner == ir::Combiner::None;
    if (!last || as_isl_says_ || ir::stride_of(program_, s.writes[0], it) != 1 ||
        !schedule::can_carry_lanes(program_, s, it)) {
      path.push_back({it});
    } else if (iterations_of(reference_, s, it) <= kPointwiseVectors * lanes(s)) {
      path.push_back({it, schedule::LoopKind::Vector});
    } else {
      split(s, it, kPointwiseVectors);
      path.push_back({tiles_of(it)});
      path.push_back(lanes_of(it));
    }
  }
};

}  // namespace

std::int64_t iterations_of(const schedule::State& reference, const ir::Statement& s,
                           const std::string& loop) {
  const ir::Ranges ranges = schedule::iterator_ranges(reference, reference.at(s.name));
  auto it = ranges.find(loop);
  if (it == ranges.end() || !it->second.min || !it->second.max) return 1;
  return std::max<std::int64_t>(0, *it->second.max - *it->second.min + 1);
}

std::string turned_lane(const SharedNest& nest) { return SharedNestPlanner(nest).lane(); }

schedule::NestPlan plan_shared_nest(const SharedNest& nest) {
  return SharedNestPlanner(nest).run();
}

}  // namespace polyte::poly
