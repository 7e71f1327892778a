// Every labelled schedule: the prover gives the label, and executions that know nothing of it
// confirm the label.
#include <doctest/doctest.h>

#include <cstdlib>

#include "lower/lower.h"
#include "lower/trace_check.h"
#include "schedule/script/reuse.h"
#include "schedule/state/launches.h"
#include "support/gpu_machines.h"
#include "tests/legality/legality_cases.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::legality {

namespace {

using namespace schedule;

std::string verdict_of(const Result<State, Refusal>& state) {
  if (state) return "legal";
  switch (state.error().kind) {
    case RefusalKind::Illegal:
      return "illegal";
    case RefusalKind::Unknown:
    case RefusalKind::Conservative:
      return "unknown";
    case RefusalKind::Malformed:
    case RefusalKind::Stale:
      return "malformed";
  }
  return "";
}

std::string text_of(Label label) {
  static const char* const kTexts[] = {"legal", "illegal", "unknown", "malformed"};
  return kTexts[static_cast<int>(label)];
}

// Loops of a GPU have passes of their own.
Machine machine_for(const State& state) {
  return is_for_device(state.tree) ? *gpu_machine("h100") : test_machine();
}

// What an execution of the State's loops shows, before the passes and after them.
std::string loops_fault(const State& state) {
  const lower::TraceOptions options{.any_order = lower::reorderable_updates(state)};
  const Machine machine = machine_for(state);
  const std::shared_ptr<const ir::Program> basis = without_views(state).basis;
  const lower::ReferenceTrace reference(*basis, make_inputs(*basis, 2), options);
  const ir::LoopProgram packing = lower::lower_packing(state, {.machine = machine});
  for (const ir::LoopProgram& loops :
       {lower::lower_to_nest(state), lower::lower(state, {.machine = machine})})
    for (const lower::TraceFault& fault : compare_traces(reference, packing, loops))
      return to_string(fault.kind) + ": " + fault.text;
  return "";
}

// Empty where the executions of a State agree with the reference. What cannot be lowered
// says nothing.
std::string shown_fault(const State& state, bool must_lower) {
  for (const std::string& problem : compare_with_reference(state)) return problem;
  try {
    return loops_fault(state);
  } catch (const std::exception& error) {
    return must_lower ? error.what() : std::string();
  }
}

class CaseRun {
 public:
  explicit CaseRun(const LegalityCase& c) : case_(c) {}

  std::string problem() {
    const auto state = replayed(case_.sizes.front(), ProofLevel::Full);
    if (const std::string verdict = verdict_of(state); verdict != text_of(case_.label))
      return "the prover says " + verdict +
             (state ? "" : ": " + state.error().directive + ": " + state.error().headline) +
             executions();
    if (!state && state.error().kind == RefusalKind::Illegal &&
        state.error().counterexamples.empty())
      return "illegal without a counterexample";
    if (case_.label == Label::Legal) return confirm_legal();
    if (case_.label == Label::Illegal) return confirm_illegal();
    return "";
  }

 private:
  const LegalityCase& case_;

  Result<State, Refusal> replayed(const ir::Values& sizes, ProofLevel proof) const {
    const auto program = bound_program(case_.program, sizes);
    return replay(program, script_of(*program, case_.script, case_.contract), test_machine(),
                  {proof, {}});
  }

  std::string confirm_legal() const {
    for (const ir::Values& sizes : case_.sizes) {
      const auto state = replayed(sizes, ProofLevel::Off);
      if (!state) return "refused at other sizes: " + state.error().headline;
      if (const std::string fault = shown_fault(*state, true); !fault.empty())
        return "executed: " + fault;
    }
    return "";
  }

  std::string confirm_illegal() const {
    for (const ir::Values& sizes : case_.sizes) {
      const auto state = replayed(sizes, ProofLevel::Off);
      if (!state) return "cannot be forced through: " + state.error().headline;
      if (!shown_fault(*state, false).empty()) return "";
    }
    return "executed: nothing shows at these sizes";
  }

  // For the message where prover and label differ.
  std::string executions() const {
    const std::string illegal = confirm_illegal();
    return illegal.empty() ? " (an execution shows a fault)" : " (" + illegal + ")";
  }
};

}  // namespace

TEST_CASE("labels are what the prover says and what executions show") {
  const char* const only = std::getenv("POLYTE_LEGALITY");
  int legal = 0, illegal = 0, total = 0;
  for (const LegalityCase& c : read_cases("tests/legality/cases")) {
    const std::string shown =
        c.file + ":" + std::to_string(c.line) + ": " + text_of(c.label) + " " + c.name;
    if (only && shown.find(only) == std::string::npos) continue;
    ++total;
    legal += c.label == Label::Legal;
    illegal += c.label == Label::Illegal;
    try {
      const std::string problem = CaseRun(c).problem();
      CHECK_MESSAGE(problem.empty(), shown << "\n" << c.script << problem);
    } catch (const std::exception& error) {
      CHECK_MESSAGE(false, shown << "\n" << c.script << std::string(error.what()));
    }
  }
  MESSAGE(total << " schedules, " << legal << " legal, " << illegal << " illegal");
  if (only) return;
  CHECK(total >= 800);
  CHECK(illegal >= legal);
}

}  // namespace polyte::legality
