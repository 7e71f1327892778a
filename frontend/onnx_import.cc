#include "frontend/onnx_import.h"

#include <algorithm>

#include "frontend/importers/bodies.h"
#include "frontend/importers/table.h"
#include "frontend/onnx_reader.h"
#include "frontend/onnx_tensor.h"
#include "support/error.h"

namespace polyte::frontend {

namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

// Names come from the file: control characters would reach a terminal.
std::string printable(const std::string& name) {
  std::string text;
  for (char c : name.substr(0, 200)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return text;
}

std::string named(const std::string& name) { return "'" + printable(name) + "'"; }

bool has_static_shape(const onnx::TypeProto::Tensor& type) {
  return type.has_shape() && std::all_of(type.shape().dim().begin(), type.shape().dim().end(),
                                         [](const auto& dim) { return dim.has_dim_value(); });
}

bool is_onnx_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::string opset_range() { return std::to_string(kLeastOpset) + " to " + std::to_string(kGreatestOpset); }

// The version of ONNX's operators that a body uses.
struct Opsets {
  std::int64_t onnx = 1;
};

// Walks a model once. Problems are collected by kind; a value whose node failed is `unknown`, and nodes that
// read one are looked up in the table only.
class Importer {
 public:
  Importer(const ModelProto& model, std::string file, const std::filesystem::path& folder, const ImportOptions& options)
      : model_(model), onnx_(model.graph()), file_(std::move(file)), options_(options) {
    state_.folder = folder;
    state_.options = &options_;
  }

  void run();
  Imported result();    // throws what was found
  Coverage coverage();  // throws what is invalid
 private:
  void check_header();
  void collect_names();
  void import_initializers();
  void import_inputs();
  void import_input(const onnx::ValueInfoProto& input);
  void import_nodes();
  void import_node(const NodeProto& node, NodeCoverage& row);
  std::string check_operands(const NodeProto& node, const NodeCoverage& row);
  void apply(const NodeProto& node, const std::string& name, const Opsets& opsets);
  void apply_row(const NodeProto& node, const std::string& name, std::int64_t opset);
  void apply_function(const onnx::FunctionProto& function, const NodeProto& call, const std::string& name);
  void apply_nodes(std::vector<NodeProto> nodes, const std::string& prefix, const Opsets& opsets);
  std::vector<ValueId> apply_graph(const GraphProto& body, const std::string& prefix, const Opsets& opsets);
  void import_outputs();
  void check_declared(const onnx::ValueInfoProto& output, ValueId id);
  void throw_hard_problems() const;
  std::vector<std::string> unsupported_lines() const;

  void invalid(std::string what) { invalid_.push_back(file_ + ": " + std::move(what)); }
  void report(const UserError& error, const std::string& who);

  const ModelProto& model_;
  const GraphProto& onnx_;
  std::string file_;
  const ImportOptions& options_;
  ImportState state_;
  std::int64_t opset_ = 1;
  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;  // by domain and name
  int depth_ = 0;                                                                        // of bodies within bodies
  std::int64_t applied_ = 0;                                                             // nodes of bodies
  std::unordered_map<std::string, std::size_t> producer_;  // node position, by output name
  std::unordered_set<std::string> initializers_, unknown_;
  std::vector<NodeCoverage> rows_;
  std::vector<std::string> invalid_, over_limit_, unsupported_, notes_;
};

void Importer::report(const UserError& error, const std::string& who) {
  for (const std::string& problem : error.problems()) {
    const std::string text = file_ + ": " + who + " " + problem;
    if (error.status() == ExitStatus::ResourceLimit)
      over_limit_.push_back(text);
    else if (error.status() == ExitStatus::Unsupported)
      unsupported_.push_back(who + " " + problem);
    else
      invalid_.push_back(text);
  }
}

void Importer::check_header() {
  if (onnx_.node_size() > options_.max_nodes) {
    throw UserError(ExitStatus::ResourceLimit, file_ + ": " + std::to_string(onnx_.node_size()) +
                                                   " nodes, the limit is " + std::to_string(options_.max_nodes));
  }
  bool found = false;
  for (const auto& import : model_.opset_import()) {
    if (!is_onnx_domain(import.domain())) continue;
    if (found && import.version() != opset_)
      invalid("imports opset " + std::to_string(opset_) + " and opset " + std::to_string(import.version()));
    opset_ = import.version();
    found = true;
  }
  const bool needs_opset = std::any_of(onnx_.node().begin(), onnx_.node().end(),
                                       [](const NodeProto& node) { return is_onnx_domain(node.domain()); });
  if (!found && needs_opset && model_.ir_version() >= 3) invalid("imports no opset of ONNX");
  if (found && opset_ < 1)
    invalid("imports opset " + std::to_string(opset_));
  else if (needs_opset && (opset_ < kLeastOpset || opset_ > kGreatestOpset)) {
    unsupported_.push_back("the model imports opset " + std::to_string(opset_) + ": supported are " + opset_range());
  }
  for (const auto& function : model_.functions()) functions_[{function.domain(), function.name()}] = &function;
  if (onnx_.sparse_initializer_size() > 0) unsupported_.push_back("the model has sparse initializers");
}

void Importer::collect_names() {
  for (const auto& tensor : onnx_.initializer()) {
    if (!initializers_.insert(tensor.name()).second) invalid("initializer " + named(tensor.name()) + " is there twice");
    state_.names.insert(tensor.name());
  }
  std::unordered_set<std::string> inputs;
  for (const auto& input : onnx_.input()) {
    if (!inputs.insert(input.name()).second) invalid("input " + named(input.name()) + " is there twice");
    state_.names.insert(input.name());
  }
  for (int n = 0; n < onnx_.node_size(); ++n) {
    NodeCoverage row{onnx_.node(n).name(), onnx_.node(n).op_type(), opset_, false, {}};
    if (!is_onnx_domain(onnx_.node(n).domain())) row.op = onnx_.node(n).domain() + "::" + row.op;
    if (row.name.empty())
      row.name = onnx_.node(n).output_size() > 0 ? onnx_.node(n).output(0) : "node_" + std::to_string(n);
    rows_.push_back(std::move(row));
    for (const std::string& output : onnx_.node(n).output()) {
      if (output.empty()) continue;
      const auto [first, is_new] = producer_.emplace(output, static_cast<std::size_t>(n));
      if (!is_new)
        invalid("nodes " + named(rows_[first->second].name) + " and " + named(rows_.back().name) + " both compute " +
                named(output));
      if (initializers_.count(output) || inputs.count(output))
        invalid("node " + named(rows_.back().name) + " computes " + named(output) +
                ", which is an input or initializer");
      state_.names.insert(output);
    }
  }
}

void Importer::import_initializers() {
  for (const auto& proto : onnx_.initializer()) {
    if (state_.values.count(proto.name())) continue;
    try {
      if (proto.name().empty()) throw UserError(ExitStatus::InvalidInput, "has no name");
      const Tensor tensor = tensor_from_onnx(proto, state_.folder, options_);
      state_.values[proto.name()] = state_.graph.add_constant(proto.name(), tensor);
    } catch (const UserError& error) {
      report(error, "initializer " + named(proto.name()));
      unknown_.insert(proto.name());
    }
  }
}

void Importer::import_inputs() {
  for (const auto& input : onnx_.input()) {
    if (!initializers_.count(input.name())) state_.input_positions.emplace(input.name(), state_.input_positions.size());
    if (initializers_.count(input.name())) {
      if (model_.ir_version() >= 4)
        notes_.push_back("input " + named(input.name()) +
                         " has a default value: it is compiled as a constant and cannot be overridden");
      continue;
    }
    if (state_.values.count(input.name()) || unknown_.count(input.name())) continue;  // there twice
    try {
      import_input(input);
    } catch (const UserError& error) {
      report(error, "input " + named(input.name()));
      unknown_.insert(input.name());
    }
  }
  auto check_bound = [&](const auto& bound, const char* flag) {
    for (const auto& [name, value] : bound) {
      const bool known =
          std::any_of(onnx_.input().begin(), onnx_.input().end(), [&](const auto& i) { return i.name() == name; });
      if (!known) invalid(std::string(flag) + " names " + named(name) + ", which is no input");
    }
  };
  check_bound(options_.shapes, "--shape");
  check_bound(options_.values, "--value");
}

void Importer::import_input(const onnx::ValueInfoProto& input) {
  if (input.name().empty()) throw UserError(ExitStatus::InvalidInput, "has no name");
  if (!input.type().has_tensor_type()) throw UserError(ExitStatus::Unsupported, "is no tensor");
  const auto& proto = input.type().tensor_type();
  const auto dtype = dtype_from_onnx(proto.elem_type());
  if (!dtype)
    throw UserError(ExitStatus::Unsupported,
                    "has element type " + onnx_type_name(proto.elem_type()) + ": " + kSupportedTypes);
  const auto bound = options_.shapes.find(input.name());
  const auto value = options_.values.find(input.name());
  TensorType type{*dtype, {}};
  std::optional<Tensor> offered;
  if (bound == options_.shapes.end() && value == options_.values.end() && !has_static_shape(proto))
    offered = state_.offered(input.name());
  if (offered) type.shape = offered->type.shape;
  if (bound != options_.shapes.end()) type.shape = bound->second;
  if (value != options_.values.end()) type.shape = value->second.type.shape;
  const bool is_bound = bound != options_.shapes.end() || value != options_.values.end() || offered;
  if (!proto.has_shape() && !is_bound) throw UserError(ExitStatus::Unsupported, "has no shape: give it with --shape");
  if (is_bound && proto.has_shape() && proto.shape().dim_size() != static_cast<int>(type.shape.size())) {
    throw UserError(ExitStatus::InvalidInput, "is bound to shape " + dims_text(type.shape) + ", expected rank " +
                                                  std::to_string(proto.shape().dim_size()));
  }
  for (int d = 0; d < (proto.has_shape() ? proto.shape().dim_size() : 0); ++d) {
    const auto& dim = proto.shape().dim(d);
    if (dim.has_dim_value() && is_bound && type.shape[static_cast<std::size_t>(d)] != dim.dim_value()) {
      throw UserError(ExitStatus::InvalidInput, "is bound to shape " + dims_text(type.shape) + ", but dimension " +
                                                    std::to_string(d) + " is " + std::to_string(dim.dim_value()));
    }
    if (is_bound) continue;
    if (!dim.has_dim_value()) {
      const std::string symbol =
          dim.has_dim_param() && !dim.dim_param().empty() ? "is " + named(dim.dim_param()) : "is not given";
      throw UserError(ExitStatus::Unsupported, "has a shape that is not static: dimension " + std::to_string(d) + " " +
                                                   symbol + "; give the shape with --shape");
    }
    type.shape.push_back(dim.dim_value());
  }
  check_size(type, options_);
  if (value == options_.values.end()) {
    state_.values[input.name()] = state_.graph.add_input(input.name(), type);
    return;
  }
  if (value->second.type.dtype != *dtype) {
    throw UserError(ExitStatus::InvalidInput,
                    "is bound to a value of " + to_string(value->second.type) + ", expected " + to_string(type));
  }
  state_.values[input.name()] = state_.graph.add_constant(input.name(), value->second);
}

// Empty if every operand is there and known; else what cannot be checked. Missing operands are invalid.
std::string Importer::check_operands(const NodeProto& node, const NodeCoverage& row) {
  std::string unchecked;
  for (const std::string& input : node.input()) {
    if (input.empty() || state_.values.count(input)) continue;
    const auto producer = producer_.find(input);
    if (producer != producer_.end() && !unknown_.count(input)) {
      invalid("node " + named(row.name) + " reads " + named(input) + " before node " +
              named(rows_[producer->second].name) + " computes it: a cycle, or not in topological order");
    } else if (!unknown_.count(input)) {
      invalid("node " + named(row.name) + " (" + printable(row.op) + ") reads " + named(input) +
              ", which nothing computes");
    }
    unchecked = "not checked further: operand " + named(input) + " is not available";
  }
  return unchecked;
}

void Importer::import_node(const NodeProto& node, NodeCoverage& row) {
  const bool is_call = functions_.contains({node.domain(), node.op_type()});
  const Row* found = is_onnx_domain(node.domain()) ? find_row(node.op_type(), opset_) : nullptr;
  const std::string unchecked = check_operands(node, row);
  if (!unchecked.empty() && (found || is_call)) {
    row.supported = true;
    row.reason = unchecked;
    return;
  }
  const std::string who =
      "node " + named(row.name) + " (" + printable(row.op) + ", opset " + std::to_string(opset_) + "):";
  const std::size_t nodes_before = state_.graph.nodes.size();
  try {
    apply(node, row.name, {opset_});
    row.supported = true;
  } catch (const Unsupported& problem) {
    row.reason = problem.reason;
  } catch (const Invalid& problem) {
    row.reason = problem.reason;
    invalid(who + " " + problem.reason);
  } catch (const UserError& error) {
    row.reason = error.problems().front();
    if (error.status() != ExitStatus::Unsupported) report(error, who);
  }
  if (row.supported) return;
  state_.graph.nodes.resize(nodes_before);
  for (const std::string& output : node.output()) state_.values.erase(output);
}

// One node at any depth: a call of a function of the model, or an operator of the table.
void Importer::apply(const NodeProto& node, const std::string& name, const Opsets& opsets) {
  const auto function = functions_.find({node.domain(), node.op_type()});
  if (function != functions_.end()) return apply_function(*function->second, node, name);
  if (!is_onnx_domain(node.domain())) throw Unsupported{"operator not supported"};
  struct Restore {
    ImportState& state;
    decltype(state.import_body) outer = state.import_body;
    ~Restore() { state.import_body = std::move(outer); }
  };
  const Restore restore{state_};
  state_.import_body = [this, opsets](const GraphProto& body, const std::string& prefix) {
    return apply_graph(body, prefix, opsets);
  };
  apply_row(node, name, opsets.onnx);
}

void Importer::apply_row(const NodeProto& node, const std::string& name, std::int64_t opset) {
  const Row* found = find_row(node.op_type(), opset);
  if (!found) {
    const Row* later = find_row(node.op_type(), kGreatestOpset);
    throw Unsupported{later ? "operator not supported at this opset, only from " + std::to_string(later->since) + " on"
                            : "operator not supported"};
  }
  if (node.output_size() == 0) throw Invalid{"has no outputs"};
  NodeContext context(state_, node, name, opset);
  found->adapter(context);
  context.refuse_unread();
  for (const std::string& output : node.output()) {
    if (!output.empty() && !state_.values.count(output))
      throw Invalid{"has an output " + named(output) + " that the operator does not give"};
  }
}

// The nodes of a body, under names of their own. All their problems become one.
void Importer::apply_nodes(std::vector<NodeProto> nodes, const std::string& prefix, const Opsets& opsets) {
  constexpr int kMostDepth = 16;
  constexpr std::int64_t kMostNodes = 100'000;
  if (depth_ >= kMostDepth) {
    throw UserError(ExitStatus::ResourceLimit,
                    "functions and subgraphs are nested deeper than " + std::to_string(kMostDepth));
  }
  struct Deeper {
    int& depth;
    explicit Deeper(int& d) : depth(++d) {}
    ~Deeper() { --depth; }
  };
  const Deeper deeper(depth_);
  std::string unsupported, broken;
  std::unordered_set<std::string> failed;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeProto& node = nodes[i];
    if (++applied_ > kMostNodes)
      throw UserError(ExitStatus::ResourceLimit,
                      "functions and subgraphs have more than " + std::to_string(kMostNodes) + " nodes");
    const std::string own = node.name().empty() ? std::to_string(i) : node.name();
    const std::string who = "in " + named(own) + " (" + printable(node.op_type()) + "): ";
    try {
      bool skipped = false;
      for (const std::string& input : node.input()) {
        skipped = skipped || failed.contains(input);
        if (!input.empty() && !state_.values.contains(input) && !failed.contains(input))
          throw Invalid{"reads " + named(input) + ", which nothing computes"};
      }
      if (!skipped) {
        apply(node, prefix + own, opsets);
        continue;
      }
    } catch (const Unsupported& problem) {
      unsupported += (unsupported.empty() ? "" : "; ") + who + problem.reason;
    } catch (const Invalid& problem) {
      broken += (broken.empty() ? "" : "; ") + who + problem.reason;
    }
    for (const std::string& output : node.output()) failed.insert(output);
  }
  if (!broken.empty()) throw Invalid{broken};
  if (!unsupported.empty()) throw Unsupported{unsupported};
}

void Importer::apply_function(const onnx::FunctionProto& function, const NodeProto& call, const std::string& name) {
  const std::string prefix = name + "/";
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    throw Invalid{"the function takes " + std::to_string(function.input_size()) + " inputs and gives " +
                  std::to_string(function.output_size()) + " outputs"};
  }
  Opsets opsets{opset_};
  for (const auto& import : function.opset_import()) {
    if (is_onnx_domain(import.domain())) opsets.onnx = import.version();
  }
  if (opsets.onnx < kLeastOpset || opsets.onnx > kGreatestOpset)
    throw Unsupported{"the function imports opset " + std::to_string(opsets.onnx) + ": supported are " + opset_range()};
  std::unordered_set<std::string> absent;
  for (int i = 0; i < function.input_size(); ++i) {
    const bool is_given = i < call.input_size() && !call.input(i).empty();
    if (is_given)
      state_.values[prefix + function.input(i)] = state_.values.at(call.input(i));
    else
      absent.insert(function.input(i));
  }
  std::vector<NodeProto> nodes;
  for (const NodeProto& node : function.node()) {
    nodes.push_back(node);
    bind_attributes(nodes.back(), function, call);
    rename_values(nodes.back(), [&](const std::string& own) { return absent.contains(own) ? "" : prefix + own; });
  }
  apply_nodes(std::move(nodes), prefix, opsets);
  for (int i = 0; i < call.output_size(); ++i) {
    const auto found = state_.values.find(prefix + function.output(i));
    if (call.output(i).empty()) continue;
    if (found == state_.values.end()) throw Invalid{"the function does not compute " + named(function.output(i))};
    const ValueId id = found->second;
    NodeProto copy;  // gives the value the name that the model has for it
    copy.set_op_type("Identity");
    copy.add_input(prefix + function.output(i));
    copy.add_output(call.output(i));
    state_.values[call.output(i)] = id;
    NodeContext(state_, copy, name, opsets.onnx).finish_output(0, id);
  }
}

