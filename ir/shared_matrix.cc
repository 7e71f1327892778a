#include "ir/shared_matrix.h"

namespace polyte::ir {
namespace {

// Lines of `line` elements along the first subscript: every eighth of the second one `stride`
// further, and the next line of the same `leading`.
struct Lines {
  std::int64_t line, leading, stride;
  std::int64_t at(std::int64_t along, std::int64_t across) const {
    return along / line * leading + along % line + across / kLinesTogether * stride +
           across % kLinesTogether * line;
  }
};

// By trying every element: the operand of one instruction is small, and whatever subscripts made
// the offsets, the answer is exact.
bool lies_so(const Lines& lines, std::int64_t along, std::int64_t across,
             const MatrixOffset& offset) {
  for (std::int64_t i = 0; i < along; ++i)
    for (std::int64_t j = 0; j < across; ++j)
      if (offset(i, j) != lines.at(i, j)) return false;
  return true;
}

}  // namespace

std::optional<SharedMatrix> shared_matrix(std::int64_t rows, std::int64_t terms,
                                          std::int64_t element_bytes, const MatrixOffset& offset) {
  const std::int64_t line = kSharedLine / element_bytes,
                     together = kMatrixAlignment / element_bytes;
  const auto is_aligned = [&](std::int64_t distance) {
    return distance > 0 && distance % together == 0;
  };
  const Lines along{line, 0, rows > kLinesTogether ? offset(kLinesTogether, 0) : together};
  const auto turned = [&](std::int64_t k, std::int64_t i) { return offset(i, k); };
  if (terms <= line && is_aligned(along.stride) && lies_so(along, terms, rows, turned))
    return SharedMatrix{false, kSwizzledChunk, along.stride * element_bytes};
  const Lines across{line, rows > line ? offset(line, 0) : together, offset(0, kLinesTogether)};
  if (element_bytes == 2 && is_aligned(across.leading) && is_aligned(across.stride) &&
      lies_so(across, rows, terms, offset))
    return SharedMatrix{true, across.leading * element_bytes, across.stride * element_bytes};
  return std::nullopt;
}

// Addresses and offsets are given in units of 16 bytes. Bits 0 to 13 are the start address, 16 to
// 29 the leading offset, 32 to 45 the stride, 62 and 63 the swizzle, of which 1 is that of 128
// bytes.
std::uint64_t descriptor_bits(const SharedMatrix& matrix) {
  constexpr std::uint64_t kSwizzledBy128 = 1;
  const auto sixteenths = [](std::int64_t bytes) { return static_cast<std::uint64_t>(bytes) / 16; };
  return sixteenths(matrix.leading) << 16U | sixteenths(matrix.stride) << 32U |
         kSwizzledBy128 << 62U;
}

Swizzle matrix_swizzle(std::int64_t element_bytes) {
  return {kSwizzledChunk / element_bytes, kSharedLine / element_bytes};
}

}  // namespace polyte::ir
