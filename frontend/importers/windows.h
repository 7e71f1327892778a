// The windows of convolutions and pools as ONNX describes them: kernel_shape, strides, dilations,
// pads, auto_pad.
#pragma once

#include "frontend/importers/context.h"

namespace polyte::frontend {

// Of a convolution of x with weight w; group and pads included.
graph::ConvAttributes conv_window(NodeContext& c, ValueId x, ValueId w);
// Of a pool over x, with ceil_mode and dilations.
graph::PoolAttributes pool_window(NodeContext& c, ValueId x);

}  // namespace polyte::frontend
