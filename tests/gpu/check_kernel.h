// Kernels of a GPU by the emulator, against the Program's own meaning.
#pragma once

#include <memory>
#include <string>

#include "driver/compile/build_kernel.h"
#include "ir/interpret.h"

namespace polyte::gpu::testing {

// Bit for bit; to within rounding where not, and to within this part of the largest element.
bool agree(const ir::Contents& a, const ir::Contents& b, bool is_exact, double of_largest = 0);

// On small whole numbers: what the interpreter gives, within rounding (its exp is another one),
// and the bits of it.
struct Expected {
  ir::Environment inputs, outputs;
};
Expected expected_of(const std::shared_ptr<const ir::Program>& program);
// The kernel gives that in a random order of its threads: the bits, where its contract keeps them.
void check_run(const driver::BuiltKernel& kernel, const Expected& expected);

// Statements of a good many iterations that one thread of each block runs, by their names: no loop
// of threads is around them, or one of a single iteration. Not those of few steps a block beside
// what all of its threads do.
std::string on_one_thread(const driver::BuiltKernel& kernel);

}  // namespace polyte::gpu::testing
