// Sliding windows: output extents and iterators of convolutions and pools over 1 to 3
// (or more) dimensions.
#pragma once

#include <string>

#include "graph/expander.h"
#include "graph/ops/infer.h"

namespace polyte::graph {

// Spatial dimension d of `rank`: "w", "h" and "w", or "d", "h" and "w"; with a prefix for
// the kernel's: "kh".
std::string spatial_name(std::size_t d, std::size_t rank, const std::string& prefix = "");
// One positive entry per spatial dimension, pads and kernel within reason; says what is wrong.
Complaint expect_window(const Window& window, std::size_t spatial_rank);
// Extent of the output, at least 0. With ceil_mode a last, partial window counts if it starts
// inside the input or the leading padding.
std::int64_t window_extent(std::int64_t input, const Window& window, std::size_t d, bool ceil_mode);
// Iterators over an output of shape [N, channels, spatial...].
Ranges output_ranges(const Dims& shape, const std::string& channel);
// Iterators over the kernel, those of extent 1 left out.
Ranges kernel_ranges(const Window& window);
// Subscript of kernel dimension d: its iterator, or 0 where it has extent 1.
ir::Affine kernel_subscript(const Window& window, std::size_t d);
// Input subscript that output subscript `at` and the kernel's iterator touch:
// at * stride + k * dilation - pad.
ir::Affine window_subscript(const Window& window, std::size_t d, const ir::Affine& at);
// Taps of a window of `taps` along an extent of which at most `inside` can meet an element at once,
// where tap t of output o touches o * stride + t * dilation - pad. What an attribute says costs
// nothing to write, so a long window is clipped to the input before it is walked; a short one is as
// fast whole, and keeps one form at every size.
struct Taps {
  ir::Range range;  // named `name`; not empty
  // The taps of one output that touch the input; empty where all do or the window is short.
  Constraints where;
};
struct TapLayout {
  std::int64_t stride = 1, dilation = 1, pad = 0;
};
Taps clipped_taps(const std::string& name, std::int64_t taps, const TapLayout& layout,
                  std::int64_t input, const ir::Range& output);
// Adds the bias of the output's channel to a sum of this type; nothing without a bias. In
// blocks: bias[block, channel].
Expander::Post bias_added(Expander& expander, ValueId bias, DType sum, bool in_blocks = false);

}  // namespace polyte::graph
