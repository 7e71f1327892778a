// The stages of one kernel as text, for --emit.
#include <algorithm>
#include <set>
#include <sstream>

#include "codegen/c/write_c.h"
#include "codegen/nvptx/assembler.h"
#include "driver/cli/access_report.h"
#include "driver/cli/ahead_of_time.h"
#include "driver/cli/cli.h"
#include "ir/program_text.h"
#include "lower/lower.h"
#include "poly/whole_program.h"
#include "schedule/proof/isl_schedule_text.h"
#include "schedule/proof/openscop.h"

namespace polyte::cli {
namespace {

std::string with_newline(std::string text) {
  if (text.empty() || text.back() != '\n') text += '\n';
  return text;
}

// Each template with the nests that took it and what filled its holes, then its text: a file of a
// folder for --templates.
std::string template_text(const driver::BuiltKernel& kernel) {
  if (kernel.asked != driver::Scheduler::Template)
    throw UserError(ExitStatus::Usage, "--emit template: '" + kernel.program->name +
                                           "' is scheduled by " + driver::to_string(kernel.asked) +
                                           ", not by --scheduler template");
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

// Where threads meet and what they wait for, each place with the conflict for which it stands.
//   barrier 1   in k.o   w.c touches w.c before it, acc.update on another thread after it
class SyncPrinter {
 public:
  std::string text(const ir::LoopProgram& program) {
    visit(program.body, "");
    return text_.empty() ? program.name + ": no barriers\n" : text_;
  }

 private:
  std::string text_;
  int count_ = 0;

  void visit(const ir::Stmt& s, const std::string& loop) {
    if (const auto* barrier = std::get_if<ir::Barrier>(&s->op)) {
      text_ += std::string(barrier->of_warp ? "warp barrier " : "barrier ") +
               std::to_string(++count_) + (loop.empty() ? "" : "   in " + loop) + "   " +
               barrier->from + " touches " + barrier->buffer + " before it, " + barrier->to +
               " on another thread after it" + (barrier->fenced ? ", fenced" : "") + "\n";
      return;
    }
    if (const auto* group = std::get_if<ir::CopyGroup>(&s->op); group && group->wait)
      text_ += "await copies" + (loop.empty() ? "" : "   in " + loop) + "   all but the latest " +
               std::to_string(group->pending) + " groups of a thread have landed\n";
    const auto* products = std::get_if<ir::ProductGroup>(&s->op);
    if (products && products->step == ir::ProductGroup::Step::Wait)
      text_ += "await products" + (loop.empty() ? "" : "   in " + loop) + "   all but the latest " +
               std::to_string(products->pending) + " groups of a warp are made\n";
    const auto* around = std::get_if<ir::For>(&s->op);
    const bool is_loop = around && !ir::is_of_device(around->kind);
    ir::rewrite_children(s, [&](const ir::Stmt& child) {
      visit(child, is_loop ? around->loop : loop);
      return child;
    });
  }
};

// What the assembler made of each kernel.
std::string resources_text(const driver::BuiltKernel& kernel, const codegen::Target& target) {
  const codegen::ObjectCode object = codegen::compile({&kernel.kernel, 1}, target);
  const codegen::DeviceBinary binary = codegen::assemble_ptx(object.device, target.machine);
  const std::vector<codegen::LaunchInfo>& launches = object.kernels.at(0).launches;
  std::string text;
  for (std::size_t i = 0; i < binary.kernels.size(); ++i) {
    const codegen::DeviceBinary::Kernel& one = binary.kernels[i];
    text += one.name + ": " + std::to_string(one.registers) + " registers";
    for (const auto& [bytes, what] :
         {std::pair{one.spill_store_bytes, "bytes spilled"}, {one.stack_bytes, "bytes of stack"}})
      text += ", " + std::to_string(bytes) + " " + what;
    for (const codegen::LaunchInfo& launch : launches)
      if (launch.name == one.name)
        text += ", " + std::to_string(launch.threads) + " threads per block, " +
                std::to_string(launch.shared_bytes) + " bytes of shared memory";
    text += "\n";
  }
  for (const std::string& message : binary.messages) text += message + "\n";
  return text;
}

// Assembled and taken apart again: sass exists as machine code only.
std::string sass_text(const driver::BuiltKernel& kernel, const codegen::Target& target) {
  const codegen::ObjectCode object = codegen::compile({&kernel.kernel, 1}, target);
  return with_newline(codegen::disassemble(codegen::assemble_ptx(object.device, target.machine)));
}

// Every script that was tried and refused, in the order of the trying.
std::string refused_text(const driver::BuiltKernel& kernel, const Machine& machine) {
  if (kernel.refused.empty())
    return "# " + kernel.program->name + ": the proof refused nothing that " +
           driver::to_string(kernel.asked) + " wrote\n";
  std::string text;
  for (const schedule::RefusedScript& refused : kernel.refused)
    text += (text.empty() ? "" : "\n") +
            with_newline(schedule::print_refused(refused, kernel.program, machine));
  return text;
}

// What the price of orders is held to (bench/polybench/candidates.py).
std::string candidates_text(const ir::Program& program, const Machine& machine) {
  if (machine.gpu)
    throw UserError(ExitStatus::Unsupported,
                    "--emit candidates: orders of a CPU, the target is " + machine.cpu);
  std::string text;
  std::set<std::string> shown;  // several shapes may say the same
  for (const poly::Candidate& candidate : poly::candidates_of(program, machine, true)) {
    if (!candidate.script.empty() && !shown.insert(candidate.script).second) continue;
    std::ostringstream head;
    head << (text.empty() ? "" : "\n") << "# " << candidate.cycles
         << " cycles predicted: " << candidate.name;
    text += head.str() + "\n" +
            (candidate.script.empty() ? "# no script: the order is refused, or its vectors are\n"
                                      : with_newline(candidate.script));
  }
  return text.empty() ? "# isl finds no order\n" : text;
}

std::string sync_text(const ir::LoopProgram& program) { return SyncPrinter().text(program); }

// A kind that only a GPU's kernel has.
bool is_of_device(const std::string& kind) {
  return kind == "sync" || kind == "ptx" || kind == "resources" || kind == "memory" ||
         kind == "sass";
}

bool is_of_model(const std::string& kind) { return kind == "graph" || kind == "groups"; }
bool is_of_operator(const std::string& kind) { return kind == "header" || kind == "object"; }

}  // namespace

const std::vector<std::string>& emit_kinds() {
  static const std::vector<std::string> kinds{
      "graph",      "groups",     "program", "template",     "script",   "refused",
      "candidates", "directives", "nest",    "isl-schedule", "openscop", "loops",
      "c",          "header",     "object",  "llvm-ir",      "asm",      "sync",
      "ptx",        "resources",  "memory",  "sass"};
  return kinds;
}

// A model has stages of its own, and no file that C could include; an operator has no graph.
std::vector<std::string> emit_kinds_of(bool of_model) {
  std::vector<std::string> kinds;
  for (const std::string& kind : emit_kinds())
    if (of_model ? !is_of_operator(kind) : !is_of_model(kind)) kinds.push_back(kind);
  return kinds;
}

std::string emit_help(bool of_model) {
  std::string text = of_model ? "print stages:" : "print a stage:";
  const auto add = [&](bool device) {
    for (const std::string& kind : emit_kinds_of(of_model))
      if (is_of_device(kind) == device) text += " " + kind;
  };
  add(false);
  text += "; of a GPU's kernels";
  add(true);
  return text;
}

std::vector<std::string> device_kind_problems(const std::vector<std::string>& kinds,
                                              const codegen::Target& target) {
  std::vector<std::string> problems;
  for (const std::string& kind : kinds)
    if (target.kind != TargetKind::Cuda && is_of_device(kind))
      problems.push_back("--emit " + kind + " is of a GPU's kernels, the target is " +
                         target.machine.cpu + ": give --target cuda:h100 or another");
  return problems;
}

// One C file for all kernels: of each the function that packs its constants, where there is
// one, then the kernel.
std::string emit_c(std::span<const driver::BuiltKernel> kernels, const Machine& machine) {
  if (machine.gpu)
    throw UserError(ExitStatus::Unsupported,
                    "--emit c: kernels of a CPU, the target is " + machine.cpu);
  std::vector<ir::LoopProgram> functions;
  for (const driver::BuiltKernel& kernel : kernels) {
    if (!kernel.packed.empty()) {
      functions.push_back(kernel.packing);
      functions.back().name += "_pack";
    }
    functions.push_back(lower::lower_to_plain_loops(*kernel.state, {.machine = machine}));
  }
  return codegen::write_c(functions);
}

std::string emit_kernel(const std::string& kind, const driver::BuiltKernel& kernel,
                        const codegen::Target& target) {
  if (kind == "program") return with_newline(ir::print(*kernel.program));
  if (kind == "template") return template_text(kernel);
  if (kind == "script") return with_newline(schedule::print(kernel.script));
  if (kind == "refused") return refused_text(kernel, target.machine);
  if (kind == "candidates") return candidates_text(*kernel.program, target.machine);
  if (kind == "directives")
    return with_newline(schedule::print(schedule::expand_to_directives(kernel.script)));
  if (kind == "nest") return schedule::print_nests(kernel.state->tree);
  if (kind == "isl-schedule") return with_newline(schedule::isl_schedule_text(*kernel.state));
  if (kind == "openscop") return schedule::openscop_text(*kernel.state);
  if (kind == "loops") return with_newline(ir::print(kernel.kernel.program));
  if (kind == "c") return emit_c({&kernel, 1}, target.machine);
  if (kind == "llvm-ir") return with_newline(codegen::emit_llvm_ir({&kernel.kernel, 1}, target));
  if (kind == "asm") return with_newline(codegen::emit_asm({&kernel.kernel, 1}, target));
  if (kind == "sync") return sync_text(kernel.kernel.program);
  if (kind == "ptx") return with_newline(codegen::emit_asm({&kernel.kernel, 1}, target));
  if (kind == "memory") return predicted_memory(kernel.kernel.program);
  if (kind == "sass") return sass_text(kernel, target);
  if (kind == "resources") return resources_text(kernel, target);
  if (kind == "header") return codegen::write_c_header(compile_ahead(kernel, target).c_kernel);
  if (kind == "object") return compile_ahead(kernel, target).object;
  POLYTE_CHECK(false, "no kind of a kernel: " + kind);
}

}  // namespace polyte::cli
