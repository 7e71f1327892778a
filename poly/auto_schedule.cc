#include "poly/auto_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include "ir/free_regions.h"
#include "ir/relations.h"
#include "ir/steady_divisions.h"
#include "poly/affine_core.h"
#include "poly/fusion_dial.h"
#include "poly/outer_lanes.h"
#include "poly/region_nest.h"
#include "poly/register_tiles.h"
#include "poly/state_price.h"
#include "poly/step_by_step.h"
#include "poly/strategy_cpu.h"
#include "poly/strategy_gpu.h"
#include "poly/whole_program.h"
#include "schedule/cost/kept_values.h"
#include "schedule/cost/streaming.h"
#include "schedule/script/nest_writer.h"
#include "schedule/script/own_script.h"
#include "schedule/script/replay.h"
#include "support/is_among.h"

namespace polyte::poly {
namespace {

// Results in whose memory a nest keeps a temporary: they are read again soon, so that no store
// should bypass the caches.
std::set<std::string> reused_results(const schedule::KernelPlan& plan) {
  std::set<std::string> results;
  for (const schedule::NestPlan& nest : plan.nests)
    for (const schedule::PlannedReuse& reuse : nest.reuses) results.insert(reuse.result);
  return results;
}

// Products inside ordered regions whose order is not needed are planned as if there were no
// regions: register tiles need plain loops. Other work keeps its regions, which leave more orders
// to choose from (whole_program.h).
std::optional<ir::FreeRegions> planned_without_regions(const ir::Program& program) {
  std::optional<ir::FreeRegions> free = ir::without_regions(program);
  if (!free) return std::nullopt;
  std::vector<const ir::Statement*> statements;
  for (const ir::Statement& s : free->program.statements) statements.push_back(&s);
  const schedule::State reference =
      schedule::reference_state(std::make_shared<const ir::Program>(free->program));
  return wants_register_tiles(free->program, reference, statements) ? std::move(free)
                                                                    : std::nullopt;
}

bool has_regions(const ir::Program& program) {
  return std::ranges::any_of(program.statements,
                             [](const ir::Statement& s) { return s.region_depth > 0; });
}

// Of the price as a whole, by which steps have to be cheaper.
constexpr double kClearlyCheaper = 0.8;

struct Arranged {
  NestSchedule schedule;
  std::vector<std::string> given_up;  // by isl
};

// Moves `from` in front of what `into` has.
template <class Value>
void put_first(std::vector<Value>& from, std::vector<Value>& into) {
  into.insert(into.begin(), std::make_move_iterator(from.begin()),
              std::make_move_iterator(from.end()));
}

// Of all nests, by the loops as they stand.
std::optional<StatePrice> price_of_nests(const ir::Program& program, const Machine& machine,
                                         const NestSchedule& schedule) {
  const schedule::Script script =
      schedule::write_script(program, "poly", machine, {.nests = schedule.nests});
  const auto state = schedule::replay(std::make_shared<const ir::Program>(program), script, machine,
                                      {schedule::ProofLevel::Off, {}});
  return state ? std::optional(price_of(*state, machine)) : std::nullopt;
}

// Whether the second cache holds all tensors: nests then save no memory by sharing an iteration.
bool is_near(const ir::Program& program, const Machine& machine) {
  double bytes = 0;
  for (const ir::Buffer& buffer : program.buffers) {
    double elements = 1;
    for (const ir::Affine& extent : buffer.shape)
      elements *= extent.is_constant() ? static_cast<double>(extent.constant()) : kOpenSize;
    bytes += elements * size_in_bytes(buffer.dtype);
  }
  return bytes <= kUsable * static_cast<double>(machine.l2.bytes);
}

// Whether sums in nests of their own are cheaper by more than the prices may be wrong by.
bool is_cheaper_apart(const ir::Program& program, const Machine& machine,
                      const NestSchedule& together, const NestSchedule& apart,
                      std::vector<std::string>& considered) {
  constexpr double kClearly = 0.8, kAlike = 1.05;
  const auto one = price_of_nests(program, machine, together),
             several = price_of_nests(program, machine, apart);
  if (!one || !several) return false;
  // What is made and used in one iteration waits in each, which is worth only the memory that it
  // saves. With threads each nest starts them once more.
  const bool by_issue = machine.cores == 1 && is_near(program, machine);
  const auto cost = [&](const StatePrice& price) { return by_issue ? price.issue : price.cycles; };
  considered.push_back("sums in nests that isl fused: " + cycles_text(cost(*one)) +
                       "; apart: " + cycles_text(cost(*several)) +
                       (by_issue ? " (of issue alone: the second cache holds all tensors)" : ""));
  return cost(*several) < (by_issue ? kAlike : kClearly) * cost(*one);
}

// By clusters and register tiles (affine_core.h, strategy_cpu.h). In order of preference:
//
//   1. lanes along an outer loop, where steps of a recurrence wait for each other
//   2. isl's fused order, skewed loops included
//   3. isl's order without skewed loops, where the plan of 2 is not worth it
//   4. unfused, where fusion costs a product its register tile, or where sums apart are cheaper
Result<Arranged> arrange_by_core(const ir::Program& program, const schedule::State& reference,
                                 const Machine& machine, const StrategyOptions& strategy,
                                 std::uint64_t quota) {
  AffineScheduler scheduler(program);
  Result<AffineCore> core = scheduler.run({.quota = quota});
  if (!core) return core.error();
  std::vector<std::string> considered;
  if (!strategy.affine_core_only && !is_mapped(core->root) &&
      std::ranges::any_of(program.statements, waits_for_itself)) {
    auto outside = schedule_with_lanes_outside(
        program, reference, machine,
        {core->attempt, completed(order_of(core->root), program), true}, strategy);
    if (outside) return Arranged{*std::move(outside), core->given_up};
    considered.push_back("lost: lanes outside: " + outside.error().reason);
  }
  std::optional<NestSchedule> schedule =
      schedule_for_cpu(program, reference, *core, machine, strategy);
  if (!schedule) {
    core = scheduler.run({.quota = quota, .allow_maps = false});
    if (!core) return core.error();
    schedule = schedule_for_cpu(program, reference, *core, machine, strategy);
  }
  std::vector<std::string> given_up = core->given_up;
  const bool asks_price = !strategy.affine_core_only && schedule && schedule->shares_sums;
  if (schedule && (schedule->loses_tiles || asks_price)) {
    const Result<AffineCore> unfused =
        scheduler.run({.quota = quota, .allow_maps = false, .fuse = false});
    if (unfused) {
      std::ranges::copy(unfused->given_up, std::back_inserter(given_up));
      auto apart = schedule_for_cpu(program, reference, *unfused, machine, strategy);
      if (apart && (schedule->loses_tiles ||
                    is_cheaper_apart(program, machine, *schedule, *apart, considered)))
        schedule = std::move(apart);
    }
  }
  if (!schedule) return Decline{"no nest of isl's order is worth scheduling"};
  put_first(considered, schedule->considered);
  return Arranged{*std::move(schedule), std::move(given_up)};
}

// Appends nests that come later in the Program.
void append(Arranged more, Arranged& into) {
  const auto move_all = [](auto& from, auto& to) {
    std::ranges::move(from, std::back_inserter(to));
  };
  move_all(more.schedule.nests, into.schedule.nests);
  move_all(more.schedule.notes, into.schedule.notes);
  move_all(more.schedule.considered, into.schedule.considered);
  move_all(more.given_up, into.given_up);
}

// Runs of statements that the fusion dial put into one nest keep their schedules; the statements
// between two runs are arranged by clusters, as a Program of their own.
Result<Arranged> arrange_with_runs(const ir::Program& program, std::vector<FusedRun> runs,
                                   const Machine& machine, StrategyOptions strategy,
                                   std::uint64_t quota) {
  Arranged all;
  const auto add_between = [&](std::size_t first, std::size_t end) -> std::optional<Decline> {
    if (first == end) return std::nullopt;
    const ir::Program part = statements_of(program, first, end);
    strategy.first_number = static_cast<int>(all.schedule.nests.size());
    const schedule::State reference =
        schedule::reference_state(std::make_shared<const ir::Program>(part));
    Result<Arranged> arranged = arrange_by_core(part, reference, machine, strategy, quota);
    if (!arranged) return arranged.error();
    append(*std::move(arranged), all);
    return std::nullopt;
  };
  std::size_t done = 0;
  for (FusedRun& run : runs) {
    if (auto declined = add_between(done, run.first)) return *declined;
    append({std::move(run.schedule), {}}, all);
    done = run.end;
  }
  if (auto declined = add_between(done, program.statements.size())) return *declined;
  return all;
}

// Why the nests are refused together, if they are. Each run was proved as a Program of its own,
// which says nothing of dependences between runs.
std::optional<std::string> refusal_of(const ir::Program& program, const Machine& machine,
                                      const Arranged& arranged, bool proves) {
  const schedule::Script script =
      schedule::write_script(program, "poly", machine, {.nests = arranged.schedule.nests});
  const auto state =
      schedule::replay(std::make_shared<const ir::Program>(program), script, machine,
                       {proves ? schedule::ProofLevel::Directive : schedule::ProofLevel::Off, {}});
  if (state) return std::nullopt;
  return state.error().directive + ": " + state.error().headline;
}

// Ordered regions first, which the clusters' scheduler does not take; then runs that share a
// nest, as far as they are legal together; then clusters.
Result<Arranged> arrange_for_cpu(const ir::Program& program, const schedule::State& reference,
                                 const Machine& machine, const StrategyOptions& strategy,
                                 std::uint64_t quota) {
  if (has_regions(program)) {
    auto whole = schedule_whole_program(program, reference, machine, strategy);
    if (!whole) return whole.error();
    return Arranged{*std::move(whole), {}};
  }
  if (strategy.affine_core_only)
    return arrange_by_core(program, reference, machine, strategy, quota);
  FusionDial dial = turn_fusion_dial(program, machine, strategy);
  Result<Arranged> arranged = Decline{"no statements share a nest"};
  if (!dial.runs.empty()) {
    arranged = arrange_with_runs(program, std::move(dial.runs), machine, strategy, quota);
    const auto refused =
        arranged ? refusal_of(program, machine, *arranged, strategy.proves) : std::nullopt;
    if (refused) arranged = Decline{"lost: runs together: " + *refused};
    if (!arranged) dial.considered.push_back(arranged.error().reason);
  }
  if (!arranged) arranged = arrange_by_core(program, reference, machine, strategy, quota);
  if (arranged) put_first(dial.considered, arranged->schedule.considered);
  return arranged;
}

Result<Arranged> arrange_for_gpu(const ir::Program& program, const schedule::State& reference,
                                 const Machine& machine, const StrategyOptions& strategy,
                                 std::uint64_t quota) {
  if (has_regions(program))
    return Arranged{{plan_regions(reference, machine, strategy.affine_core_only)}, {}};
  AffineScheduler scheduler(program);
  const Result<AffineCore> core = scheduler.run({.quota = quota, .allow_maps = false});
  if (!core) return core.error();
  return Arranged{schedule_for_gpu(program, reference, *core, machine, strategy), core->given_up};
}

Result<Arranged> arrange(const ir::Program& program, const Machine& machine,
                         const StrategyOptions& strategy, std::uint64_t quota) {
  const schedule::State reference =
      schedule::reference_state(std::make_shared<const ir::Program>(program));
  return (machine.gpu ? arrange_for_gpu : arrange_for_cpu)(program, reference, machine, strategy,
                                                           quota);
}

// Values that are computed before have nests of their own, the first ones; the rest is arranged as
// if they were given.
Result<Arranged> arrange_apart(const ir::Program& program, const schedule::Precomputing& values,
                               const Machine& machine, const StrategyOptions& strategy,
                               std::uint64_t quota) {
  const auto computes = [&](const ir::Statement& s) { return is_among(s.name, values); };
  Result<Arranged> rest =
      arrange(ir::part_of(program, std::not_fn(computes)), machine, strategy, quota);
  if (!rest) return rest;
  std::vector<schedule::NestPlan>& nests = rest->schedule.nests;
  StrategyOptions numbered = strategy;
  numbered.first_number = static_cast<int>(nests.size());
  Result<Arranged> first = arrange(ir::part_of(program, computes), machine, numbered, quota);
  if (!first) return first;
  // The definition of a precomputed value writes it in the staged layout: no copy is left that
  // threads could share, or that could be made in squares.
  for (schedule::NestPlan& nest : nests)
    for (schedule::PlannedStage& stage : nest.stages) {
      if (!is_among(stage.tensor, values)) continue;
      stage.shared_loop.clear();
      stage.square_loop.clear();
    }
  put_first(first->schedule.nests, nests);
  put_first(first->schedule.notes, rest->schedule.notes);
  put_first(first->schedule.considered, rest->schedule.considered);
  put_first(first->given_up, rest->given_up);
  return rest;
}

// Of a Program with ordered regions. `planned`: the same, or without divisions that change once.
std::optional<schedule::Script> scheduled_by_steps(const ir::Program& program,
                                                   const ir::Program& planned,
                                                   const Machine& machine,
                                                   const StrategyOptions& strategy,
                                                   std::uint64_t quota) {
  StrategyOptions numbered = strategy;
  numbered.refused = nullptr;  // a part is not what was asked for
  return script_by_steps(program, planned, machine, [&](const ir::Program& part, int first) {
    numbered.first_number = first;
    const Result<Arranged> arranged = arrange(part, machine, numbered, quota);
    return arranged ? arranged->schedule.nests : std::vector<schedule::NestPlan>();
  });
}

// Infinity: it is no schedule.
double price_of_script(const std::shared_ptr<const ir::Program>& program,
                       const schedule::Script& script, const Machine& machine) {
  const auto state = schedule::replay(program, script, machine, {schedule::ProofLevel::Off, {}});
  return state ? cycles_of(*state, machine) : std::numeric_limits<double>::infinity();
}

// The script by steps where it is cheaper than the one for all instances, if there is one, by more
// than prices may be wrong by, and legal.
Result<schedule::Script> cheaper_of(const ir::Program& program, Result<schedule::Script> as_a_whole,
                                    const std::optional<schedule::Script>& by_steps,
                                    const Machine& machine, const StrategyOptions& strategy,
                                    std::vector<std::string>* considered) {
  if (!by_steps) return as_a_whole;
  const auto shared = std::make_shared<const ir::Program>(program);
  const double steps = price_of_script(shared, *by_steps, machine);
  const double whole = as_a_whole ? price_of_script(shared, *as_a_whole, machine)
                                  : std::numeric_limits<double>::infinity();
  if (considered && std::isfinite(steps))
    considered->push_back("step by step: " + cycles_text(steps));
  if (!(steps < kClearlyCheaper * whole)) return as_a_whole;
  const auto level = strategy.proves ? schedule::ProofLevel::Directive : schedule::ProofLevel::Off;
  const auto proved = schedule::replay(shared, *by_steps, machine, {level, {}});
  if (proved) {
    if (considered) considered->push_back("taken instead: step by step");
    return *by_steps;
  }
  if (considered) considered->push_back("lost: step by step: " + proved.error().headline);
  if (strategy.refused) strategy.refused->push_back({"step by step", *by_steps, proved.error()});
  return as_a_whole;
}

Result<schedule::Script> schedule_plain(const ir::Program& program, const Machine& machine,
                                        const PolyOptions& options,
                                        const schedule::Precomputing& precomputing) {
  const std::optional<ir::FreeRegions> free =
      options.affine_core_only ? std::nullopt : planned_without_regions(program);
  const ir::Program& plain = free ? free->program : program;
  const std::optional<ir::Program> steady =
      machine.gpu ? std::nullopt : ir::with_steady_divisions(plain);
  const ir::Program& planned = steady ? *steady : plain;
  const StrategyOptions strategy{.affine_core_only = options.affine_core_only,
                                 .keep_order = options.keep_order,
                                 .proves = options.proves,
                                 .refused = options.refused};
  const auto as_a_whole = [&]() -> Result<schedule::Script> {
    Result<Arranged> arranged =
        precomputing.empty()
            ? arrange(planned, machine, strategy, options.quota)
            : arrange_apart(planned, precomputing, machine, strategy, options.quota);
    if (!arranged) return arranged.error();
    if (options.notes)
      for (const auto& notes : {arranged->given_up, arranged->schedule.notes})
        options.notes->insert(options.notes->end(), notes.begin(), notes.end());
    if (options.considered) *options.considered = std::move(arranged->schedule.considered);
    schedule::KernelPlan plan{.nests = std::move(arranged->schedule.nests)};
    if (free)
      for (const auto& [statement, loop] : free->shared) plan.apart.push_back({statement, loop});
    if (!options.affine_core_only && !machine.gpu)
      for (const std::string& result :
           schedule::streamed_results(program, machine, reused_results(plan)))
        plan.streams.push_back({result, schedule::Provenance::TileModel});
    return schedule::write_script(program, options.affine_core_only ? "isl" : "poly", machine,
                                  plan);
  };
  Result<schedule::Script> whole = as_a_whole();
  if (options.affine_core_only || machine.gpu || free || !has_regions(planned)) return whole;
  return cheaper_of(program, std::move(whole),
                    scheduled_by_steps(program, planned, machine, strategy, options.quota), machine,
                    strategy, options.considered);
}

}  // namespace

Result<schedule::Script> auto_schedule(const ir::Program& program, const Machine& machine,
                                       const PolyOptions& options) {
  if (options.affine_core_only) return schedule_plain(program, machine, options, {});
  const std::size_t notes = options.notes ? options.notes->size() : 0;
  return schedule::scheduled_reworded(
      program, machine,
      [&](const ir::Program& seen) { return schedule::kept_values(seen, machine); },
      [&](const ir::Program& seen, const schedule::Precomputing& precomputing) {
        if (options.notes) options.notes->resize(notes);  // of the schedule that is taken
        return schedule_plain(seen, machine, options, precomputing);
      },
      options.refused);
}

}  // namespace polyte::poly
