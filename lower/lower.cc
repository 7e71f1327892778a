#include "lower/lower.h"

#include <chrono>

#include "lower/build_loops.h"
#include "lower/flatten.h"
#include "lower/hoist.h"
#include "lower/partition_loops.h"
#include "lower/place_buffers.h"
#include "lower/simplify.h"
#include "lower/unroll_loops.h"
#include "lower/vectorize_loops.h"
#include "support/error.h"

namespace polyte::lower {
namespace {

using ir::Form;
using ir::LoopProgram;

// One line a pass: names it, times it, verifies its result, hands it to the dumps; skips it if asked.
class PassList {
 public:
  explicit PassList(const LowerOptions& options) : options_(options) {}

  LoopProgram program;
  std::vector<std::string> notes;

  template <class Pass>
  void run(const char* name, Form form, const Pass& pass) {
    const auto begin = std::chrono::steady_clock::now();
    LoopProgram after = pass(program);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    const bool changed = options_.on_pass && (!program.body || !ir::equal(after.body, program.body));
    program = std::move(after);
    check(name, form);
    if (options_.on_pass) options_.on_pass({name, time.count(), changed, &program});
  }

 private:
  const LowerOptions& options_;

  void check(const std::string& name, Form form) const {
    const std::vector<std::string> problems = ir::verify(program, form);
    if (problems.empty()) return;
    std::string text = "after '" + name + "' the loops of '" + program.name + "' are not well formed:";
    for (const std::string& problem : problems) text += "\n  " + problem;
    throw InternalError(text + "\n" + ir::print(program));
  }
};

void report(const LoopProgram& program, const std::vector<std::string>& notes, const LowerOptions& options) {
  if (options.strict && !notes.empty()) {
    std::vector<std::string> problems;
    for (const std::string& note : notes) problems.push_back("kernel '" + program.name + "': " + note);
    throw UserError(ExitStatus::Refused, problems);
  }
  if (options.notes) options.notes->insert(options.notes->end(), notes.begin(), notes.end());
}

LoopProgram all_serial(LoopProgram program) {
  const std::function<ir::Stmt(const ir::Stmt&)> serial = [&](const ir::Stmt& s) {
    const ir::Stmt below = ir::rewrite_children(s, serial);
    const auto* loop = std::get_if<ir::For>(&below->op);
    if (!loop || loop->kind == ir::LoopKind::Serial) return below;
    ir::For copy = *loop;
    copy.kind = ir::LoopKind::Serial;
    return ir::make_for(std::move(copy));
  };
  program.body = serial(program.body);
  return program;
}

// Names of inner loops whose splits ask for guards or masks and none for a tail cut off.
std::set<std::string> uncut_loops(const schedule::State& state) {
  std::set<std::string> uncut, cut;
  for (const schedule::SplitRecord& split : state.splits)
    (split.tail == schedule::Tail::Cut ? cut : uncut).insert(split.loop + ".i");
  for (const std::string& name : cut) uncut.erase(name);
  return uncut;
}

}  // namespace

LoopProgram lower(const schedule::State& state, const LowerOptions& options) {
  PassList list(options);
  std::vector<std::string>& notes = list.notes;
  list.run("build loops", Form::Nest, [&](const LoopProgram&) { return build_loops(state); });
  list.run("simplify", Form::Nest, [](const LoopProgram& p) { return simplify(p); });
  list.run("partition loops", Form::Nest,
           [&](const LoopProgram& p) { return partition_loops(p, {.uncut = uncut_loops(state)}); });
  list.run("simplify parts", Form::Nest, [](const LoopProgram& p) { return simplify(p); });
  list.run("vectorize loops", Form::Nest,
           [&](const LoopProgram& p) { return vectorize_loops(p, options.machine, notes); });
  list.run("unroll loops", Form::Native, [&](const LoopProgram& p) { return unroll_loops(p, notes); });
  list.run("simplify copies", Form::Native, [](const LoopProgram& p) { return simplify(p); });
  list.run("hoist", Form::Native, hoist);
  list.run("place buffers", Form::Native, [&](const LoopProgram& p) { return place_buffers(p, notes); });
  list.run("flatten", Form::Flat, flatten);
  report(list.program, notes, options);
  return std::move(list.program);
}

LoopProgram lower_to_nest(const schedule::State& state) { return build_loops(state); }

LoopProgram lower_packing(const schedule::State& state, const LowerOptions& options) {
  PassList list(options);
  list.run("build loops", Form::Nest,
           [&](const LoopProgram&) { return all_serial(build_loops(state, Part::Packing)); });
  list.run("simplify", Form::Native, [](const LoopProgram& p) { return simplify(p); });
  list.run("flatten", Form::Flat, flatten);
  return std::move(list.program);
}

}  // namespace polyte::lower
