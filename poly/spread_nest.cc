#include "poly/spread_nest.h"

#include <algorithm>

#include "ir/relations.h"
#include "poly/chosen_by_model.h"
#include "schedule/cost/warp_access.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

using ir::LoopKind;
using schedule::NestPath;
using schedule::tiles_of;
using schedule::within_tile;

constexpr std::int64_t kBlocksAMultiprocessor = 2;
constexpr std::int64_t kSpreadThreads = 256, kFew = 16;
constexpr std::int64_t kFewestSpread = 8 * kSpreadThreads;  // of a part
constexpr const char* kBlock = "part";
constexpr std::size_t kMostSumLoops = 2;  // beside that of the parts: axes of a grid

class SpreadPlanner {
 public:
  explicit SpreadPlanner(const SumNest& nest)
      : nest_(nest),
        program_(*nest.program),
        update_(nest.update()),
        sums_(ir::free_iterators(update_)) {}

  std::optional<schedule::NestPlan> run() {
    if (!has_form() || !choose()) return std::nullopt;
    plan_.number = nest_.number;
    cut();
    plan_.tree = schedule::nest_sequence({parts_nest(), sums_nest()});
    plan_.tree_by = kModel;
    for (const std::string& tensor : {each_, few_})
      plan_.stages.push_back({.tensor = tensor,
                              .at = {{tensor + ".update", kBlock}},
                              .memory = schedule::Memory::Shared});
    plan_.steps.emplace_back(
        schedule::PlannedBind{each_ + ".update", within_tile(lane_of_each()), LoopKind::Thread});
    plan_.steps.emplace_back(
        schedule::PlannedBind{few_ + ".update", within_tile(lane_of_few()), LoopKind::Thread});
    return std::move(plan_);
  }

 private:
  const SumNest& nest_;
  const ir::Program& program_;
  const ir::Statement& update_;
  const std::vector<std::string> sums_;  // loops
  std::string lane_;                     // along which the terms lie
  std::string each_, few_, parts_;       // what a thread, one of few and a block come to
  std::int64_t parts_count_ = 0;
  schedule::NestPlan plan_;

  // The loops of the sum once it is in parts: over all threads of all blocks, over few of each
  // block, over the blocks.
  std::string lane_of_each() const { return within_tile(lane_); }
  std::string lane_of_few() const { return tiles_of(lane_of_each()); }
  std::string lane_of_parts() const { return tiles_of(lane_of_few()); }

  std::string partial(std::string name) const {
    while (program_.find_buffer(name) || program_.find_statement(name)) name += "_";
    return name;
  }

  bool has_form() const {
    const auto& statements = nest_.cluster->statements;
    return statements.size() >= 2 && statements[1] == &update_ &&
           ir::starts_reduction(*statements[0], update_) && update_.writes.size() == 1 &&
           !update_.guard && program_.open.empty() && sums_.size() <= kMostSumLoops;
  }

  // Lanes along the loop for which a warp reads the fewest sectors. As many parts as give every
  // multiprocessor two blocks, but none shorter than 8 terms per thread.
  bool choose() {
    std::int64_t sums = 1;
    for (const std::string& loop : sums_) sums *= nest_.extent(loop);
    double least = 0;
    for (const std::string& loop : update_.reductions) {
      const double sectors = schedule::sectors_a_warp(program_, update_, loop, nest_.extent(loop));
      if (lane_.empty() || sectors <= least) lane_ = loop, least = sectors;
    }
    const std::int64_t blocks = nest_.machine->gpu->multiprocessors * kBlocksAMultiprocessor;
    parts_count_ =
        std::min(blocks / std::max<std::int64_t>(sums, 1), nest_.extent(lane_) / kFewestSpread);
    return parts_count_ >= 2;
  }

  // The sum in three steps, P parts (blocks) of 256 threads each:
  //
  //   x_p   one term stream per thread: P * 256 sums, threads of one block side by side
  //   x_q   16 threads of each block add up 16 of these: P * 16 sums
  //   x_g   one thread of each block adds up the 16: P sums, which the second launch adds up
  //
  // Neighbouring terms go to neighbouring threads, and neighbouring threads are in one block. The
  // loops over blocks of all three are called `part`, so that they can be one.
  void cut() {
    const std::string& sum = update_.writes[0].buffer;
    each_ = partial(sum + "_p"), few_ = partial(sum + "_q"), parts_ = partial(sum + "_g");
    const auto parts = [&](const std::string& loop, std::int64_t count, const std::string& tensor,
                           bool of_neighbours) {
      plan_.splits.emplace_back(schedule::PlannedParts{sum, loop, schedule::Elements{count}, tensor,
                                                       kModel, of_neighbours});
    };
    parts(lane_, parts_count_ * kSpreadThreads, each_, false);
    parts(lane_of_each(), parts_count_ * kFew, few_, true);
    parts(lane_of_few(), parts_count_, parts_, true);
    over_blocks(each_, lane_of_each(), kSpreadThreads);
    over_blocks(few_, lane_of_few(), kFew);
    for (const char* part : {".init", ".update"})
      plan_.splits.emplace_back(
          schedule::PlannedRename{parts_ + part, lane_of_parts(), kBlock, kModel});
    if (!schedule::is_reorderable(update_)) plan_.reassociated.insert(lane_);
  }

  void over_blocks(const std::string& tensor, const std::string& loop, std::int64_t threads) {
    for (const char* part : {".init", ".update"}) {
      plan_.splits.emplace_back(
          schedule::PlannedSplit{tensor + part, loop, schedule::Elements{threads}, kModel, true});
      plan_.splits.emplace_back(
          schedule::PlannedRename{tensor + part, tiles_of(loop), kBlock, kModel});
    }
  }

  static NestPath path(const std::vector<std::string>& loops, LoopKind kind) {
    NestPath result;
    for (const std::string& loop : loops) result.push_back({loop, kind});
    return result;
  }

  static schedule::NestTree sum(const std::string& tensor, const std::vector<std::string>& terms) {
    return schedule::nest_sequence(
        {schedule::nest_statement(tensor + ".init"),
         nest_path(path(terms, LoopKind::Serial), schedule::nest_statement(tensor + ".update"))});
  }

  // One launch: a block per part and element; in it three loops of threads, or of one, with
  // barriers between.
  schedule::NestTree parts_nest() const {
    std::vector<std::string> terms, blocks = sums_;
    for (const std::string& loop : update_.reductions)
      terms.push_back(loop == lane_ ? tiles_of(loop) : loop);
    blocks.push_back(kBlock);
    return nest_path(
        path(blocks, LoopKind::Block),
        schedule::nest_sequence(
            {nest_path({{within_tile(lane_of_each())}}, sum(each_, terms)),
             nest_path({{within_tile(lane_of_few())}}, sum(few_, {within_tile(lane_of_each())})),
             sum(parts_, {within_tile(lane_of_few())})}));
  }

  schedule::NestTree sums_nest() const {
    std::vector<schedule::NestTree> leaves;
    for (const ir::Statement* s : nest_.cluster->statements)
      leaves.push_back(nest_path(s == &update_ ? NestPath{{lane_of_parts()}} : NestPath{},
                                 schedule::nest_statement(s->name)));
    return nest_path(path(sums_, LoopKind::Block), schedule::nest_sequence(std::move(leaves)));
  }
};

}  // namespace

std::optional<schedule::NestPlan> plan_spread_nest(const SumNest& nest) {
  if (nest.keep_order && !schedule::is_reorderable(nest.update())) return std::nullopt;
  return SpreadPlanner(nest).run();
}

}  // namespace polyte::poly
