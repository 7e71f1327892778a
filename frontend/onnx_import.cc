#include "frontend/onnx_import.h"

#include <algorithm>

#include "frontend/import_problems.h"
#include "frontend/importers/table.h"
#include "frontend/inliner.h"
#include "frontend/input_shapes.h"
#include "frontend/model_outline.h"
#include "frontend/names.h"
#include "frontend/onnx_reader.h"
#include "frontend/onnx_tensor.h"
#include "support/nearest_word.h"

namespace polyte::frontend {

namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

std::string unchecked_text(const std::string& operand) {
  return "not checked further: operand " + named(operand) + " is not available";
}

// Walks a model once. Problems are collected by kind; a value whose node failed is unknown, and
// nodes that read one are looked up in the table only.
class Importer {
 public:
  // Takes the payload of the model's initializers.
  Importer(ModelProto& model, std::string file, const std::filesystem::path& folder,
           const ImportOptions& options)
      : model_(model), onnx_(model.graph()), options_(options), problems_(std::move(file)) {
    state_.folder = folder;
    state_.options = &options_;
  }

  void run();
  Imported result();    // throws what was found
  Coverage coverage();  // throws what is invalid
 private:
  Tensor value_of_initializer(onnx::TensorProto& proto) const;
  void import_initializers();
  void import_inputs();
  void note_default(const std::string& input);
  void import_input(const onnx::ValueInfoProto& input, const InputShapes& shapes);
  std::string meant(const std::string& name) const;
  template <class Bound>
  void check_bound(const Bound& bound, const char* flag, const InputShapes& shapes);
  void import_nodes();
  void import_node(const NodeProto& node, std::size_t number, Inliner& inliner);
  std::string check_operands(const NodeProto& node, const NodeCoverage& row);
  void import_outputs();
  void add_bodies(const NodeProto& node, const NodeCoverage& around,
                  std::vector<NodeCoverage>& rows) const;
  void check_declared(const onnx::ValueInfoProto& output, ValueId id);

