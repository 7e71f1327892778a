// A sum and what stands around it, as the cost model and the templates ask for it. With a choice of
// lanes, rows and sizes: which operands lie along which of them, and the facts that templates.table
// may ask for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedule/cost/tile_choice.h"
#include "schedule/templates/nests.h"

namespace polyte::schedule {

class ReductionNest {
 public:
  ReductionNest(const KernelSoFar& kernel, const StatementGroup& group);

  const ir::Program& program() const { return *program_; }
  const Machine& machine() const { return *machine_; }
  const StatementGroup& group() const { return group_; }
  const std::vector<IteratorFacts>& iterators() const { return facts_; }
  DType dtype() const { return dtype_; }
  std::int64_t extent(const std::string& loop) const {
    return loop.empty() ? 1 : find(facts_, loop)->extent;
  }
  std::vector<const ir::Statement*> statements() const;  // initial value, update, epilogue

  TileChoice choose(const TileForm* form) const;  // null: in any order

 private:
  const ir::Program* program_;
  const Machine* machine_;
  StatementGroup group_;
  std::vector<IteratorFacts> facts_;
  DType dtype_;

  bool turns(const IteratorFacts& fact) const;
};

// A nest with its choice.
class TiledSum {
 public:
  TiledSum(const ReductionNest& nest, const TileChoice& choice) : nest_(nest), choice_(choice) {}

  std::int64_t lanes() const;  // of a tile
  // Of the loop over the tiles of lane, row, outer_row or block.
  std::int64_t trips(const std::string& role) const;
  // Of a free loop: h, h.o of a second row loop.
  std::int64_t trips_of(const std::string& loop) const;
  // The free loops in the Program's order, by what they move: the operands along the lanes, those
  // along the rows, or both (lane_free, row_free, batch); and all of them (free).
  std::map<std::string, std::vector<std::string>> free_loops() const;
  std::map<std::string, std::int64_t> facts() const;

 private:
  const ReductionNest& nest_;
  const TileChoice& choice_;

  bool moves(const ir::Load& load, const std::string& loop) const;
  bool is_along(const ir::Load& load, bool lanes) const;
  const char* side_of(const std::string& loop) const;
  std::int64_t bytes_along(bool lanes, const std::vector<std::string>& batch) const;
  std::int64_t product_of(const std::vector<std::string>& loops) const;
};

}  // namespace polyte::schedule
