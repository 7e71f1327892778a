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

Verdict check(CompletionRun& result, const std::shared_ptr<const ir::Program>& program, const codegen::Target& target) {
  const Machine& machine = target.machine;
  const auto completion = poly::complete(program, result.partial, machine);
  const auto again = poly::complete(program, result.partial, machine);
  if (static_cast<bool>(completion) != static_cast<bool>(again) ||
      (completion && schedule::print(completion->script) != schedule::print(again->script)))
    return failed("another completion each time", "");
  if (!completion) {
    const schedule::Refusal& refusal = completion.error();
    const std::string text = refusal.directive + ": " + refusal.headline;
    if (result.is_witnessed) return failed("no completion", text);
    const bool is_illegal = refusal.kind == schedule::RefusalKind::Illegal;
    return {.outcome = is_illegal ? Outcome::Illegal : Outcome::Undecided, .detail = text};
  }
  result.completed.script = completion->script;
  const auto broken = schedule::broken_pins(program, result.partial, completion->script, machine);
  if (!broken.empty()) return failed("a broken pin", schedule::print(broken.front()));
  Verdict verdict = judge(result.completed, target);
  if (verdict.outcome == Outcome::Accepted || verdict.outcome == Outcome::Failed) return verdict;
  return failed("refused", verdict.detail);
}

}  // namespace

CompletionRun run_completion(std::uint64_t seed, std::uint64_t run, int native_percent, const codegen::Target& target) {
  Random random(seed, run);
  CompletionRun result;
  const auto programs = completion_programs();
  result.completed.native = random.chance(native_percent);
  result.completed.data_seed = random.next();
  result.completed.program = programs[run % programs.size()];
  const auto program = bound_program(result.completed.program);
  codegen::Target shared = target;
  shared.machine.cores = random.chance(30) ? 4 : 1;
  const RandomPins pins = random_pins(program, shared.machine, random);
  result.partial = pins.script;
  result.is_witnessed = pins.is_witnessed;
  result.verdict = check(result, program, shared);
  return result;
}

}  // namespace polyte::fuzz
