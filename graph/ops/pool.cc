// MaxPool (with or without indices) and AveragePool over any number of spatial dimensions.
#include <limits>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "support/checked.h"

namespace polyte::graph {

namespace {

using ir::BinaryOp;
using ir::Combiner;
using ir::Expr;

Subscripts window_subscripts(const Window& window, const Subscripts& at) {
  Subscripts from = {at[0], at[1]};
  for (std::size_t d = 0; d + 2 < at.size(); ++d)
    from.push_back(window_subscript(window, d, at[d + 2]));
  return from;
}

struct PoolLoops {
  Ranges output, window;
  Constraints where;
};

// A reduction needs an iterator; a 1x1 window keeps one of extent 1.
PoolLoops loops_of(const Window& window, const Dims& input, const Dims& output) {
  PoolLoops loops{output_ranges(output, "c"), kernel_ranges(window), {}};
  for (std::size_t d = 0, at = 0; d < window.kernel.size(); ++d) {
    if (window.kernel[d] <= 1) continue;
    ir::Range& range = loops.window[at++];
    Taps taps = clipped_taps(range.name, window.kernel[d],
                             {window.strides[d], window.dilations[d], window.pads_begin[d]},
                             input[d + 2], loops.output[d + 2]);
    range = taps.range;
    loops.where.insert(loops.where.end(), taps.where.begin(), taps.where.end());
  }
  if (loops.window.empty()) loops.window.push_back({"k", 0, 1});
  return loops;
}

// Position in the flattened input; column-major counts the spatial dimensions in reverse order.
ir::Affine flat_position(const Dims& shape, const Subscripts& at, bool column_major) {
  ir::Affine position = at[0] * shape[1] + at[1];
  const std::size_t spatial = shape.size() - 2;
  std::int64_t plane = 1;
  for (std::size_t d = 0; d < spatial; ++d) plane *= shape[d + 2];
  position = position * plane;
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::size_t d = column_major ? i + 2 : shape.size() - 1 - i;
    position = position + at[d] * stride;
    stride *= shape[d];
  }
  return position;
}

// Value and index together. Padding is the least value; where a whole window ties with it, padding
// never wins, because the index of a padded position is read as one behind all others.
void expand_max_pool_with_indices(Expander& expander, const Node& node,
                                  const PoolAttributes& pool) {
  const ValueId x = node.inputs[0];
  const Dims& shape = expander.shape(x);
  const Dims& result_shape = expander.shape(node.outputs[0]);
  const DType type = expander.type(x).dtype;
  const std::string best = expander.temporary("best", type, result_shape);
  const std::string place = expander.temporary("place", DType::I64, result_shape);
  auto value = [&](const Subscripts& at) {
    return expander.read_padded(x, window_subscripts(pool.window, at),
                                ir::identity_of(Combiner::Max, type));
  };
  auto index = [&](const Subscripts& at) {
    const Subscripts from = window_subscripts(pool.window, at);
    Expr flat = ir::make_index(flat_position(shape, from, pool.column_major_indices));
    for (std::size_t d = 2; d < from.size(); ++d) {
      if (pool.window.pads_begin[d - 2] == 0 && pool.window.pads_end[d - 2] == 0 && !pool.ceil_mode)
        continue;
      const Expr here = ir::make_index(from[d]);
      const Expr inside = ir::make_binary(
          BinaryOp::And, ir::make_binary(BinaryOp::Le, ir::make_int(DType::I64, 0), here),
          ir::make_binary(BinaryOp::Lt, here, ir::make_int(DType::I64, shape[d])));
      flat = ir::make_select(inside, flat, ir::make_int(DType::I64, element_count(shape)));
    }
    return flat;
  };
  const PoolLoops loops = loops_of(pool.window, shape, result_shape);
  expander.accumulate_arg(best, place, loops.output, loops.window, Combiner::ArgMax, value, index,
                          loops.where);
  expander.define(node.outputs[0],
                  [&expander, best](const Subscripts& out) { return expander.load(best, out); });
  expander.define(node.outputs[1],
                  [&expander, place](const Subscripts& out) { return expander.load(place, out); });
}

// How many elements of dimension d a window covers, as an expression; padding counts if it is asked
// for, but never what ceil_mode adds behind it. Without dilation, of output element o:
//
//    min(o * stride - pad + kernel, after) - max(o * stride - pad, before)
//
// where [before, after) is the input, or the input with its padding.
Expr covered(const PoolAttributes& pool, std::size_t d, std::int64_t input, const ir::Affine& at,
             DType type) {
  const Window& window = pool.window;
  const std::int64_t before = pool.count_include_pad ? -window.pads_begin[d] : 0;
  const std::int64_t after = input + (pool.count_include_pad ? window.pads_end[d] : 0);
  const ir::Affine begin = at * window.strides[d] - ir::Affine(window.pads_begin[d]);
  if (window.dilations[d] > 1) {
    // Positions begin + i * dilation below a bound: its distance from begin over the dilation,
    // rounded up.
    auto below = [&](std::int64_t bound) {
      const Expr distance = ir::make_binary(
          BinaryOp::Max, ir::make_index(ir::Affine(bound) - begin, type), ir::make_int(type, 0));
      const Expr rounded =
          ir::make_binary(BinaryOp::Add, distance, ir::make_int(type, window.dilations[d] - 1));
      return ir::make_binary(BinaryOp::Div, rounded, ir::make_int(type, window.dilations[d]));
    };
    const Expr inside =
        ir::make_binary(BinaryOp::Min, below(after), ir::make_int(type, window.kernel[d]));
    return ir::make_binary(BinaryOp::Sub, inside, below(before));
  }
  const Expr first =
      ir::make_binary(BinaryOp::Max, ir::make_index(begin, type), ir::make_int(type, before));
  const Expr last =
      ir::make_binary(BinaryOp::Min, ir::make_index(begin + ir::Affine(window.kernel[d]), type),
                      ir::make_int(type, after));
  return ir::make_binary(BinaryOp::Sub, last, first);
}

// Whether all windows cover `kernel` elements of dimension d, so that their number is a constant:
// the last one ends within what counts, and the first does not begin before it.
bool always_full(const PoolAttributes& pool, std::size_t d, std::int64_t input,
                 std::int64_t output) {
  const Window& window = pool.window;
  const std::int64_t span = window.dilations[d] * (window.kernel[d] - 1) + 1;
  const std::int64_t reach = (output - 1) * window.strides[d] + span - window.pads_begin[d];
  if (pool.count_include_pad) return reach <= input + window.pads_end[d];
  return window.pads_begin[d] == 0 && reach <= input;
}

// Counts as narrow as they fit, so that they do not halve the vectors of f32 data.
DType count_type(const PoolAttributes& pool, const Dims& input) {
  double elements = 1, farthest = 0;
  for (std::size_t d = 0; d < pool.window.kernel.size(); ++d) {
    const auto kernel = static_cast<double>(pool.window.kernel[d]);
    elements *= kernel;
    farthest = std::max(farthest, 2 * kernel * static_cast<double>(pool.window.dilations[d]) +
                                      static_cast<double>(input[d + 2] + pool.window.pads_end[d]));
  }
  return std::max(elements, farthest) < std::numeric_limits<std::int32_t>::max() ? DType::I32
                                                                                 : DType::I64;
}

Expr divisor(Expander& expander, const Node& node, const PoolAttributes& pool, DType type,
             const Subscripts& at) {
  std::int64_t constant = 1;
  Expr varying;
  const Dims &input = expander.shape(node.inputs[0]), &output = expander.shape(node.outputs[0]);
  const DType counts = count_type(pool, input);
  for (std::size_t d = 0; d + 2 < input.size(); ++d) {
    if (always_full(pool, d, input[d + 2], output[d + 2])) {
      // The elements of a window are a box, whose count is the product over its dimensions.
      constant *= pool.window.kernel[d];
      continue;
    }
    const Expr count = covered(pool, d, input[d + 2], at[d + 2], counts);
    varying = varying ? ir::make_binary(BinaryOp::Mul, varying, count) : count;
  }
  if (!varying) return ir::make_literal(type, static_cast<double>(constant));
  if (constant != 1)
    varying = ir::make_binary(BinaryOp::Mul, varying, ir::make_int(counts, constant));
  return ir::make_cast(type, varying);
}

}  // namespace

