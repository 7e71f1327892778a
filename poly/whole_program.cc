#include "poly/whole_program.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "poly/blocked_steps.h"
#include "poly/cut_loops.h"
#include "poly/instance_order.h"
#include "poly/jammed_sums.h"
#include "poly/order_plan.h"
#include "poly/order_price.h"
#include "poly/outer_lanes.h"
#include "poly/recurrent_rows.h"
#include "poly/rows_ahead.h"
#include "poly/step_products.h"
#include "schedule/proof/prover.h"
#include "schedule/script/nest_writer.h"
#include "schedule/script/replay.h"
#include "support/is_among.h"

namespace polyte::poly {
namespace {

using schedule::LoopKind;
using schedule::NestPlan;
using schedule::NestTree;

constexpr std::size_t kMostProofs = 6;  // of plans, the cheapest first
constexpr double kMeasuredTiles[] = {0, 8, 16, 32, 64, 128};
constexpr std::size_t kMeasuredLoops = 3;  // of a band, last in turn
// A plan is slow that takes so much more than it was priced at, as loops cannot be in vectors or
// sums in parts.
constexpr double kMostSerial = 0.3;

// The innermost loop of a sum in four vectors of parts, these added up in one, and that in the sum.
//
//   split_reduction s: i by 4*L as s_v       s_v.update: i.o > <i.i>         the terms
//   split_reduction s: i.i by L as s_l       s_l.update: [i.i.o] > <i.i.i>   the vectors
//                                            s.update:   [i.i.i]             the lanes
std::vector<schedule::PlannedStep> parts_of(const ir::Program& program,
                                            const ir::Statement& statement,
                                            const OrderPlan::Inner& inner) {
  const std::string sum = name_of_sum(program, statement);
  const std::string vectors = sum + "_v", lanes = sum + "_l";
  const std::string in_vectors = schedule::within_tile(inner.loop),
                    in_lanes = schedule::within_tile(in_vectors);
  std::vector<schedule::PlannedStep> steps;
  steps.emplace_back(schedule::PlannedParts{sum, inner.loop, schedule::Vectors{4}, vectors});
  steps.emplace_back(schedule::PlannedParts{sum, in_vectors, schedule::Vectors{1}, lanes});
  steps.emplace_back(schedule::PlannedTail{{vectors + ".update", in_vectors}});
  for (const std::string& part : {vectors + ".init", vectors + ".update"})
    steps.emplace_back(schedule::PlannedBind{part, in_vectors, LoopKind::Vector});
  for (const std::string& part : {lanes + ".init", lanes + ".update"})
    steps.emplace_back(schedule::PlannedBind{part, in_lanes, LoopKind::Vector});
  steps.emplace_back(
      schedule::PlannedBind{lanes + ".update", schedule::tiles_of(in_vectors), LoopKind::Unrolled});
  steps.emplace_back(schedule::PlannedBind{statement.name, in_lanes, LoopKind::Unrolled});
  for (const std::string& part : {vectors, lanes}) {
    schedule::PlannedStage stage{.tensor = part, .memory = schedule::Memory::Register};
    if (!inner.around.empty()) stage.at = {part + ".update", inner.around};
    steps.emplace_back(std::move(stage));
  }
  return steps;
}

// By price; of equally cheap ones those with fewer maps first, as skewed rows that gain nothing
// begin at another place of a line each time; then those that are likely to be legal; then isl's;
// then by name, so that the order is always the same.
void sort_by_price(std::vector<OrderPlan>& plans) {
  std::ranges::sort(plans, {}, [](const OrderPlan& plan) {
    return std::tuple(plan.cycles, plan.nest.maps.size(), plan.is_unlikely,
                      plan.nest.tree_by != schedule::Provenance::Isl, plan.name);
  });
}

std::string priced(const OrderPlan& plan) {
  return cycles_text(plan.cycles) + ": " + plan.name + ", " + schedule::print(plan.nest.tree);
}

// Tries plans one after the other, the cheapest first, until one is proved together with what it
// was priced for (vectors, parts of sums).
class WholeProgram {
 public:
  WholeProgram(const ir::Program& program, const Machine& machine, bool proves,
               std::vector<schedule::RefusedScript>* refused)
      : program_(std::make_shared<const ir::Program>(program)),
        reference_(schedule::reference_state(program_)),
        machine_(machine),
        proves_(proves),
        refused_(refused) {}

