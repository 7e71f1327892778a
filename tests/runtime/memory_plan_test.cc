// Places of buffers in an arena: random ones never overlap and stay above a lower bound; small
// plans by hand.
#include "runtime/memory_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace {

using namespace polyte::runtime;

bool conflict(const Lifetime& a, const Lifetime& b) {
  for (int step = a.first_step; step <= a.last_step; ++step) {
    if (step >= b.first_step && step <= b.last_step) return true;
  }
  return false;
}

// The most bytes alive in one step: no plan can be smaller.
std::int64_t lower_bound(const std::vector<Block>& blocks) {
  std::int64_t most = 0;
  for (int step = 0; step < 64; ++step) {
    std::int64_t sum = 0;
    for (const Block& block : blocks) {
      for (const Lifetime& life : block) {
        if (life.first_step <= step && step <= life.last_step) sum += life.bytes;
      }
    }
    most = std::max(most, sum);
  }
  return most;
}

// Up to three parts side by side.
Block random_block(std::mt19937& random) {
  Block block;
  std::int64_t offset = 0;
  for (auto parts = 1 + random() % 3; parts > 0; --parts) {
    Lifetime life;
    life.bytes = static_cast<std::int64_t>(random() % 5 == 0 ? 0 : random() % 5000);
    life.first_step = static_cast<int>(random() % 50);
    life.last_step = life.first_step + static_cast<int>(random() % 10);
    life.offset = offset;
    offset += life.bytes + static_cast<std::int64_t>(random() % 100);
    block.push_back(life);
  }
  return block;
}

bool apart(const Block& a, std::int64_t a_at, const Block& b, std::int64_t b_at) {
  for (const Lifetime& x : a) {
    for (const Lifetime& y : b) {
      if (x.bytes == 0 || y.bytes == 0 || !conflict(x, y)) continue;
      const std::int64_t x_at = a_at + x.offset, y_at = b_at + y.offset;
      if (x_at + x.bytes > y_at && y_at + y.bytes > x_at) return false;
    }
  }
  return true;
}

TEST_CASE("random blocks never overlap in the arena where and when they are wanted") {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<Block> blocks;
    for (auto count = random() % 40; count > 0; --count) blocks.push_back(random_block(random));
    const ArenaPlan plan = plan_arena(blocks);
    REQUIRE(plan.offsets.size() == blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      REQUIRE(plan.offsets[i] % 64 == 0);
      for (const Lifetime& life : blocks[i])
        REQUIRE(plan.offsets[i] + life.offset + life.bytes <= plan.total);
      for (std::size_t j = 0; j < i; ++j)
        REQUIRE(apart(blocks[i], plan.offsets[i], blocks[j], plan.offsets[j]));
    }
    REQUIRE(plan.total >= lower_bound(blocks));
  }
}

TEST_CASE("what a block does not want yet is another's") {
  const Block whole{{1024, 0, 9, 0}, {1024, 5, 9, 1024}};
  CHECK(plan_arena(std::vector<Block>{whole, {{1024, 0, 4}}}).total == 2048);
  CHECK(plan_arena(std::vector<Block>{whole, {{1024, 0, 5}}}).total == 3072);
}

TEST_CASE("a chain needs two buffers") {
  std::vector<Block> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({{1000, i, i + 1}});
  CHECK(plan_arena(chain).total == 2 * 1024);
  CHECK(plan_arena({}).total == 0);
}

}  // namespace
