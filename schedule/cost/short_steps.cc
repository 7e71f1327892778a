#include "schedule/cost/short_steps.h"

#include <algorithm>
#include <ranges>

#include "schedule/cost/step_cost.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kMostSteps = 8;    // of one loop
constexpr double kMostInstructions = 96;  // of all steps, additions to the sums apart

}  // namespace

std::set<std::string> short_steps(const TileQuestion& question, const TileChoice& choice) {
  std::set<std::string> loops;
  // Guards that are tested in place would be copied too.
  if (choice.turned > 0 || choice.lane.empty() || !choice.in_place.empty()) return loops;
  const ir::Statement& main = *question.main;
  double each = 0;  // point of the tile
  for (const ir::Expr& value : main.values) each += instructions(value);
  double copies =
      std::max(1.0, each) * choice.tile.rows * choice.tile.outer_rows * choice.tile.vectors;
  for (const std::string& loop : std::views::reverse(main.reductions)) {
    const auto priced = std::ranges::find(question.loops, loop, &PricedLoop::name);
    const bool moves = std::ranges::any_of(main.domain, [&](const ir::Constraint& c) {
      return c.expr.uses(loop) && c.expr.terms().size() > 1;
    });
    const auto steps = static_cast<double>(priced->extent);
    if (loop == choice.block || moves || question.program->open.contains(loop) ||
        priced->extent > kMostSteps || copies * steps > kMostInstructions)
      break;
    copies *= steps;
    if (priced->extent > 1) loops.insert(loop);
  }
  return loops;
}

}  // namespace polyte::schedule
