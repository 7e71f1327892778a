#include "graph/expander.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "ir/align_iterators.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

ir::Expr literal_of(const Tensor& tensor) {
  const DType type = tensor.type.dtype;
  if (is_float(type)) return ir::make_float(type, element_as_real(tensor, 0));
  return ir::make_int(type, element_as_int(tensor, 0));
}

// Words of the Program text and the iterators used here: a buffer of such a name gets
// an underscore.
bool is_reserved(const std::string& name) {
  static constexpr const char* kWords[] = {
      "program", "in",     "const",  "out",    "inout",   "temp",    "loop",  "for",  "where",
      "if",      "else",   "step",   "sum",    "product", "min",     "max",   "and",  "or",
      "not",     "xor",    "argmin", "argmax", "abs",     "sqrt",    "floor", "ceil", "round",
      "trunc",   "exp",    "log",    "tanh",   "erf",     "sigmoid", "sin",   "cos",  "pow",
      "fma",     "select", "cast",   "true",   "false",   "inf",     "nan",   "neg",  "mod",
      "context", "shl",    "shr",    "eq",     "ne",      "lt",      "le"};
  static constexpr const char* kIterators[] = {"b",  "n",  "c",  "d",  "h",  "w",  "m",
                                               "k",  "i",  "j",  "r",  "co", "ci", "bo",
                                               "bi", "kd", "kh", "kw", "od", "oh", "ow"};
  const auto is_name = [&](const char* word) { return name == word; };
  if (dtype_from_string(name)) return true;
  if (std::ranges::any_of(kWords, is_name)) return true;
  if (std::ranges::any_of(kIterators, is_name)) return true;
  // Iterators that operators number: batches of MatMul (b0), dimensions of many (i0), reductions
  // (r0), spatial dimensions beyond three (s0).
  const bool numbered = name.size() > 1 && std::string("birs").find(name[0]) != std::string::npos;
  return numbered && std::all_of(name.begin() + 1, name.end(), [](char c) {
           return std::isdigit(static_cast<unsigned char>(c));
         });
}

// ONNX names may hold any characters; what is no letter or digit becomes an underscore. Two names
// may become one: claim() tells them apart.
std::string identifier_of(const std::string& name) {
  std::string result;
  for (char c : name.substr(0, 64)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    result += plain ? c : '_';
  }
  if (result.empty() || (result[0] >= '0' && result[0] <= '9')) result.insert(0, "t");
  return is_reserved(result) ? result + "_" : result;
}

// Whether what computes this operand can be written in its place: then it is computed once for each
// element that is read. A reader that has more elements than the operand (a broadcast along rows)
// would compute it again and again; an operand that has at least as many elements as the result is
// computed no more often in its reader than it would be alone. `is_copy`: its elements are loads,
// and to load one twice costs no more than to load its copy twice.
bool reads_inline(const Graph& graph, OperatorTable operators, const Node& reader,
                  std::size_t operand, bool is_copy) {
  const OpTraits& traits = row_of(operators, reader.op).traits;
  if (!includes(traits.reads_once, operand)) return false;
  const std::int64_t read = element_count(graph.value(reader.inputs[operand]).type.shape);
  return traits.reads_elements_once || is_copy ||
         read >= element_count(graph.value(reader.outputs[0]).type.shape);
}

std::vector<ir::Index> indices_of(const Subscripts& at) { return {at.begin(), at.end()}; }

Ranges join(Ranges a, const Ranges& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

// Names of rank 4 and 5 are those of images, as in output_ranges (ops/window.h). Where statements
// of a group differ all the same, align_iterators (ir/align_iterators.h) renames their iterators.
Ranges ranges_over(const Dims& shape) {
  static const std::vector<std::vector<const char*>> kNames = {
      {}, {"i"}, {"i", "j"}, {"i", "j", "k"}, {"n", "c", "h", "w"}, {"n", "c", "d", "h", "w"}};
  Ranges ranges;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    ranges.push_back(
        {shape.size() < kNames.size() ? kNames[shape.size()][d] : "i" + std::to_string(d), 0,
         shape[d]});
  }
  return ranges;
}

Subscripts subscripts_of(const Ranges& ranges) {
  Subscripts at;
  for (const ir::Range& range : ranges) at.push_back(ir::Affine::symbol(range.name));
  return at;
}

DType accumulator_of(DType type) {
  return type == DType::F16 || type == DType::BF16 ? DType::F32 : type;
}

Expander::Expander(const Graph& graph, std::span<const NodeId> nodes, const std::string& name,
                   OperatorTable operators)
    : graph_(graph),
      operators_(operators),
      nodes_(nodes.begin(), nodes.end()),
      program_(identifier_of(name)) {}

Expansion Expander::run() {
  declare_interface();
  for (NodeId id : nodes_) {
    const Node& node = graph_.node(id);
    bool has_elements = false;
    for (ValueId output : node.outputs) {
      if (output == kNoValue) continue;
      if (element_count(shape(output)) > 0)
        has_elements = true;
      else
        define_empty(output);
    }
    node_ = &node;
    // An operator never sees a node all of whose outputs are empty; define_empty has written those.
    if (has_elements) row_of(operators_, node.op).expand(*this, node);
  }
  return {ir::align_iterators(program_.build()), arguments_};
}

