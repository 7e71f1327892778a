// What the model predicts beside what is measured: ranks, factors, and the count of operations,
// each against numbers worked out by hand.
#include "driver/lab/agreement.h"

#include <doctest/doctest.h>

#include "driver/lab/prediction.h"
#include "driver/lab/rank_test.h"
#include "driver/lab/report.h"
#include "ir/loop_program.h"
#include "tests/lab/made_up.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("rank correlation: order alone counts, ties have their mean rank") {
  const std::vector<double> a{1, 2, 3, 4}, same{10, 200, 201, 9999}, turned{4, 3, 2, 1}, flat(4, 7);
  CHECK(rank_correlation(a, same) == 1);
  CHECK(rank_correlation(a, turned) == -1);
  CHECK_FALSE(rank_correlation(a, flat));
  CHECK_FALSE(rank_correlation(std::vector<double>{1}, std::vector<double>{1}));
  const std::vector<double> tied{1, 2, 2, 3};
  CHECK(*rank_correlation(a, tied) == doctest::Approx(4.5 / std::sqrt(5 * 4.5)));
}

TEST_CASE("agreement: within rows where three arms are, over all, and by which factor") {
  // Row 0 in the model's order, row 1 reversed, row 2 has two arms only.
  const std::vector<PredictedPoint> points{{0, 1, 2},   {0, 2, 4},   {0, 3, 6},     {1, 10, 60},
                                           {1, 20, 40}, {1, 30, 20}, {2, 100, 200}, {2, 200, 100}};
  const Agreement agreement = agreement_of(points);
  CHECK(agreement.points == 8);
  CHECK(agreement.rows == 2);
  CHECK(*agreement.within == doctest::Approx(0));
  CHECK(agreement.factor == doctest::Approx(2));
  CHECK(*agreement.over_all > 0.7);
  CHECK(agreement_text({}).empty());
  CHECK(agreement_of({}).points == 0);
}

TEST_CASE(
    "operations of loops: an fma is two, lanes count, triangles by their middle, tails as they "
    "stand") {
  const auto flops = [](const std::string& body) {
    return flops_of_loops(
        ir::parse_loop_program("loops f\n  in x: f32[64]\n  out y: f32[64]\n\n" + body, "t"));
  };
  CHECK(flops("  for i in 0..8\n    y[i] = (x[i] + f32(1))  @y.s(i)\n") == 8);
  CHECK(flops("  for i in 0..8\n    y[8*i; 8 by 1] = fma(x[8*i; "
              "8 by 1], x8(f32(2)), x[8*i; 8 by 1])  @y.s(8*i; 1)\n") == 8 * 8 * 2);
  CHECK(flops("  for i in 0..8\n    for j in i..8\n      y[i + j] = (x[j] * x[i])  @y.s(i, j)\n") ==
        8 * 4.5);
}

// A record's prediction is a stranger's: whatever stands there is a number or nothing.
TEST_CASE("what is recorded of a prediction is read back, and nothing else is believed") {
  CHECK_FALSE(predicted_of(Json::object()));
  CHECK_FALSE(predicted_of(Json{{"predicted", 5}}));
  const auto odd =
      predicted_of(Json{{"predicted", {{"nanoseconds", "5"}, {"bytes", 3}, {"bound", {1}}}}});
  REQUIRE(odd);
  CHECK(odd->nanoseconds == 0);
  const auto well = predicted_of(Json{
      {"predicted",
       {{"nanoseconds", 5.0}, {"flops", 7}, {"bytes", {{"beyond_l1", 64}}}, {"bound", "issue"}}}});
  CHECK(well->nanoseconds == 5);
  CHECK(well->beyond_l1 == 64);
  CHECK(well->bound == "issue");
}

TEST_CASE(
    "predicted times stand in every format, beside the measured ones and named as the model's") {
  const Plan plan = testing::made_up_plan({"poly", "mine"}, 1);
  std::string text;
  for (const char* name : {"poly", "mine"}) {
    Json arm = testing::head("arm", 0, 0, 0);
    arm.update({{"arm", name},
                {"status", "ok"},
                {"proof", "proved so"},
                {"compile_ms", {{"proof", 2.5}}},
                {"memory", {{"interface", 4096}, {"scratch", 1024}, {"stack", 0}}},
                {"predicted", {{"nanoseconds", 123000.0}, {"flops", 7}, {"bound", "memory"}}}});
    text += arm.dump() + "\n";
  }
  text += testing::process_text(
      0, 0, {{"poly", {100, 101}}, {"mine", {50, 51}}, {kAgain, {100, 102}}}, 0);
  // The made-up process repeats the arms' records; the first ones count.
  const Results results = evaluate(plan, parse_records(text, plan, "s"));
  REQUIRE(results.agreement.points == 2);
  CHECK(report_text(results).find("the model's time") != std::string::npos);
  CHECK(report_text(results).find("123 us, memory") != std::string::npos);
  CHECK(report_text(results).find("5 KiB, 1 KiB of it scratch") != std::string::npos);
  CHECK(report_text(results).find("mine, proof: proved so") != std::string::npos);
  CHECK(report_html(results).find("<h2>Predicted and measured</h2>") != std::string::npos);
  CHECK(report_csv(results).find(",123000,7,0,0,0,memory,2.5,5120,,,proved so,") !=
        std::string::npos);
  const Json json = report_json(results);
  CHECK(json["rows"][0]["arms"][0]["facts"]["predicted"]["nanoseconds"] == 123000);
  CHECK(json["rows"][0]["arms"][0]["counted"].is_null());
  CHECK(json["model"]["points"] == 2);

  // Where the processor counts, that stands there too, under its own name.
  const std::size_t at = text.find("\"flops\":1000");
  REQUIRE(at != std::string::npos);
  text.insert(at, "\"counters\":{\"mine\":{\"instructions\":81920.0,\"cycles\":\"many\"}},");
  const Results counted = evaluate(plan, parse_records(text, plan, "s"));
  CHECK(report_text(counted).find("mine, counted: instructions 81920\n") != std::string::npos);
  CHECK(report_html(counted).find("counted by the processor") != std::string::npos);
  CHECK(report_html(results).find("counted by the processor") == std::string::npos);
  CHECK(report_json(counted)["rows"][0]["arms"][1]["counted"]["instructions"] == 81920);
}

}  // namespace
}  // namespace polyte::lab
