#include "lower/lower.h"

#include <chrono>

#include "lower/build_loops.h"
#include "lower/flatten.h"
#include "lower/simplify.h"
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
    const bool changed = !program.body || !ir::equal(after.body, program.body);
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

}  // namespace

LoopProgram lower(const schedule::State& state, const LowerOptions& options) {
  PassList list(options);
  list.run("build loops", Form::Nest, [&](const LoopProgram&) { return build_loops(state); });
  list.run("simplify", Form::Nest, [](const LoopProgram& p) { return simplify(p); });
  list.run("flatten", Form::Flat, flatten);
  return std::move(list.program);
}

LoopProgram lower_to_nest(const schedule::State& state) { return build_loops(state); }

LoopProgram lower_packing(const schedule::State& state, const LowerOptions& options) {
  PassList list(options);
  list.run("build loops", Form::Nest, [&](const LoopProgram&) { return build_loops(state, Part::Packing); });
  list.run("flatten", Form::Flat, flatten);
  return std::move(list.program);
}

}  // namespace polyte::lower