std::string Expander::claim(const std::string& base) { return program_.fresh(identifier_of(base)); }

void Expander::declare_buffer(ValueId id, ir::Role role) {
  const Value& value = graph_.value(id);
  const std::string name = claim(value.name);
  std::vector<ir::Affine> extents(value.type.shape.begin(), value.type.shape.end());
  program_.declare(name, role, value.type.dtype, std::move(extents));
  buffers_[id] = name;
  if (role != ir::Role::Temp) arguments_.push_back(id);
}

// Operands from outside in order of appearance, then what is seen outside.
void Expander::declare_interface() {
  auto is_inside = [&](NodeId id) { return std::ranges::binary_search(nodes_, id); };
  for (NodeId id : nodes_) {
    const Node& node = graph_.node(id);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kNoValue) continue;
      const Value& value = graph_.value(input);
      readers_[input].emplace_back(id, i);
      const bool is_literal = value.is_constant() && element_count(value.type.shape) == 1 &&
                              includes(row_of(operators_, node.op).traits.as_number, i);
      if (is_inside(value.producer) || is_literal || buffers_.count(input)) continue;
      declare_buffer(input, value.is_constant() ? ir::Role::Const : ir::Role::In);
    }
  }
  for (NodeId id : nodes_) {
    for (ValueId output : graph_.node(id).outputs) {
      if (output != kNoValue)
        // A value without a reader in the group counts as read outside, so that no node of the
        // group is without effect.
        read_outside_[output] = graph_.is_output(output) || !readers_.count(output);
    }
  }
  mark_outside_readers();
  for (NodeId id : nodes_) {
    for (ValueId output : graph_.node(id).outputs) {
      if (output != kNoValue && read_outside_[output]) declare_buffer(output, ir::Role::Out);
    }
  }
}

// Readers come after the group's first node, as nodes are in topological order.
void Expander::mark_outside_readers() {
  for (auto id = nodes_.front() + 1; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
    if (std::ranges::binary_search(nodes_, id)) continue;
    for (ValueId input : graph_.node(id).inputs) {
      const auto found = input == kNoValue ? read_outside_.end() : read_outside_.find(input);
      if (found != read_outside_.end()) found->second = true;
    }
  }
}

bool Expander::needs_buffer(ValueId id) const {
  if (read_outside_.at(id)) return true;
  const auto found = readers_.find(id);
  if (found == readers_.end()) return true;
  const bool is_copy_of_others = is_copy(id);
  // Two readers, or one that reads twice, would compute the value twice.
  if (found->second.size() != 1 && !is_copy_of_others) return true;
  return !std::ranges::all_of(found->second, [&](const auto& use) {
    return reads_inline(graph_, operators_, graph_.node(use.first), use.second, is_copy_of_others);
  });
}

// Its elements are loads from a buffer, in the order that they have there.
bool Expander::is_copy(ValueId id) const {
  const Node& producer = graph_.node(graph_.value(id).producer);
  const bool moves =
      is_view(producer.op) || producer.op == OpKind::Expand || producer.op == OpKind::Slice;
  return moves && (!inlined_.contains(producer.inputs[0]) || is_copy(producer.inputs[0]));
}

ir::Expr Expander::read(ValueId id, const Subscripts& at) {
  const Value& value = graph_.value(id);
  if (value.is_constant() && !buffers_.count(id)) return literal_of(value.tensor());
  const auto inlined = inlined_.find(id);
  if (inlined != inlined_.end()) return inlined->second(at);
  return program_.load(buffers_.at(id), at);
}

// An iterator of the statement in writing that has one value only. A broadcast dimension is read at
// it rather than at 0, which is the same element: align_iterators learns nothing from a subscript
// that is no iterator.
bool Expander::is_single(const ir::Affine& subscript) const {
  const auto symbol = subscript.as_symbol();
  return symbol && std::ranges::any_of(scope_, [&](const ir::Range& range) {
           return range.name == *symbol && range.begin == ir::Affine(0) &&
                  range.end == ir::Affine(1);
         });
}

ir::Expr Expander::read_broadcast(ValueId id, const Subscripts& at) {
  const Dims& own = shape(id);
  Subscripts from;
  for (std::size_t d = 0; d < own.size(); ++d) {
    // Shapes are aligned at their last dimensions.
    const ir::Affine& subscript = at[at.size() - own.size() + d];
    from.push_back(own[d] == 1 && !is_single(subscript) ? ir::Affine(0) : subscript);
  }
  return read(id, from);
}

ir::Expr Expander::read_padded(ValueId id, const Subscripts& at, ir::Expr otherwise) {
  return program_.padded_load(buffers_.at(id), at, std::move(otherwise), scope_);
}

