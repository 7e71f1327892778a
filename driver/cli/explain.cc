// --explain of one kernel. The order is that of the decisions: schedule, storage, floating-point
// order, proof.
#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "driver/cli/explain_order.h"
#include "driver/cli/reports.h"
#include "schedule/proof/rounding.h"

namespace polyte::cli {
namespace {

using schedule::Provenance;

std::string kib(std::int64_t bytes) { return std::to_string(bytes / 1024) + " KiB"; }

// Why directives of this origin are what they are.
std::string reason_of(Provenance provenance, const Machine& machine) {
  switch (provenance) {
    case Provenance::Person:
      return "person       a line of the script's author";
    case Provenance::Template:
      return "template     the manual template for the structure of this Program, sized by the "
             "machine";
    case Provenance::Isl:
      return "isl          order, fusion and what may run in parallel, from the exact dependences";
    case Provenance::TileModel:
      return "tile-model   sizes, layouts, places and the loops around a tile by formulas over " +
             std::to_string(machine.vector_registers) + " registers of " +
             std::to_string(machine.vector_bits) + " bits, L1 " + kib(machine.l1.bytes) + ", L2 " +
             kib(machine.l2.bytes) + ", L3 " + kib(machine.l3.bytes) + " a core";
  }
  return "";
}

std::string storage_line(const schedule::StagedBuffer& staged, const schedule::State& state) {
  std::string text = staged.name + ": " + std::string(to_string(staged.dtype)) + "[";
  for (std::size_t i = 0; i < staged.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(staged.shape[i]);
  text += "] of " + staged.of;
  text += staged.at_compile_time ? ", packed when compiled" : ", " + to_string(staged.memory);
  const schedule::Loop* scope = schedule::find_loop(state.tree, staged.scope_loop);
  return scope ? text + ", anew in each iteration of " + scope->name : text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// A titled paragraph: the first line beside the title, the others below it.
void add(std::string& text, std::string title, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    title.resize(std::max<std::size_t>(title.size(), 15), ' ');
    text += "  " + title + line + "\n";
    title.clear();
  }
}

}  // namespace

std::string nest_line(const driver::BuiltKernel& kernel) {
  return kernel.state->tree ? schedule::print_nest(kernel.state->tree) : "nothing to do";
}

std::vector<std::string> storage_lines(const driver::BuiltKernel& kernel) {
  std::vector<std::string> lines;
  for (const schedule::StagedBuffer& staged : kernel.state->staged)
    lines.push_back(storage_line(staged, *kernel.state));
  for (const auto& [temporary, tensor] : kernel.state->reused)
    lines.push_back(temporary + ": in the memory of " + tensor);
  return lines;
}

std::vector<std::string> order_lines(const driver::BuiltKernel& kernel) {
  schedule::Prover prover(kernel.state->reference);
  const std::vector<std::string> notes = schedule::rounding_notes(*kernel.state, prover);
  return notes.empty() ? std::vector<std::string>{"unchanged"} : notes;
}

std::string proof_line(const driver::BuiltKernel& kernel, bool proved) {
  if (kernel.script.directives.empty()) return "the reference order itself, nothing to prove";
  return proved ? "legal, end to end" : "none, as --no-proof asks";
}

std::vector<std::string> notes_of(const graph::OptimizeReport& passes, std::string_view pass) {
  const auto found = std::ranges::find(passes.passes, pass, &graph::PassRecord::name);
  return found == passes.passes.end() ? std::vector<std::string>{} : found->notes;
}

std::string layouts_text(const graph::OptimizeReport& passes) {
  std::string text;
  for (const std::string& note : notes_of(passes, kLayoutPass)) text += "layout  " + note + "\n";
  if (text.empty())
    text = "layout  as the model has it: no region would win by channels in blocks\n";
  for (const std::string& note : notes_of(passes, kConvolutionPass))
    text += "convolution  " + note + "\n";
  return text;
}

// Who chose a line is part of the Script (Provenance); each origin is explained once.
std::string explain_kernel(const driver::BuiltKernel& kernel, const Machine& machine, bool proved,
                           bool with_dependences) {
  const schedule::Script& script = kernel.script;
  std::vector<std::string> directives = lines_of(schedule::print(script)), reasons, notes;
  directives.erase(directives.begin());  // the header
  if (directives.empty()) directives = {"none: the reference order"};
  std::set<Provenance> origins;
  for (const schedule::Directive& directive : script.directives) {
    if (origins.insert(directive.provenance).second)
      reasons.push_back(reason_of(directive.provenance, machine));
  }
  for (const std::string& note : kernel.notes)
    std::ranges::copy(lines_of(note), std::back_inserter(notes));
  std::string text = kernel.program->name + "@" + ir::digest(*kernel.program) + "\n";
  const std::string declined =
      kernel.declined ? ", " + to_string(kernel.asked) + " was asked for and declined" : "";
  add(text, "schedule", {script.name + declined});
  add(text, "directives", directives);
  add(text, "chosen by", reasons);
  if (with_dependences) add(text, "dependences", dependence_lines(kernel.program));
  if (!kernel.considered.empty()) add(text, "considered", kernel.considered);
  add(text, "nest", {nest_line(kernel)});
  add(text, "no threads", thread_lines(kernel, machine));
  add(text, "no vectors", vector_lines(kernel, machine));
  add(text, "storage", storage_lines(kernel));
  add(text, "float order", order_lines(kernel));
  add(text, "proof", {proof_line(kernel, proved)});
  add(text, "second judge", {kernel.second_judge.text});
  add(text, "declined", notes.empty() ? std::vector<std::string>{"nothing"} : notes);
  return text;
}

}  // namespace polyte::cli
