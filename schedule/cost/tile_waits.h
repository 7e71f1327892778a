// What a register tile waits for beside its steps and what the caches exchange: pages whose place
// is looked up, streams that begin, sums between two blocks of a reduction.
#pragma once

#include <utility>

#include "ir/program.h"
#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/tile_candidates.h"
#include "schedule/cost/traffic.h"
#include "support/machine.h"

namespace polyte::schedule {

// Of what the less busy resources do, so much is not hidden.
constexpr double kUnhidden = 0.1, kUnhiddenNear = 0.05;  // near: from the second cache
// Pages beyond these are looked up in the second level.
constexpr double kNearPages = 64;

// All in cycles of the whole nest. Refers to what it is made of.
class TileWaits {
 public:
  TileWaits(const NestAccesses& nest, const ir::Statement& main, const Machine& machine)
      : nest_(nest), main_(main), machine_(machine) {}

  // Of operands read in place whose neighbours along the tile lie on pages of their own.
  double page_walks(const TileCandidate& candidate, const TileLoops& tile) const;
  // Between blocks of so many steps (0: there are none) sums leave the registers and come back:
  // beside the steps where no rows share a load, else the loop's end besides.
  double block_ends(const TileCandidate& candidate, std::int64_t block) const;
  // Of what is read once, or for few rows, from beyond the second cache. Where the tile reads few
  // runs, the innermost loop around goes on with each.
  double run_starts(const TileCandidate& candidate, const TileLoops& tile) const;
  // Of a sum's results beyond the caches: memory is busier by a line that no prefetcher sees
  // coming.
  double result_starts(const TileLoops& tile) const;
  // Of what is not packed: how many streams a tile has, and how often one begins.
  std::pair<double, double> streams(const TileLoops& tile) const;

 private:
  const NestAccesses& nest_;
  const ir::Statement& main_;
  const Machine& machine_;

  double points_an_element(const NestAccess& access) const;  // that share it
  bool is_of_few_rows(const NestAccess& access) const;       // each element at one step of each
  // The points of the tile and of the loops around it that read on where it has ended.
  std::vector<std::int64_t> walked(const NestAccess& access, const TileLoops& tile,
                                   std::int64_t gap) const;
  double boxes(const std::vector<std::int64_t>& points) const;
  double definition_starts(const TileCandidate& candidate, const TileLoops& tile) const;
};

}  // namespace polyte::schedule
