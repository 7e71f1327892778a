#include "schedule/templates/templates.h"

#include <algorithm>

#include "schedule/language/digits.h"
#include "schedule/templates/nests.h"

namespace polyte::schedule {
namespace {

using Template = bool (*)(const ir::Program&, const State&, const Machine&, const NestPlan&, ScriptText&, std::string&);
constexpr Template kTemplates[] = {schedule_reduction, schedule_pointwise};

DType result_type(const ir::Program& program) {
  DType type = DType::F32;
  for (const ir::Buffer& buffer : program.buffers) {
    if (buffer.role == ir::Role::Out || buffer.role == ir::Role::InOut) type = buffer.dtype;
  }
  return type;
}

std::string header(const ir::Program& program, const Machine& machine) {
  return "schedule " + program.name + "/template for " + program.name + "@" + ir::digest(program) +
         (machine.cpu.empty() ? "" : " on " + machine.cpu) + " " + std::string(to_string(result_type(program))) +
         " exact\n";
}

}  // namespace

Result<Script> make_template(const ir::Program& program, const Machine& machine) {
  const State reference = reference_state(std::make_shared<const ir::Program>(program));
  ScriptText text{header(program, machine)};
  const std::vector<NestPlan> plans = plan_nests(program);
  std::string reason;
  const auto is_empty = [&](const ir::Statement* s) {
    return s && schedule::is_empty(reference, reference.at(s->name));
  };
  const auto takes = [&](const NestPlan& plan) {
    if (is_empty(plan.update) || is_empty(plan.plain)) return true;  // without iterations nothing is to schedule
    const bool taken = std::ranges::any_of(
        kTemplates, [&](Template schedule) { return schedule(program, reference, machine, plan, text, reason); });
    ++text.nest;
    return taken;
  };
  // What no template takes stays in reference order beside the others; alone it is declined.
  if (std::ranges::count_if(plans, takes) == 0 && !plans.empty()) return Decline{reason};
  Script script = parse_script(text.lines, "template");
  for (Directive& directive : script.directives) {
    directive.provenance = Provenance::Template;
    directive.line = 0;
  }
  return script;
}

}  // namespace polyte::schedule