  std::string reasons;                  // what was lost
  std::vector<std::string> considered;  // all of it, a line each
  // Whether the plan that was taken has serial loops that were priced in vectors or parts.
  bool is_slow = false;

  void lose(const std::string& why) {
    reasons += (reasons.empty() ? "" : "; ") + why;
    considered.push_back("lost: " + why);
  }

  std::string text_of(const NestPlan& nest) const { return schedule::print(script_of(nest)); }

  // Where a plan does without some of what it was priced for, those that were priced lower than
  // what it takes then are tried, too.
  std::optional<NestPlan> first_proved(std::vector<OrderPlan> plans, bool as_isl_says) {
    std::optional<NestPlan> best;
    std::string name;  // of the best one
    double cycles = 0;
    plans.resize(std::min(plans.size(), kMostProofs));
    for (OrderPlan& plan : plans) {
      if (best && cycles <= plan.cycles) break;
      if (!as_isl_says)
        if (auto nest = with_all_at_once(plan)) {
          considered.push_back("taken: " + plan.name);
          is_slow = false;
          return nest;
        }
      const auto state = replayed(plan.nest);
      if (!state) {
        lose(plan.name + ": " + state.error().headline);
        keep(plan.name, plan.nest, state.error());
        continue;
      }
      if (as_isl_says) return std::move(plan.nest);
      const double more = add_all(plan, serial_of(plan, *state));
      if (more > 0)
        considered.push_back("proved, but not all of its vectors, " +
                             cycles_text(plan.cycles + more) + ": " + plan.name);
      if (best && cycles <= plan.cycles + more) continue;
      best = std::move(plan.nest);
      name = plan.name;
      cycles = plan.cycles + more;
      is_slow = more > kMostSerial * plan.cycles;
    }
    if (best) considered.push_back("taken: " + name);
    return best;
  }

 private:
  struct Parts {  // of a sum
    std::vector<schedule::PlannedStep> steps;
    std::vector<std::string> reassociated;
    double more = 0;  // cycles, where it stays a chain
  };

  const std::shared_ptr<const ir::Program> program_;
  const schedule::State reference_;
  const Machine& machine_;
  const bool proves_;  // false: what is added at once need only be a schedule
  std::vector<schedule::RefusedScript>* const refused_;  // null: nobody asks
  bool is_trusting_ = false;  // what is added is proved later, as a whole

  schedule::Script script_of(const NestPlan& nest) const {
    return schedule::write_script(*program_, "order", machine_, {.nests = {nest}});
  }

  Result<schedule::State, schedule::Refusal> replayed(
      const NestPlan& nest, schedule::ProofLevel proof = schedule::ProofLevel::Directive) const {
    return schedule::replay(program_, script_of(nest), machine_, {proof, {}});
  }

  void keep(const std::string& what, const NestPlan& nest, const schedule::Refusal& refusal) const {
    if (refused_) refused_->push_back({what, script_of(nest), refusal});
  }

  // The plan with all that it was priced for, which is what most plans come to: one proof. Where it
  // is refused, each part is asked for by itself.
  std::optional<NestPlan> with_all_at_once(OrderPlan plan) {
    is_trusting_ = true;
    add_all(plan, {});
    is_trusting_ = false;
    using schedule::ProofLevel;
    if (!replayed(plan.nest, proves_ ? ProofLevel::Directive : ProofLevel::Off))
      return std::nullopt;
    return std::move(plan.nest);
  }

  // Adds what the plan was priced for; returns how many cycles more it takes where statements have
  // to do without it.
  // `serial`: statements whose innermost loops cannot be vectors.
  double add_all(OrderPlan& plan, const std::vector<std::string>& serial) {
    set_vectors(plan, serial);
    add_jams(plan);
    add_recurrent_rows(plan);
    widen(plan, serial);
    double more = add_parts(plan);
    if (!plan.last_steps.empty()) add(plan.nest, plan.last_steps, {});
    if (!plan.for_threads.empty()) add(plan.nest, plan.for_threads, {});
    for (const std::string& statement : serial) {
      const OrderPlan::Inner& inner = plan.in_vectors.at(statement);
      more += inner.serial - inner.cycles;
    }
    return more > kMostSerial * plan.cycles && add_cuts(plan, serial) ? 0 : more;
  }

