#include "schedule/cost/reduction_blocks.h"

#include <algorithm>

#include "schedule/cost/tile_waits.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kStreamedBlocks[] = {4, 8};  // rows of a reduction that has no tile's rows

}  // namespace

std::vector<std::int64_t> tile_points(const NestAccesses& nest, const TileCandidate& candidate,
                                      const ReductionBlock& block, const Machine& machine) {
  std::vector<std::int64_t> points;
  for (std::size_t l = 0; l < nest.loops.size(); ++l) {
    const std::int64_t extent = nest.extent(nest.loops[l].name);
    if (l == candidate.at.lane)
      points.push_back(std::min<std::int64_t>(
          extent, std::int64_t{candidate.tile.vectors} * machine.lanes(nest.dtype)));
    else if (l == candidate.at.row)
      points.push_back(candidate.tile.rows);
    else if (l == candidate.at.outer_row)
      points.push_back(candidate.tile.outer_rows);
    else if (!nest.loops[l].reduction)
      points.push_back(1);
    else
      points.push_back(nest.loops[l].name == block.loop ? block.size : extent);
  }
  return points;
}

std::int64_t ReductionBlocks::steps_each() const {
  return nest_.reduction_steps() / nest_.extent(q_.main->reductions[0]);
}

std::int64_t ReductionBlocks::steps_of(const ReductionBlock& block) const {
  return block.size == 0 ? 0 : block.size * steps_each();
}

void ReductionBlocks::add(std::int64_t steps, std::vector<ReductionBlock>& all) const {
  const std::string& loop = q_.main->reductions[0];
  const std::int64_t size = std::max<std::int64_t>(1, steps / steps_each());
  if (size < nest_.extent(loop)) all.push_back({loop, size});
}

std::vector<ReductionBlock> ReductionBlocks::worth_pricing(const TileCandidate& candidate) const {
  const std::size_t none = nest_.loops.size();
  if (q_.main->reductions.empty() || candidate.at.lane == none || candidate.at.turned) return {};
  // No template has blocks of one of several loops.
  if (q_.form && q_.main->reductions.size() > 1) return {};
  // Sums leave the registers in vectors between blocks.
  if (nest_.accumulator.strides[candidate.at.lane] != 1) return {};
  if (ends_move(q_, nest_, candidate.at)) return {};
  std::vector<ReductionBlock> all;
  if (q_.form && !q_.form->block.empty()) {
    for (const std::int64_t size : q_.form->block) add(size, all);
  } else if (candidate.at.row != none && q_.main->reductions.size() > 1) {
    return in_l1(candidate);
  } else if (candidate.at.row != none) {
    const ContractionShape shape{nest_.extent(nest_.loops[candidate.at.row].name),
                                 nest_.extent(nest_.loops[candidate.at.lane].name),
                                 nest_.reduction_steps(), nest_.dtype};
    add(choose_reduction_block(machine_, shape, candidate.tile), all);
    if (walks_pages(candidate)) add(static_cast<std::int64_t>(kNearPages), all);
    // Blocks are outside of the rows' tiles, which threads could not share then.
    const bool has_all_rows = candidate.tile.rows >= nest_.loops[candidate.at.row].extent;
    if (streams_only(candidate) && (has_all_rows || machine_.cores == 1))
      add(kStreamedBlocks[1], all);
  } else if (q_.main->reductions.size() == 1 && streams_only(candidate)) {
    for (const std::int64_t size : kStreamedBlocks) add(size, all);
  }
  return all;
}

std::vector<ReductionBlock> ReductionBlocks::in_l1(const TileCandidate& candidate) const {
  std::vector<std::int64_t> points = tile_points(nest_, candidate, {}, machine_);
  for (std::size_t l = 0; l < points.size(); ++l)
    if (nest_.loops[l].reduction) points[l] = 1;
  double bytes = 0;
  for (const NestAccess& access : nest_.all)
    if (access.each_step && access.moves_with(candidate.at.lane))
      bytes += access.footprint(points, true, machine_.l1.line_bytes);
  const auto steps =
      static_cast<std::int64_t>(static_cast<double>(machine_.l1.bytes) / 2 / std::max(1.0, bytes));
  std::vector<ReductionBlock> all;
  add(std::max<std::int64_t>(8, steps / 8 * 8), all);
  return all;
}

// The steps of the whole reduction read an operand from more pages than are near.
bool ReductionBlocks::walks_pages(const TileCandidate& candidate) const {
  const std::vector<std::int64_t> points = tile_points(nest_, candidate, {}, machine_);
  return std::ranges::any_of(nest_.all, [&](const NestAccess& access) {
    return access.each_step && !candidate.at.packed.contains(access.buffer) &&
           access.pages(points) > kNearPages;
  });
}

// Each step reads its own elements, along the lanes, for all rows there are; or what all lanes
// share.
bool ReductionBlocks::streams_only(const TileCandidate& candidate) const {
  return std::ranges::all_of(nest_.all, [&](const NestAccess& access) {
    if (!access.each_step || !access.moves_with(candidate.at.lane)) return true;
    if (candidate.at.packed.contains(access.buffer)) return false;
    for (std::size_t l = 0; l < nest_.loops.size(); ++l) {
      const bool is_of_tile = l == candidate.at.row && candidate.tile.rows >= nest_.loops[l].extent;
      if (nest_.loops[l].extent > 1 && !access.moves_with(l) && !is_of_tile) return false;
    }
    return access.strides[candidate.at.lane] == 1 && access.load && !access.load->otherwise;
  });
}

}  // namespace polyte::schedule
