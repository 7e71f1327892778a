// compare --predicted: what the analytic model (poly/state_price.h; of a GPU the price of its
// launches) says of each contender beside what was measured, and which pairs it ranks wrongly.
#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "driver/cli/works.h"

namespace polyte::cli {

// The "predicted" of a row: lab::predict's, with cycles by statement,
//   "statements": [{"name": "e", "cycles": 12000, "bound": "issue"}, ..]
// Null of a network, and of a GPU's kernel, which has its own.
nlohmann::ordered_json predicted_of(const Work& work, const Machine& machine, int threads);

// Lines of a column; "not predicted" where the row has no prediction.
std::vector<std::string> predicted_lines(const nlohmann::json& row);

// Pairs with both times, each in the order in which they were given; with equal loops is none.
struct RankedPair {
  std::string first, second;
  double predicted = 1;   // time of the second over the first's
  bench::Ratio measured;  // the same
  // An equal price for unequal times is none.
  bool is_right() const { return (predicted - 1) * (measured.median - 1) > 0; }
};
// `predicted`: nanoseconds of each contender, 0 where that is not known.
std::vector<RankedPair> ranked_pairs(std::span<const std::unique_ptr<Work>> works,
                                     std::span<const double> predicted,
                                     std::span<const bench::Timing> timings);
// How many the model ranks as they were measured, and a line for each that it does not. Pairs that
// the rounds do not tell apart are counted, not judged.
std::vector<std::string> rank_lines(std::span<const RankedPair> pairs);

}  // namespace polyte::cli
