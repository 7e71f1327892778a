// ldmatrix: all lanes of a warp load 8x8 matrices of 16 bits per element (or of pairs of bytes)
// out of shared memory at once. In loops it is a point nest, a copy of matrices q, of their rows
// r, of the elements e that follow each other in 16 bytes, into registers of lanes, each where the
// instruction puts it:
//
//   tensorized ldmatrix_x4
//     for q in 0..4 for r in 0..8 for e in 0..8     f[0, 2*q + e%2, 4*r + e//2] = x.c[.., .. + e]
//
// and transposed f[0, 2*q + r%2, 4*e + r//2]. PTX ISA, "Warp-level matrix load instruction:
// ldmatrix".
#pragma once

#include <optional>

#include "ir/loop_program.h"

namespace polyte::ir {

struct MatrixLoad {
  int count = 0;  // of matrices: 2 or 4
  bool transposed = false;
  std::string matrix, row, element;  // variables of its loops
  const Store* store = nullptr;
  const Load* load = nullptr;
};

std::string matrix_load_name(int count, bool transposed);  // "ldmatrix_x4_trans"
// nullopt: another instruction, or not of this form.
std::optional<MatrixLoad> matrix_load_of(const Tensorized& tensorized);
inline constexpr std::int64_t kMatrixRows = 8, kMatrixRowBytes = 16;

// True of instructions that all lanes of a warp run together.
bool is_of_warp(const Tensorized& tensorized);
bool is_of_warp(const Stmt& s);  // such an instruction

}  // namespace polyte::ir
