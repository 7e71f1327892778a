// The stages of one kernel as text, for --emit: the doors at which a person can stand.
#include <algorithm>

#include "driver/cli/cli.h"
#include "ir/program_text.h"
#include "lower/lower.h"

namespace polyte::cli {
namespace {

std::string with_newline(std::string text) {
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

// Each template with the nests that took it and what filled its holes, then its text: a file of a folder for
// --templates.
std::string template_text(const driver::BuiltKernel& kernel) {
  if (kernel.asked != driver::Arm::Template)
    throw UserError(ExitStatus::Usage, "--emit template: '" + kernel.program->name + "' is scheduled by " +
                                           driver::to_string(kernel.asked) + ", not by --scheduler template");
  std::string text;
  std::vector<std::string> done;
  for (const schedule::TemplateUse& use : kernel.templates) {
    if (std::ranges::find(done, use.name) != done.end()) continue;
    done.push_back(use.name);
    for (const schedule::TemplateUse& same : kernel.templates) {
      if (same.name != use.name) continue;
      text += "# " + same.statement + ": " + use.origin;
      for (const std::string& role : same.roles) text += ", " + role;
      text += "\n";
    }
    text += with_newline(use.text) + "\n";
  }
  return text.empty() ? "# " + kernel.program->name + ": no nest takes a template\n" : text;
}

}  // namespace

const std::vector<std::string>& emit_kinds() {
  static const std::vector<std::string> kinds{"graph",      "groups", "program", "template", "script",
                                              "directives", "nest",   "loops",   "llvm-ir",  "asm"};
  return kinds;
}

std::string emit_kernel(const std::string& kind, const driver::BuiltKernel& kernel, const codegen::Target& target) {
  if (kind == "program") return with_newline(ir::print(*kernel.program));
  if (kind == "template") return template_text(kernel);
  if (kind == "script") return with_newline(schedule::print(kernel.script));
  if (kind == "directives")
    return with_newline(schedule::print(schedule::expand_to_directives(kernel.script, *kernel.state)));
  if (kind == "nest") return schedule::print_nests(kernel.state->tree);
  if (kind == "loops") return with_newline(ir::print(kernel.kernel.program));
  if (kind == "llvm-ir") return with_newline(codegen::emit_llvm_ir({&kernel.kernel, 1}, target));
  if (kind == "asm") return with_newline(codegen::emit_asm({&kernel.kernel, 1}, target));
  throw UserError(ExitStatus::Usage, "--emit " + kind + ": only a model has this");
}

}  // namespace polyte::cli
