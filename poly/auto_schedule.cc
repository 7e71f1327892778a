#include "poly/auto_schedule.h"

#include <algorithm>

#include "poly/affine_core.h"
#include "poly/strategy_cpu.h"
#include "schedule/language/digits.h"

namespace polyte::poly {
namespace {

DType result_type(const ir::Program& program) {
  DType type = DType::F32;
  for (const ir::Buffer& buffer : program.buffers) {
    if (buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut) type = buffer.dtype;
  }
  return type;
}

schedule::Script script_of(const ir::Program& program, const Machine& machine, const PolyOptions& options,
                           const std::string& lines) {
  const std::string text = "schedule " + program.name + (options.affine_core_only ? "/isl" : "/poly") + " for " +
                           program.name + "@" + ir::digest(program) +
                           (machine.cpu.empty() ? "" : " on " + machine.cpu) + " " +
                           std::string(to_string(result_type(program))) + " exact\n" + lines;
  schedule::Script script = schedule::parse_script(text, "poly");
  for (schedule::Directive& directive : script.directives) directive.line = 0;
  return script;
}

}  // namespace

Result<schedule::Script> auto_schedule(const ir::Program& program, const Machine& machine, const PolyOptions& options) {
  const schedule::State reference = schedule::reference_state(std::make_shared<const ir::Program>(program));
  const bool is_empty = std::ranges::any_of(
      reference.statements, [&](const schedule::ScheduledStatement& s) { return schedule::is_empty(reference, s); });
  if (is_empty) return script_of(program, machine, options, "");  // of tensors without elements: the reference order
  const StrategyOptions strategy{.affine_core_only = options.affine_core_only};
  Result<AffineCore> core = compute_affine_core(program, {.quota = options.quota});
  if (!core) return core.error();
  std::optional<std::string> lines = schedule_for_cpu(program, reference, *core, machine, strategy);
  if (!lines) {
    core = compute_affine_core(program, {.quota = options.quota, .allow_maps = false});
    if (!core) return core.error();
    lines = schedule_for_cpu(program, reference, *core, machine, strategy);
  }
  if (!lines) return Decline{"no nest of isl's order is worth scheduling"};
  return script_of(program, machine, options, *lines);
}

}  // namespace polyte::poly
