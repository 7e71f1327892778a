#include "driver/compile/second_judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>

#include "driver/compile/execution_check.h"
#include "driver/compile/flops.h"
#include "ir/program_text.h"
#include "schedule/script/replay.h"
#include "schedule/script/reuse.h"
#include "support/error.h"

namespace polyte::driver {
namespace {

using schedule::State;

std::string rounded(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), number < 1e7 ? "%.0f" : "%.2g", number);
  return text;
}

std::string text_of(const ir::Values& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes)
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(value);
  return text;
}

// Instances to run through, and elements of the interface to fill and compare, which are cheaper.
// Infinite where counting them would take longer than the judge may.
double steps_of(const ir::Program& program, const ir::Values& sizes) {
  constexpr double kElementsAStep = 4;
  constexpr std::int64_t kMostCounted = 50'000;
  const std::optional<double> instances = count_instances(program.statements, sizes, kMostCounted);
  if (!instances) return INFINITY;
  double steps = *instances;
  for (const ir::Buffer* buffer : program.interface()) {
    double elements = 1 / kElementsAStep;
    for (const ir::Affine& extent : buffer->shape)
      elements *= std::max(0.0, static_cast<double>(ir::evaluate(extent, sizes)));
    steps += elements;
  }
  return steps;
}

// Sizes of the open Program: of each, first one that has a whole tile and a ragged one of the
// largest split of its loop, then less, the largest size first, until the work fits.
class SmallSizes {
 public:
  SmallSizes(const ir::Program& program, const State& state) : program_(program) {
    for (std::size_t i = 0; i < program.params.size(); ++i)
      ladders_.push_back(
          ladder(factors_of(program.params[i], state), static_cast<std::int64_t>(i)));
  }

  double steps = 0;  // of the sizes found, or of the least ones

  std::optional<ir::Values> within(double budget) {
    std::vector<std::size_t> rung(ladders_.size(), 0);
    for (;;) {
      ir::Values sizes = at(rung);
      steps = steps_of(program_, sizes);
      if (steps <= budget && fits_context(sizes)) return sizes;
      if (!step_down(rung)) return std::nullopt;
    }
  }

 private:
  const ir::Program& program_;
  std::vector<std::vector<std::int64_t>> ladders_;  // a parameter: descending

  std::set<std::int64_t> factors_of(const std::string& param, const State& state) const {
    std::set<std::int64_t> factors;
    for (const schedule::ScheduledStatement& s : state.statements)
      for (const schedule::LoopRow& row : s.rows) collect_factors(row.value, param, factors);
    return factors;
  }

  // The tiles in which a loop's value counts iterators of this size, or of none.
  void collect_factors(const ir::Affine& value, const std::string& param,
                       std::set<std::int64_t>& factors) const {
    for (const ir::Term& term : value.terms()) {
      if (!term.atom.div) continue;
      const ir::Affine& counted = term.atom.div->numerator;
      std::set<std::string> iterators;
      counted.collect_symbols(iterators);
      for (const std::string& iterator : iterators)
        if (const auto of = ir::find_param(program_, iterator); !of || *of == param)
          factors.insert(term.atom.div->denominator);
      collect_factors(counted, param, factors);
    }
  }

  // One or two beyond a whole tile of each factor, and small sizes below these. Sizes of different
  // places differ where they can: equal ones would hide subscripts that are swapped.
  static std::vector<std::int64_t> ladder(const std::set<std::int64_t>& factors,
                                          std::int64_t place) {
    std::set<std::int64_t, std::greater<>> sizes{5 + place % 3, 3, 2, 1};
    for (const std::int64_t factor : factors)
      if (factor > 1) sizes.insert(factor + 1 + place % 2);
    return {sizes.begin(), sizes.end()};
  }

  ir::Values at(const std::vector<std::size_t>& rung) const {
    ir::Values sizes;
    for (std::size_t i = 0; i < ladders_.size(); ++i)
      sizes[program_.params[i]] = ladders_[i][rung[i]];
    return sizes;
  }

  bool step_down(std::vector<std::size_t>& rung) const {
    std::size_t largest = ladders_.size();
    for (std::size_t i = 0; i < ladders_.size(); ++i) {
      if (rung[i] + 1 == ladders_[i].size()) continue;
      if (largest == ladders_.size() || ladders_[i][rung[i]] > ladders_[largest][rung[largest]])
        largest = i;
    }
    if (largest == ladders_.size()) return false;
    ++rung[largest];
    return true;
  }

  bool fits_context(const ir::Values& sizes) const {
    return std::ranges::all_of(program_.context,
                               [&](const ir::Constraint& c) { return ir::holds(c, sizes); });
  }
};

class SecondJudge {
 public:
  SecondJudge(const AcceptedSchedule& accepted, const Machine& machine, std::int64_t budget)
      : accepted_(accepted), machine_(machine), budget_(budget) {}

