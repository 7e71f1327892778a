#include "graph/op_pattern.h"

#include <array>

namespace polyte::graph {

namespace {
constexpr std::array<std::string_view, 7> kNames = {
    "ElemWise", "Broadcast", "Injective", "CommReduce", "OutEWiseFusable", "Tuple", "Opaque"};
}

std::string_view to_string(OpPattern pattern) { return kNames[static_cast<std::size_t>(pattern)]; }

}  // namespace polyte::graph
