// The architectures of bench/models, each block once, a few channels on a small image: every kind
// of group that the large ones have, at sizes that can be emulated.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace polyte::gpu::testing {

struct SmallNetwork {
  std::string name;
  graph::Graph graph;
};
std::vector<SmallNetwork> small_networks();

}  // namespace polyte::gpu::testing
