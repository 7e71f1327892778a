// What the compiler knows of each operator, one row an OpKind in one table (op.cc): its name, how it fuses, how
// types follow from operands, how it becomes statements of a Program. An operator or family is a file in ops/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op_pattern.h"

namespace polyte::graph {

class Expander;  // expand.h

// Types of the outputs of `node` from those of its inputs (absent inputs: kNoValue in node.inputs). A Decline
// says what does not fit, without naming the node: "input 1 has rank 3, expected 4".
using InferFunction = Result<std::vector<TensorType>> (*)(const Graph& graph, const Node& node);
// Adds the statements of the node to the Program (or describes its output as an expression to be inlined).
using ExpandFunction = void (*)(Expander& expander, const Node& node);

struct OpInfo {
  OpKind kind;
  std::string_view name;
  OpPattern pattern;  // ElemWise operators of several operands are Broadcast where shapes differ: pattern_of
  InferFunction infer;
  ExpandFunction expand;
};

const OpInfo& info(OpKind kind);
std::span<const OpInfo> all_operators();  // in the order of OpKind

// The pattern of this very node: Add of equal shapes is ElemWise, of unequal ones Broadcast.
OpPattern pattern_of(const Graph& graph, const Node& node);

// Types of the outputs, or why the operands do not fit.
Result<std::vector<TensorType>> infer_types(const Graph& graph, const Node& node);

// The output is the first input's elements in the same order (Reshape, Identity): alone, it needs no kernel.
bool is_view(OpKind kind);

// "kernel=3x3 strides=1x1 ..." of a node's attributes, for printing; empty where there are none.
std::string print_attributes(const Attributes& attributes);

}  // namespace polyte::graph
