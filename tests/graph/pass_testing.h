// What every test of a graph pass wants: to run the pass, to see the graph stay well formed, its
// interface the same and its results equal, bit for bit, on small integers.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/passes/pass.h"
#include "graph/random_graph.h"

namespace polyte::graph::testing {

// `after` is well formed, has the interface of `before` and gives the same bits on three
// random inputs.
void check_same_results(const Graph& before, const Graph& after);
// Runs `pass` and checks it so; a second time it finds nothing to do.
PassResult check_pass(Graph& graph, Pass pass);

// The operators of the graph, in order: "Conv Relu".
std::string operators(const Graph& graph);

inline TensorType f32(Dims shape) { return {DType::F32, std::move(shape)}; }

// Padded so that rows and columns stay as many.
inline ConvAttributes conv_3x3(std::int64_t group = 1) {
  return {.window = {{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, .group = group, .output_padding = {}};
}

// Adds a node with one output named like it; returns that output.
ValueId add(Graph& graph, const std::string& name, OpKind op, Attributes attributes,
            std::vector<ValueId> inputs);

}  // namespace polyte::graph::testing
