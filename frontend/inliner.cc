#include "frontend/inliner.h"

#include "frontend/importers/bodies.h"
#include "frontend/importers/table.h"
#include "frontend/names.h"
#include "frontend/onnx_tensor.h"
#include "support/error.h"

namespace polyte::frontend {

namespace {

using onnx::FunctionProto;
using onnx::GraphProto;
using onnx::NodeProto;

// Limits for untrusted models: of the recursion, and of the graph that a small file can ask for.
constexpr int kMostDepth = 16;
constexpr std::int64_t kMostNodes = 100'000;

// While the body of a function is imported only its own names are visible. Those around it are
// set aside, and restored when the scope ends, also by an exception.
class FunctionScope {
 public:
  FunctionScope(ImportState& state, std::string prefix)
      : state_(state),
        values_(std::exchange(state.values, {})),
        unknown_(std::exchange(state.unknown, {})),
        prefix_(std::exchange(state.prefix, std::move(prefix))) {}
  ~FunctionScope() {
    state_.values = std::move(values_);
    state_.unknown = std::move(unknown_);
    state_.prefix = std::move(prefix_);
  }
  FunctionScope(const FunctionScope&) = delete;
  FunctionScope& operator=(const FunctionScope&) = delete;

 private:
  ImportState& state_;
  std::unordered_map<std::string, ValueId> values_;
  std::unordered_set<std::string> unknown_;
  std::string prefix_;
};

// A branch sees the names around it beside its own. A name that both define means the branch's
// value inside it and the outer one afterwards: it is hidden at the beginning and restored at
// the end.
class BranchScope {
 public:
  BranchScope(ImportState& state, const GraphProto& body, std::string prefix)
      : state_(state), prefix_(std::exchange(state.prefix, std::move(prefix))) {
    for (const auto& tensor : body.initializer()) hide(tensor.name());
    for (const NodeProto& node : body.node())
      for (const std::string& output : node.output()) hide(output);
  }
  ~BranchScope() {
    // What the branch has defined goes first, then the hidden names come back.
    for (const std::string& name : own_) {
      state_.values.erase(name);
      state_.unknown.erase(name);
    }
    state_.values.merge(values_);
    state_.unknown.merge(unknown_);
    state_.prefix = std::move(prefix_);
  }
  BranchScope(const BranchScope&) = delete;
  BranchScope& operator=(const BranchScope&) = delete;

 private:
  ImportState& state_;
  // Names that the branch defines, and which of them were unknown outside.
  std::unordered_set<std::string> own_, unknown_;
  std::unordered_map<std::string, ValueId> values_;
  std::string prefix_;

  void hide(const std::string& name) {
    if (!own_.insert(name).second) return;
    if (auto value = state_.values.extract(name)) values_.insert(std::move(value));
    if (auto unknown = state_.unknown.extract(name)) unknown_.insert(std::move(unknown));
  }
};

// The problems of the nodes of a body, by kind.
class BodyProblems {
 public:
  void add(const std::string& who, const Unsupported& problem) {
    append(unsupported_, who + problem.reason);
  }
  void add(const std::string& who, const Invalid& problem) {
    append(invalid_, who + problem.reason);
  }
  void add(const std::string& who, const UserError& error) {
    std::string& text = error.status() == ExitStatus::Unsupported ? unsupported_ : invalid_;
    for (const std::string& problem : error.problems()) append(text, who + problem);
  }
  void add(const Unchecked& problem) { unchecked_ = problem.operand; }

  // The worst kind is thrown: an Invalid body is invalid whatever else is unsupported, and
  // Unchecked, which only says that an earlier problem has been reported, comes last.
  void throw_all() const {
    if (!invalid_.empty()) throw Invalid{invalid_};
    if (!unsupported_.empty()) throw Unsupported{unsupported_};
    if (!unchecked_.empty()) throw Unchecked{unchecked_};
  }

 private:
  std::string unsupported_, invalid_, unchecked_;

