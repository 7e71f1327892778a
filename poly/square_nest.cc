#include "poly/square_nest.h"

#include <algorithm>
#include <bit>
#include <set>

#include "ir/contraction.h"
#include "ir/relations.h"
#include "poly/chosen_by_model.h"
#include "poly/shared_nest.h"
#include "poly/sum_tile.h"
#include "schedule/cost/copy_threads.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/operand_staging.h"
#include "schedule/cost/warp_access.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

using schedule::NestPath;
using schedule::tiles_of;
using schedule::within_tile;

// The side of a square, and how many of its rows the threads of a block take at a time.
constexpr std::int64_t kSide = 32, kRowsAtOnce = 8;
constexpr double kWorthSquares = 2;  // times the sectors that a read along the lanes takes

class SquarePlanner {
 public:
  explicit SquarePlanner(const PointNest& nest) : nest_(nest), program_(*nest.program) {
    for (const Cluster* part : nest.parts)
      statements_.insert(statements_.end(), part->statements.begin(), part->statements.end());
  }

  std::optional<schedule::NestPlan> run() {
    if (!has_form() || !choose()) return std::nullopt;
    plan_.number = nest_.number;
    splits();
    tree();
    for (const ir::Load* load : turned_) stage(*load);
    keep();
    bind();
    return std::move(plan_);
  }

 private:
  const PointNest& nest_;
  const ir::Program& program_;
  std::vector<const ir::Statement*> statements_;
  std::string lane_, turning_;           // written along, read along
  std::vector<const ir::Load*> turned_;  // operands that are
  BlockGrid blocks_;
  schedule::NestPlan plan_;

  const ir::Statement& main() const { return *statements_.back(); }
  std::int64_t extent(const std::string& loop) const {
    return iterations_of(*nest_.reference, main(), loop);
  }
  std::int64_t side(const std::string& loop) const { return std::min(kSide, extent(loop)); }

  // --- what there is

  // Definitions at the points of the loops that they share.
  bool has_form() const {
    const auto is_point = [&](const ir::Statement* s) {
      return s->combiner == ir::Combiner::None && s->reductions.empty() &&
             s->iterators.size() == nest_.shared.size() &&
             std::ranges::all_of(nest_.shared, [&](const BandMember& member) {
               return std::ranges::find(s->iterators, member.loop) != s->iterators.end();
             });
    };
    return !nest_.as_isl_says && program_.open.empty() && nest_.shared.size() >= 2 &&
           std::ranges::all_of(nest_.shared, &BandMember::coincident) &&
           std::ranges::all_of(statements_, is_point);
  }

  double sectors(const ir::Load& load, const std::string& loop) const {
    return schedule::sectors_a_warp(program_, load, loop, extent(loop));
  }

  // The lanes are the loop along which the last definition writes side by side. Operands that are
  // read far apart along it have to lie together along one other loop, the same for all of them.
  bool choose() {
    std::set<std::string> written;
    for (const ir::Statement* s : statements_) written.insert(s->writes[0].buffer);
    for (const BandMember& member : nest_.shared)
      if (ir::stride_of(program_, main().writes[0], member.loop) == 1) lane_ = member.loop;
    if (lane_.empty() || extent(lane_) < kRowsAtOnce) return false;
    std::set<std::string> seen;
    for (const ir::Statement* s : statements_)
      for (const ir::Load* load : ir::reads_of(*s)) {
        const std::string loop = turned_along(*load);
        if (loop.empty() || written.contains(load->buffer)) continue;
        if (load->otherwise || !reads_box(*s, *load) || is_divided(*load) ||
            !seen.insert(load->buffer).second)
          return false;
        if (!turning_.empty() && loop != turning_) return false;
        turning_ = loop;
        turned_.push_back(load);
      }
    return !turned_.empty() && std::ranges::none_of(turned_, [&](const ir::Load* load) {
      return is_read_beside(*load);
    });
  }

  // x + x^T reads x in two boxes, and only one is staged.
  bool is_read_beside(const ir::Load& turned) const {
    return std::ranges::any_of(statements_, [&](const ir::Statement* s) {
      return std::ranges::any_of(ir::reads_of(*s), [&](const ir::Load* load) {
        return load->buffer == turned.buffer && load != &turned;
      });
    });
  }

  // With a division in a subscript the width of the box depends on where the tile begins.
  static bool is_divided(const ir::Load& load) {
    return std::ranges::any_of(load.indices,
                               [](const ir::Index& index) { return index.affine.has_division(); });
  }

  std::string turned_along(const ir::Load& load) const {
    for (const BandMember& member : nest_.shared)
      if (member.loop != lane_ && extent(member.loop) >= kRowsAtOnce &&
          ir::stride_of(program_, load, member.loop) == 1 &&
          sectors(load, lane_) >= kWorthSquares * sectors(load, member.loop))
        return member.loop;
    return "";
  }

  // --- the nest

