#include "lower/lower.h"

#include <algorithm>

#include "lower/build_loops.h"
#include "lower/check_subscripts.h"
#include "lower/pass_list.h"
#include "schedule/state/launches.h"
#include "support/error.h"
#include "support/stage_log.h"

namespace polyte::lower {
namespace {

using ir::LoopProgram;

using OnPass = std::function<void(const PassRun&)>;

// Runs one pass: times it, verifies its result, hands it to the dumps.
void run(const Pass& pass, LoopProgram& program, PassContext& context, const OnPass& on_pass) {
  LoopProgram after;
  const double milliseconds = milliseconds_of([&] { after = pass.run(program, context); });
  // Compared for dumps alone, since it walks the tree. There is no body before the first pass.
  const bool changed = on_pass && (!program.body || !ir::equal(after.body, program.body));
  program = std::move(after);
  check_result(pass, program);
  if (on_pass) on_pass({pass.name, milliseconds, changed, &program});
}

void check_skips(const std::set<std::string>& skip, std::span<const Pass> passes) {
  std::vector<std::string> problems;
  for (const std::string& name : skip) {
    const auto pass = std::ranges::find_if(passes, [&](const Pass& p) { return name == p.name; });
    if (pass == passes.end()) problems.push_back("no pass '" + name + "' to skip");
    if (pass != passes.end() && !pass->optional)
      problems.push_back("pass '" + name + "' cannot be skipped");
  }
  if (!problems.empty()) throw UserError(ExitStatus::Usage, problems);
}

// `strict` makes an error of each loop that stayed serial or buffer that left its registers.
void report(const LoopProgram& program, const std::vector<std::string>& notes,
            const LowerOptions& options) {
  if (options.strict && !notes.empty()) {
    std::vector<std::string> problems;
    for (const std::string& note : notes)
      problems.push_back("kernel '" + program.name + "': " + note);
    throw UserError(ExitStatus::Refused, problems);
  }
  if (options.notes) options.notes->insert(options.notes->end(), notes.begin(), notes.end());
}

}  // namespace

LoopProgram lower(const schedule::State& state, const LowerOptions& options) {
  if (!options.machine.gpu && schedule::is_for_device(state.tree))
    throw UserError(ExitStatus::Refused, "'" + state.reference->name +
                                             "' is scheduled for the blocks and threads of a "
                                             "GPU, the target is " +
                                             options.machine.cpu +
                                             ": compile it for one (--target cuda:h100)");
  const std::span<const Pass> passes = pass_list_of(options.machine);
  check_skips(options.skip, passes);
  PassContext context{.machine = options.machine, .state = &state};
  LoopProgram program;
  for (const Pass& pass : passes)
    if (!options.skip.count(pass.name)) run(pass, program, context, options.on_pass);
  report(program, context.notes, options);
  return program;
}

LoopProgram lower_to_nest(const schedule::State& state) { return build_loops(state); }

// The passes of a CPU up to the one that replaces vector loops by lanes, and checks of subscripts.
LoopProgram lower_to_plain_loops(const schedule::State& state, const LowerOptions& options) {
  PassContext context{.machine = options.machine, .state = &state};
  LoopProgram program;
  // Vector loops stay loops: the C that is written from this leaves lanes to its compiler.
  for (const Pass& pass : pass_list()) {
    if (std::string_view(pass.name) == "vectorize loops") break;
    run(pass, program, context, options.on_pass);
  }
  return check_subscripts(program);
}

LoopProgram lower_packing(const schedule::State& state, const LowerOptions& options) {
  PassContext context{.machine = options.machine, .state = &state};
  LoopProgram program;
  for (const Pass& pass : packing_pass_list()) run(pass, program, context, options.on_pass);
  return program;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : pass_list()) names.push_back(pass.name);
  return names;
}

}  // namespace polyte::lower