  ModelProto& model_;
  const GraphProto& onnx_;
  const ImportOptions& options_;
  ImportProblems problems_;
  ModelOutline outline_;
  ImportState state_;
  std::vector<std::string> notes_, open_;
};

// The default of an input gives way to the value that a caller binds it to.
Tensor Importer::value_of_initializer(onnx::TensorProto& proto) const {
  const auto bound = options_.values.find(proto.name());
  Tensor tensor = tensor_from_onnx(std::move(proto), state_.folder, options_);
  if (bound == options_.values.end()) return tensor;
  Tensor value = tensor.type.shape.empty() ? as_scalar(bound->second) : bound->second;
  if (!(value.type == tensor.type))
    throw UserError(ExitStatus::InvalidInput, "is bound to a value of " +
                                                  to_string(bound->second.type) + ", expected " +
                                                  to_string(tensor.type));
  return value;
}

void Importer::import_initializers() {
  for (auto& proto : *model_.mutable_graph()->mutable_initializer()) {
    const std::string name = proto.name();
    // A second initializer of this name has been reported (collect_names).
    if (state_.values.count(name)) continue;
    try {
      if (name.empty()) throw UserError(ExitStatus::InvalidInput, "has no name");
      const Tensor tensor = value_of_initializer(proto);
      state_.values[name] = state_.graph.add_constant(name, tensor);
    } catch (const UserError& error) {
      problems_.report(error, "initializer " + named(name));
      state_.unknown.insert(name);
    }
  }
}

void Importer::import_inputs() {
  for (const auto& input : onnx_.input()) {
    if (!outline_.initializers.count(input.name()))
      state_.input_positions.emplace(input.name(), state_.input_positions.size());
  }
  const InputShapes shapes(onnx_, state_, problems_);
  open_ = shapes.open();
  for (const auto& input : onnx_.input()) {
    if (outline_.initializers.count(input.name())) {
      note_default(input.name());
      continue;
    }
    // Listed twice, which collect_names has reported.
    if (state_.values.count(input.name()) || state_.unknown.count(input.name())) continue;
    try {
      import_input(input, shapes);
    } catch (const UserError& error) {
      problems_.report(error, "input " + named(input.name()));
      state_.unknown.insert(input.name());
    }
  }
  check_bound(options_.shapes, "--shape", shapes);
  check_bound(options_.values, "--value", shapes);
}

// Before IR version 4 every initializer had to be among the inputs, so that it being there says
// nothing.
void Importer::note_default(const std::string& input) {
  if (model_.ir_version() >= 4 && !options_.values.contains(input))
    notes_.push_back(
        "input " + named(input) +
        " has a default value: it is compiled as a constant, which only --value replaces");
  if (options_.shapes.contains(input))
    problems_.invalid("--shape names " + named(input) + ", whose default value has a shape");
}

// What --shape and --value can name: the inputs and, of sizes, their symbols.
std::string Importer::meant(const std::string& name) const {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> names;
  for (const auto& input : onnx_.input()) {
    names.push_back(input.name());
    for (const auto& dim : input.type().tensor_type().shape().dim())
      if (!dim.dim_param().empty()) names.push_back(dim.dim_param());
  }
  std::string near = did_you_mean(name, names);
  if (!near.empty()) return near;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += (i > 0 ? ", " : "") + named(names[i]);
  return names.empty() ? ""
                       : (names.size() == 1 ? " (there is " : " (there are ") + text +
                             (names.size() > kMost ? ", ..." : "") + ")";
}

template <class Bound>
void Importer::check_bound(const Bound& bound, const char* flag, const InputShapes& shapes) {
  for (const auto& [name, value] : bound) {
    const bool known =
        std::ranges::any_of(onnx_.input(), [&](const auto& i) { return i.name() == name; });
    if (!known && !shapes.is_bound_symbol(name))
      problems_.invalid(std::string(flag) + " names " + named(name) + ", which is no input" +
                        meant(name));
  }
}

void Importer::import_input(const onnx::ValueInfoProto& input, const InputShapes& shapes) {
  if (input.name().empty()) throw UserError(ExitStatus::InvalidInput, "has no name");
  if (!input.type().has_tensor_type()) throw UserError(ExitStatus::Unsupported, "is no tensor");
  const auto dtype = dtype_from_onnx(input.type().tensor_type().elem_type());
  if (!dtype)
    throw UserError(ExitStatus::Unsupported,
                    "has element type " + onnx_type_name(input.type().tensor_type().elem_type()) +
                        ": " + kSupportedTypes);
  const TensorType type{*dtype, shapes.shape_of(input)};
  check_size(type, options_);
  const auto value = options_.values.find(input.name());
  if (value == options_.values.end()) {
    state_.values[input.name()] = state_.graph.add_input(input.name(), type);
    return;
  }
  if (value->second.type.dtype != *dtype) {
    throw UserError(ExitStatus::InvalidInput, "is bound to a value of " +
                                                  to_string(value->second.type) + ", expected " +
                                                  to_string(type));
  }
  state_.values[input.name()] = state_.graph.add_constant(
      input.name(), type.shape.empty() ? as_scalar(value->second) : value->second);
}

// Empty if every operand is there and known; else what cannot be checked. Missing operands
// are invalid.
std::string Importer::check_operands(const NodeProto& node, const NodeCoverage& row) {
  std::string unchecked;
  for (const std::string& input : node.input()) {
    if (input.empty() || state_.values.count(input)) continue;
    const auto producer = outline_.producer.find(input);
    if (producer != outline_.producer.end() && !state_.unknown.count(input)) {
      problems_.invalid("node " + named(row.name) + " reads " + named(input) + " before node " +
                        named(outline_.rows[producer->second].name) +
                        " computes it: a cycle, or not in topological order");
    } else if (!state_.unknown.count(input)) {
      problems_.invalid("node " + named(row.name) + " (" + printable(row.op) + ") reads " +
                        named(input) + ", which nothing computes");
    }
    unchecked = unchecked_text(input);
  }
  return unchecked;
}

void Importer::import_node(const NodeProto& node, std::size_t number, Inliner& inliner) {
  NodeCoverage& row = outline_.rows[number];
  const Row* found =
      is_onnx_domain(node.domain()) ? find_row(node.op_type(), outline_.opset) : nullptr;
  const std::string unchecked = check_operands(node, row);
  if (!unchecked.empty() && (found || inliner.is_call(node))) {
    row.supported = true;
    row.checked = false;
    row.reason = unchecked;
    return;
  }
  const std::string who = "node " + named(row.name) + " (" + printable(row.op) + ", opset " +
                          std::to_string(outline_.opset) + "):";
  const std::size_t nodes_before = state_.graph.nodes.size();
  try {
    inliner.apply(node, row.name, outline_.opset);
    row.supported = true;
    return;
  } catch (const Unsupported& problem) {
    row.reason = problem.reason;
  } catch (const Unchecked& problem) {
    row.supported = true;
    row.checked = false;
    row.reason = unchecked_text(problem.operand);
  } catch (const Invalid& problem) {
    row.reason = problem.reason;
    problems_.report_node(number, UserError(ExitStatus::InvalidInput, problem.reason), who);
  } catch (const UserError& error) {
    row.reason = error.problems().front();
    if (error.status() != ExitStatus::Unsupported) problems_.report_node(number, error, who);
  }
  row.reason = plain(row.reason);
  // Adapters add nodes as they go, and a failed one leaves them half done. Their values stay
  // without a producer or a reader, and normalise() drops them.
  state_.graph.nodes.resize(nodes_before);
  for (const std::string& output : node.output()) state_.values.erase(output);
}

void Importer::import_nodes() {
  Inliner inliner(state_, model_, outline_.opset);
  for (int n = 0; n < onnx_.node_size(); ++n) {
    const NodeProto& node = onnx_.node(n);
    import_node(node, static_cast<std::size_t>(n), inliner);
    for (const std::string& output : node.output()) {
      if (!output.empty() && !state_.values.count(output)) state_.unknown.insert(output);
    }
  }
}

// A wrong type is an invalid model. Wrong shapes are common, as tools write them down and others
// change the model: the computed one counts.
void Importer::check_declared(const onnx::ValueInfoProto& output, ValueId id) {
  if (!output.type().has_tensor_type()) return;
  const auto& proto = output.type().tensor_type();
  const TensorType& type = state_.graph.value(id).type;
  const auto dtype = dtype_from_onnx(proto.elem_type());
  if (proto.elem_type() != 0 && dtype != type.dtype) {
    problems_.invalid("output " + named(output.name()) + " is declared " +
                      onnx_type_name(proto.elem_type()) + ", computed is " + to_string(type));
  }
  if (!proto.has_shape()) return;
  bool agrees = proto.shape().dim_size() == static_cast<int>(type.shape.size());
  for (int d = 0; agrees && d < proto.shape().dim_size(); ++d) {
    const auto& dim = proto.shape().dim(d);
    agrees = !dim.has_dim_value() || dim.dim_value() == -1 ||
             dim.dim_value() == type.shape[static_cast<std::size_t>(d)];
  }
  if (!agrees)
    notes_.push_back("output " + named(output.name()) +
                     " has another shape than declared: " + to_string(type));
}

void Importer::import_outputs() {
  std::unordered_set<std::string> seen;
  for (const auto& output : onnx_.output()) {
    if (!seen.insert(output.name()).second)
      problems_.invalid("output " + named(output.name()) + " is there twice");
    const auto found = state_.values.find(output.name());
    if (found != state_.values.end()) {
      state_.graph.outputs.push_back(found->second);
      check_declared(output, found->second);
    } else if (!state_.unknown.count(output.name())) {
      problems_.invalid("output " + named(output.name()) + " is computed by nothing");
    }
  }
  if (onnx_.output_size() == 0) problems_.invalid("the graph has no outputs");
}

// Initializers come first: one that has the name of an input is its default, and adapters ask for
// constants.
void Importer::run() {
  outline_ = outline_of(model_, options_, problems_);
  state_.names = outline_.names;
  import_initializers();
  import_inputs();
  import_nodes();
  import_outputs();
}

Imported Importer::result() {
  // Only now, after all nodes: one run lists everything that is wrong.
  problems_.throw_if_any(outline_.rows);
  state_.graph.name = onnx_.name().empty() ? "model" : printable(onnx_.name());
  state_.graph.normalise();
  const std::vector<std::string> problems = graph::verify(state_.graph);
  POLYTE_CHECK(problems.empty(), "the importer built a broken graph: " + problems.front());
  return {std::move(state_.graph), std::move(state_.specialised), std::move(notes_),
          std::move(open_)};
}

Coverage Importer::coverage() {
  problems_.throw_if_invalid(outline_.rows);
  std::vector<NodeCoverage> rows;
  for (int n = 0; n < onnx_.node_size(); ++n) {
    rows.push_back(std::move(outline_.rows[static_cast<std::size_t>(n)]));
    const NodeCoverage node = rows.back();
    add_bodies(onnx_.node(n), node, rows);
  }
  for (NodeCoverage& row : rows) {
    row.name = printable(row.name);
    row.op = printable(row.op);
  }
  return {std::move(rows), problems_.of_no_node()};
}

// The nodes of the subgraphs of a node, after it. What was imported is known to be supported;
// of the others, those of a branch that is never taken or of a node that failed, only the table
// is asked.
void Importer::add_bodies(const NodeProto& node, const NodeCoverage& around,
                          std::vector<NodeCoverage>& rows) const {
  for (const auto& attribute : node.attribute()) {
    for (int i = 0; i < attribute.g().node_size(); ++i) {
      const NodeProto& inner = attribute.g().node(i);
      const std::string own = inner.name().empty() ? std::to_string(i) : inner.name();
      NodeCoverage row{around.name + "/" + attribute.name() + "/" + own,
                       inner.op_type(),
                       outline_.opset,
                       false,
                       {}};
      const bool known =
          is_onnx_domain(inner.domain()) && find_row(inner.op_type(), outline_.opset);
      if (!is_onnx_domain(inner.domain())) row.op = inner.domain() + "::" + row.op;
      row.checked = state_.applied.contains(row.name);
      row.supported = known || row.checked;
      if (!row.supported) row.reason = "operator not supported";
      if (row.supported && !row.checked)
        row.reason = "not checked further: its branch is not computed";
      rows.push_back(row);
      add_bodies(inner, row, rows);
    }
  }
}

Imported import_model(ModelProto model, const std::string& name,
                      const std::filesystem::path& folder, const ImportOptions& options) {
  Importer importer(model, name, folder, options);
  importer.run();
  return importer.result();
}

// External data lies beside the model file itself, even if the path given is a link in another
// folder.
std::filesystem::path folder_of(const std::filesystem::path& file) {
  std::error_code unknown;
  const std::filesystem::path itself = std::filesystem::canonical(file, unknown);
  return unknown ? file.parent_path() : itself.parent_path();
}

}  // namespace

Imported import_onnx_bytes(std::string_view bytes, const std::string& name,
                           const std::filesystem::path& folder, const ImportOptions& options) {
  return import_model(parse_model(bytes, name), name, folder, options);
}

Imported import_onnx(const std::filesystem::path& file, const ImportOptions& options) {
  // The file's bytes are gone once they are parsed.
  const std::string name = file.filename().string();
  return import_model(parse_model(read_file(file, options.max_file_bytes), name), name,
                      folder_of(file), options);
}

Coverage coverage(const std::filesystem::path& file, const ImportOptions& options) {
  ModelProto model = parse_model(read_file(file, options.max_file_bytes), file.filename().string());
  Importer importer(model, file.filename().string(), folder_of(file), options);
  importer.run();
  return importer.coverage();
}

}  // namespace polyte::frontend
