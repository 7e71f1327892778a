// Dimensions that a Program goes through together: where each statement that has both of two
// neighbouring dimensions visits all of the second at each place of the first, and needs neither
// by itself, they are one, and so are the iterators over them.
//
//   y[j, k] = sum[i] x[i, j, k]      x: f32[168, 336, 96]
//   y[jk]   = sum[i] x[i, jk]        x: f32[168, 32256]
//
// Short rows become long ones: lanes are full, and what lies side by side is read so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/views.h"

namespace polyte::ir {

struct MergedDimensions {
  struct Fused {
    std::string statement;
    std::vector<std::string> iterators;  // outermost first
    std::string name;
  };
  std::vector<View> views;
  std::vector<Fused> fused;
  Program program;  // after both
};

// Of Programs that reduce, products among them (a convolution by 1x1 sees an image as one row),
// without regions and of constant sizes. Terms stay in their order. nullopt: there is nothing to
// merge.
std::optional<MergedDimensions> merged_dimensions(const Program& program);

}  // namespace polyte::ir
