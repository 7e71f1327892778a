#include "frontend/importers/context.h"

#include "frontend/importers/specialise.h"
#include "frontend/onnx_tensor.h"
#include "graph/expand.h"
#include "support/error.h"

namespace polyte::frontend {

using onnx::AttributeProto;

namespace {

// Operands and result together: shapes are short lists, and anything larger is data.
constexpr std::int64_t kMostFoldedElements = 4096;

}  // namespace

std::string dims_text(const Dims& dims) {
  std::string text;
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return "[" + text + "]";
}

std::string ImportState::value_name(const std::string& output) {
  if (prefix.empty()) return output;
  std::string name = prefix + output;
  // A function may be called under a name that makes one of the model's.
  while (names.contains(name)) name = prefix + output + ":" + std::to_string(intermediates++);
  return name;
}

std::optional<Tensor> ImportState::offered(const std::string& input) const {
  const auto position = input_positions.find(input);
  if (!options->offer || position == input_positions.end()) return std::nullopt;
  try {
    return options->offer(input, position->second);
  } catch (const UserError&) {
    return std::nullopt;  // no tensor: not what decides a shape
  }
}

NodeContext::NodeContext(ImportState& state, const onnx::NodeProto& node, std::string name,
                         std::int64_t opset)
    : state_(state), node_(node), name_(std::move(name)), opset_(opset) {}

const AttributeProto* NodeContext::find(const std::string& name,
                                        AttributeProto::AttributeType type) {
  // Asking for an attribute makes it a known one, whether the node has it or not:
  // refuse_unread().
  known_.insert(name);
  for (const AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    // Inside a function these have been replaced (bind_attributes); elsewhere they mean nothing.
    if (!attribute.ref_attr_name().empty())
      throw Unsupported{"attribute '" + name + "' refers to a function's attribute"};
    // IR version 1 has no types.
    const bool is_typed = attribute.type() != AttributeProto::UNDEFINED;
    if (is_typed && attribute.type() != type) {
      throw Invalid{"attribute '" + name + "' is " +
                    AttributeProto::AttributeType_Name(attribute.type()) + ", expected " +
                    AttributeProto::AttributeType_Name(type)};
    }
    return &attribute;
  }
  return nullptr;
}

namespace {

[[noreturn]] void missing(const std::string& name) {
  throw Invalid{"attribute '" + name + "' is missing"};
}

}  // namespace

bool NodeContext::has_attribute(const std::string& name) {
  known_.insert(name);
  for (const AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() == name) return true;
  }
  return false;
}

// Floats of attributes are f32 in the file: 0.1 is the f32 nearest to it, widened.
double NodeContext::real(const std::string& name, std::optional<double> otherwise) {
  if (const auto* found = find(name, AttributeProto::FLOAT)) return static_cast<double>(found->f());
  if (!otherwise) missing(name);
  return *otherwise;
}

std::int64_t NodeContext::integer(const std::string& name, std::optional<std::int64_t> otherwise) {
  if (const auto* found = find(name, AttributeProto::INT)) return found->i();
  if (!otherwise) missing(name);
  return *otherwise;
}

bool NodeContext::flag(const std::string& name, bool otherwise) {
  return integer(name, otherwise ? 1 : 0) != 0;
}

std::string NodeContext::text(const std::string& name, std::optional<std::string> otherwise) {
  if (const auto* found = find(name, AttributeProto::STRING)) return found->s();
  if (!otherwise) missing(name);
  return *otherwise;
}

std::optional<Dims> NodeContext::integers(const std::string& name) {
  const auto* found = find(name, AttributeProto::INTS);
  if (!found) return std::nullopt;
  return Dims(found->ints().begin(), found->ints().end());
}

std::optional<std::vector<double>> NodeContext::reals(const std::string& name) {
  const auto* found = find(name, AttributeProto::FLOATS);
  if (!found) return std::nullopt;
  return std::vector<double>(found->floats().begin(), found->floats().end());
}

std::optional<Tensor> NodeContext::tensor(const std::string& name) {
  const auto* found = find(name, AttributeProto::TENSOR);
  if (!found) return std::nullopt;
  try {
    return tensor_from_onnx(found->t(), state_.folder, *state_.options);
  } catch (const UserError& error) {
    throw UserError(error.status(), "attribute '" + name + "' " + error.problems().front());
  }
}

