// Immediate post-dominators of a directed acyclic graph whose exits are joined by one virtual
// exit: node p post-dominates n when every path from n out of the graph passes p. Fusion asks for
// the nearest such p.
//
//        conv
//        /  \          relu and tanh are post-dominated by add; so is conv, as every way out of
//     relu  tanh       conv meets there; add has none: it leaves the graph
//        \  /
//        add
//
// Lengauer and Tarjan's algorithm (TOPLAS 1979) from Boost.Graph, on the reversed graph from
// the virtual exit.
#pragma once

#include <vector>

namespace polyte::graph {

inline constexpr int kNoPostDominator = -1;

// consumers[n] lists the nodes that use n's value (duplicates allowed); leaves_graph[n] says that
// the value is also seen outside. Nodes without consumers leave the graph as well. The result
// holds, for every node, its immediate post-dominator or kNoPostDominator when only the virtual
// exit post-dominates it.
std::vector<int> immediate_post_dominators(const std::vector<std::vector<int>>& consumers,
                                           const std::vector<bool>& leaves_graph);

}  // namespace polyte::graph
