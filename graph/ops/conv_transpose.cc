// ConvTranspose as a gather: an output element collects the inputs whose windows touch it,
//   acc[n, co, o] = sum[ci, k] x[n, ci, (o + p - k*d) / s] * w[ci, co, k]
// where s divides and the input has it.
// Of the outputs o = s*i + rest each rest has taps of its own, always the same: for each a dense
// convolution is written,
//   acc[n, co, i] = sum[ci, t] x[n, ci, i + base - t*back] * w[ci, co, first + t*step]
//   y[n, co, s*i + rest] = acc
// without a division, and without the products that the condition would leave out.
#include <numeric>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "support/checked.h"

namespace polyte::graph {

namespace {

// x at `at`, whose spatial subscripts are numerators to be divided by the strides; 0 where
// they do not divide.
ir::Expr strided_read(Expander& expander, ValueId x, const Subscripts& at, const Dims& strides) {
  const Dims& shape = expander.shape(x);
  const DType type = expander.type(x).dtype;
  std::vector<ir::Index> from = {at[0], at[1]};
  std::vector<ir::Constraint> guard;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const ir::Affine& numerator = at[d + 2];
    if (strides[d] > 1) guard.push_back(ir::equal(ir::mod(numerator, strides[d]), 0));
    guard.push_back(ir::at_least(numerator, 0));
    guard.push_back(ir::less_than(numerator, shape[d + 2] * strides[d]));
    from.emplace_back(strides[d] > 1 ? ir::floor_div(numerator, strides[d]) : numerator);
  }
  return expander.read_guarded(x, std::move(from), std::move(guard), ir::make_literal(type, 0));
}

}  // namespace

Types infer_conv_transpose(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 3)) return *no;
  if (auto no = expect_float(graph, node, 0)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 3)) return *no;
  const TensorType& x = input_type(graph, node, 0);
  const Dims& w = input_type(graph, node, 1).shape;
  const auto& [window, group, output_padding, input_block, output_block] =
      std::get<ConvAttributes>(node.attributes);
  if (input_block != 0 || output_block != 0) return Decline{"channels lie in blocks"};
  if (w.size() != x.shape.size())
    return Decline{"weight has shape " + shape_text(w) + ", input " + shape_text(x.shape)};
  if (auto no = expect_window(window, x.shape.size() - 2)) return *no;
  if (Dims(w.begin() + 2, w.end()) != window.kernel) {
    return Decline{"kernel_shape is " + shape_text(window.kernel) + ", the weight has shape " +
                   shape_text(w)};
  }
  if (output_padding.size() != window.kernel.size())
    return Decline{"output_padding has other than " + std::to_string(window.kernel.size()) +
                   " entries"};
  if (group < 1 || x.shape[1] % group != 0 || w[0] != x.shape[1]) {
    return Decline{"input has " + std::to_string(x.shape[1]) + " channels, weight has shape " +
                   shape_text(w) + ": they do not fit with group " + std::to_string(group)};
  }
  const std::int64_t channels = checked_mul(w[1], group);
  if (has_input(node, 2)) {
    if (auto no = expect_shape(graph, node, 2, {channels})) return *no;
  }
  // ONNX ConvTranspose: s * (x - 1) + output_padding + (k - 1) * d + 1 - pads.
  Dims shape = {x.shape[0], channels};
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    std::int64_t extent = checked_mul(window.strides[d], x.shape[d + 2] - 1);
    extent = checked_add(checked_add(extent, output_padding[d]),
                         checked_mul(window.kernel[d] - 1, window.dilations[d]) + 1);
    shape.push_back(checked_sub(checked_sub(extent, window.pads_begin[d]), window.pads_end[d]));
    if (shape.back() < 0) return Decline{"pads are larger than the result"};
  }
  return std::vector{TensorType{x.dtype, shape}};
}