  // Adds the steps if they are accepted; else the plan stays as it is.
  bool add(NestPlan& nest, std::vector<schedule::PlannedStep> steps,
           const std::vector<std::string>& reassociated) {
    NestPlan longer = nest;
    std::ranges::move(steps, std::back_inserter(longer.steps));
    longer.reassociated.insert(reassociated.begin(), reassociated.end());
    return take(nest, std::move(longer), "");
  }

  // `changed` in place of the nest, where it is proved. `what` was to change; empty: the directive
  // that is refused.
  bool take(NestPlan& nest, NestPlan changed, const std::string& what) {
    if (is_trusting_) {
      nest = std::move(changed);
      return true;
    }
    const auto state = replayed(changed);
    if (!state) {
      considered.push_back("left out: " + state.error().directive + ": " + state.error().headline);
      keep("left out of the plan: " + (what.empty() ? state.error().directive : what), changed,
           state.error());
      return false;
    }
    nest = std::move(changed);
    return true;
  }

  // Statements whose innermost loops are priced in vectors and are not independent.
  std::vector<std::string> serial_of(const OrderPlan& plan, const schedule::State& state) const {
    schedule::Prover prover(program_);
    std::vector<std::string> serial;
    for (const auto& [statement, inner] : plan.in_vectors) {
      const schedule::LoopId id = schedule::path_to(state.tree, statement).back()->id;
      if (prover.check_independent(state, id)) serial.push_back(statement);
    }
    return serial;
  }

  static void set_vectors(OrderPlan& plan, const std::vector<std::string>& serial) {
    const auto is_vector = [&](const std::string& statement) {
      return plan.in_vectors.contains(statement) && !is_among(statement, serial);
    };
    plan.nest.tree = map_innermost(
        plan.nest.tree, [&](const schedule::NestLoop& loop, const std::string& statement) {
          const LoopKind kind = is_vector(statement) ? LoopKind::Vector : loop.kind;
          return schedule::nest_path({{loop.name, kind}}, loop.body);
        });
  }

  // The tree with each loop that holds one statement alone replaced.
  template <class Change>
  static NestTree map_innermost(const NestTree& tree, const Change& change) {
    if (const auto* sequence = std::get_if<schedule::NestSequence>(&tree->op)) {
      std::vector<NestTree> all;
      for (const NestTree& child : sequence->children) all.push_back(map_innermost(child, change));
      return schedule::nest_sequence(std::move(all));
    }
    const auto* loop = std::get_if<schedule::NestLoop>(&tree->op);
    if (!loop) return tree;
    if (const auto* leaf = std::get_if<schedule::NestLeaf>(&loop->body->op))
      return change(*loop, leaf->statement);
    return schedule::nest_path({{loop->name, loop->kind}}, map_innermost(loop->body, change));
  }

  // Unroll-and-jam (jammed_sums.h), if it is proved. Sums that it has parted need no parts of their
  // own, and a loop that it has cut goes by the name of its inner part.
  void add_jams(OrderPlan& plan) {
    if (!plan.has_jams) return;
    auto jammed = with_passes(*program_, reference_, plan.nest, plan.in_parts, machine_);
    if (!jammed || !take(plan.nest, std::move(jammed->nest), "rows together in passes")) {
      jammed = with_jammed_sums(*program_, reference_, plan.nest);
      if (!jammed || !take(plan.nest, std::move(jammed->nest), "rows together")) return;
    }
    for (const std::string& sum : jammed->in_parts) plan.in_parts.erase(sum);
    for (auto& [statement, inner] : plan.in_parts)
      if (const auto loop = jammed->loop_of.find(statement); loop != jammed->loop_of.end())
        if (inner.around == loop->second) inner.around = schedule::within_tile(inner.around);
  }

  // Rows of a recurrence in blocks (recurrent_rows.h), in place of parts of each sum by itself.
  void add_recurrent_rows(OrderPlan& plan) {
    std::erase_if(plan.in_parts, [&](const auto& part) {
      auto rows = with_recurrent_rows(*program_, plan.nest, part.first, part.second, machine_);
      return rows && take(plan.nest, *std::move(rows), "rows of a recurrence together");
    });
  }

