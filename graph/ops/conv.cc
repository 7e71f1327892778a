// Conv: any number of spatial dimensions, groups, dilations, asymmetric pads, channels in blocks.
//   acc[n, co, h, w] = sum[ci, kh, kw] x[n, ci, h*s + kh*d - p, ...] else 0  *  w[co, ci, kh, kw]
// In blocks of c, where block bo has output channels bo*c + co, with the sum in the same order:
//   acc[n, bo, h, w, co] = sum[bi, ci, kh, kw] x[n, bi, h*s + kh*d - p, ..., ci] else 0
//                          *  w[bo, bi*c + ci, kh, kw, co]
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"

namespace polyte::graph {

namespace {

// Shapes as they would be without blocks.
struct PlainShapes {
  Dims x, w;
};

// Moves the blocks of the last dimension back into dimension `axis`.
Dims without_blocks(Dims shape, std::size_t axis) {
  shape[axis] *= shape.back();
  shape.pop_back();
  return shape;
}

Complaint expect_blocks(const Graph& graph, const Node& node, const ConvAttributes& conv) {
  const std::int64_t block = conv.output_block;
  if (conv.input_block != 0 && conv.input_block != block)
    return Decline{"the input lies in blocks of " + std::to_string(conv.input_block) +
                   ", the output of " + std::to_string(block)};
  if (block == 0) return std::nullopt;
  if (block < 1) return Decline{"channels in blocks of " + std::to_string(block)};
  const Dims& x = input_type(graph, node, 0).shape;
  const Dims& w = input_type(graph, node, 1).shape;
  if (w.size() < 4 || w.back() != block)
    return Decline{"weight has shape " + shape_text(w) + ", expected blocks of " +
                   std::to_string(block)};
  if (conv.input_block != 0 && (x.size() < 4 || x.back() != block))
    return Decline{"input has shape " + shape_text(x) + ", expected blocks of " +
                   std::to_string(block)};
  return std::nullopt;
}

// A group begins with a block, or is one channel of x and one of the output.
Complaint expect_whole_groups(const PlainShapes& plain, const ConvAttributes& conv) {
  const std::int64_t outputs = plain.w[0] / conv.group, block = conv.output_block;
  if (block == 0 || conv.group == 1) return std::nullopt;
  if (plain.w[1] == 1 && outputs == 1 && conv.input_block != 0) return std::nullopt;
  if (outputs % block == 0 && (conv.input_block == 0 || plain.w[1] % block == 0))
    return std::nullopt;
  return Decline{"groups of " + std::to_string(plain.w[1]) + " to " + std::to_string(outputs) +
                 " channels do not fit in blocks of " + std::to_string(block)};
}

PlainShapes plain_shapes(const Graph& graph, const Node& node, const ConvAttributes& conv) {
  PlainShapes plain{input_type(graph, node, 0).shape, input_type(graph, node, 1).shape};
  if (conv.input_block != 0) plain.x = without_blocks(plain.x, 1);
  if (conv.output_block != 0) plain.w = without_blocks(plain.w, 0);
  return plain;
}

}  // namespace

Types infer_conv(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 3)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 3)) return *no;
  const auto& conv = std::get<ConvAttributes>(node.attributes);
  const Window& window = conv.window;
  if (auto no = expect_blocks(graph, node, conv)) return *no;
  const PlainShapes plain = plain_shapes(graph, node, conv);
  const auto& [x, w] = plain;
  if (w.size() != x.size()) {
    return Decline{"weight has shape " + shape_text(w) + ", expected rank " +
                   std::to_string(x.size()) + " like the input"};
  }
  if (auto no = expect_window(window, x.size() - 2)) return *no;
  if (Dims(w.begin() + 2, w.end()) != window.kernel) {
    return Decline{"kernel_shape is " + shape_text(window.kernel) + ", the weight has shape " +
                   shape_text(w)};
  }
  if (conv.group < 1 || x[1] % conv.group != 0 || w[0] % conv.group != 0 ||
      x[1] / conv.group != w[1]) {
    return Decline{"input has " + std::to_string(x[1]) + " channels, weight has shape " +
                   shape_text(w) + ": they do not fit with group " + std::to_string(conv.group)};
  }
  if (auto no = expect_whole_groups(plain, conv)) return *no;
  const std::int64_t block = conv.output_block;
  if (has_input(node, 2)) {
    if (auto no = expect_shape(graph, node, 2, block == 0 ? Dims{w[0]} : Dims{w[0] / block, block}))
      return *no;
  }
  Dims shape = {x[0], block == 0 ? w[0] : w[0] / block};
  for (std::size_t d = 0; d + 2 < x.size(); ++d) {
    shape.push_back(window_extent(x[d + 2], window, d, false));
    if (shape.back() == 0 && x[d + 2] != 0) {
      return Decline{"kernel " + shape_text(window.kernel) + " is larger than the padded input " +
                     shape_text(x)};
    }
  }
  if (block != 0) shape.push_back(block);
  return std::vector{TensorType{input_type(graph, node, 0).dtype, shape}};
}

