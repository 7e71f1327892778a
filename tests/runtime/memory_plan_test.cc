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
std::int64_t lower_bound(const std::vector<Lifetime>& lives) {
  std::int64_t most = 0;
  for (int step = 0; step < 64; ++step) {
    std::int64_t sum = 0;
    for (const Lifetime& life : lives) {
      if (life.first_step <= step && step <= life.last_step) sum += (life.bytes + 63) / 64 * 64;
    }
    most = std::max(most, sum);
  }
  return most;
}

TEST_CASE("random lifetimes never overlap in the arena") {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<Lifetime> lives(random() % 40);
    for (Lifetime& life : lives) {
      life.bytes = static_cast<std::int64_t>(random() % 5 == 0 ? 0 : random() % 5000);
      life.first_step = static_cast<int>(random() % 50);
      life.last_step = life.first_step + static_cast<int>(random() % 10);
    }
    const ArenaPlan plan = plan_arena(lives);
    REQUIRE(plan.offsets.size() == lives.size());
    for (std::size_t i = 0; i < lives.size(); ++i) {
      REQUIRE(plan.offsets[i] % 64 == 0);
      REQUIRE(plan.offsets[i] + lives[i].bytes <= plan.total);
      for (std::size_t j = 0; j < i; ++j) {
        if (lives[i].bytes == 0 || lives[j].bytes == 0 || !conflict(lives[i], lives[j])) continue;
        const bool apart =
            plan.offsets[i] + lives[i].bytes <= plan.offsets[j] || plan.offsets[j] + lives[j].bytes <= plan.offsets[i];
        REQUIRE(apart);
      }
    }
    REQUIRE(plan.total >= lower_bound(lives));
  }
}

TEST_CASE("a chain needs two buffers") {
  std::vector<Lifetime> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({1000, i, i + 1});
  CHECK(plan_arena(chain).total == 2 * 1024);
  CHECK(plan_arena({}).total == 0);
}

}  // namespace
