// Mean and inverse deviation over the trailing dimensions: what instance and layer
// normalisation share.
#pragma once

#include "graph/expander.h"

namespace polyte::graph {

struct Moments {
  // Temporaries over the leading dimensions, in the accumulator's type.
  std::string mean, inverse_deviation;
};

// Over dimensions [axis, rank) of x: the mean, and 1 / sqrt(variance + epsilon) by a second pass.
Moments add_moments(Expander& expander, ValueId x, std::size_t axis, double epsilon);

}  // namespace polyte::graph
