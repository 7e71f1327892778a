// fuzz graph: a random graph of exact arithmetic keeps its results in single nodes and in fused
// groups, before and after the passes, with channels in blocks wherever they can be; natively
// compiled ones give the same bits under naive, template and poly, with one thread and two. For a
// GPU, natively means emulated on this CPU.
#pragma once

#include <optional>
#include <string>

#include "codegen/target.h"
#include "graph/graph.h"

namespace polyte::fuzz {

struct GraphFault {
  // "fusion", "passes", "layouts", "native", "memory", "gpu", "exception".
  std::string kind, detail;
  std::string graph;  // its text
};

// On small integers of this seed; which NaN a result is does not matter. Throws what its passes
// and kernels throw.
std::optional<GraphFault> check_graph(graph::Graph graph, std::uint64_t seed, bool native,
                                      const codegen::Target& target);

// The graph of this seed with at most `nodes` nodes.
std::optional<GraphFault> check_random_graph(std::uint64_t seed, int nodes, bool native,
                                             const codegen::Target& target);

}  // namespace polyte::fuzz
