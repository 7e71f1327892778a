// Random small graphs for property tests and `polyte fuzz graph`: the same graph for the same
// seed everywhere. All arithmetic is exact in the graph's type (f64, f32 or i32) on small integers
// (weights are integers, scales powers of two), so that any two ways to compute a graph must
// agree: bit for bit, however it is fused; up to the sign of zeros, after scales were folded
// (0 * -1 is -0, but a sum of negated products is 0). Operators that round, Softmax and the like,
// are read by nothing.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace polyte::graph {

struct RandomGraphOptions {
  int most_nodes = 12;
  std::int64_t most_elements = 1024;  // of any value
};

Graph random_graph(std::uint64_t seed, const RandomGraphOptions& options = {});

// Integers from -bound to bound, the same for the same seed.
Tensor random_integers(const TensorType& type, std::uint64_t seed, int bound = 4);

}  // namespace polyte::graph
