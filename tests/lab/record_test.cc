// Records: what a crash leaves is dropped, what is complete counts, and what is hostile is
// an error.
#include "driver/lab/record.h"

#include <doctest/doctest.h>

#include "driver/lab/report.h"
#include "driver/lab/results.h"
#include "driver/lab/runner.h"
#include "support/error.h"
#include "tests/lab/made_up.h"

namespace polyte::lab {
namespace {

TEST_CASE(
    "only processes with their last line count, and of several attempts the last that has it") {
  const Plan plan = testing::made_up_plan({"poly", "mine"}, 1);
  std::string text = testing::process_text(0, 0, {{"poly", {10, 11}}, {"mine", {20, 21}}}, 0);
  text += testing::process_text(0, 1, {{"poly", {12, 13}}, {"mine", {22, 23}}}, 0);
  const std::string unfinished = testing::process_text(0, 2, {{"poly", {14}}, {"mine", {24}}}, 0);
  text += unfinished.substr(0, unfinished.rfind("{\"kind\":\"process\""));
  const Records records = parse_records(text, plan, "s");
  CHECK(records.rows[0].processes.size() == 2);
  CHECK(records.rows[0].samples("mine") == Samples{{20, 21}, {22, 23}});
  CHECK(records.rows[0].attempts == 1);
  const Records again = parse_records(
      text + testing::process_text(0, 1, {{"poly", {1}}, {"mine", {2}}}, 1), plan, "s");
  CHECK(again.rows[0].samples("mine") == Samples{{20, 21}, {2}});
}

TEST_CASE("half a last line is dropped wherever it was cut") {
  const Plan plan = testing::made_up_plan({"poly", "mine"}, 1);
  const std::string whole =
      testing::process_text(0, 0, {{"poly", {10, 11}}, {"mine", {20, 21}}}, 0);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const Records records = parse_records(whole.substr(0, cut), plan, "s");
    CHECK(records.rows[0].processes.empty());
    CHECK(records.dropped == (cut > 0 && whole[cut - 1] != '\n' ? 1 : 0));
  }
  CHECK(parse_records(whole, plan, "s").rows[0].processes.size() == 1);
}

TEST_CASE("what is hostile") {
  const Plan plan = testing::made_up_plan({"poly"}, 1);
  CHECK_THROWS_AS(parse_records("{\"kind\":\"row\",\"row\":7,\"why\":\"x\"}\n", plan, "s"),
                  UserError);
  CHECK_THROWS_AS(parse_records("{\"kind\":\"round\",\"row\":0}\n", plan, "s"), UserError);
  CHECK_THROWS_AS(parse_records("{\"kind\":3}\n", plan, "s"), UserError);
  CHECK(parse_records(std::string(100'000, '[') + "\n", plan, "s").dropped == 1);
  CHECK(parse_records("\n\nnull\n{}x\n", plan, "s").dropped == 2);
}

TEST_CASE("the stop rule: least, narrow, most") {
  const Plan plan = testing::made_up_plan({"poly", "mine"}, 1);  // 2 to 4 processes, 5 percent
  const auto done = [&](int processes, double noise) {
    std::string text;
    for (int p = 0; p < processes; ++p) {
      const double shift = p % 2 ? noise : 0;
      text += testing::process_text(
          0, p, {{"poly", {10, 10, 10}}, {"mine", {20 + shift, 20 + shift, 20 + shift}}}, 0);
    }
    return why_done(plan, parse_records(text, plan, "s").rows[0]);
  };
  CHECK(done(1, 0).empty());
  CHECK(done(2, 0) == "narrow enough");
  CHECK(done(3, 4).empty());
  CHECK(done(4, 4) == "most processes");
}

TEST_CASE("no winner where the intervals say nothing, and arms that fell back are not timed") {
  const Plan plan = testing::made_up_plan({"poly", "mine", "isl", "same"}, 1);
  std::string text;
  for (int p = 0; p < 4; ++p) {
    const double wobble = p % 2 ? 1 : -1;
    text += testing::arm_text(0, p, "isl", "declined", "it skews a loop");
    text += testing::arm_text(0, p, "same", "ok", "", "poly");
    text += testing::process_text(0, p,
                                  {{"poly", {100, 101, 99}},
                                   {"mine", {100 + wobble, 101, 99 - wobble}},
                                   {"same", {80, 81, 79}},
                                   {kAgain, {100, 100, 101}}},
                                  0);
  }
  const Results results = evaluate(plan, parse_records(text, plan, "s"));
  const RowResult& row = results.rows[0];
  CHECK(row.find("mine")->outcome == Outcome::NotDistinguishable);
  CHECK(row.find("same")->outcome == Outcome::Identical);
  CHECK(row.find("isl")->outcome == Outcome::NotTimed);
  CHECK_FALSE(row.find("isl")->is_timed());
  CHECK(row.fastest.empty());
  CHECK(outcome_text(*row.find("isl")) == "declined: it skews a loop");
}

TEST_CASE("who is fastest is told by the same tests as verdicts: never of an arm that has none") {
  // Two processes of three rounds: the intervals lie far from 1, the ranks of six rounds give 3 %,
  // which is too much where three arms are compared with the baseline.
  const Plan plan = testing::made_up_plan({"base", "fast", "slow", "slower"}, 1);
  std::string text;
  for (int p = 0; p < 2; ++p)
    text += testing::process_text(0, p,
                                  {{"base", {100, 101, 99}},
                                   {"fast", {50, 51, 49}},
                                   {"slow", {200, 201, 199}},
                                   {"slower", {300, 301, 299}},
                                   {kAgain, {100, 100, 101}}},
                                  0);
  const Results results = evaluate(plan, parse_records(text, plan, "s"));
  const RowResult& row = results.rows[0];
  for (const char* arm : {"fast", "slow", "slower"})
    CHECK(row.find(arm)->outcome == Outcome::NotDistinguishable);
  CHECK(row.fastest.empty());
  CHECK(row.not_told == "fast and base are not distinguishable");
  CHECK(results.arms[1].not_told == 1);
}

TEST_CASE(
    "without its baseline an arm has a time and no ratio; a wild A/A hides no difference of a "
    "hundredfold") {
  const Plan plan = testing::made_up_plan({"poly", "mine"}, 1);
  std::string text;
  for (int p = 0; p < 4; ++p)
    text += testing::arm_text(0, p, "poly", "failed", "no") +
            testing::process_text(0, p, {{"mine", {5, 6, 5}}}, 0);
  const Results alone = evaluate(plan, parse_records(text, plan, "s"));
  CHECK(alone.rows[0].find("mine")->is_timed());
  CHECK(outcome_text(*alone.rows[0].find("mine")) == "the baseline is not timed");
  CHECK(alone.rows[0].not_told == "one arm only was timed");
  text.clear();
  for (int p = 0; p < 4; ++p) {
    const double wild = p % 2 ? 40 : 250;
    text += testing::process_text(0, p,
                                  {{"poly", std::vector<double>(12, 100)},
                                   {"mine", std::vector<double>(12, 9000 + p)},
                                   {kAgain, std::vector<double>(12, wild)}},
                                  0);
  }
  const Results noisy = evaluate(plan, parse_records(text, plan, "s"));
  CHECK(noise_factor(noisy.rows[0]) > 2);
  CHECK(noisy.rows[0].find("mine")->outcome == Outcome::Slower);
  CHECK(noisy.rows[0].fastest == "poly");
}

TEST_CASE("a real difference is told, also in the summary") {
  const Plan plan = testing::made_up_plan({"poly", "mine"}, 3);
  std::string text;
  for (int row = 0; row < 3; ++row)
    for (int p = 0; p < 4; ++p) {
      std::vector<double> poly, mine, again;
      for (int i = 0; i < 12; ++i) {
        poly.push_back(100 + i % 3);
        mine.push_back(80 + (i + p) % 3);
        again.push_back(100 + (i + 1) % 3);
      }
      text += testing::process_text(row, p, {{"poly", poly}, {"mine", mine}, {kAgain, again}}, 0);
    }
  const Results results = evaluate(plan, parse_records(text, plan, "s"));
  for (const RowResult& row : results.rows) {
    CHECK(row.find("mine")->outcome == Outcome::Faster);
    CHECK(row.fastest == "mine");
  }
  CHECK(results.arms[1].faster == 3);
  CHECK(results.arms[1].mean.estimate == doctest::Approx(0.802).epsilon(0.01));
  CHECK(results.arms[1].mean.high < 1);
}

}  // namespace
}  // namespace polyte::lab