  static void append(std::string& text, const std::string& problem) {
    text += (text.empty() ? "" : "; ") + problem;
  }
};

[[noreturn]] void throw_too_many_nodes() {
  throw UserError(ExitStatus::ResourceLimit, "functions and subgraphs have more than " +
                                                 std::to_string(kMostNodes) + " nodes");
}

// Fewer are allowed: trailing operands and outputs may be left out.
void check_call(const FunctionProto& function, const NodeProto& call) {
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size()) {
    throw Invalid{"the function takes " + std::to_string(function.input_size()) +
                  " inputs and gives " + std::to_string(function.output_size()) + " outputs"};
  }
}

}  // namespace

Inliner::Inliner(ImportState& state, const onnx::ModelProto& model, std::int64_t opset)
    : state_(state), opset_(opset) {
  for (const FunctionProto& function : model.functions())
    functions_[{function.domain(), function.name()}] = &function;
  state_.import_body = [this](const GraphProto& body, const std::string& prefix,
                              std::int64_t body_opset) {
    return apply_branch(body, prefix, body_opset);
  };
}

// A function of the model takes precedence over an operator of the same name, as ONNX has it.
void Inliner::apply(const NodeProto& node, const std::string& name, std::int64_t opset) {
  const auto function = functions_.find({node.domain(), node.op_type()});
  if (function != functions_.end()) return apply_function(*function->second, node, name);
  if (!is_onnx_domain(node.domain())) throw Unsupported{"operator not supported"};
  apply_operator(node, name, opset);
}

void Inliner::apply_operator(const NodeProto& node, const std::string& name, std::int64_t opset) {
  const Row* found = find_row(node.op_type(), opset);
  if (!found) {
    // The operator may be known from a later opset on only: the message says from which.
    const Row* later = find_row(node.op_type(), kGreatestOpset);
    throw Unsupported{later ? "operator not supported at this opset, only from " +
                                  std::to_string(later->since) + " on"
                            : "operator not supported"};
  }
  if (node.output_size() == 0) throw Invalid{"has no outputs"};
  NodeContext context(state_, node, name, opset);
  // Adapters mark what they read; what is left they do not know, and it is refused.
  found->adapter(context);
  context.refuse_unread();
  for (const std::string& output : node.output()) {
    if (!output.empty() && !state_.values.contains(output))
      throw Invalid{"has an output " + named(output) + " that the operator does not give"};
  }
}

// ONNX's rules for a body: nodes are in topological order, and a name has one definition.
void Inliner::apply_node(const NodeProto& node, const std::string& own_name, std::int64_t opset) {
  for (const std::string& input : node.input()) {
    if (input.empty() || state_.values.contains(input)) continue;
    if (state_.unknown.contains(input)) throw Unchecked{input};
    throw Invalid{"reads " + named(input) + ", which nothing computes"};
  }
  for (const std::string& output : node.output()) {
    if (state_.values.contains(output))
      throw Invalid{"computes " + named(output) + ", which is there already"};
  }
  apply(node, state_.prefix + own_name, opset);
  state_.applied.insert(state_.prefix + own_name);
}

// The nodes of a body in the scope that was made for it.
void Inliner::apply_nodes(const std::vector<NodeProto>& nodes, std::int64_t opset) {
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
  BodyProblems problems;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeProto& node = nodes[i];
    if (++applied_ > kMostNodes) throw_too_many_nodes();
    // A body's node without a name is called by its position.
    const std::string own = node.name().empty() ? std::to_string(i) : node.name();
    const std::string who = "in " + named(own) + " (" + printable(node.op_type()) + "): ";
    try {
      apply_node(node, own, opset);
      continue;
    } catch (const Unsupported& problem) {
      problems.add(who, problem);
    } catch (const Invalid& problem) {
      problems.add(who, problem);
    } catch (const Unchecked& problem) {
      problems.add(problem);
    } catch (const UserError& error) {
      if (error.status() == ExitStatus::ResourceLimit) throw;
      problems.add(who, error);
    }
    for (const std::string& output : node.output()) {
      state_.values.erase(output);
      // Nodes that read it are Unchecked: they would only repeat this problem.
      state_.unknown.insert(output);
    }
  }
  problems.throw_all();
}