// Names in the body begin with the node's and the attribute's: `if_3/then_branch/..`.
std::vector<ValueId> NodeContext::body(const std::string& name) {
  const auto* found = find(name, AttributeProto::GRAPH);
  if (!found) missing(name);
  return state_.import_body(found->g(), name_ + "/" + name + "/", opset_);
}

// -1 is the last dimension, as in NumPy.
std::int64_t NodeContext::resolve_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) {
    throw Invalid{"axis is " + std::to_string(axis) + ", expected one of " + std::to_string(-rank) +
                  " to " + std::to_string(rank - 1)};
  }
  return axis < 0 ? axis + rank : axis;
}

std::int64_t NodeContext::axis(const std::string& name, std::optional<std::int64_t> otherwise,
                               std::int64_t rank) {
  return resolve_axis(integer(name, otherwise), rank);
}

// An attribute that no adapter asks for may change the result: ignoring it would compute
// something else. So would a surplus operand.
void NodeContext::refuse_unread() const {
  for (const AttributeProto& attribute : node_.attribute()) {
    if (!known_.count(attribute.name()))
      throw Unsupported{"attribute '" + attribute.name() + "' is not known"};
  }
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (has_input(i) && !read_.count(i))
      throw Invalid{"has " + std::to_string(input_count()) + " inputs, expected at most " +
                    std::to_string(i)};
  }
}

bool NodeContext::has_input(std::size_t i) const {
  return i < input_count() && !node_.input(static_cast<int>(i)).empty();
}

ValueId NodeContext::input(std::size_t i) const {
  if (!has_input(i)) throw Invalid{"input " + std::to_string(i) + " is missing"};
  read_.insert(i);
  return state_.values.at(node_.input(static_cast<int>(i)));
}

ValueId NodeContext::optional_input(std::size_t i) const {
  return has_input(i) ? input(i) : graph::kNoValue;
}

Tensor NodeContext::constant(std::size_t i, const char* role) const {
  return frontend::specialised(state_, input(i), "input " + std::to_string(i) + " (" + role + ")");
}

Dims NodeContext::constant_integers(std::size_t i, const char* role) const {
  const Tensor tensor = constant(i, role);
  if (!is_integer(tensor.type.dtype) || tensor.type.shape.size() > 1) {
    throw Invalid{"input " + std::to_string(i) + " (" + role + ") is " + to_string(tensor.type) +
                  ", expected a list of integers"};
  }
  return elements_as_int(tensor);
}

std::string NodeContext::intermediate_name() {
  // Unique among all names of the model, since a later node may have this one.
  for (;;) {
    std::string name = name_ + ":" + std::to_string(state_.intermediates++);
    if (!state_.names.count(name)) return name;
  }
}

void NodeContext::add(OpKind op, Attributes attributes, std::vector<ValueId> inputs,
                      const std::vector<std::string>& names) {
  // Types are looked at before the node is made, so that nothing too large gets into the graph.
  graph::Node probe{name_, op, attributes, inputs, {}};
  const auto types = infer_types(state_.graph, probe);
  if (!types) throw Invalid{types.error().reason};
  if (names.size() > types->size()) {
    throw Invalid{"has " + std::to_string(names.size()) + " outputs, expected at most " +
                  std::to_string(types->size())};
  }
  for (std::size_t i = 0; i < types->size(); ++i) {
    try {
      check_size((*types)[i], *state_.options);
    } catch (const UserError& error) {
      throw UserError(error.status(),
                      "output " + std::to_string(i) + " " + error.problems().front());
    }
  }
  state_.graph.add_node(name_, op, std::move(attributes), std::move(inputs), names);
}

// A node of integers whose operands are all constants becomes a constant: what computes shapes
// (Shape, Gather, Mul, Concat) has to be known before the Reshape that reads it is imported. Floats
// wait for the pass that folds constants.
void NodeContext::fold_last_node() {
  graph::Graph& graph = state_.graph;
  const graph::Node& node = graph.nodes.back();
  std::int64_t elements = 0;
  bool foldable = !node.inputs.empty() && node.outputs.size() == 1;
  for (ValueId id : node.inputs) {
    if (id == graph::kNoValue) continue;
    foldable = foldable && graph.value(id).is_constant();
    elements += graph::element_count(graph.value(id).type.shape);
  }
  graph::Value& result = graph.values[static_cast<std::size_t>(node.outputs[0])];
  elements += graph::element_count(result.type.shape);
  if (!foldable || elements > kMostFoldedElements || is_float(result.type.dtype)) return;
  // The value keeps its number, which names may refer to already, and gets data in place of a
  // producer.
  result.data = evaluate(graph, static_cast<graph::NodeId>(graph.nodes.size() - 1)).front().bytes;
  result.producer = graph::kNoNode;
  graph.nodes.pop_back();
}

