// Nodes that are `scale[c] * x + shift[c]` with constants, c the index along one dimension of x:
// BatchNormalization, and Add, Sub, Mul, Div with a constant that varies along that dimension only.
//
//    Sub(x, k)   scale 1, shift -k          Div(x, k)   scale 1 / k, shift 0
//    Sub(k, x)   scale -1, shift k          Div(k, x)   is none
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace polyte::graph {

struct ChannelAffine {
  std::vector<double> scale, shift;  // one entry per channel
};

// `node` as a function of its operand `x` whose channels lie along dimension `axis`; none if
// it is no such thing.
std::optional<ChannelAffine> channel_affine(const Graph& graph, const Node& node, ValueId x,
                                            std::size_t axis);

// The elements of a constant that broadcasts to `shape` and varies along `axis` only, one
// per channel.
std::optional<std::vector<double>> per_channel(const Graph& graph, ValueId constant,
                                               const Dims& shape, std::size_t axis);

}  // namespace polyte::graph
