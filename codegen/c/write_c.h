// Loops as C99, for people and other compilers: one function a LoopProgram of a CPU, in Nest form
// or (as packing is) Flat.
//
//   void gemm(double C[restrict 20][25], const double A[restrict 20][30],
//             const double B[restrict 30][25]) {
//     #pragma omp parallel for
//     for (int64_t i = 0; i < 20; i++)
//       #pragma omp simd
//       for (int64_t j = 0; j < 25; j++) C[i][j] = C[i][j] * 1.2;
//   }
//
// The arithmetic is that of ir/expr.h: fma() where the Program says so, unsigned where integers
// wrap, minima with their rule for NaN. Compiled as the text's first lines say, the bits are the
// interpreter's; exp and its kin are the C library's, which is what the interpreter calls. A vector
// loop has `omp simd` unless it calls these: a vector library rounds otherwise.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/loop_program.h"

namespace polyte::codegen {

// A translation unit with these functions, in order. UserError(Unsupported) with all that C cannot
// say: 16-bit floats, loops of a GPU, atomic stores.
std::string write_c(std::span<const ir::LoopProgram> functions);

// For tools that rewrite loops, which are between `#pragma scop` and `#pragma endscop`.
struct MarkedC {
  std::string text;
  // Defines what `text` declares, to be put behind what the tool has written: pet takes over the
  // body of whatever it sees defined.
  std::string helpers;
  // Of the function's own arrays, which are parameters behind its buffers: bytes. For what nobody
  // reads behind the loops pet takes for dead.
  std::vector<std::int64_t> arrays;
};
MarkedC write_marked_c(const ir::LoopProgram& function);

}  // namespace polyte::codegen