std::vector<ValueId> Importer::apply_graph(const GraphProto& body, const std::string& prefix, const Opsets& opsets) {
  if (body.input_size() > 0) throw Unsupported{"a subgraph with inputs"};
  if (body.sparse_initializer_size() > 0) throw Unsupported{"sparse initializers in a subgraph"};
  std::unordered_set<std::string> own;
  for (const auto& tensor : body.initializer()) own.insert(tensor.name());
  for (const NodeProto& node : body.node()) own.insert(node.output().begin(), node.output().end());
  const auto renamed = [&](const std::string& name) { return own.contains(name) ? prefix + name : name; };
  for (const auto& proto : body.initializer())
    state_.values[prefix + proto.name()] =
        state_.graph.add_constant(prefix + proto.name(), tensor_from_onnx(proto, state_.folder, options_));
  std::vector<NodeProto> nodes(body.node().begin(), body.node().end());
  for (NodeProto& node : nodes) rename_values(node, renamed);
  apply_nodes(std::move(nodes), prefix, opsets);
  std::vector<ValueId> outputs;
  for (const auto& output : body.output()) {
    const auto found = state_.values.find(renamed(output.name()));
    if (found == state_.values.end()) throw Invalid{"a subgraph does not compute " + named(output.name())};
    outputs.push_back(found->second);
  }
  return outputs;
}

