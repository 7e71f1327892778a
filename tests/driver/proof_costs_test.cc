// What proofs cost: a Program without a Script has none.
#include "driver/cli/proof_costs.h"

#include <doctest/doctest.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

TEST_CASE("a declined Program has no proof, and none of 0 ms") {
  using polyte::cli::ProofCost;
  const ProofCost proved{"a", "isl", {{"split i by 8", 2}}, 6, ""};
  const ProofCost declined{"b", "isl", {}, 0, "isl skews a loop"};
  std::ostringstream text;
  std::streambuf* const before = std::cout.rdbuf(text.rdbuf());
  polyte::cli::print_proof_costs({declined, proved, declined}, true);
  std::cout.rdbuf(before);
  const auto json = nlohmann::json::parse(text.str());
  CHECK(json["summary"]["final_median_ms"] == 6);
  CHECK(json["summary"]["final_worst_ms"] == 6);
  CHECK(json["proofs"].size() == 3);
}