  // Several vectors per turn, where rows are long: what counts and compares comes once for
  // all of them.
  void widen(OrderPlan& plan, const std::vector<std::string>& serial) {
    NestPlan wide = plan.nest;
    const auto vectors_of = [&](const std::string& statement, const std::string& loop) {
      const auto inner = plan.in_vectors.find(statement);
      const bool is_vector = inner != plan.in_vectors.end() && inner->second.loop == loop &&
                             !is_among(statement, serial);
      return is_vector ? inner->second.vectors : 1;
    };
    wide.tree = map_innermost(
        plan.nest.tree, [&](const schedule::NestLoop& loop, const std::string& statement) {
          const std::int64_t vectors = vectors_of(statement, loop.name);
          if (vectors == 1) return schedule::nest_path({{loop.name, loop.kind}}, loop.body);
          wide.splits.emplace_back(
              schedule::PlannedSplit{statement, loop.name, schedule::Vectors{vectors}});
          return schedule::nest_path(
              {{schedule::tiles_of(loop.name)}, {schedule::within_tile(loop.name), loop.kind}},
              loop.body);
        });
    if (wide.splits.size() > plan.nest.splits.size())
      take(plan.nest, std::move(wide), "several vectors per turn");
  }

  // Adds the steps that part sums; returns how many cycles more those take that stay chains. All of
  // them are proved at once, and one by one where that is refused.
  double add_parts(OrderPlan& plan) {
    std::vector<Parts> all;
    Parts together;
    for (const auto& [statement, inner] : plan.in_parts) {
      const ir::Statement& sum = program_->statement(statement);
      Parts parts{parts_of(*program_, sum, inner), sum.reductions, inner.serial - inner.cycles};
      parts.reassociated.push_back(inner.loop);  // the lanes of its parts are added up by that name
      std::ranges::copy(parts.steps, std::back_inserter(together.steps));
      std::ranges::copy(parts.reassociated, std::back_inserter(together.reassociated));
      all.push_back(std::move(parts));
    }
    if (all.empty() ||
        (all.size() > 1 && add(plan.nest, std::move(together.steps), together.reassociated)))
      return 0;
    double more = 0;
    for (Parts& parts : all)
      if (!add(plan.nest, std::move(parts.steps), parts.reassociated)) more += parts.more;
    return more;
  }