void Importer::import_nodes() {
  for (int n = 0; n < onnx_.node_size(); ++n) {
    const NodeProto& node = onnx_.node(n);
    import_node(node, rows_[static_cast<std::size_t>(n)]);
    for (const std::string& output : node.output()) {
      if (!output.empty() && !state_.values.count(output)) unknown_.insert(output);
    }
  }
}

void Importer::check_declared(const onnx::ValueInfoProto& output, ValueId id) {
  if (!output.type().has_tensor_type()) return;
  const auto& proto = output.type().tensor_type();
  const TensorType& type = state_.graph.value(id).type;
  const auto dtype = dtype_from_onnx(proto.elem_type());
  if (proto.elem_type() != 0 && dtype != type.dtype) {
    invalid("output " + named(output.name()) + " is declared " + onnx_type_name(proto.elem_type()) + ", computed is " +
            to_string(type));
  }
  if (!proto.has_shape()) return;
  bool agrees = proto.shape().dim_size() == static_cast<int>(type.shape.size());
  for (int d = 0; agrees && d < proto.shape().dim_size(); ++d) {
    const auto& dim = proto.shape().dim(d);
    agrees = !dim.has_dim_value() || dim.dim_value() == type.shape[static_cast<std::size_t>(d)];
  }
  if (!agrees)
    notes_.push_back("output " + named(output.name()) + " has another shape than declared: " + to_string(type));
}