// An intermediate value of the operator, which no other node can name.
ValueId NodeContext::emit(OpKind op, Attributes attributes, std::vector<ValueId> inputs) {
  add(op, std::move(attributes), std::move(inputs), {intermediate_name()});
  const ValueId id = state_.graph.nodes.back().outputs[0];
  fold_last_node();
  return id;
}

std::vector<ValueId> NodeContext::emit_all(OpKind op, Attributes attributes,
                                           std::vector<ValueId> inputs, std::size_t outputs) {
  std::vector<std::string> names;
  while (names.size() < outputs) names.push_back(intermediate_name());
  add(op, std::move(attributes), std::move(inputs), names);
  return state_.graph.nodes.back().outputs;
}

// A few bytes of a model can ask for many: ConstantOfShape, EyeLike, a window.
void NodeContext::count_made(const TensorType& type) {
  state_.made_bytes += graph::size_in_bytes(type);
  if (state_.made_bytes > state_.options->max_made_bytes)
    throw UserError(ExitStatus::ResourceLimit,
                    "the constants that the model computes have more than " +
                        std::to_string(state_.options->max_made_bytes) + " bytes");
}

ValueId NodeContext::add_constant(const Tensor& tensor) {
  count_made(tensor.type);
  return state_.graph.add_constant(intermediate_name(), tensor);
}

ValueId NodeContext::reshape(ValueId id, Dims shape) {
  return type(id).shape == shape
             ? id
             : emit(OpKind::Reshape, graph::ShapeAttributes{std::move(shape)}, {id});
}

ValueId NodeContext::cast(ValueId id, DType to) {
  return type(id).dtype == to ? id : emit(OpKind::Cast, graph::CastAttributes{to}, {id});
}

// A trailing output without a name is an optional one that is left out.
std::size_t NodeContext::output_count() const {
  int count = node_.output_size();
  while (count > 0 && node_.output(count - 1).empty()) --count;
  return static_cast<std::size_t>(count);
}

bool NodeContext::wants_output(std::size_t i) const {
  return i < output_count() && !node_.output(static_cast<int>(i)).empty();
}

void NodeContext::finish(OpKind op, Attributes attributes, std::vector<ValueId> inputs) {
  std::vector<std::string> names(node_.output().begin(),
                                 node_.output().begin() + static_cast<int>(output_count()));
  if (names.empty() || names[0].empty()) throw Unsupported{"its first output has no name"};
  std::vector<std::string> value_names;
  for (const std::string& name : names)
    value_names.push_back(name.empty() ? name : state_.value_name(name));
  add(op, std::move(attributes), std::move(inputs), value_names);
  const std::vector<ValueId> outputs = state_.graph.nodes.back().outputs;
  // ONNX names, as the scope knows them, not the prefixed ones of the graph.
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (outputs[i] != graph::kNoValue) state_.values[names[i]] = outputs[i];
  }
  fold_last_node();
}

void NodeContext::finish_constant(const Tensor& tensor) {
  if (output_count() != 1)
    throw Invalid{"has " + std::to_string(output_count()) + " outputs, expected 1"};
  // A Constant's elements are stored in the model.
  if (node_.op_type() != "Constant") count_made(tensor.type);
  const std::string& output = node_.output(0);
  state_.values[output] = state_.graph.add_constant(state_.value_name(output), tensor);
}

void NodeContext::finish_output(std::size_t i, OpKind op, Attributes attributes,
                                std::vector<ValueId> inputs) {
  if (!wants_output(i)) return;
  const std::string& output = node_.output(static_cast<int>(i));
  add(op, std::move(attributes), std::move(inputs), {state_.value_name(output)});
  state_.values[output] = state_.graph.nodes.back().outputs[0];
  fold_last_node();
}

// An output needs a value of its own, by its own name, even where it is an operand unchanged.
void NodeContext::finish_output(std::size_t i, ValueId id) {
  finish_output(i, OpKind::Identity, graph::NoAttributes{}, {id});
}

}  // namespace polyte::frontend
