// Expansion: a fused group of nodes becomes one ir::Program, which says what is computed and
// nothing else. Values that enter the group are In buffers (Const where the graph knows them;
// single numbers become literals), values used outside are Out, what stays inside is Temp. An
// element-wise or index-moving node whose value has one reader in the group, which reads each
// element once, gets no statement of its own: it is written into the expression of its reader.
// Floats follow the ONNX reference; f16 and bf16 sums are kept in f32.
//
//   Conv + Add + Relu  ->  acc[n, co, h, w] = sum[ci, kh, kw] fma(...)
//                          y[n, co, h, w]   = max(acc[n, co, h, w] + bias[co], 0)
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ir/program.h"

namespace polyte::graph {

struct Expansion {
  ir::Program program;
  // The graph's value behind each interface buffer, in the Program's order.
  std::vector<ValueId> arguments;
};

// `nodes` ascending, closed under paths (no path between two of them leaves the group). This is not
// checked here; fuse() and join_groups give such groups. In
//
//    conv --> relu --> pool --> add          {conv, relu, add} is no group: pool would have to run
//               \_______________/            after a part of its kernel and before the rest
//
// The Program verifies.
Expansion expand(const Graph& graph, std::span<const NodeId> nodes, const std::string& name);

// The outputs of a node whose inputs are all constants, by interpreting its expansion: for constant
// folding. One tensor per output (empty bytes where the output is not wanted).
std::vector<Tensor> evaluate(const Graph& graph, NodeId id);

}  // namespace polyte::graph
