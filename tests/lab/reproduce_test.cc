// Two runs of one plan: what agrees and what has turned around.
#include "driver/lab/reproduce.h"

#include <doctest/doctest.h>

#include <sstream>

#include "tests/lab/made_up.h"

namespace polyte::lab {
namespace {

// Times of the arms a and b, of four processes; b may be absent.
Results results_of(double a, double b, const std::string& status_of_b = "ok") {
  const Plan plan = testing::made_up_plan({"a", "b"}, 1);
  std::string text;
  for (int p = 0; p < 4; ++p) {
    const bool has_b = status_of_b == "ok";
    if (!has_b) text += testing::arm_text(0, p, "b", status_of_b, "no such compiler");
    std::vector<double> of_a, of_b;
    for (int i = 0; i < 10; ++i) of_a.push_back(a + i % 2), of_b.push_back(b + (i + p) % 2);
    std::vector<std::pair<std::string, std::vector<double>>> samples{{"a", of_a}, {kAgain, of_a}};
    if (has_b) samples.emplace_back("b", of_b);
    text += testing::process_text(0, p, samples, 0);
  }
  return evaluate(plan, parse_records(text, plan, "s"));
}

TEST_CASE("other times with the same order agree") {
  const Reproduction same = reproduce(results_of(100, 200), results_of(50, 130));
  CHECK(same.agrees());
  CHECK(same.rows[0].kept == std::vector<std::string>{"a before b"});
  CHECK_FALSE(same.rows[0].arms[1].ratios_agree);
}

TEST_CASE("an order that turns around, and an arm that is gone, do not") {
  const Reproduction turned = reproduce(results_of(100, 200), results_of(200, 100));
  CHECK_FALSE(turned.agrees());
  CHECK(turned.rows[0].turned == std::vector<std::string>{"a before b"});
  CHECK(reproduction_text(turned).find("turned around: a before b") != std::string::npos);
  const Reproduction gone = reproduce(results_of(100, 200), results_of(100, 200, "absent"));
  CHECK_FALSE(gone.agrees());
  CHECK(gone.rows[0].arms[1].status == "was ok, is absent: no such compiler");
  CHECK(gone.rows[0].untold == std::vector<std::string>{"a before b"});
}

TEST_CASE("what cannot be told any more is no disagreement, and texts fit") {
  const Reproduction untold = reproduce(results_of(100, 200), results_of(100, 100));
  CHECK(untold.agrees());
  CHECK(untold.rows[0].untold.size() == 1);
  std::istringstream lines(reproduction_text(untold));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  CHECK(to_json(untold)["agrees"] == true);
}

}  // namespace
}  // namespace polyte::lab
