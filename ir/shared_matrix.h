// Matrices in shared memory, as the instructions of a warpgroup read them (wgmma): in lines of 128
// bytes, of which each eight are swizzled by 16 bytes (`swizzle x by 8` of elements of 16 bits,
// rows of 128 bytes, a buffer that begins at a multiple of 1024). Lines run along the sum or, of
// elements of 16 bits, across it:
//
//   along   x: bf16[64, 64]     x[i, k]
//           a line per row; each 8 rows are `stride` bytes further
//   across  w: bf16[4, 64, 64]  w[j//64, k, j%64]
//           a line 64 columns of one k; each 8 of k are `stride` bytes further, the next 64 columns
//           `leading` bytes
//
// A descriptor of 64 bits tells the instruction which of them it is: PTX ISA, "Matrix
// descriptor" of wgmma.mma_async.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ir/loop_program.h"

namespace polyte::ir {

inline constexpr std::int64_t kLinesTogether = 8;
inline constexpr std::int64_t kSwizzledChunk = 16;  // bytes
// Bytes, of the buffer.
inline constexpr std::int64_t kMatrixAlignment = kLinesTogether * kSharedLine;

struct SharedMatrix {
  bool across = false;
  std::int64_t leading = kSwizzledChunk, stride = kMatrixAlignment;  // bytes; leading: only across
};

// How far in elements the matrix's element in row (or column) i, term k of the sum lies from
// its first one.
using MatrixOffset = std::function<std::int64_t(std::int64_t i, std::int64_t k)>;
// nullopt: it is neither.
std::optional<SharedMatrix> shared_matrix(std::int64_t rows, std::int64_t terms,
                                          std::int64_t element_bytes, const MatrixOffset& offset);

// The bits beside those of the address, of which bits 4 to 17 are the lowest.
std::uint64_t descriptor_bits(const SharedMatrix& matrix);

// As the hardware has it, of elements of this size.
Swizzle matrix_swizzle(std::int64_t element_bytes);

}  // namespace polyte::ir
