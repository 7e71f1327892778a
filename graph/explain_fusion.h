// The reasons of a partition as text: the groups in order, and below each the edges inside it
// and the edges that end in it from elsewhere, every one with the decision that fused it or
// left it apart:
//
//   group 8   Conv 'layer2.0.conv2' + Add + Relu
//     Conv -> Add            fused: phase 0, Add post-dominates Conv, the path is element-wise; the
//                            other operand is an input of the group
//     MaxPool -> Conv        not fused: Conv is OutEWiseFusable (rule: an OutEWiseFusable source
//                            needs ...)
//
// (one line per edge). An operator is named where its kind alone is ambiguous among the lines
// of a group.
#pragma once

#include <string>

#include "graph/fuse.h"

namespace polyte::graph {

std::string explain_edge(const FusionGraph& graph, const FusionOptions& options,
                         const EdgeDecision& decision);

std::string explain_fusion(const FusionGraph& graph, const FusionOptions& options,
                           const FusionReport& report);

}  // namespace polyte::graph
