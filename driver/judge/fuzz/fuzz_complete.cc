#include "driver/judge/fuzz/fuzz_complete.h"

#include "driver/judge/fuzz/completion_programs.h"
#include "driver/judge/fuzz/random_pins.h"
#include "poly/complete.h"
#include "schedule/script/pins.h"

namespace polyte::fuzz {
namespace {

Verdict failed(const std::string& what, const std::string& detail) {
  return {.outcome = Outcome::Failed, .failure = what, .detail = detail};
}

Verdict check(const CompletionCase& asked, schedule::Script& completed) {
  // Completes twice, for the same question must have the same answer. Then, where a completion
  // is known to exist (the pins were taken from a legal script), there has to be one; it must
  // keep every pin, and the judge has to accept it as it would any script.
  const Machine& machine = asked.target.machine;
  const auto program = bound_program(asked.drawn.program);
  const schedule::Script& partial = asked.drawn.script;
  const auto completion = poly::complete(program, partial, machine);
  const auto again = poly::complete(program, partial, machine);
  if (static_cast<bool>(completion) != static_cast<bool>(again) ||
      (completion && schedule::print(completion->script) != schedule::print(again->script)))
    return failed("another completion each time", "");
  if (!completion) {
    const schedule::Refusal& refusal = completion.error();
    const std::string text = refusal.directive + ": " + refusal.headline;
    if (asked.is_witnessed) return failed("no completion", text);
    const bool is_illegal = refusal.kind == schedule::RefusalKind::Illegal;
    return {.outcome = is_illegal ? Outcome::Illegal : Outcome::Undecided, .detail = text};
  }
  completed = completion->script;
  const auto broken = schedule::broken_pins(program, partial, completed, machine);
  if (!broken.empty()) return failed("a broken pin", schedule::print(broken.front()));
  Case finished = asked.drawn;
  finished.script = completed;
  Verdict verdict = judge(finished, asked.target);
  if (verdict.outcome == Outcome::Accepted || verdict.outcome == Outcome::Failed) return verdict;
  return failed("refused", verdict.detail);
}

}  // namespace

// Each of the twenty Programs in turn, so that few runs see all of them. One core or four: parallel
// loops are worth asking for only with several.
CompletionCase completion_case(std::uint64_t seed, std::uint64_t run, int native_percent,
                               const codegen::Target& target) {
  Random random(seed, run);
  CompletionCase result{.drawn = {}, .target = target};
  const auto programs = completion_programs();
  result.drawn.native = random.chance(native_percent);
  result.drawn.data_seed = random.next();
  result.drawn.program = programs[run % programs.size()];
  result.target.machine.cores = random.chance(30) ? 4 : 1;
  const RandomPins pins =
      random_pins(bound_program(result.drawn.program), result.target.machine, random);
  result.drawn.script = pins.script;
  result.is_witnessed = pins.is_witnessed;
  return result;
}

CompletionRun run_completion(std::uint64_t seed, std::uint64_t run, int native_percent,
                             const codegen::Target& target) {
  CompletionRun result{.verdict = {}, .asked = completion_case(seed, run, native_percent, target)};
  result.verdict = check(result.asked, result.completed);
  return result;
}

}  // namespace polyte::fuzz
