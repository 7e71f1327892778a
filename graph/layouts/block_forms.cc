#include "graph/layouts/block_forms.h"

#include <algorithm>
#include <numeric>

#include "graph/layouts/block_padding.h"

namespace polyte::graph {

namespace {

constexpr const char* kAcross = "works across channels";

bool is_spatial(std::int64_t axis) { return axis >= 2; }

// Every window meets an element of the input. One that does not gives what no element is: a maximum
// of nothing is minus infinity, which the padding of channels must not hold. With dilation and
// pads, or in a window that ceil_mode adds, all taps may miss the input; those are not looked at
// more closely.
bool meets_input(const PoolAttributes& pool) {
  const Window& w = pool.window;
  for (std::size_t d = 0; d < w.kernel.size(); ++d) {
    const std::int64_t reach = (w.kernel[d] - 1) * w.dilations[d] + 1;
    if (w.dilations[d] > 1 && w.pads_begin[d] + w.pads_end[d] > 0) return false;
    if (w.pads_begin[d] >= reach || w.pads_end[d] >= reach) return false;
  }
  return !pool.ceil_mode;
}

class Former {
 public:
  Former(const Graph& graph, std::int64_t block, const std::optional<WinogradUse>& transforms,
         OperatorTable operators)
      : graph_(graph),
        block_(block),
        transforms_(transforms),
        operators_(operators),
        // Inputs and what reorders bring into blocks are padded with zeros.
        padding_(graph.values.size(), Padding::Zero) {}

  // The operands' nodes came before.
  Result<BlockForm> form(const Node& node) {
    Padding padding = Padding::Zero;
    Result<BlockForm> form = form_of(node, padding);
    if (!form) return form;
    const ValueId output = node.outputs[0];
    // No padding is there to be read: its state does not matter.
    if (form->plain_result || !is_padded(output)) return form;
    padding_[static_cast<std::size_t>(output)] = padding;
    if (padding == Padding::Unknown)
      return Decline{"what it leaves in the padding of " + std::to_string(shape(output)[1]) +
                     " channels is not known"};
    return form;
  }

 private:
  const Graph& graph_;
  std::int64_t block_;
  std::optional<WinogradUse> transforms_;
  OperatorTable operators_;
  std::vector<Padding> padding_;  // of values, as if in blocks

  const Dims& shape(ValueId id) const { return graph_.value(id).type.shape; }
  bool is_padded(ValueId id) const { return shape(id).at(1) % block_ != 0; }

  // [n, channels, spatial...] with elements, and with more than one channel.
  bool is_image(ValueId id) const {
    const Dims& s = shape(id);
    return s.size() >= 3 && s[1] > 1 &&
           std::ranges::none_of(s, [](std::int64_t extent) { return extent == 0; });
  }

  Padding padding(ValueId id) const {
    return graph_.value(id).is_constant() ? Padding::Zero : padding_[static_cast<std::size_t>(id)];
  }

  const OpInfo& row(const Node& node) const { return row_of(operators_, node.op); }

  Result<BlockForm> form_of(const Node& node, Padding& padding) const {
    const BlockRule rule = row(node).traits.blocks;
    if (rule == BlockRule::Convolution) return conv(node);
    if (!is_image(node.inputs.at(0)) && row(node).pattern != OpPattern::Broadcast)
      return Decline{"its input has no channels and spatial dimensions"};
    switch (rule) {
      case BlockRule::Pool:
        return pool(node, padding);
      case BlockRule::Concat:
        return concat(node, padding);
      case BlockRule::Part:
        return part(node, padding);
      case BlockRule::Fold:
        return reduction(node, padding);
      default:
        return other(node, padding);
    }
  }

  // In blocks an element has another place: what depends on it stays as it is.
  Result<BlockForm> other(const Node& node, Padding& padding) const {
    const OpPattern pattern = row(node).pattern;
    if (pattern != OpPattern::ElemWise && pattern != OpPattern::Broadcast) return Decline{kAcross};
    if (row(node).traits.depends_on_position)
      return Decline{"what an element becomes depends on where it is"};
    return element_wise(node, padding);
  }

