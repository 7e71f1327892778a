// Random Programs for fuzzers, as text over open sizes and the sizes to bind: small ones, often
// 1, sometimes 0.
//
//   pipelines     chains of pointwise definitions, reductions of every combiner, argmin and
//                 argmax, triangular sums; reads shifted, transposed, strided, halved, padded
//                 (`else 0`), gathered
//   regions       stencils in time, in place, scans up and down, recurrences,
//                 triangular eliminations
//   in place      updates of inout tensors, with predicates and run-time guards
//   updates       several generations of one accumulator, reads under conditions,
//                 scatters (random_updates.h)
//   softmax       sums of exponentials along with their maximum, for `rewrite online`
//   gram          products of columns above or below a diagonal: tiles of sums in registers,
//                 cut short
//   rows          many rows, each added to the same cells: several come together, or wait for
//                 each other
//   both ways     sums along the rows of a matrix and over them, in one pass or not
//   batches       products of matrices of many dimensions, some of one element, with a chain of
//                 definitions behind them
//   images        products of whole images, whose rows and columns are walked as one dimension,
//                 and of nearly whole ones
//   flat          matrices in one dimension, for view: digits in subscripts, and what only looks
//                 like them
//   scaled        products of operands that are computed as they are read, for precompute
//   turns         results that definitions fill in turn (y[2*i], y[2*i + 1]), or nearly, and
//                 elements of a table at subscripts from memory
//   instructions  what rows of ir/intrinsics.h compute, for tensorize
//
// Element types are integers (which wrap, so that every order of a sum gives the same bits)
// two times of three.
#pragma once

#include <memory>
#include <string>

#include "driver/judge/fuzz/random.h"
#include "ir/interpret.h"

namespace polyte::fuzz {

struct RandomProgram {
  std::string text;       // one program, sizes open
  ir::Values sizes = {};  // all of them
  // Its sums may be reordered: integers, floats that are small whole numbers.
  bool exact_sums = true;
  double tolerance = 0;  // ... or this is how far they may then be off, relative to 1 and more
  // It calls exp or tanh, whose last digits are not the interpreter's in native code: results may
  // be off as far there.
  bool has_functions = false;
};
RandomProgram random_program(Random& random);

// True where the sizes satisfy what the Program's header says of them.
bool allows(const ir::Program& program, const ir::Values& sizes);

// The Program with its sizes bound. UserError where the text is not valid.
std::shared_ptr<const ir::Program> bound_program(const RandomProgram& program);

}  // namespace polyte::fuzz