Types infer_pool(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  const bool takes_integers = node.op == OpKind::MaxPool;
  if (auto no = takes_integers ? expect_number(graph, node, 0) : expect_float(graph, node, 0))
    return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 3)) return *no;
  const TensorType& x = input_type(graph, node, 0);
  const auto& pool = std::get<PoolAttributes>(node.attributes);
  if (auto no = expect_window(pool.window, x.shape.size() - 2)) return *no;
  Dims shape = {x.shape[0], x.shape[1]};
  for (std::size_t d = 0; d + 2 < x.shape.size(); ++d) {
    const std::int64_t reach =
        checked_add(checked_mul(pool.window.dilations[d], pool.window.kernel[d] - 1), 1);
    // A window in the padding alone would be the maximum or the average of nothing.
    if (pool.window.pads_begin[d] >= reach || pool.window.pads_end[d] >= reach) {
      return Decline{"pads " + shape_text(pool.window.pads_begin) + " and " +
                     shape_text(pool.window.pads_end) + " are not smaller than the kernel " +
                     shape_text(pool.window.kernel)};
    }
    shape.push_back(window_extent(x.shape[d + 2], pool.window, d, pool.ceil_mode));
    if (shape.back() == 0 && x.shape[d + 2] != 0) {
      return Decline{"kernel " + shape_text(pool.window.kernel) +
                     " is larger than the padded input " + shape_text(x.shape)};
    }
  }
  std::vector<TensorType> types = {{x.dtype, shape}};
  if (node.op == OpKind::MaxPool) types.push_back({DType::I64, shape});
  return types;
}

