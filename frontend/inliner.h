// Inliner: nodes at any depth. An operator goes to its adapter; a call of a function of the model,
// and a branch of an If, are imported node by node in place, in a scope of their own: a function
// sees its inputs and nothing else, with the opset that it imports; a branch sees what is around
// it, and what it defines ends with it.
//
//   Inliner inliner(state, model, opset);
//   inliner.apply(node, "layer_1", opset);   // throws Unsupported, Invalid, Unchecked or UserError
//
// Depth and number of the nodes of bodies are limited (UserError(ResourceLimit)). All problems
// of a body are one.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "frontend/importers/context.h"

namespace polyte::frontend {

// A node of a body reads what another node, which failed, would have computed.
struct Unchecked {
  std::string operand;
};

class Inliner {
 public:
  // `opset` is that of functions that name none.
  Inliner(ImportState& state, const onnx::ModelProto& model, std::int64_t opset);

  bool is_call(const onnx::NodeProto& node) const {
    return functions_.contains({node.domain(), node.op_type()});
  }
  void apply(const onnx::NodeProto& node, const std::string& name, std::int64_t opset);

 private:
  void apply_operator(const onnx::NodeProto& node, const std::string& name, std::int64_t opset);
  void apply_function(const onnx::FunctionProto& function, const onnx::NodeProto& call,
                      const std::string& name);
  std::vector<ValueId> apply_branch(const onnx::GraphProto& body, const std::string& prefix,
                                    std::int64_t opset);
  void apply_nodes(const std::vector<onnx::NodeProto>& nodes, std::int64_t opset);
  void apply_node(const onnx::NodeProto& node, const std::string& own_name, std::int64_t opset);
  std::int64_t opset_of(const onnx::FunctionProto& function) const;
  std::int64_t inlined_nodes(const onnx::FunctionProto& function, int depth);

  ImportState& state_;
  std::int64_t opset_;
  // By domain and name.
  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
  int depth_ = 0;                                                     // of bodies within bodies
  std::int64_t applied_ = 0;                                          // nodes of bodies
  std::map<const onnx::FunctionProto*, std::int64_t> inlined_nodes_;  // looked up, never iterated
};

}  // namespace polyte::frontend
