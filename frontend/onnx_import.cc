#include "frontend/onnx_import.h"

#include <algorithm>

#include "frontend/importers/table.h"
#include "frontend/inliner.h"
#include "frontend/names.h"
#include "frontend/onnx_reader.h"
#include "frontend/onnx_tensor.h"
#include "support/error.h"

namespace polyte::frontend {

namespace {

using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;

bool has_static_shape(const onnx::TypeProto::Tensor& type) {
  return type.has_shape() && std::all_of(type.shape().dim().begin(), type.shape().dim().end(),
                                         [](const auto& dim) { return dim.has_dim_value(); });
}

std::string unchecked_text(const std::string& operand) {
  return "not checked further: operand " + named(operand) + " is not available";
}

// Walks a model once. Problems are collected by kind; a value whose node failed is unknown, and nodes that read one
// are looked up in the table only.
class Importer {
 public:
  // Takes the payload of the model's initializers.
  Importer(ModelProto& model, std::string file, const std::filesystem::path& folder, const ImportOptions& options)
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
  Tensor value_of_initializer(onnx::TensorProto& proto) const;
  void import_initializers();
  void import_inputs();
  void import_input(const onnx::ValueInfoProto& input);
  std::optional<Dims> given_shape(const onnx::ValueInfoProto& input) const;
  void bind_symbols();
  Dims shape_of_input(const onnx::ValueInfoProto& input) const;
  void import_nodes();
  void import_node(const NodeProto& node, std::size_t number, Inliner& inliner);
  std::string check_operands(const NodeProto& node, const NodeCoverage& row);
  void import_outputs();
  void check_declared(const onnx::ValueInfoProto& output, ValueId id);
  bool has_hard_problems() const { return !invalid_.empty() || !over_limit_.empty(); }
  [[noreturn]] void throw_problems() const;
  std::vector<std::string> unsupported_lines() const;

  void invalid(const std::string& what) { invalid_.push_back(plain(file_ + ": " + what)); }
  void report(const UserError& error, const std::string& who);