ir::Expr Expander::read_guarded(ValueId id, std::vector<ir::Index> at,
                                std::vector<ir::Constraint> guard, ir::Expr otherwise) {
  return ir::make_guarded_load(type(id).dtype, buffers_.at(id), std::move(at), std::move(guard),
                               std::move(otherwise));
}

ir::Expr Expander::gather(ValueId id, std::vector<ir::Index> at) {
  return ir::make_load(type(id).dtype, buffers_.at(id), std::move(at));
}

std::string Expander::store(ValueId output) {
  if (!buffers_.count(output)) declare_buffer(output, ir::Role::Temp);
  return buffers_.at(output);
}

std::string Expander::temporary(const std::string& base, DType dtype, const Dims& extents) {
  const std::string name = claim(base);
  program_.declare(name, ir::Role::Temp, dtype, {extents.begin(), extents.end()});
  return name;
}

void Expander::assign(const std::string& buffer, const Subscripts& to, const Ranges& ranges,
                      const Element& element) {
  scatter(buffer, ranges, [&](const Subscripts&) { return indices_of(to); }, element);
}

void Expander::scatter(const std::string& buffer, const Ranges& ranges, const Position& to,
                       const Element& element) {
  scope_ = ranges;
  const int part = parts_[buffer]++;
  const std::string label = part == 0 ? "" : buffer + "_part" + std::to_string(part);
  const Subscripts at = subscripts_of(ranges);
  program_.define({buffer, to(at)}, ranges, element(at), {}, label);
}

void Expander::accumulate(const std::string& buffer, const Ranges& ranges, const Ranges& reductions,
                          ir::Combiner combiner, const Element& element, const Constraints& where,
                          const Element& initial) {
  scope_ = join(ranges, reductions);
  const Subscripts at = subscripts_of(ranges);
  program_.reduce({buffer, indices_of(at)}, ranges, reductions, combiner, element(at), where,
                  initial ? initial(at) : nullptr);
}

void Expander::accumulate_arg(const std::string& best, const std::string& position,
                              const Ranges& ranges, const Ranges& reductions, ir::Combiner combiner,
                              const Element& value, const Element& place,
                              const Constraints& where) {
  scope_ = join(ranges, reductions);
  const Subscripts at = subscripts_of(ranges);
  program_.reduce_arg({{best, indices_of(at)}, {position, indices_of(at)}}, ranges, reductions,
                      combiner, value(at), place(at), where);
}

void Expander::in_order(const ir::Range& iterator, const std::function<void()>& body) {
  program_.begin_region(iterator.name, iterator.begin, iterator.end);
  body();
  program_.end_region();
}

// The names that an operand of the same shape has, so that a reduction and its tail share
// their loops' names.
Ranges Expander::iterators_of(ValueId output) {
  const auto own = iterators_.find(output);
  if (own != iterators_.end()) return own->second;
  for (ValueId input : node_->inputs) {
    const auto found = iterators_.find(input);
    if (found != iterators_.end() && shape(input) == shape(output))
      return iterators_[output] = found->second;
  }
  return ranges_over(shape(output));
}

void Expander::define(ValueId output, Element element) {
  if (output == kNoValue || element_count(shape(output)) == 0) return;
  const Ranges ranges = iterators_of(output);
  if (!needs_buffer(output)) {
    inlined_[output] = std::move(element);
    return;
  }
  const std::string name = store(output);
  assign(name, subscripts_of(ranges), ranges, element);
}

void Expander::define(ValueId output, const Ranges& ranges, Element element) {
  iterators_[output] = ranges;
  define(output, std::move(element));
}

// A statement without instances: every output has a writer.
void Expander::define_empty(ValueId output) {
  const Ranges ranges = ranges_over(shape(output));
  const DType type = graph_.value(output).type.dtype;
  assign(store(output), subscripts_of(ranges), ranges,
         [type](const Subscripts&) { return ir::make_literal(type, 0); });
}

void Expander::reduce(ValueId output, const Ranges& ranges, const Ranges& reductions,
                      ir::Combiner combiner, const Element& element, const Post& post,
                      const Constraints& where) {
  const DType type = graph_.value(output).type.dtype, wide = accumulator_of(type);
  const Dims extents = shape(output);
  if (ranges.size() == extents.size()) iterators_[output] = ranges;
  // The sum is the result: it is accumulated in the output's own buffer. Else it needs one of its
  // own, and a tail that rounds it or adds to it, which is itself inlined where that is possible.
  if (!post && type == wide && needs_buffer(output))
    return accumulate(store(output), ranges, reductions, combiner, element, where);
  const std::string sum = temporary("acc", wide, extents);
  accumulate(sum, ranges, reductions, combiner, element, where);
  define(output, [this, sum, type, post](const Subscripts& at) {
    const ir::Expr total = program_.load(sum, at);
    return ir::make_cast(type, post ? post(total, at) : total);
  });
}

Expansion expand(const Graph& graph, std::span<const NodeId> nodes, const std::string& name) {
  return Expander(graph, nodes, name, all_operators()).run();
}

}  // namespace polyte::graph