void Importer::import_outputs() {
  std::unordered_set<std::string> seen;
  for (const auto& output : onnx_.output()) {
    if (!seen.insert(output.name()).second) invalid("output " + named(output.name()) + " is there twice");
    const auto found = state_.values.find(output.name());
    if (found != state_.values.end()) {
      state_.graph.outputs.push_back(found->second);
      check_declared(output, found->second);
    } else if (!unknown_.count(output.name())) {
      invalid("output " + named(output.name()) + " is computed by nothing");
    }
  }
  if (onnx_.output_size() == 0) invalid("the graph has no outputs");
}

void Importer::run() {
  check_header();
  collect_names();
  import_initializers();
  import_inputs();
  import_nodes();
  import_outputs();
}

void Importer::throw_hard_problems() const {
  if (!invalid_.empty()) throw UserError(ExitStatus::InvalidInput, invalid_);
  if (!over_limit_.empty()) throw UserError(ExitStatus::ResourceLimit, over_limit_);
}

// The table of EXPERIENCE: a heading, then a line a problem in two columns.
std::vector<std::string> Importer::unsupported_lines() const {
  std::vector<std::pair<std::string, std::string>> table;
  for (const NodeCoverage& row : rows_) {
    if (row.supported) continue;
    table.emplace_back(named(row.name) + " (" + printable(row.op) + ", opset " + std::to_string(row.opset) + ")",
                       row.reason);
  }
  std::vector<std::string> lines;
  for (const std::string& problem : unsupported_) lines.push_back(file_ + ": " + problem);
  if (table.empty()) return lines;
  const std::string count = std::to_string(table.size()) + " of " + std::to_string(rows_.size());
  lines.push_back(file_ + ": " + count + (rows_.size() == 1 ? " node is" : " nodes are") + " not supported");
  std::size_t width = 0;
  for (const auto& [who, reason] : table) width = std::max(width, who.size());
  for (const auto& [who, reason] : table)
    lines.push_back("  " + who + std::string(width - std::min(width, who.size()) + 4, ' ') + reason);
  return lines;
}

