// The list of loop passes, one row each: `lower` runs it in order, `polyte opt` any of it by name.
//
//   for (const Pass& pass : pass_list()) program = pass.run(program, context);
//
// A row says what a pass needs of the loops and what it gives. In the list each finds what it
// needs; whoever runs a pass alone asks `obstacle` first, and `check_result` after it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/loop_program.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::lower {

// What the passes of one run share.
struct PassContext {
  const Machine& machine;
  // What `build loops` builds; loops that come as text have none.
  const schedule::State* state = nullptr;
  std::vector<std::string> notes = {};  // what was not done as asked
};

enum class Needs {
  State,          // no loops: it makes them
  Nest,           // a subscript for each dimension; loops of every kind
  NoVectorLoops,  // Nest, but vectors are lanes of accesses
  Native,         // neither vector nor unrolled loops (ir::Form)
};

struct Pass {
  const char* name;  // "vectorize loops"
  const char* what;  // it does, in a line
  Needs needs;
  ir::Form gives;
  bool optional;  // the loops can do without
  ir::LoopProgram (*run)(const ir::LoopProgram& program, PassContext& context);
};

std::span<const Pass> pass_list();  // of a CPU
std::span<const Pass> gpu_pass_list();
std::span<const Pass> pass_list_of(const Machine& machine);
std::span<const Pass> packing_pass_list();  // of the copies that run at compile time

// Why `pass` cannot run on these loops, which are well formed in some form: "has the vector loop
// 'n.i', ...". Empty where it can.
std::string obstacle(const Pass& pass, const ir::LoopProgram& program);

// InternalError with the loops where they are not in the form that `pass` gives.
void check_result(const Pass& pass, const ir::LoopProgram& program);

// Loops that did not come from a pass: the problems in the form that they are nearest to.
// Empty: well formed.
std::vector<std::string> problems_of(const ir::LoopProgram& program);

}  // namespace polyte::lower
