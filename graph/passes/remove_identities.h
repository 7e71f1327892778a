// Removes nodes whose output is their first operand, element by element:
//
//   Identity; Reshape, Expand, Cast to the type that is there; Transpose by the identity
//   permutation; Slice of everything; Pad by nothing; Tile by ones; Concat of one operand
//
// A node stays where its output is a graph output and its operand is a graph input or another
// output: there it is a copy.
#pragma once

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult remove_identities(Graph& graph);

}  // namespace polyte::graph
