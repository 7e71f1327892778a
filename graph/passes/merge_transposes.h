// A Transpose of a Transpose becomes one:
//
//   Transpose(Transpose(x, perm 0,2,3,1), perm 0,3,1,2)  ->  Transpose(x, perm 0,1,2,3)
//
// The inner one stays where others read it; the identity permutation is left to remove_identities.
#pragma once

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult merge_transposes(Graph& graph);

}  // namespace polyte::graph
