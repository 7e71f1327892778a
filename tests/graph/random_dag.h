// Random fusion graphs for property tests, the same for the same seed on every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "graph/fuse.h"

namespace polyte::graph::testing {

inline FusionGraph random_dag(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](int n) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(n));
  };
  const int count = 1 + below(40);
  const int reach = 1 + below(8);    // how far back operands lie: small means chains
  const int complex = 1 + below(6);  // one node in `complex` + 2 is more than element-wise
  const OpPattern others[] = {OpPattern::Broadcast,       OpPattern::Injective,
                              OpPattern::Injective,       OpPattern::CommReduce,
                              OpPattern::OutEWiseFusable, OpPattern::OutEWiseFusable,
                              OpPattern::Tuple,           OpPattern::Opaque};
  FusionGraph graph;
  for (int node = 0; node < count; ++node) {
    const OpPattern pattern = below(complex + 2) < 2 ? others[below(8)] : OpPattern::ElemWise;
    graph.nodes.push_back({.op = std::string(to_string(pattern)),
                           .name = "n" + std::to_string(node),
                           .pattern = pattern,
                           .is_tuple_get = false,
                           .external = below(25) == 0,
                           .folded = {}});
    for (int operands = node == 0 ? 0 : 1 + below(3); operands > 0; --operands) {
      const bool relaxed = pattern == OpPattern::Broadcast && below(2) == 0;
      const OpPattern edge = relaxed                       ? OpPattern::ElemWise
                             : pattern == OpPattern::Tuple ? OpPattern::Injective
                                                           : pattern;
      graph.edges.push_back(
          {.producer = node - 1 - below(std::min(node, reach)), .consumer = node, .pattern = edge});
    }
  }
  return graph;
}

}  // namespace polyte::graph::testing
