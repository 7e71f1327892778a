// Random Programs for fuzzers, as text over open sizes and the sizes to bind: small ones, often 1, sometimes 0.
//
//   pipelines     chains of pointwise definitions, reductions of every combiner, argmin and argmax, triangular sums;
//                 reads shifted, transposed, strided, halved, padded (`else 0`), gathered
//   regions       stencils in time, in place, scans up and down, recurrences, triangular eliminations
//   in place      updates of inout tensors, with predicates and run-time guards
//   instructions  what rows of ir/intrinsics.h compute, for tensorize
//
// Element types are integers (which wrap, so that every order of a sum gives the same bits) two times of three.
#pragma once

#include <memory>
#include <string>

#include "driver/fuzz/random.h"
#include "ir/interpret.h"

namespace polyte::fuzz {

struct RandomProgram {
  std::string text;        // one program, sizes open
  ir::Values sizes;        // all of them
  bool exact_sums = true;  // reordering its sums keeps every bit: integers
};
RandomProgram random_program(Random& random);

// The Program with its sizes bound. UserError where the text is not valid.
std::shared_ptr<const ir::Program> bound_program(const RandomProgram& program);

// Contents of the interface: integers of full width now and then, whole numbers in -4..4 otherwise; what subscripts
// a tensor stays within its extent.
ir::Environment random_environment(const ir::Program& program, std::uint64_t seed);

}  // namespace polyte::fuzz
