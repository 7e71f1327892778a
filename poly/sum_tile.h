// What tiles of sums on a GPU have in common, whatever multiplies in them: which sums can be made
// so, and the grid of their blocks.
#pragma once

#include <string>
#include <vector>

#include "poly/affine_core.h"
#include "schedule/state/nest_plan.h"
#include "schedule/state/state.h"
#include "support/machine.h"

namespace polyte::poly {

struct SumNest {
  const ir::Program* program = nullptr;
  const schedule::State* reference = nullptr;
  const Machine* machine = nullptr;
  const Cluster* cluster = nullptr;  // a sum, with its initial value
  int number = 0;                    // of the nest in its kernel
  bool keep_order = false;           // of floating-point sums
  // The loop over its parts, where it is one of them: an axis of the grid by itself.
  std::string part = {};
  // That over the terms of a part: slices of it leave no rest, which would be the next's.
  std::string terms = {};

  const ir::Statement& update() const { return *cluster->update(); }
  std::vector<const ir::Statement*> others() const;  // at its points: initial value, what follows
  std::int64_t extent(const std::string& loop) const;
  // A name that no loop of the statements has.
  std::string fresh(std::string name) const;
};

// How a sum is made, and what that takes.
struct SumPlan {
  std::vector<schedule::NestPlan> nests;  // in the order in which they are said
  double cycles = 0;                      // predicted, of all its launches
};

// Each sum begins here, at an element whose subscripts are iterators, and has terms; operands are
// different tensors, of which a block reads boxes.
bool has_tiles(const SumNest& nest);

// What iterations of the statement read of the operand lies in a box that they fill: not so of
// x[i, i], nor of a gather.
bool reads_box(const ir::Statement& statement, const ir::Load& load);

struct GridLoop {
  std::string name;
  std::int64_t extent = 1;
};
// Blocks along so many loops, outermost first; one loop where a grid has too few axes, or too short
// ones. The loop over the parts of a sum is fused with no other, as it counts differently for those
// who begin and who add.
class BlockGrid {
 public:
  explicit BlockGrid(std::string part = {}) : part_(std::move(part)) {}
  void add(GridLoop loop);
  const std::string& inmost() const { return loops_.back().name; }
  schedule::NestPath path() const;
  void bind(const std::string& statement, const std::string& name,
            std::vector<schedule::PlannedStep>& steps) const;

 private:
  std::string part_;
  std::vector<GridLoop> loops_;  // that over the parts first
  std::size_t first_fused() const { return !loops_.empty() && loops_[0].name == part_ ? 1 : 0; }
  bool is_fused() const;
};

// The dimensions of a tensor in scripts.
std::string dimension_name(const std::string& tensor, std::size_t number);

}  // namespace polyte::poly
