// Schedules as loops, after every pass of lowering and as text that is read again: results against
// the interpreter of the Program.
#include "lower/build_loops.h"

#include <doctest/doctest.h>

#include "lower/flatten.h"
#include "lower/lower.h"
#include "lower/simplify.h"
#include "tests/lower/harness.h"
#include "tests/lower/state_tools.h"

using namespace polyte;
using namespace polyte::lower;

namespace {

void check_all_forms(const schedule::State& state) {
  const ir::LoopProgram loops = build_loops(state);
  CHECK(ir::verify(loops, ir::Form::Nest) == std::vector<std::string>{});
  CHECK(test::compare(*state.reference, loops) == "");
  CHECK(ir::print(ir::parse_loop_program(ir::print(loops), "printed")) == ir::print(loops));
  Machine machine;
  machine.vector_bits = 128;
  std::vector<std::string> notes;
  const ir::LoopProgram flat =
      lower::lower(state, {.machine = machine,
                           .on_pass =
                               [&](const PassRun& run) {
                                 INFO(run.name);
                                 CHECK(test::compare(*state.reference, *run.program) == "");
                               },
                           .notes = &notes});
  CHECK(ir::verify(flat, ir::Form::Flat) == std::vector<std::string>{});
  CHECK(notes == std::vector<std::string>{});
  CHECK(test::compare(*state.reference, flat) == "");
  CHECK(ir::print(ir::parse_loop_program(ir::print(flat), "printed")) == ir::print(flat));
}

}  // namespace

TEST_CASE("the reference tree of a dense layer") {
  check_all_forms(schedule::reference_state(std::make_shared<ir::Program>(test::dense(5, 6, 7))));
}

TEST_CASE("a tiled dense layer with odd sizes") {
  for (const auto& [m, n, k] :
       {std::tuple{5, 7, 9}, std::tuple{8, 8, 8}, std::tuple{1, 1, 1}, std::tuple{1, 13, 2}}) {
    const schedule::State state = test::tiled_dense(m, n, k, {2, 4, 3});
    CHECK(schedule::verify(state) == std::vector<std::string>{});
    check_all_forms(state);
    check_all_forms(test::tiled_dense(m, n, k, {2, 4, 16}, true));
  }
}