Imported Importer::result() {
  throw_hard_problems();
  std::vector<std::string> lines = unsupported_lines();
  if (!lines.empty()) throw UserError(ExitStatus::Unsupported, std::move(lines));
  state_.graph.name = onnx_.name().empty() ? "model" : printable(onnx_.name());
  state_.graph.normalise();
  const std::vector<std::string> problems = graph::verify(state_.graph);
  POLYTE_CHECK(problems.empty(), "the importer built a broken graph: " + problems.front());
  return {std::move(state_.graph), std::move(state_.specialised), std::move(notes_)};
}

Coverage Importer::coverage() {
  throw_hard_problems();
  return {std::move(rows_), std::move(unsupported_)};
}

}  // namespace

Imported import_onnx_bytes(std::string_view bytes, const std::string& name, const std::filesystem::path& folder,
                           const ImportOptions& options) {
  const ModelProto model = parse_model(bytes, name);
  Importer importer(model, name, folder, options);
  importer.run();
  return importer.result();
}

Imported import_onnx(const std::filesystem::path& file, const ImportOptions& options) {
  const std::string bytes = read_file(file, options.max_file_bytes);
  return import_onnx_bytes(bytes, file.filename().string(), file.parent_path(), options);
}

Coverage coverage(const std::filesystem::path& file, const ImportOptions& options) {
  const ModelProto model = parse_model(read_file(file, options.max_file_bytes), file.filename().string());
  Importer importer(model, file.filename().string(), file.parent_path(), options);
  importer.run();
  return importer.coverage();
}

}  // namespace polyte::frontend