  SecondJudgement run() {
    try {
      return decide();
    } catch (const UserError& error) {
      // The reference order itself: data that it refuses, too many steps.
      return not_run(error.what());
    }
  }

 private:
  const AcceptedSchedule& accepted_;
  const Machine& machine_;
  std::int64_t budget_;

  static SecondJudgement not_run(const std::string& why) {
    return {false, "not run (" + why + ")"};
  }

  SecondJudgement not_run(double steps) const {
    const std::string needed = std::isfinite(steps) ? rounded(steps) : "too many";
    return not_run("would take " + needed + " steps, budget " + std::to_string(budget_));
  }

  SecondJudgement decide() {
    const State& state = accepted_.state;
    if (state.reference->params.empty()) {
      const double steps = steps_of(*state.basis, {});
      if (steps <= static_cast<double>(budget_))
        return judge(state, accepted_.nest, accepted_.loops, {});
      if (!accepted_.open || accepted_.open->params.empty()) return not_run(steps);
    }
    const ir::Program& open = state.reference->params.empty() ? *accepted_.open : *state.reference;
    SmallSizes small(open, state);
    const std::optional<ir::Values> sizes = small.within(static_cast<double>(budget_));
    if (!sizes) return not_run(small.steps);
    if (accepted_.loops && &open == state.reference.get())  // open loops: those that will run
      return judge(state, accepted_.nest, accepted_.loops, *sizes);
    return judge_small(open, *sizes);
  }

  SecondJudgement judge_small(const ir::Program& open, const ir::Values& sizes) {
    const auto program = std::make_shared<const ir::Program>(ir::bind(open, sizes));
    schedule::Script script = accepted_.script;
    script.digest = ir::digest(*program);
    const auto state = schedule::replay(program, script, machine_, {schedule::ProofLevel::Off, {}});
    if (!state)
      return not_run("the script does not apply at " + text_of(sizes) + ": " +
                     state.error().headline);
    // A schedule may be right because of its sizes: a tile as large as a loop that carries
    // a dependence.
    const bool is_bound = accepted_.state.reference->params.empty();
    const auto is_legal_here = [&] {
      return !is_bound || static_cast<bool>(schedule::replay(program, script, machine_,
                                                             {schedule::ProofLevel::Final, {}}));
    };
    return judge(*state, nullptr, nullptr, sizes, is_legal_here);
  }

  // `is_accepted`: by the proof, at the sizes that are executed. Asked only where a fault is found,
  // since a proof takes longer than the execution.
  SecondJudgement judge(
      const State& state, const ir::LoopProgram* nest, const ir::LoopProgram* loops,
      const ir::Values& sizes, const std::function<bool()>& is_accepted = [] { return true; }) {
    std::set<std::string> not_compared;
    ExecutionOptions options{.sizes = state.reference->params.empty() ? ir::Values{} : sizes,
                             .max_steps = 20 * std::max<std::int64_t>(budget_, 1000),
                             .nest = nest,
                             .loops = loops,
                             .not_compared = &not_compared};
    const ir::Program bound = ir::bind(*schedule::without_views(state).basis, options.sizes);
    const ir::Environment inputs = adverse_environment(bound, 1, !schedule_relaxes_rounding(state));
    const std::vector<lower::TraceFault> faults =
        faults_by_execution(state, machine_, inputs, options);
    const std::string where = sizes.empty() ? "at its own sizes" : "at " + text_of(sizes);
    if (faults.empty()) {
      std::string apart;
      for (const std::string& output : not_compared)
        apart += (apart.empty() ? "; not compared: " : ", ") + output;
      return {true, "agrees (executed " + where + apart + ")"};
    }
    if (!is_accepted()) return not_run("the script is not legal " + where);
    std::string text = "the proof accepts schedule '" + accepted_.script.name + "' of program '" +
                       state.reference->name + "', and an execution " + where + " shows a fault:";
    for (const lower::TraceFault& fault : faults)
      text += "\n  " + to_string(fault.kind) + ": " + fault.text;
    throw InternalError(text + "\n" + ir::print(*state.reference) + "\n" +
                        schedule::print(accepted_.script));
  }
};

}  // namespace

// A step is taken to cost 1/200 of a millisecond on a CPU. The cost of the proof is measured, hence
// steps by a factor of 4 (see the header).
std::int64_t judge_budget(double proof_milliseconds, bool of_gpu) {
  // Threads, copies and barriers are emulated as well.
  const double steps_a_millisecond = of_gpu ? 50 : 200;
  constexpr std::int64_t kMost = kLeastJudgeSteps << 12U;  // a few seconds
  std::int64_t budget = kLeastJudgeSteps;
  while (budget < kMost &&
         4 * static_cast<double>(budget) <= proof_milliseconds * steps_a_millisecond)
    budget *= 4;
  return budget;
}

SecondJudgement ask_second_judge(const AcceptedSchedule& accepted, const Machine& machine,
                                 std::int64_t budget) {
  return SecondJudge(accepted, machine, budget).run();
}

}  // namespace polyte::driver
