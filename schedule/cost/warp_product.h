// Sums of products that an instruction of a whole warp computes: which loops of the sum are the
// rows, columns and terms of its small matrices. Found by matching the sum's point with the rows of
// the catalogue (ir/intrinsics.h), under any names and in any order of the loops:
//
//   acc[b, m, n] += f32(x[b, m, k]) * f32(w[k, n])
//   mma_bf16_m16n8k16: rows m, lanes n, steps k; or rows n, lanes m
//
// The instruction reads copies of its operands: an operand that is zero outside of its border
// (x[h + r - 1] else 0) has these zeros in its copy, and whoever takes the instruction makes one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/intrinsics.h"
#include "support/machine.h"

namespace polyte::schedule {

struct WarpProduct {
  struct Side {
    std::string loop;
    std::int64_t tile = 1;  // iterations of it that one instruction takes
  };
  const ir::Intrinsic* instruction = nullptr;
  Side row, lane, step;  // of the result's tile; lanes have neighbouring registers along `lane`

  bool has(const std::string& loop) const {
    return loop == row.loop || loop == lane.loop || loop == step.loop;
  }
  // With one side, by one element: not so where a window moves over a dimension, x[h + r] of
  // rows h and steps r.
  bool moves_by_one(const ir::Affine& subscript) const;
};

// All of them that the machine has; `keep_order`: none that sums floats in its own way.
std::vector<WarpProduct> warp_products(const ir::Program& program, const ir::Statement& update,
                                       const Machine& machine, bool keep_order);

}  // namespace polyte::schedule
