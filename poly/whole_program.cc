#include "poly/whole_program.h"

#include <algorithm>
#include <iterator>

#include "poly/instance_order.h"
#include "poly/order_plan.h"
#include "schedule/proof/prover.h"
#include "schedule/script/nest_writer.h"
#include "schedule/script/replay.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using schedule::NestTree;

constexpr std::size_t kMostProofs = 4;  // of plans, the cheapest first

Result<schedule::State, schedule::Refusal> replayed(const ir::Program& program, const Machine& machine,
                                                    const schedule::NestPlan& nest) {
  const schedule::Script script = schedule::write_script(program, "order", machine, {.nests = {nest}});
  return schedule::replay(std::make_shared<const ir::Program>(program), script, machine,
                          {schedule::ProofLevel::Directive, {}});
}

// Innermost loops of statements that are priced so run in vectors where their iterations are independent.
class Vectors {
 public:
  Vectors(const schedule::State& state, const std::set<std::string>& priced)
      : state_(state), priced_(priced), prover_(state.reference) {}

  NestTree of(const NestTree& tree) {
    if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op)) {
      std::vector<NestTree> all;
      for (const NestTree& child : sequence->children) all.push_back(of(child));
      return schedule::nest_sequence(std::move(all));
    }
    const auto* loop = std::get_if<schedule::NestLoop>(&tree->op);
    if (!loop) return tree;
    const auto* leaf = std::get_if<schedule::NestLeaf>(&loop->body->op);
    if (!leaf) return schedule::nest_path({{loop->name, loop->kind}}, of(loop->body));
    const schedule::LoopId id = schedule::path_to(state_.tree, leaf->statement).back()->id;
    const bool is_vector = priced_.contains(leaf->statement) && !prover_.check_independent(state_, id);
    return schedule::nest_path({{loop->name, is_vector ? LoopKind::Vector : loop->kind}}, loop->body);
  }

 private:
  const schedule::State& state_;
  const std::set<std::string>& priced_;
  schedule::Prover prover_;
};

// The innermost loop of a sum in four vectors of parts, these added up in one, and that in the sum.
//
//   split_reduction s: i by 4*L as s_v       s_v.update: i.o > <i.i>         the terms
//   split_reduction s: i.i by L as s_l       s_l.update: [i.i.o] > <i.i.i>   the vectors
//                                            s.update:   [i.i.i]             the lanes
std::vector<schedule::PlannedStep> parts_of(const ir::Program& program, const std::string& statement,
                                            const OrderPlan::Parts& parts) {
  const std::string& tensor = program.statement(statement).writes.front().buffer;
  const std::string vectors = tensor + "_v", lanes = tensor + "_l";
  const std::string in_vectors = schedule::within_tile(parts.loop), in_lanes = schedule::within_tile(in_vectors);
  std::vector<schedule::PlannedStep> steps;
  steps.emplace_back(schedule::PlannedParts{tensor, parts.loop, schedule::Vectors{4}, vectors});
  steps.emplace_back(schedule::PlannedParts{tensor, in_vectors, schedule::Vectors{1}, lanes});
  steps.emplace_back(schedule::PlannedTailCut{{vectors + ".update", in_vectors}});
  for (const std::string& part : {vectors + ".init", vectors + ".update"})
    steps.emplace_back(schedule::PlannedBind{part, in_vectors, LoopKind::Vector});
  for (const std::string& part : {lanes + ".init", lanes + ".update"})
    steps.emplace_back(schedule::PlannedBind{part, in_lanes, LoopKind::Vector});
  steps.emplace_back(schedule::PlannedBind{lanes + ".update", schedule::tiles_of(in_vectors), LoopKind::Unrolled});
  steps.emplace_back(schedule::PlannedBind{statement, in_lanes, LoopKind::Unrolled});
  for (const std::string& part : {vectors, lanes}) {
    schedule::PlannedStage stage{.tensor = part, .memory = schedule::Memory::Register};
    if (!parts.around.empty()) stage.at = {part + ".update", parts.around};
    steps.emplace_back(std::move(stage));
  }
  return steps;
}

// With parts for those sums of which these are proved, one after the other: what is refused leaves its sum as it is.
void add_parts(const ir::Program& program, const Machine& machine, const OrderPlan& plan, schedule::NestPlan& nest) {
  for (const auto& [statement, parts] : plan.in_parts) {
    schedule::NestPlan with_parts = nest;
    for (schedule::PlannedStep& step : parts_of(program, statement, parts)) with_parts.steps.push_back(std::move(step));
    for (const std::string& it : program.statement(statement).reductions) with_parts.reassociated.insert(it);
    if (replayed(program, machine, with_parts)) nest = std::move(with_parts);
  }
}

}  // namespace

Result<NestSchedule> schedule_whole_program(const ir::Program& program, const schedule::State& reference,
                                            const Machine& machine, const StrategyOptions& options) {
  const InstanceOrders orders = instance_orders(program);
  std::vector<OrderPlan> plans;
  for (const OrderAttempt& attempt : orders.found) {
    if (options.affine_core_only)
      plans.push_back(plan_as_isl_says(program, reference, attempt.name, attempt.tree, machine));
    else
      std::ranges::move(plans_of(program, reference, attempt.name, attempt.tree, machine, options.keep_order), std::back_inserter(plans));
  }
  if (!options.affine_core_only) std::ranges::stable_sort(plans, {}, &OrderPlan::cycles);
  NestSchedule result;
  result.notes = orders.given_up;
  std::string reasons;
  const auto lose = [&](const std::string& why) { reasons += (reasons.empty() ? "" : "; ") + why; };
  for (const std::string& lost : orders.lost) lose(lost);
  for (std::size_t i = 0; i < std::min(plans.size(), kMostProofs); ++i) {
    schedule::NestPlan& nest = plans[i].nest;
    const auto state = replayed(program, machine, nest);
    if (!state) {
      lose(plans[i].name + ": " + state.error().headline);
      continue;
    }
    if (!options.affine_core_only) {
      nest.tree = Vectors(*state, plans[i].in_vectors).of(nest.tree);
      add_parts(program, machine, plans[i], nest);
    }
    result.nests.push_back(std::move(nest));
    return result;
  }
  return Decline{reasons.empty() ? "isl finds no order" : reasons};
}

}  // namespace polyte::poly
