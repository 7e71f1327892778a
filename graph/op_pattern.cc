#include "graph/op_pattern.h"

#include <array>

namespace polyte::graph {

namespace {
constexpr std::array<std::string_view, 7> kNames = {"ElemWise",        "Broadcast", "Injective", "CommReduce",
                                                    "OutEWiseFusable", "Tuple",     "Opaque"};
}

std::string_view to_string(OpPattern pattern) { return kNames[static_cast<std::size_t>(pattern)]; }

std::optional<OpPattern> op_pattern_from_string(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<OpPattern>(i);
  }
  return std::nullopt;
}

}  // namespace polyte::graph
