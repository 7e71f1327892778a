// Brute-force execution of a State: every instance of every statement, ordered by the meaning of
// the tree alone (tree.h), on real values, staged buffers as cells of their own per iteration of
// their scope. An oracle that shares nothing with lower, isl or the primitives' reasoning. Finds
// reads of what nobody wrote, subscripts outside a buffer, and conflicts between iterations of
// parallel and vector loops.
#pragma once

#include <string>
#include <vector>

#include "ir/interpret.h"
#include "schedule/state/state.h"

namespace polyte::schedule {

// Executes on `buffers` as ir::interpret(Program) does; returns every problem found
// (at most a few of a kind).
std::vector<std::string> execute_state(const State& state, ir::Environment& buffers);

// Inputs of small integers (the same for every call of one seed), all interface inputs of
// the Program.
ir::Environment make_inputs(const ir::Program& program, int seed);

// Executes the State and the reference interpreter and compares every interface buffer bit for bit;
// after rewrites that round otherwise, as reciprocals, the interpreter runs the rewritten Program.
std::vector<std::string> compare_with_reference(const State& state, int seed = 1);

}  // namespace polyte::schedule
