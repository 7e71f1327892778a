#include "runtime/warpgroup_instructions.h"

#include <cstdlib>

#include "runtime/warp_instructions.h"

namespace polyte::runtime {
namespace {

// Bits first to last of a descriptor. Its fields hold addresses and offsets divided by 16.
std::uint32_t field(std::uint64_t descriptor, unsigned first, unsigned last) {
  return static_cast<std::uint32_t>(descriptor >> first &
                                    ((std::uint64_t{1} << (last - first + 1)) - 1))
         << 4U;
}

class Operand {
 public:
  Operand(std::uint64_t descriptor, bool across)
      : start_(field(descriptor, 0, 13)),
        leading_(field(descriptor, 16, 29)),
        stride_(field(descriptor, 32, 45)),
        across_(across) {}

  // Of element `mn` along M or N, `k` along K.
  std::uint32_t address(std::uint32_t mn, std::uint32_t k) const {
    // Canonical layouts in CuTe's notation, shape:stride in elements of 16 bits, T = 8 of them:
    // along M or N   ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO))
    // along K        ((8,m),(T,2k)):((8T,SBO),(1,T))
    // A line of 128 bytes holds 64 elements, and 8 lines are a block that the swizzle permutes.
    const std::uint32_t linear =
        across_ ? mn % 64 * 2 + mn / 64 * leading_ + k % 8 * 128 + k / 8 * stride_
                : mn % 8 * 128 + mn / 8 * stride_ + k * 2;
    const std::uint32_t address = start_ + linear;
    // Swizzle<3, 4, 3>: bits 7 to 9 of the address (the line in its block) are xor-ed into bits
    // 4 to 6 (the chunk of 16 bytes in the line), so that a column of chunks spreads over all
    // banks.
    return address ^ (address >> 3U & 0x70U);  // Swizzle<3, 4, 3>
  }

 private:
  std::uint32_t start_, leading_, stride_;
  bool across_;
};

// Bits 62 and 63 are the mode (1: 128 bytes), 49 to 51 the base offset, which is 0 where blocks
// begin at multiples of 1,024 bytes.
bool is_swizzled_by_128(std::uint64_t descriptor) {
  return descriptor >> 62U == 1 && (descriptor >> 49U & 7U) == 0;
}

}  // namespace

std::optional<SharedProduct> shared_product(const std::string& instruction, std::uint64_t a,
                                            std::uint64_t b, std::int64_t across) {
  const std::string before = "wgmma.mma_async.sync.aligned.m64n";
  if (!instruction.starts_with(before) || !is_swizzled_by_128(a) || !is_swizzled_by_128(b))
    return std::nullopt;
  char* end = nullptr;
  SharedProduct product;
  product.columns = static_cast<int>(std::strtol(instruction.c_str() + before.size(), &end, 10));
  const std::string types = end;
  product.is_bfloat = types == "k16.f32.bf16.bf16";
  const bool is_known = product.columns > 0 && product.columns <= 256 && product.columns % 8 == 0;
  if (!is_known || (!product.is_bfloat && types != "k16.f32.f16.f16")) return std::nullopt;
  const Operand first(a, (across & 1) != 0), second(b, (across & 2) != 0);
  for (std::uint32_t i = 0; i < kWarpgroupRows; ++i)
    for (std::uint32_t k = 0; k < kWarpgroupTerms; ++k) product.a.push_back(first.address(i, k));
  for (std::uint32_t j = 0; j < static_cast<std::uint32_t>(product.columns); ++j)
    for (std::uint32_t k = 0; k < kWarpgroupTerms; ++k) product.b.push_back(second.address(j, k));
  return product;
}

std::vector<double> sums_of(const SharedProduct& product, const std::vector<std::uint16_t>& a,
                            const std::vector<std::uint16_t>& b) {
  const auto values = [&](const std::vector<std::uint16_t>& bits) {
    std::vector<double> result;
    for (const std::uint16_t element : bits)
      result.push_back(product.is_bfloat ? of_bfloat(element) : of_half(element));
    return result;
  };
  const std::vector<double> rows = values(a), columns = values(b);
  std::vector<double> sums;
  for (std::size_t i = 0; i < kWarpgroupRows; ++i)
    for (std::size_t j = 0; j < static_cast<std::size_t>(product.columns); ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < kWarpgroupTerms; ++k)
        sum += rows[i * kWarpgroupTerms + k] * columns[j * kWarpgroupTerms + k];
      sums.push_back(sum);
    }
  return sums;
}

// A warp has 16 rows, a group of 4 lanes one of them and the row 8 below: registers 4q + {0, 1}
// are its upper row, 4q + {2, 3} its lower row, of columns 8q on.
int row_of_sum(int thread, int reg) { return thread / 32 * 16 + thread % 32 / 4 + reg / 2 % 2 * 8; }
int column_of_sum(int thread, int reg) { return reg / 4 * 8 + thread % 4 * 2 + reg % 2; }

}  // namespace polyte::runtime