  ModelProto& model_;
  const GraphProto& onnx_;
  std::string file_;
  const ImportOptions& options_;
  ImportState state_;
  std::int64_t opset_ = 1;
  std::unordered_map<std::string, std::size_t> producer_;  // node position, by output name
  std::unordered_set<std::string> initializers_;
  std::map<std::string, std::int64_t> symbols_;  // extents of the symbols that are bound
  std::vector<NodeCoverage> rows_;
  std::vector<bool> is_listed_;  // by node: its problem is among the invalid ones or those over a limit
  std::vector<std::string> invalid_, over_limit_, unsupported_, notes_;
};

void Importer::report(const UserError& error, const std::string& who) {
  for (const std::string& problem : error.problems()) {
    const std::string text = plain(file_ + ": " + who + " " + problem);
    if (error.status() == ExitStatus::ResourceLimit)
      over_limit_.push_back(text);
    else if (error.status() == ExitStatus::Unsupported)
      unsupported_.push_back(plain(who + " " + problem));
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

// The default of an input gives way to the value that a caller binds it to.
Tensor Importer::value_of_initializer(onnx::TensorProto& proto) const {
  const auto bound = options_.values.find(proto.name());
  Tensor tensor = tensor_from_onnx(std::move(proto), state_.folder, options_);
  if (bound == options_.values.end()) return tensor;
  if (!(bound->second.type == tensor.type))
    throw UserError(ExitStatus::InvalidInput,
                    "is bound to a value of " + to_string(bound->second.type) + ", expected " + to_string(tensor.type));
  return bound->second;
}

void Importer::import_initializers() {
  for (auto& proto : *model_.mutable_graph()->mutable_initializer()) {
    const std::string name = proto.name();
    if (state_.values.count(name)) continue;
    try {
      if (name.empty()) throw UserError(ExitStatus::InvalidInput, "has no name");
      const Tensor tensor = value_of_initializer(proto);
      state_.values[name] = state_.graph.add_constant(name, tensor);
    } catch (const UserError& error) {
      report(error, "initializer " + named(name));
      state_.unknown.insert(name);
    }
  }
}

void Importer::import_inputs() {
  for (const auto& input : onnx_.input()) {
    if (!initializers_.count(input.name())) state_.input_positions.emplace(input.name(), state_.input_positions.size());
  }
  bind_symbols();
  for (const auto& input : onnx_.input()) {
    if (initializers_.count(input.name())) {
      if (model_.ir_version() >= 4 && !options_.values.contains(input.name()))
        notes_.push_back("input " + named(input.name()) +
                         " has a default value: it is compiled as a constant, which only --value replaces");
      if (options_.shapes.contains(input.name()))
        invalid("--shape names " + named(input.name()) + ", whose default value has a shape");
      continue;
    }
    if (state_.values.count(input.name()) || state_.unknown.count(input.name())) continue;  // there twice
    try {
      import_input(input);
    } catch (const UserError& error) {
      report(error, "input " + named(input.name()));
      state_.unknown.insert(input.name());
    }
  }
  auto check_bound = [&](const auto& bound, const char* flag) {
    for (const auto& [name, value] : bound) {
      const bool known =
          std::any_of(onnx_.input().begin(), onnx_.input().end(), [&](const auto& i) { return i.name() == name; });
      if (!known && !symbols_.contains(name))
        invalid(std::string(flag) + " names " + named(name) + ", which is no input");
    }
  };
  check_bound(options_.shapes, "--shape");
  check_bound(options_.values, "--value");
}

// The shape that a caller gives an input: bound, of a value, or of what is offered for the run.
std::optional<Dims> Importer::given_shape(const onnx::ValueInfoProto& input) const {
  if (const auto shape = options_.shapes.find(input.name()); shape != options_.shapes.end()) return shape->second;
  if (const auto value = options_.values.find(input.name()); value != options_.values.end())
    return value->second.type.shape;
  if (has_static_shape(input.type().tensor_type())) return std::nullopt;
  if (const auto offered = state_.offered(input.name())) return offered->type.shape;
  return std::nullopt;
}

// Symbols have one extent in the whole model: that of --shape N=4, or of an input whose shape is given.
void Importer::bind_symbols() {
  std::map<std::string, std::string> bound_by;
  const auto bind = [&](const std::string& symbol, std::int64_t extent, const std::string& by) {
    const auto [known, is_new] = symbols_.try_emplace(symbol, extent);
    if (is_new) bound_by[symbol] = by;
    if (known->second != extent)
      invalid("symbol " + named(symbol) + " is " + std::to_string(known->second) + " by " + bound_by[symbol] + " and " +
              std::to_string(extent) + " by " + by);
  };
  std::unordered_set<std::string> inputs, known;
  for (const auto& input : onnx_.input()) {
    inputs.insert(input.name());
    for (const auto& dim : input.type().tensor_type().shape().dim()) known.insert(dim.dim_param());
  }
  for (const auto& [name, dims] : options_.shapes) {
    if (inputs.contains(name) || !known.contains(name) || name.empty()) continue;
    if (dims.size() == 1)
      bind(name, dims[0], "--shape");
    else
      invalid("--shape gives symbol " + named(name) + " " + std::to_string(dims.size()) + " extents, expected one");
  }
  for (const auto& input : onnx_.input()) {
    const auto& proto = input.type().tensor_type().shape();
    const std::optional<Dims> dims = initializers_.contains(input.name()) ? std::nullopt : given_shape(input);
    if (!dims || proto.dim_size() != static_cast<int>(dims->size())) continue;
    for (int d = 0; d < proto.dim_size(); ++d) {
      const std::string& symbol = proto.dim(d).dim_param();
      if (!symbol.empty()) bind(symbol, (*dims)[static_cast<std::size_t>(d)], "input " + named(input.name()));
    }
  }
}

// The shape of an input. Unsupported where something stays open, all of it named.
Dims Importer::shape_of_input(const onnx::ValueInfoProto& input) const {
  const auto& proto = input.type().tensor_type();
  const std::optional<Dims> given = given_shape(input);
  if (!proto.has_shape() && !given) throw UserError(ExitStatus::Unsupported, "has no shape: give it with --shape");
  if (given && proto.has_shape() && proto.shape().dim_size() != static_cast<int>(given->size())) {
    throw UserError(ExitStatus::InvalidInput, "is bound to shape " + dims_text(*given) + ", expected rank " +
                                                  std::to_string(proto.shape().dim_size()));
  }
  Dims shape = given.value_or(Dims{});
  std::string open;
  for (int d = 0; d < proto.shape().dim_size(); ++d) {
    const auto& dim = proto.shape().dim(d);
    const auto symbol = symbols_.find(dim.dim_param());
    if (dim.has_dim_value() && given && (*given)[static_cast<std::size_t>(d)] != dim.dim_value()) {
      throw UserError(ExitStatus::InvalidInput, "is bound to shape " + dims_text(*given) + ", but dimension " +
                                                    std::to_string(d) + " is " + std::to_string(dim.dim_value()));
    }
    if (given) continue;
    if (!dim.has_dim_value() && symbol == symbols_.end())
      open += (open.empty() ? "dimension " : ", dimension ") + std::to_string(d) +
              (dim.dim_param().empty() ? " is not given" : " is " + named(dim.dim_param()));
    shape.push_back(dim.has_dim_value() || symbol == symbols_.end() ? dim.dim_value() : symbol->second);
  }
  if (!open.empty())
    throw UserError(ExitStatus::Unsupported,
                    "has a shape that is not static: " + open + "; give the shape, or a symbol, with --shape");
  return shape;
}

void Importer::import_input(const onnx::ValueInfoProto& input) {
  if (input.name().empty()) throw UserError(ExitStatus::InvalidInput, "has no name");
  if (!input.type().has_tensor_type()) throw UserError(ExitStatus::Unsupported, "is no tensor");
  const auto dtype = dtype_from_onnx(input.type().tensor_type().elem_type());
  if (!dtype)
    throw UserError(
        ExitStatus::Unsupported,
        "has element type " + onnx_type_name(input.type().tensor_type().elem_type()) + ": " + kSupportedTypes);
  const TensorType type{*dtype, shape_of_input(input)};
  check_size(type, options_);
  const auto value = options_.values.find(input.name());
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
    if (producer != producer_.end() && !state_.unknown.count(input)) {
      invalid("node " + named(row.name) + " reads " + named(input) + " before node " +
              named(rows_[producer->second].name) + " computes it: a cycle, or not in topological order");
    } else if (!state_.unknown.count(input)) {
      invalid("node " + named(row.name) + " (" + printable(row.op) + ") reads " + named(input) +
              ", which nothing computes");
    }
    unchecked = unchecked_text(input);
  }
  return unchecked;
}

void Importer::import_node(const NodeProto& node, std::size_t number, Inliner& inliner) {
  NodeCoverage& row = rows_[number];
  const Row* found = is_onnx_domain(node.domain()) ? find_row(node.op_type(), opset_) : nullptr;
  const std::string unchecked = check_operands(node, row);
  if (!unchecked.empty() && (found || inliner.is_call(node))) {
    row.supported = true;
    row.reason = unchecked;
    return;
  }
  const std::string who =
      "node " + named(row.name) + " (" + printable(row.op) + ", opset " + std::to_string(opset_) + "):";
  const std::size_t nodes_before = state_.graph.nodes.size();
  try {
    inliner.apply(node, row.name, opset_);
    row.supported = true;
    return;
  } catch (const Unsupported& problem) {
    row.reason = problem.reason;
  } catch (const Unchecked& problem) {
    row.supported = true;
    row.reason = unchecked_text(problem.operand);
  } catch (const Invalid& problem) {
    row.reason = problem.reason;
    invalid(who + " " + problem.reason);
    is_listed_[number] = true;
  } catch (const UserError& error) {
    row.reason = error.problems().front();
    is_listed_[number] = error.status() != ExitStatus::Unsupported;
    if (is_listed_[number]) report(error, who);
  }
  row.reason = plain(row.reason);
  state_.graph.nodes.resize(nodes_before);
  for (const std::string& output : node.output()) state_.values.erase(output);
}

void Importer::import_nodes() {
  Inliner inliner(state_, model_, opset_);
  is_listed_.resize(rows_.size());
  for (int n = 0; n < onnx_.node_size(); ++n) {
    const NodeProto& node = onnx_.node(n);
    import_node(node, static_cast<std::size_t>(n), inliner);
    for (const std::string& output : node.output()) {
      if (!output.empty() && !state_.values.count(output)) state_.unknown.insert(output);
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
    } else if (!state_.unknown.count(output.name())) {
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

// All of them at once; the status is that of the worst.
void Importer::throw_problems() const {
  std::vector<std::string> lines = invalid_;
  lines.insert(lines.end(), over_limit_.begin(), over_limit_.end());
  const std::vector<std::string> unsupported = unsupported_lines();
  lines.insert(lines.end(), unsupported.begin(), unsupported.end());
  const ExitStatus status = !invalid_.empty()      ? ExitStatus::InvalidInput
                            : !over_limit_.empty() ? ExitStatus::ResourceLimit
                                                   : ExitStatus::Unsupported;
  throw UserError(status, std::move(lines));
}

// The table of EXPERIENCE: a heading, then a line a problem in two columns.
std::vector<std::string> Importer::unsupported_lines() const {
  std::vector<std::pair<std::string, std::string>> table;
  for (std::size_t n = 0; n < rows_.size(); ++n) {
    const NodeCoverage& row = rows_[n];
    if (row.supported || is_listed_[n]) continue;
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
  if (has_hard_problems() || !unsupported_lines().empty()) throw_problems();
  state_.graph.name = onnx_.name().empty() ? "model" : printable(onnx_.name());
  state_.graph.normalise();
  const std::vector<std::string> problems = graph::verify(state_.graph);
  POLYTE_CHECK(problems.empty(), "the importer built a broken graph: " + problems.front());
  return {std::move(state_.graph), std::move(state_.specialised), std::move(notes_)};
}

Coverage Importer::coverage() {
  if (has_hard_problems()) throw_problems();
  for (NodeCoverage& row : rows_) {
    row.name = printable(row.name);
    row.op = printable(row.op);
  }
  return {std::move(rows_), std::move(unsupported_)};
}

}  // namespace

namespace {

Imported import_model(ModelProto model, const std::string& name, const std::filesystem::path& folder,
                      const ImportOptions& options) {
  Importer importer(model, name, folder, options);
  importer.run();
  return importer.result();
}

}  // namespace

Imported import_onnx_bytes(std::string_view bytes, const std::string& name, const std::filesystem::path& folder,
                           const ImportOptions& options) {
  return import_model(parse_model(bytes, name), name, folder, options);
}

Imported import_onnx(const std::filesystem::path& file, const ImportOptions& options) {
  const std::string name = file.filename().string();  // the file's bytes are gone once they are parsed
  return import_model(parse_model(read_file(file, options.max_file_bytes), name), name, file.parent_path(), options);
}

Coverage coverage(const std::filesystem::path& file, const ImportOptions& options) {
  ModelProto model = parse_model(read_file(file, options.max_file_bytes), file.filename().string());
  Importer importer(model, file.filename().string(), file.parent_path(), options);
  importer.run();
  return importer.coverage();
}

}  // namespace polyte::frontend
