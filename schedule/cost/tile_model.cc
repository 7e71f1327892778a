#include "schedule/cost/tile_model.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::schedule {
namespace {

constexpr std::int64_t kWholeReduction = 768;  // up to here a reduction is not split
constexpr std::int64_t kReductionBlock = 512;

}  // namespace

std::int64_t choose_reduction_block(const Machine& machine, const ContractionShape& shape,
                                    const RegisterTile& tile) {
  if (shape.k <= kWholeReduction) return std::max<std::int64_t>(1, shape.k);
  const std::int64_t panel_bytes =
      std::int64_t{tile.vectors} * machine.lanes(shape.dtype) * size_in_bytes(shape.dtype);
  const std::int64_t fits =
      std::max<std::int64_t>(64, machine.l2.bytes / 2 / std::max<std::int64_t>(1, panel_bytes));
  const std::int64_t target = std::min(kReductionBlock, fits);
  const std::int64_t blocks = std::max<std::int64_t>(1, (shape.k + target / 2) / target);
  return ceil_div(ceil_div(shape.k, blocks), 8) * 8;
}

bool conflicts_in_cache(const Machine& machine, std::int64_t stride_bytes, int rows) {
  const std::int64_t ways = std::max(1, machine.l1.ways);
  const std::int64_t way_bytes = std::max<std::int64_t>(64, machine.l1.bytes / ways);
  return rows > ways && stride_bytes > 0 && stride_bytes % (way_bytes / 2) == 0;
}

}  // namespace polyte::schedule