void expand_max_pool(Expander& expander, const Node& node) {
  const PoolAttributes pool = std::get<PoolAttributes>(node.attributes);
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue)
    return expand_max_pool_with_indices(expander, node, pool);
  const ValueId x = node.inputs[0];
  const PoolLoops loops = loops_of(pool.window, expander.shape(x), expander.shape(node.outputs[0]));
  expander.reduce(
      node.outputs[0], loops.output, loops.window, Combiner::Max,
      [=, &expander](const Subscripts& at) {
        return expander.read_padded(x, window_subscripts(pool.window, at),
                                    ir::identity_of(Combiner::Max, expander.type(x).dtype));
      },
      {}, loops.where);
}

void expand_average_pool(Expander& expander, const Node& node) {
  const PoolAttributes pool = std::get<PoolAttributes>(node.attributes);
  const ValueId x = node.inputs[0];
  const DType wide = accumulator_of(expander.type(x).dtype);
  const PoolLoops loops = loops_of(pool.window, expander.shape(x), expander.shape(node.outputs[0]));
  expander.reduce(
      node.outputs[0], loops.output, loops.window, Combiner::Sum,
      [=, &expander](const Subscripts& at) {
        const Expr zero = ir::make_literal(expander.type(x).dtype, 0);
        return ir::make_cast(wide,
                             expander.read_padded(x, window_subscripts(pool.window, at), zero));
      },
      [=, &expander](const Expr& sum, const Subscripts& at) {
        return ir::make_binary(BinaryOp::Div, sum, divisor(expander, node, pool, sum->type, at));
      },
      loops.where);
}

}  // namespace polyte::graph
