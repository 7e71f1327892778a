#include "poly/sum_tile.h"

#include <algorithm>
#include <set>

#include "ir/relations.h"
#include "poly/shared_nest.h"
#include "schedule/cost/device_memory.h"
#include "schedule/cost/operand_staging.h"

namespace polyte::poly {
namespace {

constexpr std::size_t kMostAxes = 3;  // of a grid

}  // namespace

std::vector<const ir::Statement*> SumNest::others() const {
  std::vector<const ir::Statement*> result;
  for (const ir::Statement* s : cluster->statements)
    if (s != cluster->update()) result.push_back(s);
  return result;
}

std::int64_t SumNest::extent(const std::string& loop) const {
  return iterations_of(*reference, update(), loop);
}

std::string SumNest::fresh(std::string name) const {
  while (std::ranges::any_of(cluster->statements, [&](const ir::Statement* s) {
    return std::ranges::find(s->iterators, name) != s->iterators.end();
  }))
    name += "_";
  return name;
}

bool reads_box(const ir::Statement& statement, const ir::Load& load) {
  // x[i + k, j] reads a box, x[i, i] a diagonal: an iterator in two subscripts ties them
  // together.
  const auto is_once = [&](const std::string& it) {
    return std::ranges::count_if(
               load.indices, [&](const ir::Index& index) { return index.affine.uses(it); }) <= 1;
  };
  return std::ranges::none_of(load.indices,
                              [](const ir::Index& index) { return index.indirect != nullptr; }) &&
         std::ranges::all_of(statement.iterators, is_once);
}

// Whether sums can stay in registers over a tile: the update writes plain elements that begin with
// an initial value, and each operand is read once, as a box whose sides are its iterators' ranges.
bool has_tiles(const SumNest& nest) {
  const ir::Statement& update = nest.update();
  const std::vector<const ir::Statement*> others = nest.others();
  const bool begins = std::ranges::any_of(
      others, [&](const ir::Statement* s) { return ir::starts_reduction(*s, update); });
  const auto is_plain = [](const ir::Index& index) {
    return !index.indirect && (index.affine.as_symbol() || index.affine.is_constant());
  };
  std::set<std::string> operands;
  for (const ir::Load* load : ir::reads_of(update))
    if (!operands.insert(load->buffer).second || !reads_box(update, *load)) return false;
  const auto never_runs = [&](const std::string& it) { return nest.extent(it) <= 0; };
  return begins && nest.program->open.empty() &&
         std::ranges::none_of(update.iterators, never_runs) && update.writes.size() == 1 &&
         std::ranges::all_of(update.writes[0].indices, is_plain) &&
         schedule::can_stage_accumulator(*nest.program, update, nest.cluster->statements, false);
}

// The loop over the parts of a sum comes first: it is fused with no other.
void BlockGrid::add(GridLoop loop) {
  const auto at = loop.name == part_ ? loops_.begin() : loops_.end();
  loops_.insert(at, std::move(loop));
}

// Whether the loops become one axis: a grid has three, and only the last of them may be long.
bool BlockGrid::is_fused() const {
  return loops_.size() > kMostAxes ||
         std::any_of(loops_.begin(), loops_.end() - 1,
                     [](const GridLoop& loop) { return loop.extent > schedule::kLongestAxis; });
}

schedule::NestPath BlockGrid::path() const {
  schedule::NestPath path;
  for (std::size_t i = 0; i < loops_.size(); ++i)
    path.push_back({loops_[i].name,
                    is_fused() && i >= first_fused() ? ir::LoopKind::Serial : ir::LoopKind::Block});
  return path;
}

void BlockGrid::bind(const std::string& statement, const std::string& name,
                     std::vector<schedule::PlannedStep>& steps) const {
  if (!is_fused()) return;
  schedule::PlannedFuse fuse{statement, {}, name};
  // Serial in the nest, fused, and bound as one axis.
  for (std::size_t i = first_fused(); i < loops_.size(); ++i) fuse.loops.push_back(loops_[i].name);
  steps.emplace_back(std::move(fuse));
  steps.emplace_back(schedule::PlannedBind{statement, name, ir::LoopKind::Block});
}

std::string dimension_name(const std::string& tensor, std::size_t number) {
  return tensor + std::to_string(number);
}

}  // namespace polyte::poly
