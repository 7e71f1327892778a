// Fusions that no rule of fuse.h makes, and that a schedule may be worth: two products with
// a softmax between them, which one pass over the keys computes without a score in memory
// (T. Dao, "FlashAttention-2", 2023). Here only the operators are looked at. Whether the group
// stays is the loop side's answer (driver/compile/fusion_feedback.h).
#pragma once

#include <vector>

#include "graph/fuse.h"
#include "graph/graph.h"

namespace polyte::graph {

// For the groups that fuse() has made of the graph: a product, with its element-wise tail, that
// nobody reads but a softmax over its last dimension, which nobody reads but a product.
//
//    MatMul(q, k) -> Mul scale -> Add mask -> Softmax -> MatMul(.., v)
//    '---- one group of fuse() -----------'   '------'   '----------'     become one group
//
// Nodes are taken as fusion nodes: the FusionGraph is that of make_fusion_graph, whose numbers are
// NodeIds.
std::vector<KeepTogether> propose_joins(const Graph& graph, const FusionReport& fused);

}  // namespace polyte::graph
