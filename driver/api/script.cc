// A schedule by itself: proved, or written by a scheduler, without machine code.
#include "driver/api/guard.h"
#include "driver/api/open_sizes.h"
#include "driver/api/requests.h"
#include "driver/api/verdict.h"
#include "schedule/proof/rounding.h"
#include "schedule/script/directive_table.h"
#include "schedule/state/tree.h"

namespace polyte::api {

Refusal refusal_of(const schedule::Refusal& refusal) {
  Refusal result{.kind = verdict_of(refusal),
                 .headline = refusal.headline,
                 .directive = refusal.directive,
                 .line = refusal.line,
                 .advice = refusal.advice,
                 .details = refusal.details,
                 .counterexamples = {}};
  for (const schedule::Counterexample& c : refusal.counterexamples)
    result.counterexamples.push_back({c.dependence, c.reference, c.scheduled, c.watch, c.sizes});
  return result;
}

namespace {

CheckedScript checked(const schedule::Script& script, const schedule::State& state,
                      std::vector<std::string> notes) {
  schedule::Prover prover(state.reference);
  return {schedule::print(script), state.tree ? schedule::print_nest(state.tree) : "",
          std::move(notes), schedule::rounding_notes(state, prover)};
}

}  // namespace

// A refusal is taken out of the guard: as an exception it would lose its counterexamples.
Outcome<CheckedScript> check(const Program& program, const CompileOptions& options) {
  std::optional<schedule::Refusal> refused;
  Outcome<CheckedScript> outcome = guarded([&] {
    const codegen::Target target = target_of(options);
    const schedule::Script script = script_of(options);
    std::vector<std::string> notes;
    schedule::ReplayOptions replay{.on_applied = {}, .notes = &notes};
    const auto state = schedule::replay(bind_sizes(program, options, Unbound::Open), script,
                                        target.machine, replay);
    if (state) return checked(script, *state, std::move(notes));
    refused = state.error();
    return CheckedScript{};
  });
  if (refused)
    return Failure{schedule::exit_status(refused->kind),
                   {schedule::to_string(*refused, "script", "")},
                   refusal_of(*refused)};
  return outcome;
}

Outcome<CheckedScript> write_script(const Program& program, const CompileOptions& options) {
  return guarded([&] {
    KernelRequest request(program, options);
    // A scheduler that declines is an error here: the reference order is not what was asked
    // for.
    request.options.strict = true;
    const driver::BuiltKernel built =
        driver::build_kernel(request.bound, request.target.machine, request.options);
    return checked(built.script, *built.state, built.notes);
  });
}

std::vector<std::string> directive_words() {
  std::vector<std::string> words;
  for (const schedule::DirectiveRow& row : schedule::all_directives())
    if (row.parse) words.emplace_back(row.word);
  return words;
}

}  // namespace polyte::api