  Result<BlockForm> conv(const Node& node) const {
    const auto& conv = std::get<ConvAttributes>(node.attributes);
    const ValueId w = node.inputs[1];
    const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : kNoValue;
    if (conv.output_block != 0) return Decline{"is in blocks already"};
    if (!graph_.value(w).is_constant() || (bias != kNoValue && !graph_.value(bias).is_constant()))
      return Decline{"its weights are not constants"};
    if (!is_image(node.outputs[0])) return Decline{"gives one channel"};
    BlockForm form{{OperandForm::Either, OperandForm::Constant}};
    if (node.inputs.size() > 2)
      form.operands.push_back(bias == kNoValue ? OperandForm::AsIs : OperandForm::Constant);
    // All channels meet all: padded inputs are multiplied by weights of zero (padded_tensor).
    if (conv.group == 1) {
      if (is_transformed(node)) form.operands[0] = OperandForm::Blocked;
      return form;
    }
    const std::int64_t inputs = shape(w)[1], outputs = shape(w)[0] / conv.group;
    // A block must not mix channels of two groups: groups are whole blocks on both sides, or
    // each is one channel, and then lanes are groups.
    const bool is_depthwise = inputs == 1 && outputs == 1;
    if (!is_depthwise && (inputs % block_ != 0 || outputs % block_ != 0))
      return Decline{"groups of " + std::to_string(inputs) + " to " + std::to_string(outputs) +
                     " channels do not fit in blocks of " + std::to_string(block_)};
    form.operands[0] = OperandForm::Blocked;
    return form;
  }

  bool is_transformed(const Node& node) const {
    if (!transforms_) return false;
    const Result<WinogradPrices> prices = winograd_prices(graph_, node, block_, *transforms_);
    return prices && (transforms_->always || prices->pays());
  }

  Result<BlockForm> pool(const Node& node, Padding& padding) const {
    const auto& pool = std::get<PoolAttributes>(node.attributes);
    if (node.outputs.size() > 1 && node.outputs[1] != kNoValue)
      return Decline{"gives positions in its input"};
    padding = meets_input(pool)
                  ? folded_padding(row(node).traits.zero, this->padding(node.inputs[0]))
                  : Padding::Unknown;
    return BlockForm{{OperandForm::Blocked}};
  }

  Result<BlockForm> reduction(const Node& node, Padding& padding) const {
    const Dims axes = reduced_axes(graph_, node);
    if (axes.empty() || !std::ranges::all_of(axes, is_spatial)) return Decline{kAcross};
    padding = folded_padding(row(node).traits.zero, this->padding(node.inputs[0]));
    // One element per channel is left: its blocks are a Reshape away from what it is without them.
    const bool all = axes.size() + 2 == shape(node.inputs[0]).size();
    const auto* reduce = std::get_if<ReduceAttributes>(&node.attributes);
    if (reduce && !reduce->keep_dims && !all)
      return Decline{"drops some of the spatial dimensions"};
    return BlockForm{{OperandForm::Blocked}, all};
  }

  // Along channels all but the last operand must end with a block.
  Result<BlockForm> concat(const Node& node, Padding& padding) const {
    const std::int64_t axis = std::get<AxisAttributes>(node.attributes).axis;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId operand = node.inputs[i];  // one value may stand several times
      if (!is_image(operand)) return Decline{"an operand has no channels and spatial dimensions"};
      if (axis == 1 && i + 1 < node.inputs.size() && is_padded(operand))
        return Decline{"an operand of " + std::to_string(shape(operand)[1]) +
                       " channels does not end with a block of " + std::to_string(block_)};
      padding = std::max(padding, this->padding(operand));
    }
    return BlockForm{std::vector<OperandForm>(node.inputs.size(), OperandForm::Blocked)};
  }

