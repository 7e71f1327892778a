// Normalisations, for inference.
#include <algorithm>
#include <cmath>

#include "frontend/importers/build.h"
#include "frontend/importers/table.h"
#include "frontend/importers/windows.h"

namespace polyte::frontend {

namespace {

void finish_batch_norm(NodeContext& c) {
  const double epsilon = c.real("epsilon", 1e-5);
  c.ignore("momentum");
  c.finish(OpKind::BatchNormalization, graph::NormAttributes{epsilon, 0},
           {c.input(0), c.input(1), c.input(2), c.input(3), c.input(4)});
}

void refuse_training_outputs(NodeContext& c) {
  if (c.output_count() > 1)
    throw Unsupported{"has " + std::to_string(c.output_count()) +
                      " outputs, those of training: supported is inference, with one"};
}

void refuse_per_element_statistics(NodeContext& c) {
  if (!c.flag("spatial", true))
    throw Unsupported{"attribute 'spatial' is 0: supported are statistics a channel"};
}

// All dimensions of `rank` but `kept`: the axes that statistics of a channel run over.
Dims axes_except(std::int64_t rank, const Dims& kept) {
  Dims axes;
  for (std::int64_t d = 0; d < rank; ++d) {
    if (std::ranges::find(kept, d) == kept.end()) axes.push_back(d);
  }
  return axes;
}

// By the statistics of this very batch; the running ones move towards them:
//
//    running = momentum * running + (1 - momentum) * of this batch
void finish_batch_norm_training(NodeContext& c) {
  const Build b(c);
  const ValueId x = c.input(0);
  const std::int64_t rank = c.rank(x);
  if (rank < 2)
    throw Invalid{"input 0 has shape " + dims_text(c.type(x).shape) + ", expected rank 2 or more"};
  const Dims axes = axes_except(rank, {1});
  const ValueId mean = b.reduce(OpKind::ReduceMean, x, axes, true);
  const ValueId centred = b.sub(x, mean);
  const ValueId variance = b.reduce(OpKind::ReduceMean, b.mul(centred, centred), axes, true);
  const ValueId deviation =
      b.unary(OpKind::Sqrt, b.add(variance, b.number(x, c.real("epsilon", 1e-5))));
  auto channel = [&](std::size_t i) {
    return c.cast(b.along(c.input(i), 1, rank), c.type(x).dtype);
  };
  const ValueId scaled = b.mul(b.div(centred, deviation), channel(1));
  c.finish_output(0, OpKind::Add, graph::NoAttributes{}, {scaled, channel(2)});
  const double momentum = c.real("momentum", 0.9);
  auto running = [&](std::size_t output, std::size_t input, ValueId now) {
    const ValueId before = c.input(input);
    const ValueId flat = c.cast(c.reshape(now, c.type(before).shape), c.type(before).dtype);
    if (!c.wants_output(output)) return;
    c.finish_output(
        output, OpKind::Add, graph::NoAttributes{},
        {b.mul(before, b.number(before, momentum)), b.mul(flat, b.number(before, 1 - momentum))});
  };
  running(1, 3, mean);
  running(2, 4, variance);
}

}  // namespace

static void import_batch_norm_6(NodeContext& c) {
  if (!c.flag("is_test", false)) throw Unsupported{"is_test is 0: supported is inference"};
  refuse_per_element_statistics(c);
  refuse_training_outputs(c);
  finish_batch_norm(c);
}

static void import_batch_norm_7(NodeContext& c) {
  if (c.opset() < 9) refuse_per_element_statistics(c);
  refuse_training_outputs(c);
  finish_batch_norm(c);
}

static void import_batch_norm_14(NodeContext& c) {
  if (c.flag("training_mode", false)) return finish_batch_norm_training(c);
  refuse_training_outputs(c);
  finish_batch_norm(c);
}

static void import_instance_norm(NodeContext& c) {
  c.finish(OpKind::InstanceNormalization, graph::NormAttributes{c.real("epsilon", 1e-5), 0},
           {c.input(0), c.input(1), c.input(2)});
}

static void import_layer_norm(NodeContext& c) {
  const std::int64_t stash = c.integer("stash_type", 1);
  if (stash != 1)
    throw Unsupported{"stash_type is " + std::to_string(stash) + ", expected 1 (FLOAT)"};
  const std::int64_t axis = c.axis("axis", -1, c.rank(c.input(0)));
  c.finish(OpKind::LayerNormalization, graph::NormAttributes{c.real("epsilon", 1e-5), axis},
           {c.input(0), c.input(1), c.optional_input(2)});
}

static void import_lrn(NodeContext& c) {
  c.finish(OpKind::LRN,
           graph::LrnAttributes{c.real("alpha", 1e-4), c.real("beta", 0.75), c.real("bias", 1),
                                c.integer("size")},
           {c.input(0)});
}

// Channels in groups, each normalised as one; scale and bias of a group (before opset 21) or
// of a channel.
static void import_group_norm(NodeContext& c) {
  const Build b(c);
  const ValueId x = c.input(0), scale = c.input(1), bias = c.input(2);
  const Dims shape = c.type(x).shape;
  const std::int64_t groups = c.integer("num_groups"), stash = c.integer("stash_type", 1);
  if (stash != 1)
    throw Unsupported{"stash_type is " + std::to_string(stash) + ", expected 1 (FLOAT)"};
  if (shape.size() < 3 || groups < 1 || shape[1] % groups != 0)
    throw Invalid{std::to_string(groups) + " groups do not divide the channels of " +
                  dims_text(shape)};
  const bool of_channels = c.opset() >= 21;
  const Dims expected = {of_channels ? shape[1] : groups};
  for (ValueId list : {scale, bias}) {
    if (c.type(list).shape != expected)
      throw Invalid{"scale or bias has shape " + dims_text(c.type(list).shape) + ", expected " +
                    dims_text(expected)};
  }
  const std::int64_t inside =
      shape[0] * groups == 0 ? 0 : graph::element_count(shape) / (shape[0] * groups);
  // InstanceNormalization of [n, groups, ..] normalises each group by itself.
  const ValueId grouped = c.reshape(x, {shape[0], groups, inside});
  const graph::NormAttributes norm{c.real("epsilon", 1e-5), 0};
  if (!of_channels) {
    const ValueId normalised = c.emit(OpKind::InstanceNormalization, norm, {grouped, scale, bias});
    return c.finish(OpKind::Reshape, graph::ShapeAttributes{shape}, {normalised});
  }
  // Scale and bias belong to channels here: groups are normalised without them, and channels are
  // scaled afterwards.
  const ValueId one = b.expand(b.number(x, 1), {groups}), zero = b.expand(b.number(x, 0), {groups});
  const ValueId normalised =
      c.reshape(c.emit(OpKind::InstanceNormalization, norm, {grouped, one, zero}), shape);
  const ValueId scaled = b.mul(normalised, b.along(scale, 1, c.rank(x)));
  c.finish(OpKind::Add, graph::NoAttributes{}, {scaled, b.along(bias, 1, c.rank(x))});
}

// x over its norm along an axis; where the norm is 0 the result is 0.
static void import_lp_norm(NodeContext& c) {
  const Build b(c);
  const ValueId x = c.input(0);
  const std::int64_t p = c.integer("p", 2), axis = c.axis("axis", -1, c.rank(x));
  if (p != 1 && p != 2) throw Invalid{"p is " + std::to_string(p) + ", expected 1 or 2"};
  const ValueId norm = b.reduce(p == 1 ? OpKind::ReduceL1 : OpKind::ReduceL2, x, {axis}, true);
  const ValueId zero = b.number(x, 0);
  c.finish(OpKind::Where, graph::NoAttributes{}, {b.equal(norm, zero), zero, b.div(x, norm)});
}

namespace {

// sum of |x|^p over what `sum` adds up, to the power 1 / p.
template <class Sum>
void finish_lp_pool(NodeContext& c, std::int64_t p, const Sum& sum) {
  const Build b(c);
  const ValueId x = b.unary(OpKind::Abs, c.input(0));
  if (p < 1) throw Invalid{"p is " + std::to_string(p) + ", expected at least 1"};
  if (p == 1) return c.finish_output(0, sum(x));
  if (p == 2) return c.finish(OpKind::Sqrt, graph::NoAttributes{}, {sum(b.mul(x, x))});
  const ValueId powers = b.binary(OpKind::Pow, x, b.number(x, static_cast<double>(p)));
  c.finish(OpKind::Pow, graph::NoAttributes{},
           {sum(powers), b.number(x, 1.0 / static_cast<double>(p))});
}

}  // namespace

static void import_global_lp_pool(NodeContext& c) {
  const Build b(c);
  const Dims axes = axes_except(c.rank(c.input(0)), {0, 1});
  finish_lp_pool(c, c.integer("p", 2),
                 [&](ValueId x) { return b.reduce(OpKind::ReduceSum, x, axes, true); });
}

// The sum over a window is an average that counts its padding, times the size of the window; where
// ceil_mode lets a window reach beyond the padding, the padding grows with it.
static void import_lp_pool(NodeContext& c) {
  const Build b(c);
  graph::PoolAttributes pool = pool_window(c, c.input(0));
  pool.count_include_pad = true;
  const Dims& shape = c.type(c.input(0)).shape;
  double size = 1;
  for (std::size_t d = 0; d < pool.window.kernel.size(); ++d) {
    size *= static_cast<double>(pool.window.kernel[d]);
    const std::int64_t reach = pool.window.dilations[d] * (pool.window.kernel[d] - 1) + 1;
    const std::int64_t room =
        shape[d + 2] + pool.window.pads_begin[d] + pool.window.pads_end[d] - reach;
    const std::int64_t rest = room > 0 ? room % pool.window.strides[d] : 0;
    // As in window_extent (graph/ops/window.cc): a window that would begin in the trailing padding
    // is none.
    const bool starts_inside =
        room - rest + pool.window.strides[d] < shape[d + 2] + pool.window.pads_begin[d];
    if (pool.ceil_mode && rest > 0 && starts_inside)
      pool.window.pads_end[d] += pool.window.strides[d] - rest;
  }
  pool.ceil_mode = false;
  finish_lp_pool(c, c.integer("p", 2), [&](ValueId x) {
    return b.mul(c.emit(OpKind::AveragePool, pool, {x}), b.number(x, size));
  });
}

// (x - mean) / (sqrt(mean of (x - mean)^2) + 1e-9), the constant as the specification has it.
static void import_mean_variance_normalization(NodeContext& c) {
  const ValueId x = c.input(0);
  graph::ReduceAttributes reduce{{}, true};
  for (std::int64_t axis : c.integers("axes").value_or(Dims{0, 2, 3}))
    reduce.axes.push_back(NodeContext::resolve_axis(axis, c.rank(x)));
  const graph::NoAttributes none;
  const ValueId mean = c.emit(OpKind::ReduceMean, reduce, {x});
  const ValueId centred = c.emit(OpKind::Sub, none, {x, mean});
  const ValueId variance =
      c.emit(OpKind::ReduceMean, reduce, {c.emit(OpKind::Mul, none, {centred, centred})});
  const ValueId epsilon = c.add_constant(graph::make_scalar(c.type(x).dtype, 1e-9));
  const ValueId deviation =
      c.emit(OpKind::Add, none, {c.emit(OpKind::Sqrt, none, {variance}), epsilon});
  c.finish(OpKind::Div, none, {centred, deviation});
}

Rows normalization_rows() {
  static constexpr Row kRows[] = {
      {"BatchNormalization", 6, import_batch_norm_6, kInference},
      {"BatchNormalization", 7, import_batch_norm_7, kInference},
      {"BatchNormalization", 14, import_batch_norm_14},
      {"GlobalLpPool", 2, import_global_lp_pool},
      {"GroupNormalization", 18, import_group_norm, "stash_type FLOAT"},
      {"InstanceNormalization", 6, import_instance_norm},
      {"LRN", 1, import_lrn},
      {"LayerNormalization", 17, import_layer_norm},
      {"LpNormalization", 1, import_lp_norm},
      {"LpPool", 2, import_lp_pool},
      {"MeanVarianceNormalization", 9, import_mean_variance_normalization},
  };
  return kRows;
}

}  // namespace polyte::frontend
