// Sums of a permutable band that are products over its steps, A[i, j] -= A[i, k] * A[k, j] for k
// below i or j: what a recurrence may subtract in blocks of steps (blocked_steps.h). The steps are
// a reduction of the sum, or the loop of a region around it.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"
#include "poly/order_tree.h"

namespace polyte::poly {

// Loops of the band by what they are for the sum: its steps, and its element's rows and columns,
// which are lanes.
struct Roles {
  std::size_t step = 0, row = 0, lane = 0;
  bool operator==(const Roles&) const = default;
};

struct Product {
  const ir::Statement* sum = nullptr;
  std::string step = {}, row = {}, lane = {};  // iterators
  // The one of row and lane that its steps stay below; where that is both, the lane.
  std::string bound = {};
  bool is_bounded_twice = false;
  // The band counts its steps and what they stay below downwards: from the last row to the first.
  bool is_mirrored = false;
  // Of the diagonal: -1 lanes below rows, 1 rows up to lanes, 0 both.
  int side = 0;
  Roles roles = {};
  // What lies across the lanes, A[lane, step], and is packed; null: all lies along them.
  const ir::Load* across = nullptr;
};

// A matrix of lanes and steps, each a subscript of its own.
bool is_across(const ir::Load& load, const std::string& lane, const std::string& step);

// The sums of the band that are such products, all with the same roles of its loops.
std::vector<Product> products_of(const ir::Program& program, const OrderBand& band);

// The first band with such sums, outermost: it holds all that a step does.
const OrderBand* band_of_steps(const ir::Program& program, const OrderTree& tree);

}  // namespace polyte::poly
