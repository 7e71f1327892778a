#include "poly/parts_nest.h"

#include <algorithm>

#include "ir/relations.h"
#include "poly/chosen_by_model.h"
#include "poly/over_loops.h"
#include "poly/point_nest.h"
#include "schedule/cost/gpu_price.h"
#include "schedule/script/primitives/primitives.h"
#include "support/checked.h"

namespace polyte::poly {
namespace {

constexpr std::int64_t kMostParts = 64, kFewestOfPart = 4;
// From so many elements of the result per multiprocessor on, there are tiles enough without parts.
constexpr std::int64_t kPointsWanted = 128 * 128;

// The Program once the sum is in parts.
struct Parts {
  ir::Program program;
  schedule::State reference = {};
  Cluster part = {}, sum = {};
};

class PartsPlanner {
 public:
  PartsPlanner(const SumNest& nest, const SumPlanner& plan_part)
      : nest_(nest),
        plan_part_(plan_part),
        tensor_(nest.update().writes[0].buffer),
        partial_(tensor_ + "_p") {
    while (nest.program->find_buffer(partial_)) partial_ += "_";
  }

  std::optional<SumPlan> run(double cycles) {
    std::optional<SumPlan> best;
    for (const std::string& loop : nest_.update().reductions)
      for (std::int64_t count = 2; count <= kMostParts; count *= 2) {
        // Parts of one length: a short one would be a tail in each of its loops.
        if (nest_.extent(loop) % count != 0 || nest_.extent(loop) / count < kFewestOfPart) break;
        auto plan = in_parts(loop, count);
        if (!plan || plan->cycles >= cycles) continue;
        cycles = plan->cycles;
        best = std::move(plan);
      }
    return best;
  }

 private:
  const SumNest& nest_;
  const SumPlanner& plan_part_;
  const std::string& tensor_;
  std::string partial_;

  std::optional<Parts> parts_of(const std::string& loop, std::int64_t count) const {
    const schedule::ScriptEnvironment environment;
    schedule::State state = *nest_.reference;
    state.contract = schedule::Contract::Reassoc;
    state.reassociable.insert(loop);
    const auto split = schedule::split_reduction(
        state,
        {tensor_, loop, {std::to_string(count)}, partial_, schedule::SplitReduction::Form::Blocks},
        {environment});
    if (!split) return std::nullopt;
    return Parts{.program = over_loops(*split)};
  }

  // One way of cutting the sum: the partial sums are planned as a SumNest of the Program that
  // split_reduction makes, with the loop over parts as an axis of the grid.
  std::optional<SumPlan> in_parts(const std::string& loop, std::int64_t count) const {
    std::optional<Parts> parts = parts_of(loop, count);
    if (!parts) return std::nullopt;
    parts->reference =
        schedule::reference_state(std::make_shared<const ir::Program>(parts->program));
    for (const char* kind : {".init", ".update"})
      parts->part.statements.push_back(&parts->program.statement(partial_ + kind));
    for (const ir::Statement* s : nest_.cluster->statements)
      parts->sum.statements.push_back(&parts->program.statement(s->name));
    SumNest part = nest_;
    part.program = &parts->program;
    part.reference = &parts->reference;
    part.cluster = &parts->part;
    part.part = schedule::tiles_of(loop);
    part.terms = schedule::within_tile(loop);
    std::optional<SumPlan> plan = plan_part_(part);
    if (!plan) return std::nullopt;
    plan->cycles += adding(count);
    for (schedule::NestPlan& each : plan->nests)  // the contract speaks of the Program's loops
      std::erase_if(each.reassociated, [&](const std::string& name) { return name == part.terms; });
    plan->nests.insert(plan->nests.begin(), apart(*parts, loop, count));
    plan->nests.push_back(sums(*parts));
    return plan;
  }

  // The first nest plan: split_reduction, then each statement under loops of its own, so that what
  // the next plans do to the loops of the parts happens to no others.
  schedule::NestPlan apart(const Parts& parts, const std::string& loop, std::int64_t count) const {
    schedule::NestPlan plan{.number = nest_.number};
    plan.splits.emplace_back(
        schedule::PlannedParts{tensor_, loop, schedule::Elements{count}, partial_, kModel, true});
    if (!schedule::is_reorderable(nest_.update())) plan.reassociated.insert(loop);
    std::vector<schedule::NestTree> leaves;
    for (const Cluster* cluster : {&parts.part, &parts.sum})
      for (const ir::Statement* s : cluster->statements) {
        schedule::NestPath path;
        for (const std::string& it : s->iterators) path.push_back({it});
        leaves.push_back(nest_path(path, schedule::nest_statement(s->name)));
      }
    plan.tree = schedule::nest_sequence(std::move(leaves));
    plan.tree_by = kModel;
    return plan;
  }

  // One thread per sum.
  schedule::NestPlan sums(const Parts& parts) const {
    PointNest points{&parts.program, &parts.reference, nest_.machine, {},
                     {&parts.sum},   nest_.number,     false};
    for (const std::string& free : ir::free_iterators(*parts.sum.update()))
      points.shared.push_back({free, true});
    schedule::NestPlan plan = plan_point_nest(points);
    plan.tree_by = kModel;
    return plan;
  }

  // A launch, and each part written and read once by way of the second cache.
  double adding(std::int64_t count) const {
    double bytes =
        2.0 * static_cast<double>(count) * size_in_bytes(nest_.program->buffer(tensor_).dtype);
    for (const std::string& free : ir::free_iterators(nest_.update()))
      bytes *= static_cast<double>(nest_.extent(free));
    const Gpu& gpu = *nest_.machine->gpu;
    return schedule::kLaunch +
           bytes / gpu.multiprocessors / schedule::second_cache_bytes_a_cycle(gpu);
  }
};

}  // namespace

std::optional<SumPlan> plan_parts_nest(const SumNest& nest, double cycles,
                                       const SumPlanner& plan_part) {
  const auto& statements = nest.cluster->statements;
  const ir::Statement& update = nest.update();
  if (nest.keep_order && !schedule::is_reorderable(update)) return std::nullopt;
  if (statements.size() < 2 || statements[1] != &update ||
      !ir::starts_reduction(*statements[0], update) || update.writes.size() != 1 || update.guard ||
      !nest.program->open.empty())
    return std::nullopt;
  std::int64_t points = 1;
  for (const std::string& free : ir::free_iterators(update))
    points = checked_mul(points, nest.extent(free));
  if (points >= nest.machine->gpu->multiprocessors * kPointsWanted) return std::nullopt;
  return PartsPlanner(nest, plan_part).run(cycles);
}

}  // namespace polyte::poly
