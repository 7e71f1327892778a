// Graph: a network as typed operators over values of static shape, one basic block without control
// flow. Ids are positions; `nodes` is in topological order, and that order is the reference order.
// A pass takes a Graph and edits or rebuilds it; it may append nodes anywhere and call normalise(),
// which sorts and compacts.
//
//   ValueId x = graph.add_input("x", {DType::F32, {1, 3, 8, 8}});
//   ValueId w = graph.add_constant("w", tensor);
//   NodeId n = graph.add_node("conv1", OpKind::Conv, ConvAttributes{...}, {x, w, kNoValue},
//                             {"y"});   // infers types
//   graph.outputs = {graph.nodes[n].outputs[0]};
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/bytes.h"
#include "graph/op_kind.h"
#include "support/result.h"

namespace polyte::graph {

using ValueId = int;
using NodeId = int;
// An optional input that is absent, an output that nobody asked for.
inline constexpr ValueId kNoValue = -1;
inline constexpr NodeId kNoNode = -1;  // the producer of inputs and constants

struct TensorType {
  DType dtype = DType::F32;
  Dims shape;
};
bool operator==(const TensorType& a, const TensorType& b);
std::string to_string(const TensorType& type);  // "f32[1, 3, 8, 8]"
std::int64_t element_count(const Dims& shape);  // checked
// Elements of an image: without batch and channels.
std::int64_t spatial_size(const Dims& shape);
std::int64_t size_in_bytes(const TensorType& type);  // checked

// A tensor known at compile time: row-major, little-endian, size_in_bytes(type) bytes, shared
// and immutable.
struct Tensor {
  TensorType type;
  std::shared_ptr<const Bytes> bytes;
};
// Converts each element, as Cast does.
Tensor make_tensor(TensorType type, const std::vector<double>& elements);
Tensor make_scalar(DType type, double value);  // shape {}
// Of an integer type; u64 by its bits.
Tensor make_integers(TensorType type, const Dims& elements);
Tensor make_int64s(const Dims& elements);  // i64[n]
double element_as_real(const Tensor& tensor, std::int64_t position);
std::int64_t element_as_int(const Tensor& tensor, std::int64_t position);  // integer and Bool types
std::vector<double> elements_as_real(const Tensor& tensor);
Dims elements_as_int(const Tensor& tensor);
// Of floats: element i times factors[i / run % factors.size()], in doubles and rounded once.
Tensor scale_runs(const Tensor& tensor, const std::vector<double>& factors, std::size_t run);

struct Value {
  std::string name;  // unique in the graph, not empty; ONNX's names, so any characters
  TensorType type;
  std::shared_ptr<const Bytes> data;  // set: a constant
  NodeId producer = kNoNode;

  bool is_constant() const { return data != nullptr; }
  Tensor tensor() const { return {type, data}; }  // of a constant
};

struct Node {
  std::string name;  // for people; unique, not empty
  OpKind op = OpKind::Identity;
  Attributes attributes;
  std::vector<ValueId> inputs;   // kNoValue: absent optional input
  std::vector<ValueId> outputs;  // kNoValue: not wanted; the first is always there
  std::vector<std::string> folded =
      {};  // operators that passes have folded into this one, "BatchNormalization"; only shown
};

// The names in use, and fresh ones: base, then base_1, base_2, ...
class NameTable {
 public:
  std::string claim(const std::string& base);

 private:
  std::unordered_map<std::string, int> next_;  // names in use, with the next suffix to try
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;   // run-time inputs, in order; never constants
  std::vector<ValueId> outputs;  // may repeat, may be inputs or constants

  ValueId add_input(std::string value_name, TensorType type);
  ValueId add_constant(std::string value_name, const Tensor& tensor);
  // Appends a node with one output value for each name ("" for kNoValue), typed by inference.
  // Names that are taken get a suffix. UserError(InvalidInput) `node '...' (Op): ...` where the
  // operands do not fit.
  NodeId add_node(std::string node_name, OpKind op, Attributes attributes,
                  std::vector<ValueId> node_inputs, const std::vector<std::string>& output_names);
  // Sorts nodes topologically (stable), drops nodes that no output needs and values that nobody
  // uses (graph inputs stay), renumbers both.
  void normalise();

  const Value& value(ValueId id) const { return values.at(static_cast<std::size_t>(id)); }
  const Node& node(NodeId id) const { return nodes.at(static_cast<std::size_t>(id)); }
  bool is_output(ValueId id) const;
  // Of a value that has one.
  const Node& producer(ValueId id) const { return node(value(id).producer); }

 private:
  NameTable value_names_, node_names_;
};

// For every value the nodes that read it, in order, once per operand position.
std::vector<std::vector<NodeId>> consumers_of(const Graph& graph);

// Every broken rule: names unique, ids in range, topological order, producers right, constants of
// the right size, types equal to what inference gives. Empty if the graph is well formed.
std::vector<std::string> verify(const Graph& graph);

// One line per node: `%y: f32[1, 8, 6, 6] = Conv(%x, %w) group=1 ...`, for --emit graph and
// golden tests.
std::string print(const Graph& graph);

}  // namespace polyte::graph
