// NodeContext: one ONNX node as its adapter sees it: typed attributes, operands, constants
// among them, and the making of graph nodes. An adapter reads every attribute that it knows
// (others are then reported as unknown), throws Unsupported or Invalid with the reason, and sets
// every output that the node names.
//
//   void import_flatten(NodeContext& c) {
//     const std::int64_t axis = c.axis("axis", 1, rank + 1);
//     c.finish(OpKind::Reshape, ShapeAttributes{...}, {c.input(0)});
//   }
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/onnx_import.h"
#include "graph/op.h"
#include "polyte_onnx.pb.h"

namespace polyte::frontend {

using graph::Attributes;
using graph::Dims;
using graph::OpKind;
using graph::Tensor;
using graph::TensorType;
using graph::ValueId;

struct Unsupported {
  std::string reason;
};
struct Invalid {
  std::string reason;
};

// What the adapters of one model share.
struct ImportState {
  graph::Graph graph;
  // By ONNX name, of the scope that is being imported.
  std::unordered_map<std::string, ValueId> values;
  std::unordered_set<std::string> unknown;  // names of that scope whose nodes have failed
  std::string prefix;                       // of the names that the scope gives to values and nodes
  std::unordered_set<std::string> names;    // every name of the model: not for intermediate values
  std::filesystem::path folder;
  const ImportOptions* options = nullptr;
  int intermediates = 0;
  std::int64_t made_bytes = 0;  // of constants that no tensor of the model holds
  // Of the model's inputs that are no initializers.
  std::map<std::string, std::size_t> input_positions;
  std::vector<std::string> specialised;  // inputs that became constants, see specialise.h
  std::map<ValueId, Tensor> evaluated;   // values whose elements an adapter has needed
  std::set<std::string> applied;         // nodes of bodies that were imported, by prefixed name
  // Imports the nodes of a subgraph; what it defines gets names that begin with `prefix`.
  // Its outputs.
  std::function<std::vector<ValueId>(const onnx::GraphProto& body, const std::string& prefix,
                                     std::int64_t opset)>
      import_body;

  // The name in the graph of a value of the scope: none that the model's own values have.
  std::string value_name(const std::string& output);
  // The value that ImportOptions::offer has for an input.
  std::optional<Tensor> offered(const std::string& input) const;
};

class NodeContext {
 public:
  NodeContext(ImportState& state, const onnx::NodeProto& node, std::string name,
              std::int64_t opset);

  const onnx::NodeProto& node() const { return node_; }
  std::int64_t opset() const { return opset_; }

  // Attributes. Without a default the attribute must be there. A wrong type is Invalid.
  bool has_attribute(const std::string& name);
  double real(const std::string& name, std::optional<double> otherwise = {});
  std::int64_t integer(const std::string& name, std::optional<std::int64_t> otherwise = {});
  bool flag(const std::string& name, bool otherwise);
  std::string text(const std::string& name, std::optional<std::string> otherwise = {});
  std::optional<Dims> integers(const std::string& name);
  std::optional<std::vector<double>> reals(const std::string& name);
  std::optional<Tensor> tensor(const std::string& name);
  // The outputs of the nodes of a subgraph, which sees the values of the graph around it.
  std::vector<ValueId> body(const std::string& name);
  // Read and without effect on inference.
  void ignore(const std::string& name) { known_.insert(name); }
  // An axis in [-rank, rank) made non-negative.
  std::int64_t axis(const std::string& name, std::optional<std::int64_t> otherwise,
                    std::int64_t rank);
  static std::int64_t resolve_axis(std::int64_t axis, std::int64_t rank);
  // What the adapter has not looked at: attributes are Unsupported, operands Invalid.
  void refuse_unread() const;

  // Operands.
  std::size_t input_count() const { return static_cast<std::size_t>(node_.input_size()); }
  bool has_input(std::size_t i) const;
  ValueId input(std::size_t i) const;  // Invalid where it is absent
  ValueId optional_input(std::size_t i) const;
  void ignore_input(std::size_t i) const { read_.insert(i); }
  const TensorType& type(ValueId id) const { return state_.graph.value(id).type; }
  std::int64_t rank(ValueId id) const { return static_cast<std::int64_t>(type(id).shape.size()); }
  // The operand's elements at compile time, specialised (specialise.h) where they are inputs;
  // Unsupported where they are known only at run time. is_constant: constants of the model only,
  // nothing is specialised.
  bool is_constant(std::size_t i) const { return state_.graph.value(input(i)).is_constant(); }
  Tensor constant(std::size_t i, const char* role) const;
  Dims constant_integers(std::size_t i, const char* role) const;  // of rank 0 or 1

  // Making nodes. Small integer nodes of constants are evaluated at once: they are
  // shape arithmetic.
  ValueId emit(OpKind op, Attributes attributes, std::vector<ValueId> inputs);
  // A node of several outputs.
  std::vector<ValueId> emit_all(OpKind op, Attributes attributes, std::vector<ValueId> inputs,
                                std::size_t outputs);
  ValueId add_constant(const Tensor& tensor);
  ValueId reshape(ValueId id, Dims shape);
  ValueId cast(ValueId id, DType to);  // id itself where the type is the same
  // The node that gives the ONNX node's outputs, in order.
  void finish(OpKind op, Attributes attributes, std::vector<ValueId> inputs);
  void finish_constant(const Tensor& tensor);
  // One output of several, by a node of its own; or as a copy of `id`, which may be an operand.
  void finish_output(std::size_t i, OpKind op, Attributes attributes, std::vector<ValueId> inputs);
  void finish_output(std::size_t i, ValueId id);
  std::size_t output_count() const;  // without trailing empty names
  bool wants_output(std::size_t i) const;

 private:
  const onnx::AttributeProto* find(const std::string& name,
                                   onnx::AttributeProto::AttributeType type);
  std::string intermediate_name();
  void count_made(const TensorType& type);
  void add(OpKind op, Attributes attributes, std::vector<ValueId> inputs,
           const std::vector<std::string>& names);
  void fold_last_node();

  ImportState& state_;
  const onnx::NodeProto& node_;
  std::string name_;
  std::int64_t opset_;
  std::set<std::string> known_;
  mutable std::set<std::size_t> read_;
};

std::string dims_text(const Dims& dims);  // "[1, 2]"

}  // namespace polyte::frontend
