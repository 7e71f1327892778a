// A product of a transposed operand reads it where it lies:
//
//   MatMul(q, Transpose(k, perm 0,1,3,2))  ->  Einsum(q, k, "bhmk,bhnk->bhmn")
//
// Only where nothing else than products reads the transposed operand, and where its neighbours in
// memory stay neighbours along a dimension of the product, not from one product of a batch to the
// next.
#pragma once

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult absorb_transposes(Graph& graph);

}  // namespace polyte::graph
