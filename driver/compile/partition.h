// The groups of a partitioned model; they are formed again where some are split.
#pragma once

#include "driver/compile/model.h"

namespace polyte::driver {

void form_groups(PartitionedModel& model);    // by fusion_graph and fusion_options
void expand_groups(PartitionedModel& model);  // their Programs

// What choose_layouts may do for a machine. Its prices are those of a CPU's core: for a GPU, auto
// leaves layouts as they are, and blocks are there where they are asked for.
graph::LayoutOptions layout_options(graph::Layout layout, const Machine& machine);

// The same of transform_convolutions; for a GPU, auto is direct.
graph::ConvolutionOptions convolution_options(graph::Convolutions how, const Machine& machine);

}  // namespace polyte::driver
