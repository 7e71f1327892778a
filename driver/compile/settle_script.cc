#include "driver/compile/settle_script.h"

#include <algorithm>

namespace polyte::driver {
namespace {

using Outcome = Result<schedule::State, schedule::Refusal>;

template <class... Kinds>
bool is_any_of(const schedule::Operation& operation) {
  return (std::holds_alternative<Kinds>(operation) || ...);
}

// Without them the same instances run in the same order. A later line may name what they made, and
// is then refused in its turn.
bool may_be_left_out(const schedule::Operation& operation) {
  using namespace schedule;  // NOLINT(google-build-using-namespace): thirteen names of it, below
  return is_any_of<Stage, FoldStorage, BoundStorage, StorageAlign, HoistStorage, Reuse, SetScope,
                   TransformLayout, DoubleBuffer, Prefetch, StoreNonTemporal, Reciprocal, Swizzle>(
      operation);
}

// Directives of a program have no lines; here each has its number, from 1.
void number(schedule::Script& script) {
  int line = 0;
  for (schedule::Directive& directive : script.directives) directive.line = ++line;
}

// The criterion of the whole names no line: the directives' own obligations may.
schedule::Refusal with_line(const std::shared_ptr<const ir::Program>& program,
                            const schedule::Script& script, const Machine& machine,
                            const schedule::Refusal& refusal) {
  if (refusal.line > 0) return refusal;
  schedule::ReplayOptions each;
  each.proof = schedule::ProofLevel::Directive;
  const Outcome state = schedule::replay(program, script, machine, each);
  return state ? refusal : state.error();
}

Outcome settle_numbered(const std::shared_ptr<const ir::Program>& program, schedule::Script& script,
                        const Machine& machine, const schedule::ReplayOptions& options,
                        std::vector<schedule::RefusedScript>& left_out) {
  for (;;) {
    Outcome state = schedule::replay(program, script, machine, options);
    if (state) return state;
    const schedule::Refusal refusal = with_line(program, script, machine, state.error());
    const auto at = std::ranges::find(script.directives, refusal.line, &schedule::Directive::line);
    if (refusal.line == 0 || at == script.directives.end() || !may_be_left_out(at->operation))
      return refusal;
    left_out.push_back({"'" + refusal.directive + "' is refused and left out: " + refusal.headline,
                        script, refusal});
    script.directives.erase(at);
  }
}

}  // namespace

Outcome settle_script(const std::shared_ptr<const ir::Program>& program, schedule::Script& script,
                      const Machine& machine, const schedule::ReplayOptions& options,
                      std::vector<schedule::RefusedScript>& left_out) {
  number(script);
  Outcome state = settle_numbered(program, script, machine, options, left_out);
  for (schedule::Directive& directive : script.directives) directive.line = 0;
  return state;
}

}  // namespace polyte::driver
