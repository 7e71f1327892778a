// A long reduction in blocks along its outermost loop, between which the sums leave their
// registers: so that what a block reads stays in cache while tiles pass by, so that its rows lie
// on few pages, or, where nothing is used twice, so that few rows are read at once, each along its
// length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/cost/nest_accesses.h"
#include "schedule/cost/tile_candidates.h"
#include "schedule/cost/tile_choice.h"
#include "support/machine.h"

namespace polyte::schedule {

struct ReductionBlock {
  std::string loop = {};  // empty: the reduction is whole
  std::int64_t size = 0;  // iterations of it
};

// Iterations of each loop that a tile has, all of a reduction's or a block's.
std::vector<std::int64_t> tile_points(const NestAccesses& nest, const TileCandidate& candidate,
                                      const ReductionBlock& block, const Machine& machine);

// Refers to what it is made of.
class ReductionBlocks {
 public:
  ReductionBlocks(const TileQuestion& question, const NestAccesses& nest, const Machine& machine)
      : q_(question), nest_(nest), machine_(machine) {}

  // Those worth pricing for a tile.
  std::vector<ReductionBlock> worth_pricing(const TileCandidate& candidate) const;
  // The one whose vectors of lanes fill half of the first cache, if the reduction is longer.
  std::vector<ReductionBlock> in_l1(const TileCandidate& candidate) const;
  std::int64_t steps_of(const ReductionBlock& block) const;  // 0: the reduction is whole

 private:
  const TileQuestion& q_;
  const NestAccesses& nest_;
  const Machine& machine_;

  std::int64_t steps_each() const;  // of an iteration of the outermost loop
  void add(std::int64_t steps, std::vector<ReductionBlock>& all) const;
  bool walks_pages(const TileCandidate& candidate) const;
  bool streams_only(const TileCandidate& candidate) const;
};

}  // namespace polyte::schedule
