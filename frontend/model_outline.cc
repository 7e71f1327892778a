#include "frontend/model_outline.h"

#include <algorithm>

#include "frontend/names.h"

namespace polyte::frontend {

namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

// A model imports one opset per domain; "" and "ai.onnx" are two names of one domain, which may
// then come twice.
std::int64_t opset_of(const ModelProto& model, ImportProblems& problems) {
  std::int64_t opset = 1;
  bool found = false;
  for (const auto& import : model.opset_import()) {
    if (!is_onnx_domain(import.domain())) continue;
    if (found && import.version() != opset)
      problems.invalid("imports opset " + std::to_string(opset) + " and opset " +
                       std::to_string(import.version()));
    opset = import.version();
    found = true;
  }
  const bool needs_opset = std::ranges::any_of(
      model.graph().node(), [](const NodeProto& node) { return is_onnx_domain(node.domain()); });
  // Models say since IR version 3 which opset they mean; older ones mean 1.
  if (!found && needs_opset && model.ir_version() >= 3)
    problems.invalid("imports no opset of ONNX");
  if (found && opset < 1)
    problems.invalid("imports opset " + std::to_string(opset));
  else if (needs_opset && (opset < kLeastOpset || opset > kGreatestOpset)) {
    problems.unsupported("the model imports opset " + std::to_string(opset) + ": supported are " +
                         opset_range());
  }
  return opset;
}

// Names of nodes are optional in ONNX: a node without one is called by its first output.
NodeCoverage row_of(const NodeProto& node, int number, std::int64_t opset) {
  NodeCoverage row{node.name(), node.op_type(), opset, false, {}};
  if (!is_onnx_domain(node.domain())) row.op = node.domain() + "::" + row.op;
  if (row.name.empty())
    row.name = node.output_size() > 0 ? node.output(0) : "node_" + std::to_string(number);
  return row;
}

// ONNX graphs are in SSA form: each name has one definition. An initializer may repeat the name
// of an input, whose default value it then is.
void collect_names(const GraphProto& graph, ModelOutline& outline, ImportProblems& problems) {
  for (const auto& tensor : graph.initializer()) {
    if (!outline.initializers.insert(tensor.name()).second)
      problems.invalid("initializer " + named(tensor.name()) + " is there twice");
    outline.names.insert(tensor.name());
  }
  std::unordered_set<std::string> inputs;
  for (const auto& input : graph.input()) {
    if (!inputs.insert(input.name()).second)
      problems.invalid("input " + named(input.name()) + " is there twice");
    outline.names.insert(input.name());
  }
  for (int n = 0; n < graph.node_size(); ++n) {
    outline.rows.push_back(row_of(graph.node(n), n, outline.opset));
    const std::string who = named(outline.rows.back().name);
    for (const std::string& output : graph.node(n).output()) {
      if (output.empty()) continue;
      const auto [first, is_new] = outline.producer.emplace(output, static_cast<std::size_t>(n));
      if (!is_new)
        problems.invalid("nodes " + named(outline.rows[first->second].name) + " and " + who +
                         " both compute " + named(output));
      if (outline.initializers.count(output) || inputs.count(output))
        problems.invalid("node " + who + " computes " + named(output) +
                         ", which is an input or initializer");
      outline.names.insert(output);
    }
  }
}

}  // namespace

// What the importer needs to know before the first node: every name, and who defines it.
ModelOutline outline_of(const ModelProto& model, const ImportOptions& options,
                        ImportProblems& problems) {
  const GraphProto& graph = model.graph();
  if (graph.node_size() > options.max_nodes) {
    throw UserError(ExitStatus::ResourceLimit,
                    problems.file() + ": " + std::to_string(graph.node_size()) +
                        " nodes, the limit is " + std::to_string(options.max_nodes));
  }
  ModelOutline outline;
  outline.opset = opset_of(model, problems);
  if (graph.sparse_initializer_size() > 0)
    problems.unsupported("the model has sparse initializers");
  collect_names(graph, outline, problems);
  return outline;
}

}  // namespace polyte::frontend
