// What recomputation costs: how often a statement that is computed `at` a loop runs, against its
// instances in the Program. A sliding window (`once per`) brings the factor down to its warm-up;
// without overlap it is 1.
#pragma once

#include <string>
#include <vector>

#include "schedule/state/state.h"

namespace polyte::schedule {

struct Recompute {
  std::string statement;  // "bx at u.i once per u.o"
  std::int64_t instances = 0, reference = 0;
  double factor() const {
    return reference > 0 ? static_cast<double>(instances) / static_cast<double>(reference) : 0;
  }
};
// The recomputed statements in the order of the State; without those whose instances cannot
// be counted (symbolic sizes, more than `limit` iterations above them, domains that are no
// boxes there).
std::vector<Recompute> recompute_factors(const State& state, std::int64_t limit = 1'000'000);
// One line per statement: "bx at u.i once per u.o: 126 instances for 108 (factor 1.17)".
std::string print(const Recompute& recompute);

}  // namespace polyte::schedule
