// Convolutions, pools and matrix products.
#include <algorithm>

#include "frontend/importers/table.h"
#include "frontend/importers/windows.h"
#include "support/checked.h"

namespace polyte::frontend {

namespace {

Dims list_or(NodeContext& c, const char* name, std::size_t count, std::int64_t fill) {
  const auto given = c.integers(name);
  if (!given) return Dims(count, fill);
  if (given->size() != count) {
    throw Invalid{std::string("attribute '") + name + "' has " + std::to_string(given->size()) +
                  " entries, expected " + std::to_string(count)};
  }
  return *given;
}

void expect_positive(const char* name, const Dims& list) {
  for (std::int64_t entry : list) {
    if (entry < 1)
      throw Invalid{std::string("attribute '") + name + "' is " + dims_text(list) +
                    ", expected positive entries"};
  }
}

// Kernel, strides and dilations; pads stay empty.
graph::Window window_of(NodeContext& c, Dims kernel) {
  graph::Window window;
  window.kernel = std::move(kernel);
  window.strides = list_or(c, "strides", window.kernel.size(), 1);
  window.dilations = list_or(c, "dilations", window.kernel.size(), 1);
  expect_positive("kernel_shape", window.kernel);
  expect_positive("strides", window.strides);
  expect_positive("dilations", window.dilations);
  return window;
}

// ONNX lists all beginnings, then all ends: h_begin, w_begin, h_end, w_end.
void set_explicit_pads(NodeContext& c, graph::Window& window) {
  const std::size_t spatial = window.kernel.size();
  const Dims pads = list_or(c, "pads", 2 * spatial, 0);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(spatial);
  window.pads_begin.assign(pads.begin(), middle);
  window.pads_end.assign(middle, pads.end());
}

std::string auto_pad_of(NodeContext& c) {
  const std::string mode = c.text("auto_pad", "NOTSET");
  if (mode != "NOTSET" && !mode.empty() && mode != "VALID" && mode != "SAME_UPPER" &&
      mode != "SAME_LOWER") {
    throw Invalid{"auto_pad is '" + mode + "', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER"};
  }
  return mode.empty() ? "NOTSET" : mode;
}

void split_padding(graph::Window& window, std::int64_t total, bool more_at_end) {
  const std::int64_t less = total / 2;
  window.pads_begin.push_back(more_at_end ? less : total - less);
  window.pads_end.push_back(more_at_end ? total - less : less);
}

// SAME: the output has ceil(input / stride) elements, the odd pad at the end (UPPER) or the
// beginning (LOWER). What is missing to the last window is padded,
//
//    total = (output - 1) * stride + (kernel - 1) * dilation + 1 - input
void set_pads(NodeContext& c, graph::Window& window, const Dims& input) {
  const std::string mode = auto_pad_of(c);
  if (mode == "NOTSET") return set_explicit_pads(c, window);
  c.ignore("pads");
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    std::int64_t total = 0;
    if (mode != "VALID") {
      const std::int64_t output = ceil_div(input[d + 2], window.strides[d]);
      const std::int64_t reach =
          checked_add(checked_mul(window.kernel[d] - 1, window.dilations[d]), 1);
      total = std::max<std::int64_t>(
          0, checked_add(checked_mul(output - 1, window.strides[d]), reach) - input[d + 2]);
    }
    split_padding(window, total, mode != "SAME_LOWER");
  }
}

Dims spatial_shape(NodeContext& c, ValueId id) {
  const Dims& shape = c.type(id).shape;
  if (shape.size() < 3)
    throw Invalid{"operand has shape " + dims_text(shape) +
                  ", expected at least one spatial dimension"};
  return {shape.begin() + 2, shape.end()};
}

std::vector<ValueId> conv_operands(NodeContext& c) {
  return {c.input(0), c.input(1), c.optional_input(2)};
}

graph::ConvAttributes unpadded_conv(NodeContext& c, ValueId x, ValueId w) {
  const Dims weight = spatial_shape(c, w);
  if (spatial_shape(c, x).size() != weight.size()) {
    throw Invalid{"weight has shape " + dims_text(c.type(w).shape) + ", expected rank " +
                  std::to_string(c.rank(x)) + " like the input"};
  }
  // Optional, since the weight [outputs, inputs / group, kernel..] says it as well.
  const Dims kernel = c.integers("kernel_shape").value_or(weight);
  if (kernel != weight)
    throw Invalid{"attribute 'kernel_shape' is " + dims_text(kernel) + ", the weight's is " +
                  dims_text(weight)};
  graph::ConvAttributes conv;
  conv.window = window_of(c, kernel);
  conv.group = c.integer("group", 1);
  return conv;
}

}  // namespace

graph::ConvAttributes conv_window(NodeContext& c, ValueId x, ValueId w) {
  graph::ConvAttributes conv = unpadded_conv(c, x, w);
  set_pads(c, conv.window, c.type(x).shape);
  return conv;
}

