// Chains of Reshape become one, and a Transpose that only moves dimensions of extent 1 becomes a
// Reshape (which is a view and needs no kernel):
//
//   Reshape(Reshape(x, [4, 6]), [2, 12])     ->  Reshape(x, [2, 12])
//   Transpose(x: [8, 1, 5], perm 1,0,2)      ->  Reshape(x, [1, 8, 5])
//
// The inner Reshape stays where others read it. Chains that end where they began are
// left to remove_identities.
#pragma once

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult merge_reshapes(Graph& graph);

}  // namespace polyte::graph
