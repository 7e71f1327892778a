// What every graph pass is: a function that edits a Graph in place, keeps its meaning, and tells
// what it did. The list that runs them is optimize.cc.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace polyte::graph {

struct PassResult {
  int rewrites = 0;                // nodes removed, merged or changed
  std::vector<std::string> notes;  // what it left alone although it might have acted, and why
};

using Pass = PassResult (*)(Graph& graph);

}  // namespace polyte::graph
