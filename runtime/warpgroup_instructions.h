// What an instruction of four warps (wgmma.mma_async) reads of shared memory and where its sums
// go, for the emulator: from the PTX ISA's "Matrix descriptor", its canonical layouts with 128-byte
// swizzling, and the table of the registers of m64nNk16's D. The compiler has its own description
// (ir/shared_matrix.h, ir/fragments.h), which shares nothing with this one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace polyte::runtime {

inline constexpr int kWarpgroupThreads = 128, kWarpgroupRows = 64, kWarpgroupTerms = 16;

struct SharedProduct {
  int columns = 0;
  bool is_bfloat = false;
  // Addresses of elements of 16 bits, as descriptors count: a's row after row, b's column
  // after column.
  std::vector<std::uint32_t> a, b;
};

// "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16". `across`: 1 for a, 2 for b: major along
// M or N. nullopt: an instruction, or a descriptor's mode, that is not known.
std::optional<SharedProduct> shared_product(const std::string& instruction, std::uint64_t a,
                                            std::uint64_t b, std::int64_t across);

// The products' sums, row after row, of the elements at these addresses.
std::vector<double> sums_of(const SharedProduct& product, const std::vector<std::uint16_t>& a,
                            const std::vector<std::uint16_t>& b);

// Of a thread's register, counted from 0: which sum is in it.
int row_of_sum(int thread, int reg);
int column_of_sum(int thread, int reg);

}  // namespace polyte::runtime