namespace {

// What an element of one sum multiplies, by the parts of the subscripts that are not spatial.
struct Channels {
  ir::Affine x, w_in, w_out;
};

Channels channels_of(const ConvAttributes& conv, std::int64_t group_inputs,
                     std::int64_t group_outputs, const ir::Affine& co) {
  const bool one = conv.group == 1;
  const ir::Affine group = one ? ir::Affine(0) : ir::floor_div(co, group_outputs);
  const ir::Affine channel = group * group_inputs + ir::Affine::symbol("ci");
  return {channel, channel, one ? co : ir::mod(co, group_outputs)};
}

// Of the outputs s*i + rest in one dimension: how many there are, and the taps k = first + t*step,
// t in 0..count, that meet an input there: x[i + base - t*back].
//
// Tap k meets an input where s divides s*i + rest + p - k*d, which does not depend on i. The
// solutions k are step = s / gcd(s, d) apart, and each next one is step*d / s inputs further back.
// With kernel 4, s = 2, d = 1, p = 1:
//
//    rest 0: k = 1, 3    y[2i]     = x[i] * w[1] + x[i - 1] * w[3]
//    rest 1: k = 0, 2    y[2i + 1] = x[i + 1] * w[0] + x[i] * w[2]
struct Phase {
  std::int64_t rest = 0, outputs = 0, first = 0, step = 1, count = 0, base = 0, back = 0;
};

Phase phase_of(const Window& window, std::size_t d, std::int64_t rest, std::int64_t extent) {
  const std::int64_t stride = window.strides[d], dilation = window.dilations[d];
  Phase phase{.rest = rest, .outputs = rest < extent ? ceil_div(extent - rest, stride) : 0};
  const std::int64_t shifted = rest + window.pads_begin[d];
  while (phase.first < window.kernel[d] && (shifted - phase.first * dilation) % stride != 0)
    ++phase.first;
  phase.step = stride / std::gcd(stride, dilation);
  phase.count =
      phase.first < window.kernel[d] ? ceil_div(window.kernel[d] - phase.first, phase.step) : 0;
  phase.base = (shifted - phase.first * dilation) / stride;
  phase.back = phase.step * dilation / stride;
  return phase;
}

// All combinations of the dimensions' phases that have outputs.
std::vector<std::vector<Phase>> phases_of(const Window& window, const Dims& shape) {
  std::vector<std::vector<Phase>> all = {{}};
  for (std::size_t d = 0; d < window.strides.size(); ++d) {
    std::vector<std::vector<Phase>> next;
    for (const std::vector<Phase>& before : all)
      for (std::int64_t rest = 0; rest < std::min(window.strides[d], shape[d + 2]); ++rest) {
        next.push_back(before);
        next.back().push_back(phase_of(window, d, rest, shape[d + 2]));
      }
    all = std::move(next);
  }
  return all;
}

// Each is statements of its own. With stride 1 there is one, in which nothing is divided anyway.
constexpr std::int64_t kMostPhases = 16;

bool has_few_phases(const Window& window) {
  std::int64_t phases = 1;
  for (const std::int64_t stride : window.strides)
    phases = stride > kMostPhases ? stride : phases * stride;
  return phases > 1 && phases <= kMostPhases;
}

// A dense convolution a phase, its sums scattered among those of the others.
class ByPhases {
 public:
  ByPhases(Expander& expander, const Node& node)
      : expander_(expander),
        conv_(std::get<ConvAttributes>(node.attributes)),
        x_(node.inputs[0]),
        w_(node.inputs[1]),
        output_(node.outputs[0]),
        wide_(accumulator_of(expander.type(x_).dtype)),
        post_(bias_added(expander, has_input(node, 2) ? node.inputs[2] : kNoValue, wide_)) {}

  void expand() {
    const std::string result = expander_.store(output_);
    for (const std::vector<Phase>& phases : phases_of(conv_.window, expander_.shape(output_)))
      add(result, phases);
  }

 private:
  Expander& expander_;
  const ConvAttributes conv_;
  const ValueId x_, w_, output_;
  const DType wide_;
  const Expander::Post post_;

  void add(const std::string& result, const std::vector<Phase>& phases) {
    Dims extents = {expander_.shape(output_)[0], expander_.shape(output_)[1]};
    bool has_taps = true;
    for (const Phase& phase : phases) {
      extents.push_back(phase.outputs);
      has_taps = has_taps && phase.count > 0;
    }
    const Ranges ranges = output_ranges(extents, "co");
    std::string sums;
    // A stride longer than the kernel leaves outputs that no input reaches: they are the bias
    // alone.
    if (has_taps) sums = accumulated(phases, extents, ranges);
    Subscripts to = subscripts_of(ranges);
    for (std::size_t d = 0; d < phases.size(); ++d)
      to[d + 2] = to[d + 2] * conv_.window.strides[d] + ir::Affine(phases[d].rest);
    const DType type = expander_.type(output_).dtype;
    expander_.assign(result, to, ranges, [&](const Subscripts& at) {
      ir::Expr sum = has_taps ? expander_.load(sums, at) : ir::make_literal(wide_, 0);
      return ir::make_cast(type, post_ ? post_(std::move(sum), to) : std::move(sum));
    });
  }

