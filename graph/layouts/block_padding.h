// What lies in the padding of a last block of channels, followed from node to node: zeros to begin
// with (a reorder and a convolution leave zeros there), then what element-wise operators make of
// them. Finite: of the magnitude of a constant at most, so that it neither grows nor becomes a NaN.
//
//    Conv -> Add bias -> Sigmoid -> Mul by Conv's value     Zero, Zero, Finite (0.5), Zero
//    Conv -> Exp                                            Zero, Unknown: no blocks here
//
// The states are an abstract domain, ordered Zero < Finite < Unknown; the larger of two is right
// for both.
#pragma once

#include <vector>

#include "graph/op.h"

namespace polyte::graph {

enum class Padding { Zero, Finite, Unknown };

// Of an element-wise node's result, from those of its operands; `zero` is the operator's row.
Padding element_wise_padding(const Graph& graph, const Node& node, Zero zero,
                             const std::vector<Padding>& operands);
// Of a reduction's or a pool's over spatial dimensions.
Padding folded_padding(Zero zero, Padding operand);
// Of a constant's one element.
Padding padding_of_number(const Tensor& number);

}  // namespace polyte::graph
