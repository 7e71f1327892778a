#include "lower/lower.h"

#include <algorithm>

#include "lower/build_loops.h"
#include "lower/check_subscripts.h"
#include "lower/flatten.h"
#include "lower/hoist.h"
#include "lower/partition_loops.h"
#include "lower/place_buffers.h"
#include "lower/simplify.h"
#include "lower/unroll_loops.h"
#include "lower/vectorize_loops.h"
#include "support/error.h"
#include "support/stage_log.h"

namespace polyte::lower {
namespace {

using ir::Form;
using ir::LoopProgram;

struct Context {
  const schedule::State& state;
  const LowerOptions& options;
  std::vector<std::string> notes;
  std::set<std::string> uncut = {};  // variables of loops whose tails stay behind guards or masks
};

struct Pass {
  const char* name;
  Form form;      // of its result
  bool optional;  // the loops can do without
  LoopProgram (*run)(const LoopProgram&, Context&);
};

LoopProgram all_serial(LoopProgram program) {
  const std::function<ir::Stmt(const ir::Stmt&)> serial = [&](const ir::Stmt& s) {
    ir::Stmt below = ir::rewrite_children(s, serial);
    const auto* loop = std::get_if<ir::For>(&below->op);
    if (!loop || loop->kind == ir::LoopKind::Serial) return below;
    ir::For copy = *loop;
    copy.kind = ir::LoopKind::Serial;
    return ir::make_for(std::move(copy));
  };
  program.body = serial(program.body);
  return program;
}

// The list of the targets that are CPUs. Tails are cut while loops are still loops; what is vectorised is unrolled
// after it, so that pieces stand side by side inside; buffers find their places once subscripts are constants.
constexpr Pass kCpuPasses[] = {
    {"build loops", Form::Nest, false,
     [](const LoopProgram&, Context& c) { return build_loops(c.state, Part::Kernel, &c.uncut); }},
    {"simplify", Form::Nest, false, [](const LoopProgram& p, Context&) { return simplify(p); }},
    {"partition loops", Form::Nest, true,
     [](const LoopProgram& p, Context& c) { return partition_loops(p, {.uncut = c.uncut}); }},
    {"simplify parts", Form::Nest, true, [](const LoopProgram& p, Context&) { return simplify(p); }},
    {"vectorize loops", Form::Nest, false,
     [](const LoopProgram& p, Context& c) { return vectorize_loops(p, c.options.machine, c.notes); }},
    {"unroll loops", Form::Native, false, [](const LoopProgram& p, Context& c) { return unroll_loops(p, c.notes); }},
    {"simplify copies", Form::Native, true, [](const LoopProgram& p, Context&) { return simplify(p); }},
    {"hoist", Form::Native, true, [](const LoopProgram& p, Context&) { return hoist(p); }},
    {"place buffers", Form::Native, false, [](const LoopProgram& p, Context& c) { return place_buffers(p, c.notes); }},
    {"check subscripts", Form::Native, false, [](const LoopProgram& p, Context&) { return check_subscripts(p); }},
    {"flatten", Form::Flat, false, [](const LoopProgram& p, Context&) { return flatten(p); }},
};

// The copies of compile time need neither speed nor vectors.
constexpr Pass kPackingPasses[] = {
    {"build loops", Form::Native, false,
     [](const LoopProgram&, Context& c) { return all_serial(build_loops(c.state, Part::Packing)); }},
    {"simplify", Form::Native, false, [](const LoopProgram& p, Context&) { return simplify(p); }},
    {"check subscripts", Form::Native, false, [](const LoopProgram& p, Context&) { return check_subscripts(p); }},
    {"flatten", Form::Flat, false, [](const LoopProgram& p, Context&) { return flatten(p); }},
};

void check(const LoopProgram& program, const Pass& pass) {
  const std::vector<std::string> problems = ir::verify(program, pass.form);
  if (problems.empty()) return;
  std::string text = std::string("after '") + pass.name + "' the loops of '" + program.name + "' are not well formed:";
  for (const std::string& problem : problems) text += "\n  " + problem;
  throw InternalError(text + "\n" + ir::print(program));
}

// Runs one pass: times it, verifies its result, hands it to the dumps.
void run(const Pass& pass, LoopProgram& program, Context& context) {
  LoopProgram after;
  const double milliseconds = milliseconds_of([&] { after = pass.run(program, context); });
  const auto& on_pass = context.options.on_pass;
  const bool changed = on_pass && (!program.body || !ir::equal(after.body, program.body));
  program = std::move(after);
  check(program, pass);
  if (on_pass) on_pass({pass.name, milliseconds, changed, &program});
}

void check_skips(const std::set<std::string>& skip) {
  std::vector<std::string> problems;
  for (const std::string& name : skip) {
    const auto* pass =
        std::find_if(std::begin(kCpuPasses), std::end(kCpuPasses), [&](const Pass& p) { return name == p.name; });
    if (pass == std::end(kCpuPasses)) problems.push_back("no pass '" + name + "' to skip");
    if (pass != std::end(kCpuPasses) && !pass->optional) problems.push_back("pass '" + name + "' cannot be skipped");
  }
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

void report(const LoopProgram& program, const std::vector<std::string>& notes, const LowerOptions& options) {
  if (options.strict && !notes.empty()) {
    std::vector<std::string> problems;
    for (const std::string& note : notes) problems.push_back("kernel '" + program.name + "': " + note);
    throw UserError(ExitStatus::Refused, problems);
  }
  if (options.notes) options.notes->insert(options.notes->end(), notes.begin(), notes.end());
}

}  // namespace

LoopProgram lower(const schedule::State& state, const LowerOptions& options) {
  check_skips(options.skip);
  Context context{state, options, {}, {}};
  LoopProgram program;
  for (const Pass& pass : kCpuPasses)
    if (!options.skip.count(pass.name)) run(pass, program, context);
  report(program, context.notes, options);
  return program;
}

LoopProgram lower_to_nest(const schedule::State& state) { return build_loops(state); }

LoopProgram lower_packing(const schedule::State& state, const LowerOptions& options) {
  Context context{state, options, {}, {}};
  LoopProgram program;
  for (const Pass& pass : kPackingPasses) run(pass, program, context);
  return program;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : kCpuPasses) names.push_back(pass.name);
  return names;
}

}  // namespace polyte::lower