graph::PoolAttributes pool_window(NodeContext& c, ValueId x) {
  const std::size_t spatial = spatial_shape(c, x).size();
  const auto kernel = c.integers("kernel_shape");
  if (!kernel) throw Invalid{"attribute 'kernel_shape' is missing"};
  if (kernel->size() != spatial)
    throw Invalid{"attribute 'kernel_shape' is " + dims_text(*kernel) + ", expected " +
                  std::to_string(spatial) + " entries"};
  graph::PoolAttributes pool;
  pool.window = window_of(c, *kernel);
  set_pads(c, pool.window, c.type(x).shape);
  pool.ceil_mode = c.flag("ceil_mode", false);
  return pool;
}

static void import_conv(NodeContext& c) {
  c.finish(OpKind::Conv, conv_window(c, c.input(0), c.input(1)), conv_operands(c));
}

// With output_shape the pads follow from it,
//
//    total = stride * (input - 1) + output_padding + reach - output
//
// and SAME is output_shape = input * stride. The odd pad is at the end for SAME_UPPER alone, and at
// the beginning even without auto_pad, as the specification has it.
static void import_conv_transpose(NodeContext& c) {
  graph::ConvAttributes conv = unpadded_conv(c, c.input(0), c.input(1));
  graph::Window& window = conv.window;
  const std::size_t spatial = window.kernel.size();
  const Dims& x = c.type(c.input(0)).shape;
  conv.output_padding = list_or(c, "output_padding", spatial, 0);
  const std::string mode = auto_pad_of(c);
  std::optional<Dims> wanted = c.integers("output_shape");
  if (wanted && wanted->size() == spatial + 2) wanted = Dims(wanted->begin() + 2, wanted->end());
  if (wanted && wanted->size() != spatial)
    throw Invalid{"attribute 'output_shape' is " + dims_text(*wanted) + ", expected " +
                  std::to_string(spatial) + " entries"};
  if (!wanted && mode == "NOTSET") {
    set_explicit_pads(c, window);
  } else {
    c.ignore("pads");
    for (std::size_t d = 0; d < spatial; ++d) {
      const std::int64_t full = checked_add(
          checked_add(checked_mul(window.strides[d], x[d + 2] - 1), conv.output_padding[d]),
          checked_add(checked_mul(window.kernel[d] - 1, window.dilations[d]), 1));
      const std::int64_t output = wanted            ? (*wanted)[d]
                                  : mode == "VALID" ? full
                                                    : checked_mul(x[d + 2], window.strides[d]);
      const std::int64_t total = checked_sub(full, output);
      if (total < 0 && !wanted) conv.output_padding[d] = checked_sub(conv.output_padding[d], total);
      if (total < 0 && wanted)
        throw Unsupported{"output_shape " + dims_text(*wanted) +
                          " is larger than what the window reaches, " + std::to_string(full)};
      split_padding(window, std::max<std::int64_t>(0, total), mode == "SAME_UPPER");
    }
  }
  c.finish(OpKind::ConvTranspose, conv, conv_operands(c));
}

static void import_max_pool(NodeContext& c) {
  graph::PoolAttributes pool = pool_window(c, c.input(0));
  pool.column_major_indices = c.flag("storage_order", false);
  c.finish(OpKind::MaxPool, pool, {c.input(0)});
}

static void import_average_pool(NodeContext& c) {
  graph::PoolAttributes pool = pool_window(c, c.input(0));
  if (c.opset() < 19 && c.has_attribute("dilations"))
    throw Invalid{"attribute 'dilations' came with opset 19"};
  pool.count_include_pad = c.flag("count_include_pad", false);
  c.finish(OpKind::AveragePool, pool, {c.input(0)});
}

static void import_matmul(NodeContext& c) {
  c.finish(OpKind::MatMul, graph::NoAttributes{}, {c.input(0), c.input(1)});
}

static void import_gemm(NodeContext& c) {
  graph::GemmAttributes gemm{c.real("alpha", 1), c.real("beta", 1), c.flag("transA", false),
                             c.flag("transB", false)};
  if (c.opset() < 7) c.ignore("broadcast");  // C broadcasts wherever its shape allows it
  c.finish(OpKind::Gemm, gemm, {c.input(0), c.input(1), c.optional_input(2)});
}

Rows contractions_rows() {
  static constexpr Row kRows[] = {
      {"AveragePool", 1, import_average_pool},
      {"Conv", 1, import_conv},
      {"ConvTranspose", 1, import_conv_transpose},
      {"Gemm", 6, import_gemm},
      {"MatMul", 1, import_matmul},
      {"MaxPool", 1, import_max_pool},
  };
  return kRows;
}

}  // namespace polyte::frontend
