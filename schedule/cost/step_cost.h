// What one step of a register tile issues, in cycles: operations, loads by how lanes and rows meet
// memory (broadcast, contiguous, strided, gathered; once where taps read what their neighbours do),
// and what comes once per tile (results, what an epilogue reads).
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/tile_model.h"
#include "support/machine.h"

namespace polyte::schedule {

struct TileLoopNumbers {
  std::size_t lane = 0, row = 0, outer_row = 0;  // loop numbers; loops.size(): none
  bool tiles(std::size_t loop) const { return loop == lane || loop == row || loop == outer_row; }
  std::set<std::string> packed;  // read densely along the lanes
  // What strides along the lanes is read in squares of these and so many steps of the innermost
  // reduction loop, which are transposed in registers; 0: lane by lane.
  int turned = 0;
};

// Vector instructions of a value, loads apart: an addition is half of one, as many cores have units
// for these beside those that multiply and add.
double instructions(const ir::Expr& e);

class StepCost {
 public:
  StepCost(const NestAccesses& nest, const ir::Statement& main, const Machine& machine);

  // Of the whole nest, remainders included.
  double cycles(const TileLoopNumbers& at, const RegisterTile& tile) const;
  std::int64_t lane_vectors(std::size_t lane) const;  // that cover the loop
  double operations() const { return operations_; }   // a point
  int temporaries() const { return temporaries_; }    // vectors that they need for a moment

 private:
  const NestAccesses& nest_;
  const Machine& machine_;
  double operations_ = 1;
  int temporaries_ = 0;
  bool is_reduction_ = false;
  std::size_t taps_;  // the innermost loop of the reduction, where it is short; loops.size(): none

  struct Part {
    double vectors = 1;  // the last may be half a vector
    std::int64_t count = 1;
  };
  int lanes() const { return machine_.lanes(nest_.dtype); }
  std::int64_t extent(std::size_t loop) const;
  std::vector<Part> lane_parts(std::size_t lane, int vectors) const;
  std::int64_t across(const NestAccess& access, const TileLoopNumbers& at) const;
  double line_crossings(const NestAccess& access, const TileLoopNumbers& at) const;
  struct Rows {
    int inner = 1, outer = 1;
  };
  std::vector<std::pair<int, std::int64_t>> row_parts(std::size_t loop, int size) const;
  double copies(const NestAccess& access, const TileLoopNumbers& at, const Rows& rows) const;
  double shared(const NestAccess& access, const TileLoopNumbers& at, const Rows& rows,
                double vectors) const;
  double turned_cycles(int steps) const;
  double step(const TileLoopNumbers& at, const Rows& rows, double vectors) const;
  double once(const TileLoopNumbers& at, const Rows& rows, double vectors) const;
};

}  // namespace polyte::schedule
