#include "graph/ops/window.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::graph {

std::string spatial_name(std::size_t d, std::size_t rank, const std::string& prefix) {
  static constexpr const char* kNames[] = {"d", "h", "w"};
  return prefix + (rank <= 3 ? kNames[3 - rank + d] : "s" + std::to_string(d));
}

Complaint expect_window(const Window& window, std::size_t spatial_rank) {
  const std::pair<const char*, const Dims*> lists[] = {{"kernel_shape", &window.kernel},
                                                       {"strides", &window.strides},
                                                       {"dilations", &window.dilations}};
  for (const auto& [name, list] : lists) {
    if (list->size() != spatial_rank) {
      return Decline{std::string(name) + " has " + std::to_string(list->size()) +
                     " entries, expected " + std::to_string(spatial_rank)};
    }
    for (std::int64_t entry : *list) {
      if (entry < 1)
        return Decline{std::string(name) + " is " + shape_text(*list) +
                       ", expected positive entries"};
    }
  }
  if (window.pads_begin.size() != spatial_rank || window.pads_end.size() != spatial_rank) {
    return Decline{"pads has " + std::to_string(window.pads_begin.size() + window.pads_end.size()) +
                   " entries, expected " + std::to_string(2 * spatial_rank)};
  }
  for (std::size_t d = 0; d < spatial_rank; ++d) {
    if (window.pads_begin[d] < 0 || window.pads_end[d] < 0)
      return Decline{"pads has a negative entry"};
  }
  return std::nullopt;
}

// floor((input + pads - reach) / stride) + 1, where reach is what a kernel extends over, dilation *
// (kernel - 1) + 1; ceil_mode rounds up. An output that ceil_mode adds is dropped again where its
// window would begin in the trailing padding.
std::int64_t window_extent(std::int64_t input, const Window& window, std::size_t d,
                           bool ceil_mode) {
  const std::int64_t reach = checked_add(checked_mul(window.dilations[d], window.kernel[d] - 1), 1);
  const std::int64_t room =
      checked_sub(checked_add(checked_add(input, window.pads_begin[d]), window.pads_end[d]), reach);
  if (room < 0 && !(ceil_mode && room > -window.strides[d])) return 0;
  if (!ceil_mode) return room / window.strides[d] + 1;
  const std::int64_t extent = ceil_div(room, window.strides[d]) + 1;
  const bool starts_late =
      (extent - 1) * window.strides[d] >= checked_add(input, window.pads_begin[d]);
  return starts_late ? extent - 1 : extent;
}

Ranges kernel_ranges(const Window& window) {
  Ranges ranges;
  const std::size_t rank = window.kernel.size();
  for (std::size_t d = 0; d < rank; ++d) {
    // An extent of 1 has no loop: the fewer dimensions, the more nests look alike to fusion and
    // templates.
    if (window.kernel[d] > 1) ranges.push_back({spatial_name(d, rank, "k"), 0, window.kernel[d]});
  }
  return ranges;
}

ir::Affine kernel_subscript(const Window& window, std::size_t d) {
  return window.kernel[d] > 1 ? ir::Affine::symbol(spatial_name(d, window.kernel.size(), "k"))
                              : ir::Affine(0);
}

ir::Affine window_subscript(const Window& window, std::size_t d, const ir::Affine& at) {
  return at * window.strides[d] + kernel_subscript(window, d) * window.dilations[d] -
         ir::Affine(window.pads_begin[d]);
}

Ranges output_ranges(const Dims& shape, const std::string& channel) {
  const std::size_t spatial = shape.size() - 2;
  Ranges ranges = {{"n", 0, shape[0]}, {channel, 0, shape[1]}};
  for (std::size_t d = 0; d < spatial; ++d)
    ranges.push_back({spatial_name(d, spatial), 0, shape[d + 2]});
  return ranges;
}

Taps clipped_taps(const std::string& name, std::int64_t taps, const TapLayout& layout,
                  std::int64_t input, const ir::Range& output) {
  constexpr std::int64_t kFew = 64;
  const auto& [stride, dilation, pad] = layout;
  // Taps of one output that can meet the input at once; up to twice as many are walked whole.
  const std::int64_t inside = input / dilation + 1;
  if (taps <= kFew || taps / 2 <= inside) return {{name, 0, taps}, {}};
  // Over all outputs: the last one, o = last / stride, meets the first element at
  // t = (pad - last) / dilation, and the first one, o = 0, meets element input - 1 at
  // t = (pad + input - 1) / dilation. No tap outside of these touches the input for any output.
  const std::int64_t last = checked_mul(output.end.constant() - 1, stride);
  const std::int64_t begin = std::clamp<std::int64_t>(ceil_div(pad - last, dilation), 0, taps - 1);
  const std::int64_t end =
      std::clamp(floor_div(checked_add(pad, input - 1), dilation) + 1, begin + 1, taps);
  Taps clipped{{name, begin, end}, {}};
  if ((end - begin) / 2 <= inside) return clipped;
  const ir::Affine touched =
      ir::Affine::symbol(output.name) * stride + ir::Affine::symbol(name) * dilation - pad;
  clipped.where = {ir::at_least(touched, 0), ir::less_than(touched, input)};
  return clipped;
}

Expander::Post bias_added(Expander& expander, ValueId bias, DType sum_type, bool in_blocks) {
  if (bias == kNoValue) return {};
  return [bias, sum_type, in_blocks, &expander](const ir::Expr& sum, const Subscripts& at) {
    const Subscripts from = in_blocks ? Subscripts{at[1], at.back()} : Subscripts{at[1]};
    return ir::make_binary(ir::BinaryOp::Add, sum,
                           ir::make_cast(sum_type, expander.read(bias, from)));
  };
}

}  // namespace polyte::graph
