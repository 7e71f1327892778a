// lower: a scheduled State -> the loops that codegen emits (Flat form), by the passes of
// pass_list.h; every pass keeps the meaning of the program, and ir::interpret can run the loops
// between any two of them.
//
//   LoopProgram loops = lower(state, {.machine = machine});
//
// The interface of the result is the Program's, in its order, followed by one Const buffer for
// every staged buffer that is packed at compile time (its copy statement is then not in the
// kernel, see lower_packing).
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ir/loop_program.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::lower {

struct PassRun {
  std::string name;  // "vectorize loops"
  double milliseconds = 0;
  bool changed = false;
  const ir::LoopProgram* program = nullptr;  // after the pass
};

struct LowerOptions {
  const Machine& machine;
  // Dumps and timings; may be empty.
  std::function<void(const PassRun&)> on_pass = {};
  // Passes by name: optional ones only, else UserError(Usage).
  std::set<std::string> skip = {};
  std::vector<std::string>* notes = nullptr;  // what was not done as asked: a loop left serial, ...
  bool strict = false;                        // a note is a UserError(Refused)
};

ir::LoopProgram lower(const schedule::State& state, const LowerOptions& options);

// The loops as the State says them, all kinds still there (Nest form): before any pass.
ir::LoopProgram lower_to_nest(const schedule::State& state);

// Loops for people and other compilers: simplified, full tiles and tails apart, while vector
// loops and unrolled loops are still loops (Nest form). Subscripts read at run time are checked.
// Of a CPU.
ir::LoopProgram lower_to_plain_loops(const schedule::State& state, const LowerOptions& options);

// The copies that run at compile time: reads the Program's Const buffers, writes the packed ones
// (role Out). Flat, serial, in the order of the State; an empty body where nothing is packed.
ir::LoopProgram lower_packing(const schedule::State& state, const LowerOptions& options);

// Names of the passes in order, for `--skip` and documentation.
std::vector<std::string> pass_names();

}  // namespace polyte::lower
