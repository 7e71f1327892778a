// --explain: which dependences there are, and what keeps loops of a finished schedule from threads
// and from vectors: the proof is asked of each loop that has neither.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "driver/compile/build_kernel.h"

namespace polyte::cli {

// A line for each pair of statements and tensor, "S4 after S3, through R   flow (k, j): (0, 0)": at
// most so many as are read at a glance, then how many more.
std::vector<std::string> dependence_lines(const std::shared_ptr<const ir::Program>& program);

// Of nests without a loop for threads, their outermost loops, "I: flow of A[i, j] ..". Empty: each
// nest has one, or it is a GPU's.
std::vector<std::string> thread_lines(const driver::BuiltKernel& kernel, const Machine& machine);
// Of statements outside of vectors, their innermost loops. Empty: there are none.
std::vector<std::string> vector_lines(const driver::BuiltKernel& kernel, const Machine& machine);

}  // namespace polyte::cli