  std::string tap_name(std::size_t d) const {
    return spatial_name(d, conv_.window.kernel.size(), "k");
  }

  // The subscript of phase d's taps: an iterator, or 0 where there is one tap.
  ir::Affine tap(const std::vector<Phase>& phases, std::size_t d) const {
    return phases[d].count == 1 ? ir::Affine(0) : ir::Affine::symbol(tap_name(d));
  }

  std::string accumulated(const std::vector<Phase>& phases, const Dims& extents,
                          const Ranges& ranges) {
    const std::string sums = expander_.temporary("acc", wide_, extents);
    const std::int64_t group_inputs = expander_.shape(x_)[1] / conv_.group,
                       group_outputs = expander_.shape(w_)[1];
    Ranges reductions = {{"ci", 0, group_inputs}};
    for (std::size_t d = 0; d < phases.size(); ++d)
      if (phases[d].count > 1) reductions.push_back({tap_name(d), 0, phases[d].count});
    expander_.accumulate(sums, ranges, reductions, ir::Combiner::Sum, [&](const Subscripts& at) {
      const Channels channels = channels_of(conv_, group_inputs, group_outputs, at[1]);
      Subscripts from_x = {at[0], channels.x}, from_w = {channels.w_in, channels.w_out};
      for (std::size_t d = 0; d < phases.size(); ++d) {
        const Phase& phase = phases[d];
        from_x.push_back(at[d + 2] + ir::Affine(phase.base) - tap(phases, d) * phase.back);
        from_w.push_back(tap(phases, d) * phase.step + ir::Affine(phase.first));
      }
      ir::Expr read =
          expander_.read_padded(x_, from_x, ir::make_literal(expander_.type(x_).dtype, 0));
      return ir::make_binary(ir::BinaryOp::Mul, ir::make_cast(wide_, std::move(read)),
                             ir::make_cast(wide_, expander_.read(w_, from_w)));
    });
    return sums;
  }
};

}  // namespace

void expand_conv_transpose(Expander& expander, const Node& node) {
  const ConvAttributes conv = std::get<ConvAttributes>(node.attributes);
  const Window& window = conv.window;
  if (has_few_phases(window)) return ByPhases(expander, node).expand();
  const ValueId x = node.inputs[0], w = node.inputs[1],
                bias = has_input(node, 2) ? node.inputs[2] : kNoValue;
  const Dims& shape = expander.shape(node.outputs[0]);
  const std::int64_t group_inputs = expander.shape(x)[1] / conv.group,
                     group_outputs = expander.shape(w)[1];
  const std::size_t spatial = shape.size() - 2;
  const DType wide = accumulator_of(expander.type(x).dtype);
  const Ranges ranges = output_ranges(shape, "co");
  Ranges reductions = kernel_ranges(window);
  reductions.insert(reductions.begin(), {"ci", 0, group_inputs});
  const Expander::Post post = bias_added(expander, bias, wide);
  expander.reduce(
      node.outputs[0], ranges, reductions, ir::Combiner::Sum,
      [=, &expander](const Subscripts& at) {
        const Channels channels = channels_of(conv, group_inputs, group_outputs, at[1]);
        Subscripts from_x = {at[0], channels.x}, from_w = {channels.w_in, channels.w_out};
        for (std::size_t d = 0; d < spatial; ++d) {
          from_w.push_back(kernel_subscript(window, d));
          from_x.push_back(at[d + 2] + ir::Affine(window.pads_begin[d]) -
                           from_w.back() * window.dilations[d]);
        }
        return ir::make_binary(
            ir::BinaryOp::Mul,
            ir::make_cast(wide, strided_read(expander, x, from_x, window.strides)),
            ir::make_cast(wide, expander.read(w, from_w)));
      },
      post);
}

}  // namespace polyte::graph
