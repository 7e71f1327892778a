// Which differences of a run are taken apart.
#include "driver/lab/differences.h"

#include <doctest/doctest.h>

#include "tests/lab/made_up.h"

namespace polyte::lab {
namespace {

constexpr const char* kScript = "schedule s/1 for f f32 exact\n";

ArmResult arm(const std::string& name, double ratio, Outcome outcome,
              const char* script = kScript) {
  ArmResult result;
  result.name = name;
  result.outcome = outcome;
  if (outcome != Outcome::Baseline) result.ratio = Interval{ratio, ratio, ratio};
  result.facts = {{"script", script}};
  return result;
}

Results results_of(const std::vector<std::vector<ArmResult>>& rows) {
  Results results;
  results.plan = testing::made_up_plan({"poly", "isl", "hand"}, static_cast<int>(rows.size()));
  for (const std::vector<ArmResult>& arms : rows) {
    RowResult& row = results.rows.emplace_back();
    row.row = results.rows.size() - 1;
    row.arms = arms;
  }
  return results;
}

TEST_CASE("the largest differences: told ones between scripts, one per row, either way round") {
  const ArmResult poly = arm("poly", 1, Outcome::Baseline);
  const Results results =
      results_of({{poly, arm("isl", 2, Outcome::Slower), arm("hand", 0.25, Outcome::Faster)},
                  {poly, arm("isl", 9, Outcome::NotDistinguishable)},
                  {poly, arm("isl", 3, Outcome::Slower), arm("peer:gcc", 50, Outcome::Slower, "")},
                  {arm("poly", 1, Outcome::Baseline, ""), arm("isl", 8, Outcome::Slower)}});
  const std::vector<Difference> all = largest_differences(results, 10);
  REQUIRE(all.size() == 2);
  CHECK(all[0].row == 0);
  CHECK(all[0].slower == "poly");
  CHECK(all[0].faster == "hand");
  CHECK(difference_text(results, all[0]) == "r0: poly takes 4.00x the time of hand");
  CHECK(all[1].row == 2);
  CHECK(all[1].slower == "isl");
  CHECK(all[1].factor == 3);
  CHECK(largest_differences(results, 1).size() == 1);
  CHECK(largest_differences(results, 0).empty());
}

}  // namespace
}  // namespace polyte::lab
