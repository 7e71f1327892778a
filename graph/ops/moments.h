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
// The variance is the mean of (x - mean)^2: one pass over x and x^2 would be shorter, and lose all
// digits where the mean is much larger than the deviation.
Moments add_moments(Expander& expander, ValueId x, std::size_t axis, double epsilon);

}  // namespace polyte::graph
