// The steps of a model's compilation that only a network with open sizes needs: its graphs go
// through the passes alike, its groups become Programs of the sizes, and its values have shapes
// over them.
#pragma once

#include <set>
#include <string>

#include "driver/compile/model.h"
#include "runtime/manifest.h"

namespace polyte::driver {

// Names of nodes whose results do not have the same shapes in all graphs.
std::set<std::string> nodes_of_open_size(const PartitionedModel& model);

// The other graphs through the passes that model.graph went through. UserError(Unsupported) lists
// what a pass decided by a size, so that the graphs are no longer the same.
void optimize_others(PartitionedModel& model, const graph::OptimizeOptions& passes);

// The Programs of all groups, which are those of the typical sizes, as Programs of any.
// UserError(Unsupported) lists what is no affine function of the sizes: numbers of a Program, and
// places of elements, for a size that is not the outermost extent is multiplied by those before it.
void open_groups(PartitionedModel& model);

// A tensor whose extents are affine functions of `symbols`, in the order of the artifact's.
runtime::TensorSpec spec_of(const std::string& name, DType dtype,
                            const std::vector<ir::Affine>& shape,
                            const std::vector<std::string>& symbols);
runtime::TensorSpec spec_of(const PartitionedModel& model, graph::ValueId id);  // a value

}  // namespace polyte::driver