  // Slice, Gather and Pad: other dimensions as they like; channels only in whole blocks.
  Result<BlockForm> part(const Node& node, Padding& padding) const {
    const ValueId x = node.inputs[0];
    if (!is_image(node.outputs[0])) return Decline{"gives one channel or none"};
    padding = this->padding(x);
    BlockForm form{{OperandForm::Blocked}};
    form.operands.resize(node.inputs.size(), OperandForm::AsIs);
    if (const auto* gather = std::get_if<AxisAttributes>(&node.attributes)) {
      // Indices of other ranks would change how many dimensions the result has.
      const bool is_line = shape(node.inputs[1]).size() == 1;
      if (gather->axis == 1 || !is_line) return Decline{kAcross};
      return form;
    }
    if (const auto* pad = std::get_if<PadAttributes>(&node.attributes)) {
      if (pad->begin[1] != 0 || pad->end[1] != 0) return Decline{"pads channels"};
      if (node.inputs.size() > 1 && node.inputs[1] != kNoValue)
        padding = padded_with(node.inputs[1], padding);
      return form;
    }
    const auto& slice = std::get<SliceAttributes>(node.attributes);
    const std::int64_t first = slice.starts[1], end = first + slice.sizes[1];
    const bool whole = first % block_ == 0 && (end % block_ == 0 || end == shape(x)[1]);
    if (slice.steps[1] != 1 || !whole)
      return Decline{"channels " + std::to_string(first) + " to " + std::to_string(end) +
                     " are not whole blocks"};
    return form;
  }

  Padding padded_with(ValueId value, Padding padding) const {
    const Value& constant = graph_.value(value);
    return constant.is_constant() ? std::max(padding, padding_of_number(constant.tensor()))
                                  : Padding::Unknown;
  }

  Result<BlockForm> element_wise(const Node& node, Padding& padding) const {
    const ValueId output = node.outputs[0];
    if (!is_image(output)) return Decline{"its result has no channels and spatial dimensions"};
    BlockForm form;
    std::vector<Padding> paddings;
    for (const ValueId operand : node.inputs) {
      const std::optional<OperandForm> operand_form = broadcast_form(operand, shape(output));
      if (!operand_form)
        return Decline{"an operand with channels has fewer dimensions than the result"};
      form.operands.push_back(*operand_form);
      if (operand != kNoValue) paddings.push_back(broadcast_padding(operand, *operand_form));
    }
    padding = element_wise_padding(graph_, node, row(node).traits.zero, paddings);
    return form;
  }

  std::optional<OperandForm> broadcast_form(ValueId operand, const Dims& result) const {
    if (operand == kNoValue || element_count(shape(operand)) == 1) return OperandForm::AsIs;
    // Shapes are aligned at their last dimensions: with `missing` leading ones absent, channels are
    // dimension 1 - missing of the operand. A bias [c, 1, 1] of [n, c, h, w] has them at 0.
    const std::size_t rank = shape(operand).size(), missing = result.size() - rank;
    const bool has_channels = missing <= 1 && shape(operand)[1 - missing] != 1;
    if (!has_channels) return OperandForm::Plain;
    if (graph_.value(operand).is_constant()) return OperandForm::Constant;
    if (missing != 0) return std::nullopt;
    return OperandForm::Blocked;
  }

  Padding broadcast_padding(ValueId operand, OperandForm form) const {
    if (form == OperandForm::Constant) return Padding::Zero;
    if (form == OperandForm::Blocked) return padding(operand);
    const Value& value = graph_.value(operand);
    const bool is_number = value.is_constant() && element_count(value.type.shape) == 1;
    return is_number ? padding_of_number(value.tensor()) : Padding::Unknown;
  }
};

}  // namespace

BlockForms::BlockForms(const Graph& graph, std::int64_t block,
                       const std::optional<WinogradUse>& transforms, OperatorTable operators)
    : block_(block), transforms_(transforms) {
  Former former(graph, block, transforms, operators);
  for (const Node& node : graph.nodes) forms_.push_back(former.form(node));
}

Dims reduced_axes(const Graph& graph, const Node& node) {
  if (const auto* reduce = std::get_if<ReduceAttributes>(&node.attributes)) return reduce->axes;
  Dims axes(graph.value(node.inputs.at(0)).type.shape.size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

}  // namespace polyte::graph
