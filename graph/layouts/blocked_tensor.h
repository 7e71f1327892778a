// Constants in blocks, made when the graph is compiled.
#pragma once

#include "graph/graph.h"

namespace polyte::graph {

// Dimension `axis` in blocks along a new last dimension: [a..., n, b...] to [a..., ceil(n / block),
// b..., block], zeros behind the n-th.
Tensor blocked_tensor(const Tensor& tensor, std::size_t axis, std::int64_t block);
// Zeros behind dimension `axis`, up to `extent`.
Tensor padded_tensor(const Tensor& tensor, std::size_t axis, std::int64_t extent);

}  // namespace polyte::graph
