// Each pass over loops on a golden: the text before and after it, read by a person. That both mean
// the same is checked as well, so that a wrong result cannot be blessed.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "ir/program_text.h"
#include "lower/lower.h"
#include "lower/pass_list.h"
#include "schedule/script/replay.h"
#include "support/gpu_machines.h"
#include "tests/lower/harness.h"
#include "tests/passes/pass_golden.h"

namespace polyte {
namespace {

using testing::PassGolden;

Machine narrow_machine() {
  Machine machine;
  machine.vector_bits = 128;
  machine.vector_registers = 32;
  return machine;
}

const lower::Pass& pass_named(const std::string& name) {
  for (const auto list : {lower::pass_list(), lower::gpu_pass_list()}) {
    const auto found =
        std::ranges::find_if(list, [&](const lower::Pass& pass) { return name == pass.name; });
    if (found != list.end()) return *found;
  }
  FAIL(name);
  return lower::pass_list().front();
}

// "M=6 N=10"
ir::Values sizes_of(const std::string& text) {
  ir::Values sizes;
  std::istringstream items(text);
  for (std::string item; items >> item;)
    sizes[item.substr(0, item.find('='))] = std::stoll(item.substr(item.find('=') + 1));
  return sizes;
}

schedule::State state_of(const std::string& program_text, const std::string& lines,
                         const ir::Values& sizes) {
  const auto program = std::make_shared<const ir::Program>(
      ir::bind(ir::parse_program(program_text, "golden"), sizes));
  const auto script = schedule::parse_script(
      "schedule s/1 for " + program->name + " f32 exact\n" + lines, "golden");
  auto state =
      schedule::replay(program, script, narrow_machine(), {schedule::ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  return *std::move(state);
}

void set_result(PassGolden& golden, const ir::LoopProgram& after,
                const std::vector<std::string>& notes) {
  golden.set_section("after", ir::print(after));
  golden.set_section("notes", testing::lines_of(notes));
}

// `build loops` has a Program and a script before it.
void make_built(PassGolden& golden, const lower::Pass& pass) {
  const ir::Values sizes = sizes_of(golden.setting("sizes"));
  const schedule::State state =
      state_of(golden.section("program"), golden.section("script"), sizes);
  const Machine machine = narrow_machine();
  lower::PassContext context{.machine = machine, .state = &state};
  const ir::LoopProgram loops = pass.run({}, context);
  lower::check_result(pass, loops);
  CHECK(test::compare(*state.reference, loops) == "");
  set_result(golden, loops, context.notes);
}

void make_loops(PassGolden& golden) {
  const lower::Pass& pass = pass_named(golden.setting("pass"));
  if (pass.needs == lower::Needs::State) return make_built(golden, pass);
  const ir::LoopProgram before = ir::parse_loop_program(golden.section("before"), "before");
  CHECK(ir::print(before) == golden.section("before"));
  CHECK(lower::problems_of(before) == std::vector<std::string>{});
  REQUIRE(lower::obstacle(pass, before) == "");
  const std::string gpu = golden.setting("gpu");
  const Machine machine = gpu.empty() ? narrow_machine() : gpu_machine(gpu).value();
  lower::PassContext context{.machine = machine};
  const ir::LoopProgram after = pass.run(before, context);
  lower::check_result(pass, after);
  CHECK(test::compare(before, after, sizes_of(golden.setting("sizes"))) == "");
  set_result(golden, after, context.notes);
}

const char* const kDense = R"(program dense(M, N, K)
  in  x: f32[M, K]
  in  w: f32[K, N]
  in  b: f32[N]
  out y: f32[M, N]
  acc[m, n] = sum[k] x[m, k] * w[k, n]
  y[m, n]   = max(acc[m, n] + b[n], 0)
)";

}  // namespace

TEST_CASE("each loop pass makes of its goldens what they say") {
  const std::set<std::string> covered = testing::check_goldens("loops", make_loops);
  for (const auto list : {lower::pass_list(), lower::gpu_pass_list()})
    for (const lower::Pass& pass : list) CHECK_MESSAGE(covered.count(pass.name) == 1, pass.name);
}

TEST_CASE("loops between two passes are whole as text") {
  const char* const tiles =
      "split m by 4, n by 8, k by 8\nnest par m.o > n.o > { [m.i] > <n.i> > acc.init; "
      "k.o > k.i > [m.i] > <n.i> > acc.update; [m.i] > <n.i> > y }\nstage acc at n.o in register\n";
  const char* const scripts[] = {
      "", "vectorize y:n\n", tiles,
      "split m by 4, n by 8 tail mask\nnest m.o > n.o > { "
      "m.i > <n.i> > acc.init; k > m.i > <n.i> > acc.update; m.i > <n.i> > y }\n"};
  for (const char* script : scripts) {
    CAPTURE(script);
    const schedule::State state = state_of(kDense, script, {{"M", 6}, {"N", 21}, {"K", 10}});
    const Machine machine = narrow_machine();
    lower::PassContext context{.machine = machine, .state = &state};
    ir::LoopProgram straight, by_text;
    for (const lower::Pass& pass : lower::pass_list()) {
      CAPTURE(pass.name);
      straight = pass.run(straight, context);
      if (pass.needs != lower::Needs::State) {
        CHECK(lower::obstacle(pass, by_text) == "");
        by_text = pass.run(by_text, context);
        CHECK(ir::print(by_text) == ir::print(straight));
      }
      by_text = ir::parse_loop_program(ir::print(straight), "between");
      CHECK(lower::problems_of(by_text) == std::vector<std::string>{});
    }
    CHECK(ir::print(straight) == ir::print(lower::lower(state, {.machine = machine})));
  }
}

TEST_CASE("a pass says what it needs and the loops lack") {
  const auto obstacle = [](const std::string& pass, const std::string& body) {
    return lower::obstacle(
        pass_named(pass), ir::parse_loop_program("loops p\n  out y: f32[8, 8]\n\n" + body, "test"));
  };
  const std::string vectors = "  vector i in 0..8\n    y[0, i] = f32(1)\n";
  const std::string unrolled = "  unrolled i in 0..8\n    y[0, i] = f32(1)\n";
  const std::string flat = "  for i in 0..8\n    y[i] = f32(1)\n";
  CHECK(obstacle("simplify", vectors) == "");
  CHECK(obstacle("vectorize loops", vectors) == "");
  CHECK(obstacle("unroll loops", unrolled) == "");
  CHECK(obstacle("unroll loops", vectors) ==
        "takes loops without vector loops, here is 'i': 'vectorize loops' comes before it");
  CHECK(obstacle("hoist", vectors).starts_with("takes loops without vector loops"));
  CHECK(obstacle("hoist", unrolled) ==
        "takes loops without unrolled loops, here is 'i': 'unroll loops' comes before it");
  CHECK(obstacle("flatten", flat) ==
        "takes loops with a subscript for each dimension, these are flat: they went through "
        "'flatten'");
  CHECK(obstacle("build loops", flat) ==
        "makes loops of a Program and its script, which loops do not hold");
}

}  // namespace polyte
