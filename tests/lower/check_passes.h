// A State through build_loops and every pass: the interpreter must see the reference's bits
// after each.
#pragma once

#include <doctest/doctest.h>

#include "lower/lower.h"
#include "schedule/state/state.h"
#include "support/error.h"
#include "tests/lower/harness.h"

namespace polyte::test {

// Runs the packing kernel, where there is one, and puts its results beside the inputs.
inline void pack(const schedule::State& state, const lower::LowerOptions& options,
                 ir::Environment& environment) {
  ir::Environment packed = environment;
  const ir::LoopProgram packing = lower::lower_packing(state, options);
  ir::interpret(packing, packed, {});
  for (const ir::Buffer& b : packing.buffers) environment[b.name] = packed.at(b.name);
}

inline std::string difference_of(const schedule::State& state, const ir::LoopProgram& loops,
                                 const ir::Environment& inputs, const ir::Environment& expected) {
  try {
    ir::Environment actual = inputs;
    ir::interpret(loops, actual, {});
    return difference(state.reference->buffers, expected, actual);
  } catch (const UserError& error) {
    return error.what();
  }
}

// At this length of vectors, in bits.
inline void check_passes(const schedule::State& state, int vector_bits) {
  Machine machine;
  machine.vector_bits = vector_bits;
  std::vector<std::string> notes;
  ir::Environment inputs = inputs_of(state.reference->buffers, {}, 7), expected = inputs;
  ir::interpret(*state.reference, expected, {});
  pack(state, {.machine = machine}, inputs);
  ir::LoopProgram before;
  const auto on_pass = [&](const lower::PassRun& run) {
    CAPTURE(run.name);
    const std::string differs = difference_of(state, *run.program, inputs, expected);
    CHECK(differs == "");
    if (!differs.empty() && before.body)
      MESSAGE(ir::print(before) << "becomes\n" << ir::print(*run.program));
    if (!differs.empty() && !before.body) MESSAGE(ir::print(*run.program));
    before = *run.program;
  };
  lower::lower(state, {.machine = machine, .on_pass = on_pass, .notes = &notes});
}

}  // namespace polyte::test