std::int64_t Inliner::opset_of(const FunctionProto& function) const {
  std::int64_t opset = opset_;
  for (const auto& import : function.opset_import()) {
    if (is_onnx_domain(import.domain())) opset = import.version();
  }
  if (opset < kLeastOpset || opset > kGreatestOpset)
    throw Unsupported{"the function imports opset " + std::to_string(opset) + ": supported are " +
                      opset_range()};
  return opset;
}

// How many nodes a call becomes, saturating: a model of a few functions that call each other may
// ask for billions, and is refused before the first. Twenty functions that call the one before them
// twice each are a million nodes. A function is counted once, whoever calls it.
std::int64_t Inliner::inlined_nodes(const FunctionProto& function, int depth) {
  const auto [known, is_new] =
      inlined_nodes_.try_emplace(&function, 0);  // of a call of itself: what is too deep ends it
  if (!is_new || depth > kMostDepth) return known->second;
  std::int64_t count = 0;
  for (const NodeProto& node : function.node()) {
    const auto callee = functions_.find({node.domain(), node.op_type()});
    count += 1 + (callee == functions_.end() ? 0 : inlined_nodes(*callee->second, depth + 1));
    if (count > kMostNodes) break;
  }
  return inlined_nodes_[&function] = count;
}

void Inliner::apply_function(const FunctionProto& function, const NodeProto& call,
                             const std::string& name) {
  check_call(function, call);
  // Counted at the outermost call, which contains those in its body.
  if (depth_ == 0 && applied_ + inlined_nodes(function, 1) > kMostNodes) throw_too_many_nodes();
  const std::int64_t opset = opset_of(function);
  std::unordered_map<std::string, ValueId> arguments;
  std::unordered_set<std::string> absent;
  for (int i = 0; i < function.input_size(); ++i) {
    const bool is_given = i < call.input_size() && !call.input(i).empty();
    if (is_given)
      // The operands of the call are there: whoever imports a node has checked that.
      arguments[function.input(i)] = state_.values.at(call.input(i));
    else
      absent.insert(function.input(i));
  }
  // Copies, since each call has other attributes and other absent operands.
  std::vector<NodeProto> nodes(function.node().begin(), function.node().end());
  for (NodeProto& node : nodes) {
    bind_attributes(node, function, call);
    remove_operands(node, absent);
  }
  std::vector<ValueId> results;
  {
    const FunctionScope scope(state_, name + "/");
    state_.values = std::move(arguments);
    apply_nodes(nodes, opset);
    // Outputs of a function and of its call correspond by position.
    for (int i = 0; i < call.output_size(); ++i) {
      const auto found = state_.values.find(function.output(i));
      if (found == state_.values.end() && !call.output(i).empty())
        throw Invalid{"the function does not compute " + named(function.output(i))};
      results.push_back(found == state_.values.end() ? graph::kNoValue : found->second);
    }
  }
  // Give the values the names that the model has for them.
  NodeContext outputs(state_, call, name, opset);
  for (std::size_t i = 0; i < results.size(); ++i) outputs.finish_output(i, results[i]);
}

// Both branches of an If are imported one after the other; each sees the values around it.
std::vector<ValueId> Inliner::apply_branch(const GraphProto& body, const std::string& prefix,
                                           std::int64_t opset) {
  if (body.input_size() > 0) throw Unsupported{"a subgraph with inputs"};
  if (body.sparse_initializer_size() > 0) throw Unsupported{"sparse initializers in a subgraph"};
  const BranchScope scope(state_, body, prefix);
  for (const auto& proto : body.initializer()) {
    const Tensor tensor = tensor_from_onnx(proto, state_.folder, *state_.options);
    if (!state_.values
             .emplace(proto.name(),
                      state_.graph.add_constant(state_.value_name(proto.name()), tensor))
             .second)
      throw Invalid{"initializer " + named(proto.name()) + " of a subgraph is there twice"};
  }
  apply_nodes({body.node().begin(), body.node().end()}, opset);
  std::vector<ValueId> outputs;
  for (const auto& output : body.output()) {
    const auto found = state_.values.find(output.name());
    if (found == state_.values.end())
      throw Invalid{"a subgraph does not compute " + named(output.name())};
    outputs.push_back(found->second);
  }
  return outputs;
}

}  // namespace polyte::frontend
