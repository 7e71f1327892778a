// What every test of a graph pass wants: to run the pass, to see the graph stay well formed, its interface the
// same and its results equal, bit for bit, on small integers.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/passes/pass.h"

namespace polyte::graph::testing {

// A tensor of integers from -bound to bound, the same for the same seed.
Tensor random_integers(const TensorType& type, int seed, int bound = 4);

// Runs `pass` and checks it on three random inputs.
PassResult check_pass(Graph& graph, Pass pass);

// The operators of the graph, in order: "Conv Relu".
std::string operators(const Graph& graph);

inline TensorType f32(Dims shape) { return {DType::F32, std::move(shape)}; }

// Adds a node with one output named like it; returns that output.
ValueId add(Graph& graph, const std::string& name, OpKind op, Attributes attributes, std::vector<ValueId> inputs);

}  // namespace polyte::graph::testing
