#include "poly/auto_schedule.h"

#include "poly/affine_core.h"
#include "poly/strategy_cpu.h"

namespace polyte::poly {
namespace {

DType result_type(const ir::Program& program) {
  DType type = DType::F32;
  for (const ir::Buffer& buffer : program.buffers) {
    if (buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut) type = buffer.dtype;
  }
  return type;
}

}  // namespace

Result<schedule::Script> auto_schedule(const ir::Program& program, const Machine& machine, const PolyOptions& options) {
  const schedule::State reference = schedule::reference_state(std::make_shared<const ir::Program>(program));
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
  const std::string text = "schedule " + program.name + (options.affine_core_only ? "/isl" : "/poly") + " for " +
                           program.name + "@" + ir::digest(program) +
                           (machine.cpu.empty() ? "" : " on " + machine.cpu) + " " +
                           std::string(to_string(result_type(program))) + " exact\n" + *lines;
  schedule::Script script = schedule::parse_script(text, "poly");
  for (schedule::Directive& directive : script.directives) directive.line = 0;
  return script;
}

}  // namespace polyte::poly