namespace {

// The loops of a convolution, and what its operands read in them.
class ConvLoops {
 public:
  ConvLoops(Expander& expander, const Node& node)
      : conv_(std::get<ConvAttributes>(node.attributes)),
        spatial_(conv_.window.kernel.size()),
        in_block_(conv_.input_block),
        out_block_(conv_.output_block),
        group_inputs_(expander.shape(node.inputs[1])[1]),
        group_blocks_(expander.shape(node.outputs[0])[1] / conv_.group),
        is_depthwise_(out_block_ != 0 && conv_.group > 1 && group_inputs_ == 1 && in_block_ != 0),
        ranges_(ranges_of(expander.shape(node.outputs[0]))),
        reductions_(kernel_ranges(conv_.window)) {
    // A reduction needs an iterator, be it one of extent 1.
    if (group_inputs_ != 1 || reductions_.empty()) add_channels();
  }

  const Ranges& ranges() const { return ranges_; }
  const Ranges& reductions() const { return reductions_; }

  Subscripts from_x(const Subscripts& at) const {
    Subscripts from = {
        at[0], in_block_ == 0 ? first_input(at) + channel() : first_input(at) + block_of_group()};
    for (std::size_t d = 0; d < spatial_; ++d)
      from.push_back(window_subscript(conv_.window, d, at[d + 2]));
    if (in_block_ != 0) from.push_back(is_depthwise_ ? at.back() : iterator("ci"));
    return from;
  }

  Subscripts from_w(const Subscripts& at) const {
    Subscripts from = {at[1], channel()};
    for (std::size_t d = 0; d < spatial_; ++d) from.push_back(kernel_subscript(conv_.window, d));
    if (out_block_ != 0) from.push_back(at.back());
    return from;
  }

 private:
  const ConvAttributes conv_;
  std::size_t spatial_;
  // group_inputs_: input channels of a group, padded ones included, as the weight has them.
  // group_blocks_: of outputs in a group, or channels where there are no blocks.
  std::int64_t in_block_, out_block_, group_inputs_, group_blocks_;
  // In blocks, one channel each of input and output per group: output channel co of a block reads
  // channel co of the input's, and nothing is summed but the window.
  bool is_depthwise_;
  Ranges ranges_, reductions_;

  Ranges ranges_of(Dims shape) const {
    if (out_block_ == 0) return output_ranges(shape, "co");
    shape.pop_back();
    Ranges ranges = output_ranges(shape, "bo");
    ranges.push_back({"co", 0, out_block_});
    return ranges;
  }

  void add_channels() {
    const bool in_blocks = in_block_ != 0 && !is_depthwise_;
    reductions_.insert(reductions_.begin(), {"ci", 0, in_blocks ? in_block_ : group_inputs_});
    if (in_blocks && group_inputs_ > in_block_)
      reductions_.insert(reductions_.begin(), {"bi", 0, group_inputs_ / in_block_});
  }

  // An iterator of the reduction, 0 where there is none.
  ir::Affine iterator(const std::string& name) const {
    for (const ir::Range& range : reductions_)
      if (range.name == name) return ir::Affine::symbol(name);
    return ir::Affine(0);
  }

  // The input channel within its group, and its block.
  ir::Affine channel() const {
    return in_block_ == 0 ? iterator("ci") : iterator("bi") * in_block_ + iterator("ci");
  }
  ir::Affine block_of_group() const { return iterator("bi"); }

  // The first input channel of the output's group, or its block: with 2 groups of 3 to 4 channels,
  // output 5 is in group floor(5 / 4) = 1, which begins at input 3.
  ir::Affine first_input(const Subscripts& at) const {
    if (conv_.group == 1) return ir::Affine(0);
    if (is_depthwise_) return at[1];
    const std::int64_t step = in_block_ == 0 ? group_inputs_ : group_inputs_ / in_block_;
    return ir::floor_div(at[1], group_blocks_) * step;
  }
};

}  // namespace

void expand_conv(Expander& expander, const Node& node) {
  const ValueId x = node.inputs[0], w = node.inputs[1],
                bias = has_input(node, 2) ? node.inputs[2] : kNoValue;
  const DType type = expander.type(x).dtype, wide = accumulator_of(type);
  const ConvLoops loops(expander, node);
  const bool in_blocks = std::get<ConvAttributes>(node.attributes).output_block != 0;
  expander.reduce(
      node.outputs[0], loops.ranges(), loops.reductions(), ir::Combiner::Sum,
      [=, &expander](const Subscripts& at) {
        const ir::Expr zero = ir::make_literal(type, 0);
        return ir::make_binary(ir::BinaryOp::Mul,
                               ir::make_cast(wide, expander.read_padded(x, loops.from_x(at), zero)),
                               ir::make_cast(wide, expander.read(w, loops.from_w(at))));
      },
      bias_added(expander, bias, wide, in_blocks));
}

}  // namespace polyte::graph
