// What instructions of all lanes of a GPU's warp do to their registers, for the emulator: the
// layouts of fragments as the PTX ISA prints them for each register ("Matrix fragments for
// mma.m16n8k16", "for mma.m16n8k32", "for mma.m16n8k8", "ldmatrix"). The compiler has its own
// description (ir/fragments.h), which shares nothing with this one.
//
// Products of floats are added up in double precision and rounded once. A GPU's sum of 16 products
// is rounded in a way that NVIDIA does not publish: bits agree where every sum is exact.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace polyte::runtime {

// Of 16 bits.
double of_half(std::uint32_t bits);
double of_bfloat(std::uint32_t bits);

struct LaneRegisters {
  const std::uint32_t* in = nullptr;
  std::uint32_t* out = nullptr;
};
using WarpRegisters = std::array<LaneRegisters, 32>;

// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32": in are the registers of a, b, c. False:
// not known.
bool multiply_matrices(const std::string& instruction, const WarpRegisters& lanes);

// Of 2 or 4 matrices; `rows`: lane 8 i + r has where row r of matrix i lies.
void load_matrices(const std::array<const void*, 32>& rows, std::int64_t count, bool transposed,
                   const WarpRegisters& lanes);

}  // namespace polyte::runtime
