#include "schedule/cost/tiled_nest.h"

#include <algorithm>

namespace polyte::schedule {
namespace {

class TiledNestPlanner {
 public:
  TiledNestPlanner(const TiledNest& nest, int number)
      : nest_(nest), choice_(*nest.choice), lane_(lane_loop(choice_, nest.share)) {
    plan_.number = number;
  }

  NestPlan run() {
    if (!choice_.row.empty()) define("Mr", Elements{choice_.tile.rows});
    if (!choice_.outer_row.empty()) define("Mo", Elements{choice_.tile.outer_rows});
    if (!choice_.lane.empty()) define("Nr", nest_.lanes);
    if (!choice_.block.empty()) define("Kc", Elements{choice_.block_size});
    if (!choice_.in_blocks.empty()) define("Tb", Elements{choice_.block_tiles});
    splits();
    std::vector<NestTree> leaves;
    for (const ir::Statement* s : nest_.statements) leaves.push_back(leaf(*s));
    plan_.tree = nest_path(path_of(nest_.around, nest_.parallel), nest_sequence(std::move(leaves)));
    plan_.tree_by = nest_.order_by;
    return std::move(plan_);
  }

 private:
  const TiledNest& nest_;
  const TileChoice& choice_;
  const std::string lane_;
  NestPlan plan_;

  void define(const char* name, const TileSize& size) { plan_.params.push_back({name, size}); }

  void split(const ir::Statement& s, const std::string& loop, const TileSize& size) {
    plan_.splits.emplace_back(PlannedSplit{s.name, loop, size});
  }

  // Splits the loop in every statement that has the iterator which it counts.
  void split(const PlannedLoop& loop, const TileSize& size) {
    for (const ir::Statement* s : nest_.statements)
      if (std::ranges::find(s->iterators, loop.iterator) != s->iterators.end())
        split(*s, loop.name, size);
  }

  void splits() {
    if (!choice_.outer_row.empty()) split({choice_.outer_row}, Param{"Mo"});
    if (!choice_.row.empty()) split({choice_.row}, Param{"Mr"});
    if (nest_.share > 0) split({choice_.lane}, Elements{nest_.share});
    if (!choice_.lane.empty()) split({lane_, choice_.lane}, Param{"Nr"});
    if (!choice_.block.empty()) split({choice_.block}, Param{"Kc"});
    if (!choice_.in_blocks.empty())
      split({tiles_of(choice_.in_blocks), choice_.in_blocks}, Param{"Tb"});
    if (choice_.turned > 0)
      split(*nest_.update, nest_.update->reductions.back(), Elements{choice_.turned});
  }

  NestPath tile() const {
    NestPath path;
    if (!choice_.outer_row.empty())
      path.push_back({within_tile(choice_.outer_row), LoopKind::Unrolled});
    if (!choice_.row.empty()) path.push_back({within_tile(choice_.row), LoopKind::Unrolled});
    if (!choice_.lane.empty()) path.push_back({within_tile(lane_), LoopKind::Vector});
    return path;
  }

  // The steps of the reduction; where lanes are turned the last of them are the other side
  // of the squares.
  NestPath steps() const {
    NestPath path;
    for (const std::string& loop : nest_.update->reductions) {
      if (choice_.turned > 0 && loop == nest_.update->reductions.back()) {
        path.push_back({tiles_of(loop)});
        path.push_back({within_tile(loop), LoopKind::Unrolled});
      } else if (loop != choice_.block) {
        path.push_back(
            {loop, choice_.written_out.contains(loop) ? LoopKind::Unrolled : LoopKind::Serial});
      } else {
        path.push_back(
            {within_tile(loop), is_short_block(choice_) ? LoopKind::Unrolled : LoopKind::Serial});
      }
    }
    return path;
  }

  NestTree leaf(const ir::Statement& s) const {
    if (&s == nest_.update) return nest_path(joined(steps(), tile()), nest_statement(s.name));
    // With the steps in blocks, the others of the nest stand inside the loop over blocks: those
    // before the update run in its first iteration, those behind it in the last.
    std::vector<When> when;
    if (!choice_.block.empty()) {
      const auto update = std::ranges::find(nest_.statements, nest_.update);
      const bool is_before = std::ranges::find(nest_.statements.begin(), update, &s) != update;
      when.push_back({is_before, tiles_of(choice_.block)});
    }
    return nest_path(tile(), nest_statement(s.name, std::move(when)));
  }
};

}  // namespace

std::string lane_loop(const TileChoice& choice, std::int64_t share) {
  return share > 0 ? within_tile(choice.lane) : choice.lane;
}

NestPlan plan_tiled_nest(const TiledNest& nest, int number) {
  return TiledNestPlanner(nest, number).run();
}

}  // namespace polyte::schedule