  bool has_own_rows() const { return side(turning_) > kRowsAtOnce; }
  std::string rows() const {
    return has_own_rows() ? within_tile(within_tile(turning_)) : within_tile(turning_);
  }

  // Squares of kSide, of which a block's threads do kRowsAtOnce rows at a time, 32 x 8 threads:
  //
  //   turning   i.o > i.i.o > i.i.i        blocks; times; threads
  //   lane      j.o > j.i                  blocks; threads (lanes of a warp)
  void splits() {
    const auto split = [&](const ir::Statement& s, const std::string& loop, std::int64_t size) {
      plan_.splits.emplace_back(
          schedule::PlannedSplit{s.name, loop, schedule::Elements{size}, kModel, true});
    };
    for (const ir::Statement* s : statements_) {
      split(*s, turning_, side(turning_));
      split(*s, lane_, side(lane_));
      if (has_own_rows()) split(*s, within_tile(turning_), kRowsAtOnce);
    }
  }

  void tree() {
    for (const BandMember& member : nest_.shared)
      if (member.loop != lane_ && member.loop != turning_)
        blocks_.add({member.loop, extent(member.loop)});
    for (const std::string& loop : {turning_, lane_})
      blocks_.add({tiles_of(loop), ceil_div(extent(loop), side(loop))});
    NestPath path = blocks_.path();
    path.push_back({rows()});
    path.push_back({within_tile(lane_)});
    if (has_own_rows())
      path.push_back({tiles_of(within_tile(turning_)), schedule::LoopKind::Unrolled});
    std::vector<schedule::NestTree> leaves;
    for (const ir::Statement* s : statements_) leaves.push_back(schedule::nest_statement(s->name));
    plan_.tree = nest_path(path, schedule::nest_sequence(std::move(leaves)));
    plan_.tree_by = kModel;
  }

  // --- storage

  // Copied as the operand lies in memory; the dimension that threads write along is the last
  // one in shared memory.
  void stage(const ir::Load& load) {
    schedule::PlannedStage stage{.tensor = load.buffer,
                                 .at = {{main().name, blocks_.inmost()}},
                                 .memory = schedule::Memory::Shared};
    std::vector<schedule::CopyLoop> loops;
    std::size_t last = load.indices.size() - 1;
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      stage.dimensions.push_back(dimension_name(load.buffer, d));
      loops.push_back({stage.dimensions.back(), box(load.indices[d])});
      if (load.indices[d].affine.uses(lane_)) last = d;
    }
    stage.copy_loops = stage.dimensions;
    for (std::size_t d = 0; d < load.indices.size(); ++d)
      if (d != last) stage.layout.push_back({stage.dimensions[d]});
    stage.layout.push_back({stage.dimensions[last]});
    const bool has_swizzle = std::has_single_bit(static_cast<std::uint64_t>(loops[last].extent));
    if (!has_swizzle) stage.pad = 1;
    plan_.stages.push_back(std::move(stage));
    if (has_swizzle) step(schedule::PlannedSwizzle{load.buffer, 1});
    for (schedule::PlannedStep& each :
         schedule::copy_by_threads(load.buffer + ".in", loops, side(lane_) * kRowsAtOnce,
                                   schedule::copy_vector(program_, load, ranges())))
      step(std::move(each));
  }

  std::vector<schedule::CopyRange> ranges() const {
    std::vector<schedule::CopyRange> ranges;
    for (const BandMember& member : nest_.shared) {
      const bool is_cut = member.loop == lane_ || member.loop == turning_;
      ranges.push_back({member.loop, extent(member.loop), is_cut ? side(member.loop) : 1});
    }
    return ranges;
  }
  std::int64_t box(const ir::Index& index) const { return schedule::box_width(index, ranges()); }

  // Tensors that only this nest uses stay in the registers of the thread that defines them.
  void keep() {
    const std::string at = has_own_rows() ? tiles_of(within_tile(turning_)) : within_tile(lane_);
    for (const ir::Statement* s : statements_)
      if (schedule::stays_inside(program_, s->writes[0].buffer, *s, statements_) &&
          schedule::can_stage_accumulator(program_, *s, statements_, false))
        plan_.stages.push_back({.tensor = s->writes[0].buffer,
                                .at = {{s->name, at}},
                                .memory = schedule::Memory::Register});
  }

  void step(schedule::PlannedStep step) { plan_.steps.push_back(std::move(step)); }

  void bind() {
    const auto fresh = [&](std::string name) {
      if (nest_.number > 0) name += std::to_string(nest_.number);
      while (std::ranges::find(nest_.shared, name, &BandMember::loop) != nest_.shared.end())
        name += "_";
      return name;
    };
    schedule::bind_to_threads(main().name, {rows(), within_tile(lane_)}, fresh("t"), plan_.steps);
    blocks_.bind(main().name, fresh("b"), plan_.steps);
  }
};

}  // namespace

std::optional<schedule::NestPlan> plan_square_nest(const PointNest& nest) {
  return SquarePlanner(nest).run();
}

}  // namespace polyte::poly
