#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/aligned_buffer.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::runtime {
namespace {

bool meet(const Lifetime& a, const Lifetime& b) { return a.first_step <= b.last_step && b.first_step <= a.last_step; }

struct Placed {
  std::size_t buffer;
  std::int64_t offset, end;
};

// Lowest offset at which `bytes` fit between the placed buffers, which are sorted by offset.
std::int64_t lowest_gap(const std::vector<Placed>& placed, std::span<const Lifetime> lifetimes, const Lifetime& life,
                        std::int64_t bytes) {
  std::int64_t offset = 0;
  for (const Placed& other : placed) {
    if (!meet(lifetimes[other.buffer], life)) continue;
    if (checked_add(offset, bytes) <= other.offset) return offset;
    offset = std::max(offset, other.end);
  }
  return offset;
}

}  // namespace

ArenaPlan plan_arena(std::span<const Lifetime> lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(-lifetimes[i].bytes, i); });
  ArenaPlan plan{std::vector<std::int64_t>(lifetimes.size(), 0), 0};
  std::vector<Placed> placed;
  for (const std::size_t i : order) {
    const Lifetime& life = lifetimes[i];
    POLYTE_CHECK(life.bytes >= 0 && life.first_step <= life.last_step, "lifetime that ends before it begins");
    if (life.bytes == 0) continue;
    const std::int64_t bytes = ceil_div(life.bytes, kAlignment) * kAlignment;
    const std::int64_t offset = lowest_gap(placed, lifetimes, life, bytes);
    const Placed entry{i, offset, checked_add(offset, bytes)};
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Placed::offset), entry);
    plan.offsets[i] = offset;
    plan.total = std::max(plan.total, entry.end);
  }
  return plan;
}

}  // namespace polyte::runtime
