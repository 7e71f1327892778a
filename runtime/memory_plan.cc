#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/aligned_buffer.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::runtime {
namespace {

// Both ends count: a step reads its operands while it writes its results.
bool meet(const Lifetime& a, const Lifetime& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

std::int64_t end_of(const Lifetime& life) { return checked_add(life.offset, life.bytes); }

std::int64_t size_of(const Block& block) {
  std::int64_t bytes = 0;
  for (const Lifetime& life : block) bytes = std::max(bytes, end_of(life));
  return bytes;
}

std::int64_t rounded_up(std::int64_t bytes) { return ceil_div(bytes, kAlignment) * kAlignment; }

// The offsets, exclusive at both ends, at which a block would meet what is placed already.
using Forbidden = std::vector<std::pair<std::int64_t, std::int64_t>>;

// With the block at offset x its part lies at [x + life.offset, x + end_of(life)), which meets
// [other.offset, end_of(other)) exactly for other.offset - end_of(life) < x < end_of(other) -
// life.offset.
void forbid(const Block& block, std::span<const Lifetime> placed, Forbidden& forbidden) {
  for (const Lifetime& life : block) {
    for (const Lifetime& other : placed) {
      if (life.bytes > 0 && other.bytes > 0 && meet(life, other))
        forbidden.emplace_back(other.offset - end_of(life), end_of(other) - life.offset);
    }
  }
}

// One pass over the intervals, sorted by their lower ends, is enough: an interval that the
// offset was not in is either below it, and stays below since the offset only grows, or begins
// at or after it, and then so do all that follow.
std::int64_t lowest_offset(Forbidden forbidden) {
  std::ranges::sort(forbidden);
  std::int64_t offset = 0;
  for (const auto& [after, before] : forbidden) {
    if (offset > after && offset < before) offset = rounded_up(before);
  }
  return offset;
}

void check(const Block& block) {
  for (const Lifetime& life : block) {
    POLYTE_CHECK(life.bytes >= 0 && life.offset >= 0 && life.first_step <= life.last_step,
                 "lifetime that ends before it begins");
  }
}

}  // namespace

ArenaPlan plan_arena(std::span<const Block> blocks) {
  for (const Block& block : blocks) check(block);
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Largest first; of equal blocks the first one, so that a plan does not depend on the sort.
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(-size_of(blocks[i]), i); });
  ArenaPlan plan{std::vector<std::int64_t>(blocks.size(), 0), 0};
  std::vector<Lifetime> placed;
  for (const std::size_t i : order) {
    Forbidden forbidden;
    forbid(blocks[i], placed, forbidden);
    const std::int64_t offset = lowest_offset(std::move(forbidden));
    plan.offsets[i] = offset;
    // Parts are placed one by one: between them other blocks may lie, and in them at other
    // times.
    for (Lifetime life : blocks[i]) {
      life.offset = checked_add(life.offset, offset);
      plan.total = std::max(plan.total, rounded_up(end_of(life)));
      placed.push_back(life);
    }
  }
  return plan;
}

}  // namespace polyte::runtime
