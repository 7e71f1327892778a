// Evaluates nodes whose operands are all constants, through their expansion and the Program
// interpreter, so that folding can never disagree with the meaning of an operator. Views share the
// bytes of their operand. Shapes are folded the same way: importers resolve Shape itself, and what
// is computed from it is constant.
//
//   Add(Const, Const)  ->  Const
//
// Nodes too large for an interpreter are left to run time, with a note.
#pragma once

#include <set>
#include <string>

#include "graph/passes/pass.h"

namespace polyte::graph {

PassResult fold_constants(Graph& graph);
// But for the nodes of these names.
PassResult fold_constants(Graph& graph, const std::set<std::string>& unfolded);

}  // namespace polyte::graph
