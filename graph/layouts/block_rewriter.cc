#include "graph/layouts/block_rewriter.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/layouts/blocked_tensor.h"
#include "graph/op.h"

namespace polyte::graph {

namespace {

Dims with_channels(Dims shape, std::int64_t channels) {
  shape[1] = channels;
  return shape;
}

Dims with(Dims dims, std::int64_t last) {
  dims.push_back(last);
  return dims;
}

// [0, 1, 3, ..., rank - 1, 2]: dimension 2, of a block's channels, goes to the end; or back
// from there.
Dims rotation(std::size_t rank, bool to_end) {
  Dims perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (to_end)
    std::rotate(perm.begin() + 2, perm.begin() + 3, perm.end());
  else
    std::rotate(perm.begin() + 2, perm.end() - 1, perm.end());
  return perm;
}

OpKind reduction_of(OpKind op) {
  if (op == OpKind::GlobalAveragePool) return OpKind::ReduceMean;
  return op == OpKind::GlobalMaxPool ? OpKind::ReduceMax : op;
}

}  // namespace

BlockRewriter::BlockRewriter(Graph& graph, const BlockForms& forms)
    : graph_(graph),
      forms_(forms),
      block_(forms.block()),
      replacements_(graph),
      blocked_(graph.values.size(), kNoValue),
      plain_(graph.values.size()),
      native_(graph.values.size()) {
  std::iota(plain_.begin(), plain_.end(), 0);
}

ValueId BlockRewriter::add(const std::string& name, OpKind op, Attributes attributes,
                           std::vector<ValueId> inputs) {
  return graph_.node(graph_.add_node(name, op, std::move(attributes), std::move(inputs), {name}))
      .outputs[0];
}

ValueId BlockRewriter::reshape(const std::string& name, ValueId x, Dims to) {
  if (shape(x) == to) return x;
  return add(name, OpKind::Reshape, ShapeAttributes{std::move(to)}, {x});
}

// The first in blocks of a value that has channels.
ValueId BlockRewriter::blocked(ValueId id) {
  ValueId& known = blocked_[static_cast<std::size_t>(id)];
  if (known != kNoValue) return known;
  const Value& value = graph_.value(id);
  const ValueId made =
      value.is_constant() ? constant(value.name, value.tensor(), 1) : to_blocks(id);
  return blocked_[static_cast<std::size_t>(id)] = made;
}

// The same without blocks. The first such reader of a value whose node was rewritten adds the
// reorder; `replace` gives it the value's name and all its readers.
ValueId BlockRewriter::plain(ValueId id) {
  if (plain_[static_cast<std::size_t>(id)] != kNoValue) return plain_[static_cast<std::size_t>(id)];
  const std::string name = graph_.value(id).name;
  const ValueId made = from_blocks(blocked_[static_cast<std::size_t>(id)], name, shape(id));
  replacements_.replace(id, made);
  return plain_[static_cast<std::size_t>(id)] = made;
}

// [n, 20, h, w] in blocks of 16:
//
//   Pad to [n, 32, h, w], Reshape to [n, 2, 16, h, w], Transpose to [n, 2, h, w, 16]
ValueId BlockRewriter::to_blocks(ValueId id) {
  const std::string name = graph_.value(id).name + ".blocks";
  const Dims dims = shape(id);
  const std::int64_t blocks = blocks_of(dims[1], block_), channels = blocks * block_;
  ValueId x = id;
  if (channels != dims[1]) {
    PadAttributes pad{Dims(dims.size(), 0), Dims(dims.size(), 0), PadMode::Constant};
    pad.end[1] = channels - dims[1];
    x = add(name, OpKind::Pad, pad, {x});
  }
  Dims split = with_channels(dims, blocks);
  // One element per channel: [n, blocks * c, 1, 1] and [n, blocks, 1, 1, c] are the same bytes.
  if (spatial_size(dims) == 1) return reshape(name, x, with(split, block_));
  ++reorders_;
  split.insert(split.begin() + 2, block_);
  const TransposeAttributes turn{rotation(split.size(), true)};
  return add(name, OpKind::Transpose, turn, {reshape(name, x, split)});
}

ValueId BlockRewriter::from_blocks(ValueId blocks, const std::string& name, Dims plain_shape) {
  const std::size_t rank = shape(blocks).size();
  const std::int64_t channels = shape(blocks)[1] * block_;
  ValueId x = blocks;
  // Only then does a Transpose move anything.
  if (element_count(shape(x)) != shape(x)[0] * channels) {
    ++reorders_;
    x = add(name, OpKind::Transpose, TransposeAttributes{rotation(rank, false)}, {x});
  }
  const Dims padded = with_channels(plain_shape, channels);
  x = reshape(name, x, padded);
  if (channels == plain_shape[1]) return x;
  return add(name, OpKind::Slice,
             SliceAttributes{Dims(padded.size(), 0), Dims(padded.size(), 1), plain_shape}, {x});
}

ValueId BlockRewriter::constant(const std::string& name, const Tensor& tensor, std::size_t axis) {
  return graph_.add_constant(name + ".blocks", blocked_tensor(tensor, axis, block_));
}

// Operand i of a node whose result has `rank` dimensions without blocks.
ValueId BlockRewriter::operand(const Node& node, std::size_t i, OperandForm form,
                               std::size_t rank) {
  const ValueId id = node.inputs[i];
  switch (form) {
    case OperandForm::AsIs:
      return id == kNoValue ? id : plain(id);
    case OperandForm::Blocked:
      return blocked(id);
    case OperandForm::Either:
      return native_[static_cast<std::size_t>(id)] ? blocked(id) : id;
    case OperandForm::Plain: {
      const Value value = graph_.value(id);
      const Dims to = with(value.type.shape, 1);
      if (!value.is_constant()) return reshape(value.name, plain(id), to);
      return graph_.add_constant(value.name, {{value.type.dtype, to}, value.data});
    }
    case OperandForm::Constant: {
      const Value value = graph_.value(id);
      Tensor tensor = value.tensor();
      tensor.type.shape.insert(tensor.type.shape.begin(), rank - tensor.type.shape.size(), 1);
      return constant(value.name, tensor, 1);
    }
  }
  return kNoValue;
}

// A node of the old one's name computes its result in blocks. The old one is left without readers,
// and finish() drops it.
void BlockRewriter::replace(NodeId id, OpKind op, Attributes attributes,
                            std::vector<ValueId> inputs) {
  const ValueId output = graph_.node(id).outputs[0];
  const std::string name = graph_.node(id).name;
  const NodeId made = graph_.add_node(name, op, std::move(attributes), std::move(inputs),
                                      {graph_.value(output).name + ".blocks"});
  Node& old = graph_.nodes[static_cast<std::size_t>(id)];
  Node& now = graph_.nodes[static_cast<std::size_t>(made)];
  // Names are unique, so the new node got a suffix, which goes to the old one.
  std::swap(old.name, now.name);
  now.folded = old.folded;
  blocked_[static_cast<std::size_t>(output)] = now.outputs[0];
  plain_[static_cast<std::size_t>(output)] = kNoValue;
  native_[static_cast<std::size_t>(output)] = true;
}

void BlockRewriter::rewrite_conv(NodeId id) {
  const Node node = graph_.node(id);
  auto conv = std::get<ConvAttributes>(node.attributes);
  const Value weight = graph_.value(node.inputs[1]);
  const ValueId x = operand(node, 0, forms_.of(id)->operands[0], shape(node.inputs[0]).size());
  // A value in blocks has one dimension more.
  const bool in_blocks = shape(x).size() > shape(node.inputs[0]).size();
  conv.input_block = in_blocks ? block_ : 0;
  conv.output_block = block_;
  Tensor w = weight.tensor();
  // Weights of zero for the padded input channels; those of padded outputs come with constant().
  if (conv.group == 1 && in_blocks) w = padded_tensor(w, 1, shape(x)[1] * block_);
  // Depthwise: as many groups as channels, the padded ones included.
  if (conv.group > 1 && w.type.shape[1] == 1 && conv.group == w.type.shape[0])
    conv.group = shape(x)[1] * block_;
  std::vector<ValueId> inputs = {x, constant(weight.name, w, 0)};
  if (node.inputs.size() > 2) {
    const ValueId bias = node.inputs[2];
    inputs.push_back(bias == kNoValue
                         ? bias
                         : constant(graph_.value(bias).name, graph_.value(bias).tensor(), 0));
  }
  replace(id, OpKind::Conv, conv, std::move(inputs));
}

void BlockRewriter::rewrite_reduction(NodeId id) {
  const Node node = graph_.node(id);
  const ValueId output = node.outputs[0];
  // The axes keep their numbers, as the block is a new last dimension.
  const ReduceAttributes reduce{reduced_axes(graph_, node), true};
  replace(id, reduction_of(node.op), reduce, {blocked(node.inputs[0])});
  if (!forms_.of(id)->plain_result) return;
  const std::size_t at = static_cast<std::size_t>(output);
  const Value value = graph_.value(output);
  plain_[at] = from_blocks(blocked_[at], value.name, value.type.shape);
  replacements_.replace(output, plain_[at]);
  blocked_[at] = kNoValue;
  native_[at] = false;
}

// Attributes of a node whose blocks are whole in the result.
Attributes BlockRewriter::attributes_of(const Node& node) const {
  Attributes attributes = node.attributes;
  if (auto* pool = std::get_if<PoolAttributes>(&attributes)) {
    Window& w = pool->window;
    for (Dims* list : {&w.kernel, &w.strides, &w.dilations}) list->push_back(1);
    for (Dims* list : {&w.pads_begin, &w.pads_end}) list->push_back(0);
  }
  if (auto* pad = std::get_if<PadAttributes>(&attributes)) {
    pad->begin.push_back(0);
    pad->end.push_back(0);
  }
  if (auto* slice = std::get_if<SliceAttributes>(&attributes)) {
    slice->starts[1] /= block_;
    slice->sizes[1] = blocks_of(slice->sizes[1], block_);
    slice->starts.push_back(0);
    slice->steps.push_back(1);
    slice->sizes.push_back(block_);
  }
  return attributes;
}

void BlockRewriter::rewrite(NodeId id) {
  const Node node = graph_.node(id);
  if (node.op == OpKind::Conv) return rewrite_conv(id);
  const bool is_global = node.op == OpKind::GlobalAveragePool || node.op == OpKind::GlobalMaxPool;
  if (is_global || std::holds_alternative<ReduceAttributes>(node.attributes))
    return rewrite_reduction(id);
  const std::size_t rank = shape(node.outputs[0]).size();
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    inputs.push_back(operand(node, i, forms_.of(id)->operands[i], rank));
  replace(id, node.op, attributes_of(node), std::move(inputs));
}

void BlockRewriter::keep(NodeId id) {
  const std::vector<ValueId> inputs = graph_.node(id).inputs;
  for (const ValueId input : inputs)
    if (input != kNoValue) plain(input);
}

void BlockRewriter::finish() {
  const std::vector<ValueId> outputs = graph_.outputs;
  for (const ValueId output : outputs) plain(output);
  replacements_.finish();
}

}  // namespace polyte::graph
