// Numbers of an artifact that depend on the sizes which a network leaves open: a constant and a
// multiple of each symbol, in the order of ArtifactManifest::symbols.
//
//   symbols        batch (1 to 64), seq (1 to 512)
//   {1, {2, 0}}    2*batch + 1
//   {8, {}}        8, whatever the sizes are
//
// One rule makes room for such a number before the sizes are known. The *scale* of a run is the
// largest of its sizes, or 1; the room at scale 1 is unit_bytes, the sum of the positive parts,
// and a run has scale * unit_bytes, which is never less than the number itself, for no size
// is above the scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/checked.h"

namespace polyte::runtime {

struct SymbolSpec {
  std::string name{};
  std::int64_t least = 1, most = 0;  // 1 <= least <= most <= kMostSize
};

inline constexpr std::int64_t kMostSize = std::int64_t{1} << 31;

struct OpenNumber {
  std::int64_t constant = 0;
  std::vector<std::int64_t> coefficients{};  // one per symbol; none: the constant alone

  // Its value where symbol i is sizes[i]. Overflow is a UserError(ResourceLimit), also below.
  std::int64_t at(std::span<const std::int64_t> sizes) const {
    std::int64_t value = constant;
    for (std::size_t i = 0; i < coefficients.size(); ++i)
      value = checked_add(value, checked_mul(coefficients[i], sizes[i]));
    return value;
  }
};

// The smallest and the largest value for sizes in their ranges.
std::int64_t least_of(const OpenNumber& number, std::span<const SymbolSpec> symbols);
std::int64_t most_of(const OpenNumber& number, std::span<const SymbolSpec> symbols);

// Coefficients that are not there count as 0, and none is needed.
OpenNumber times(const OpenNumber& number, std::int64_t factor);
OpenNumber minus(const OpenNumber& a, const OpenNumber& b);
bool is_same(const OpenNumber& a, const OpenNumber& b);
// The symbol that the number is, and nothing else.
std::optional<std::size_t> only_symbol(const OpenNumber& number);

// Room for a number of bytes at scale 1: the sum of its positive parts.
std::int64_t unit_bytes(const OpenNumber& bytes);
// The largest of the sizes, 1 if there are none.
std::int64_t scale_of(std::span<const std::int64_t> sizes);

// "2*batch + 1".
std::string to_text(const OpenNumber& number, std::span<const SymbolSpec> symbols);
// What the symbols that the number depends on are: "batch is 4 and seq is 7"; of all symbols
// without a number.
std::string sizes_text(std::span<const SymbolSpec> symbols, std::span<const std::int64_t> sizes,
                       const OpenNumber* number = nullptr);

}  // namespace polyte::runtime