  bool add_cuts(OrderPlan& plan, const std::vector<std::string>& serial) {
    return !serial.empty() && !plan.nest.tile &&
           std::ranges::all_of(serial, [&](const std::string& statement) {
             auto ways = cuts_of(*program_, plan.nest.tree, program_->statement(statement),
                                 plan.in_vectors.at(statement), machine_);
             return std::ranges::any_of(ways, [&](std::vector<schedule::PlannedStep>& steps) {
               return add(plan.nest, std::move(steps), {});
             });
           });
  }
};

// The plans of an attempt, in blocks of steps and otherwise; where terms change places, which is
// for blocks from the last step to the first, these alone.
std::vector<OrderPlan> plans_of_attempt(const ir::Program& program,
                                        const schedule::State& reference, const Machine& machine,
                                        const OrderAttempt& attempt, bool keep_order) {
  std::vector<OrderPlan> plans;
  if (attempt.reassociated.empty()) {
    plans = plans_of(program, reference, attempt.name, attempt.tree, machine, keep_order);
  } else {
    const OrderBand* band = band_of_steps(program, attempt.tree);
    if (!band || !products_of(program, *band).front().is_mirrored) return {};
  }
  std::ranges::move(
      plans_in_blocks(program, reference, attempt.name, attempt.tree, machine, keep_order),
      std::back_inserter(plans));
  for (OrderPlan& plan : plans) {
    if (!attempt.is_isls) say_by_model(plan);
    plan.nest.reassociated.insert(attempt.reassociated.begin(), attempt.reassociated.end());
  }
  return plans;
}

}  // namespace

std::string cycles_text(double cycles) {
  char number[32];
  std::snprintf(number, sizeof number, "%.3g", cycles);
  return std::string(number) + " cycles predicted";
}

std::vector<OrderPlan> plans_of_attempts(const ir::Program& program,
                                         const schedule::State& reference, const Machine& machine,
                                         const std::vector<OrderAttempt>& attempts,
                                         bool keep_order) {
  std::vector<OrderPlan> plans;
  for (const OrderAttempt& attempt : attempts)
    std::ranges::move(plans_of_attempt(program, reference, machine, attempt, keep_order),
                      std::back_inserter(plans));
  if (auto plan = plan_of_rows_ahead(program, machine)) plans.push_back(*std::move(plan));
  std::vector<OrderAttempt> written = {{"as written", order_as_written(program, reference)}};
  for (OrderPlan& plan :
       plans_of(program, reference, written[0].name, written[0].tree, machine, keep_order)) {
    say_by_model(plan);
    plans.push_back(std::move(plan));
  }
  for (const std::vector<OrderAttempt>& all : {attempts, written})
    for (const OrderAttempt& attempt : all)
      if (auto plan = plan_of_outer_lanes(program, reference, attempt.name, attempt.tree, machine))
        plans.push_back(*std::move(plan));
  sort_by_price(plans);
  return plans;
}

Result<NestSchedule> first_that_is_proved(const ir::Program& program, const Machine& machine,
                                          const InstanceOrders& orders,
                                          std::vector<OrderPlan> plans,
                                          const StrategyOptions& options, bool may_be_slow) {
  WholeProgram whole(program, machine, options.proves, options.refused);
  for (const OrderAttempt& attempt : orders.found)
    whole.considered.push_back(attempt.name + ": " + to_string(attempt.tree));
  for (const std::string& lost : orders.lost) whole.lose(lost);
  for (const OrderPlan& plan : plans) whole.considered.push_back(priced(plan));
  auto nest = whole.first_proved(std::move(plans), options.affine_core_only);
  if (nest && whole.is_slow && !may_be_slow) return Decline{"no plan keeps its vectors"};
  if (!nest) return Decline{whole.reasons.empty() ? "isl finds no order" : whole.reasons};
  NestSchedule result;
  result.notes = orders.given_up;
  result.considered = std::move(whole.considered);
  result.nests.push_back(*std::move(nest));
  return result;
}

Result<NestSchedule> schedule_whole_program(const ir::Program& program,
                                            const schedule::State& reference,
                                            const Machine& machine,
                                            const StrategyOptions& options) {
  const InstanceOrders orders =
      instance_orders(program, options.keep_order || options.affine_core_only);
  std::vector<OrderPlan> plans;
  if (!options.affine_core_only)
    plans = plans_of_attempts(program, reference, machine, orders.found, options.keep_order);
  else
    for (const OrderAttempt& attempt : orders.found)
      if (attempt.is_isls)
        plans.push_back(plan_as_isl_says(program, reference, attempt.name, attempt.tree, machine));
  return first_that_is_proved(program, machine, orders, std::move(plans), options, true);
}

Result<NestSchedule> schedule_with_lanes_outside(const ir::Program& program,
                                                 const schedule::State& reference,
                                                 const Machine& machine, const OrderAttempt& order,
                                                 const StrategyOptions& options) {
  const InstanceOrders orders{{order}, {}, {}};
  std::vector<OrderPlan> plans =
      plans_of_attempts(program, reference, machine, orders.found, options.keep_order);
  const auto outside = std::ranges::find(plans, true, &OrderPlan::lanes_outside);
  if (outside == plans.end()) return Decline{"no independent loop holds the steps"};
  if (outside != plans.begin()) return Decline{priced(*outside) + "; " + priced(plans.front())};
  plans.resize(1);
  return first_that_is_proved(program, machine, orders, std::move(plans), options, false);
}

std::vector<Candidate> candidates_of(const ir::Program& program, const Machine& machine,
                                     bool with_scripts) {
  const schedule::State reference =
      schedule::reference_state(std::make_shared<const ir::Program>(program));
  std::vector<Candidate> candidates;
  for (const OrderAttempt& attempt : instance_orders(program).found)
    for (const double tile : kMeasuredTiles)
      for (std::size_t turned = 0; turned < kMeasuredLoops; ++turned) {
        OrderPlan plan = plan_of_shape(program, reference, attempt.name, attempt.tree, machine,
                                       {tile, turned}, false);
        Candidate candidate{plan.name, plan.cycles, ""};
        WholeProgram whole(program, machine, true, nullptr);
        if (with_scripts)
          if (const auto nest = whole.first_proved({std::move(plan)}, false);
              nest && !whole.is_slow)
            candidate.script = whole.text_of(*nest);
        candidates.push_back(std::move(candidate));
      }
  return candidates;
}

}  // namespace polyte::poly
