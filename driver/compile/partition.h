// The groups of a partitioned model; they are formed again where some are split.
#pragma once

#include "driver/compile/model.h"

namespace polyte::driver {

void form_groups(PartitionedModel& model);    // by fusion_graph and fusion_options
void expand_groups(PartitionedModel& model);  // their Programs

}  // namespace polyte::driver
