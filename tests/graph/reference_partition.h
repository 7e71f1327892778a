// A second implementation of post-dominators and of the partition, as test oracle: the nearest
// common ancestor of all consumers in one reverse sweep (a DAG needs no more), edge patterns
// combined while climbing, and the three phases written as nested conditions over recursive walks.
// Shares no code with graph/.
#pragma once

#include <vector>

#include "graph/fuse.h"

namespace polyte::graph::testing {

struct SweptTree {
  std::vector<int> parent;  // -1: none
  std::vector<int> depth;
  std::vector<OpPattern> pattern;  // the largest pattern on the way to the parent
};

SweptTree sweep_post_dominators(const FusionGraph& graph);

std::vector<std::vector<int>> reference_groups(const FusionGraph& graph, int max_group_nodes = 256);

}  // namespace polyte::graph::testing
