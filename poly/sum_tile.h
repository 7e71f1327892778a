// What tiles of sums on a GPU have in common, whatever multiplies in them: which sums can be made so, and the grid of
// their blocks.
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

  const ir::Statement& update() const { return *cluster->update(); }
  std::vector<const ir::Statement*> others() const;  // at its points: initial value, what follows
  std::int64_t extent(const std::string& loop) const;
  // A name that no loop of the statements has.
  std::string fresh(std::string name) const;
};

// Each sum begins here, at an element whose subscripts are iterators; operands are different tensors, of which a block
// reads boxes.
bool has_tiles(const SumNest& nest);

struct GridLoop {
  std::string name;
  std::int64_t extent = 1;
};
// Blocks along so many loops, outermost first; one loop where a grid has too few axes, or too short ones.
class BlockGrid {
 public:
  void add(GridLoop loop) { loops_.push_back(std::move(loop)); }
  const std::string& inmost() const { return loops_.back().name; }
  schedule::NestPath path() const;
  void bind(const std::string& statement, const std::string& name, std::vector<schedule::PlannedStep>& steps) const;

 private:
  std::vector<GridLoop> loops_;
  bool is_fused() const;
};

// The dimensions of a tensor in scripts.
std::string dimension_name(const std::string& tensor, std::size_t number);

}  // namespace polyte::poly
