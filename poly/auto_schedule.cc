#include "poly/auto_schedule.h"

#include "poly/affine_core.h"
#include "poly/strategy_cpu.h"
#include "schedule/cost/streaming.h"
#include "schedule/script/nest_writer.h"

namespace polyte::poly {
namespace {

// In whose memory a nest keeps a temporary.
std::set<std::string> reused_results(const schedule::KernelPlan& plan) {
  std::set<std::string> results;
  for (const schedule::NestPlan& nest : plan.nests)
    for (const schedule::PlannedReuse& reuse : nest.reuses) results.insert(reuse.result);
  return results;
}

}  // namespace

Result<schedule::Script> auto_schedule(const ir::Program& program, const Machine& machine, const PolyOptions& options) {
  const schedule::State reference = schedule::reference_state(std::make_shared<const ir::Program>(program));
  const StrategyOptions strategy{.affine_core_only = options.affine_core_only, .keep_order = options.keep_order};
  AffineScheduler scheduler(program);
  Result<AffineCore> core = scheduler.run({.quota = options.quota});
  if (!core) return core.error();
  std::optional<CpuSchedule> schedule = schedule_for_cpu(program, reference, *core, machine, strategy);
  if (!schedule) {
    core = scheduler.run({.quota = options.quota, .allow_maps = false});
    if (!core) return core.error();
    schedule = schedule_for_cpu(program, reference, *core, machine, strategy);
  }
  if (schedule && schedule->loses_tiles) {
    core = scheduler.run({.quota = options.quota, .allow_maps = false, .fuse = false});
    if (core) {
      auto apart = schedule_for_cpu(program, reference, *core, machine, strategy);
      if (apart) schedule = std::move(apart);
    }
  }
  if (!schedule) return Decline{"no nest of isl's order is worth scheduling"};
  if (options.notes) {
    if (core) options.notes->insert(options.notes->end(), core->given_up.begin(), core->given_up.end());
    options.notes->insert(options.notes->end(), schedule->notes.begin(), schedule->notes.end());
  }
  schedule::KernelPlan plan{std::move(schedule->nests), {}};
  if (!options.affine_core_only)
    for (const std::string& result : schedule::streamed_results(program, machine, reused_results(plan)))
      plan.streams.push_back({result, schedule::Provenance::TileModel});
  return schedule::write_script(program, options.affine_core_only ? "isl" : "poly", machine, plan);
}

}  // namespace polyte::poly
