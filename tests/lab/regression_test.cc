// lab compare on made-up runs: the planted slowdown of one kernel among 30 is found and nothing
// else is; equal binaries are no regression; and what too few processes cannot tell is said.
#include "driver/lab/regression.h"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "tests/lab/noise.h"

namespace polyte::lab {
namespace {

// 30 kernels of one build, at times from 1 us to 1 ms, each with an A/A ratio as a run has it.
std::vector<Measured> made_up_run(Random& random, const testing::Noise& noise, int slow_kernel,
                                  double factor) {
  std::vector<Measured> run;
  for (int kernel = 0; kernel < 30; ++kernel) {
    const double time =
        1000 * std::pow(1000.0, kernel / 29.0) * (kernel == slow_kernel ? factor : 1);
    Measured one{"kernel " + std::to_string(kernel),
                 "poly",
                 testing::noisy(random, time, noise),
                 0,
                 "ok",
                 "",
                 0};
    // A/A: two contenders of the same process share its shift; rounds and outliers are their own.
    testing::Noise again = noise;
    again.of_processes = 0;
    again.drift = 0;
    const Samples a = testing::noisy(random, time, again), b = testing::noisy(random, time, again);
    one.noise = std::abs(paired_ratio(a, b, {1, 1}).estimate - 1);
    run.push_back(std::move(one));
  }
  return run;
}

testing::Noise usual() {
  testing::Noise noise;
  noise.processes = 8;
  return noise;
}

// Fewer draws than a person's run has: the tests take a fifth of the time.
RegressionOptions quick() {
  RegressionOptions options;
  options.bootstrap.draws = 200;
  return options;
}

TEST_CASE(
    "5 percent in one kernel of 30: found, and nothing else is, in at least 19 of 20 trials") {
  int right = 0;
  for (int trial = 0; trial < 20; ++trial) {
    Random random(static_cast<std::uint64_t>(trial) + 100);
    const std::vector<Measured> before = made_up_run(random, usual(), -1, 1);
    const std::vector<Measured> now = made_up_run(random, usual(), trial, 1.05);
    const Comparison comparison = compare(before, now, quick());
    const bool found = comparison.rows[static_cast<std::size_t>(trial)].change == Change::Slower;
    if (found && comparison.count(Change::Slower) == 1 && comparison.count(Change::Faster) == 0)
      ++right;
  }
  CHECK(right >= 19);
}

TEST_CASE("equal binaries: a regression in at most 1 of 20 trials") {
  int wrong = 0;
  for (int trial = 0; trial < 20; ++trial) {
    Random random(static_cast<std::uint64_t>(trial) + 900);
    const std::vector<Measured> before = made_up_run(random, usual(), -1, 1);
    const Comparison comparison = compare(before, made_up_run(random, usual(), -1, 1), quick());
    if (comparison.is_regression()) ++wrong;
  }
  CHECK(wrong <= 1);
}

TEST_CASE("the same in a noisier world, with fewer and with more processes") {
  for (const std::size_t processes : {std::size_t{6}, std::size_t{12}}) {
    int false_alarms = 0;
    for (int trial = 0; trial < 20; ++trial) {
      Random random(static_cast<std::uint64_t>(trial) + 5000);
      testing::Noise noise = usual();
      noise.processes = processes;
      noise.of_processes = 0.02;
      noise.of_rounds = 0.05;
      noise.outliers = 0.15;
      const std::vector<Measured> before = made_up_run(random, noise, -1, 1);
      if (compare(before, made_up_run(random, noise, -1, 1), quick()).is_regression())
        ++false_alarms;
    }
    CHECK(false_alarms <= 1);
  }
}

TEST_CASE("too few processes: nothing is found, and how many are needed is said") {
  Random random(1);
  testing::Noise noise;
  noise.processes = 3;
  const std::vector<Measured> before = made_up_run(random, noise, -1, 1),
                              now = made_up_run(random, noise, 4, 1.5);
  const Comparison comparison = compare(before, now, {});
  CHECK_FALSE(comparison.is_regression());
  REQUIRE(comparison.warnings.size() == 1);
  CHECK(comparison.warnings[0].find(
            "3 and 3 processes are too few to tell anything of 30 comparisons: give "
            "stop.processes at least 6") != std::string::npos);
}

TEST_CASE("filters, least times and rows of one run only") {
  Random random(2);
  const std::vector<Measured> before = made_up_run(random, usual(), -1, 1);
  std::vector<Measured> now = made_up_run(random, usual(), 3, 1.2);
  RegressionOptions options;
  options.filter = "kernel 3 / poly";
  CHECK(compare(before, now, options).rows.size() == 1);
  CHECK(compare(before, now, options).is_regression());
  options.filter.clear();
  options.min_effect = 0.3;
  CHECK_FALSE(compare(before, now, options).is_regression());
  options.min_effect = 0;
  options.min_time = 1e5;
  CHECK_FALSE(compare(before, now, options).is_regression());
  CHECK(compare(before, now, options).count(Change::LeftOut) > 10);
  now[0].row = "new kernel";
  const Comparison changed = compare(before, now, {});
  CHECK(changed.count(Change::OnlyNew) == 1);
  CHECK(changed.count(Change::OnlyOld) == 1);
  CHECK(compare({}, {}, {}).warnings.size() == 1);
}

TEST_CASE("what all rows share is of the machine as far as its peak says so, else a regression") {
  Random random(3);
  const std::vector<Measured> before = made_up_run(random, usual(), -1, 1);
  const auto now = [&](double all, double some, double peak) {
    std::vector<Measured> run = made_up_run(random, usual(), 7, 1.05);
    for (std::size_t i = 0; i < run.size(); ++i) {
      run[i].peak = 1e9 * peak;
      for (std::vector<double>& process : run[i].samples)
        for (double& time : process) time *= all * (i % 5 < 2 ? some : 1);
    }
    return run;
  };
  std::vector<Measured> old = before;
  for (Measured& one : old) one.peak = 1e9;
  // A slower clock: the kernel that does more work is found beside it, nothing else is.
  const Comparison clock = compare(old, now(1.03, 1, 1 / 1.03), quick());
  CHECK(clock.common.change == Change::Same);
  CHECK(clock.count(Change::Slower) == 1);
  CHECK(clock.count(Change::Faster) == 0);
  // Of a single row it cannot be told from a slower kernel: it has to be slower than the clock.
  RegressionOptions one = quick();
  one.filter = "kernel 3 ";
  CHECK_FALSE(compare(old, now(1.03, 1, 1 / 1.03), one).is_regression());
  CHECK(compare(old, now(1.06, 1, 1), one).is_regression());
  // Code that is slower everywhere.
  const Comparison code = compare(old, now(1.04, 1, 1), quick());
  CHECK(code.common.change == Change::Slower);
  CHECK(code.is_regression());
  CHECK(comparison_text(code).find("all rows together are slower") != std::string::npos);
  CHECK(comparison_junit(code).find("failures=\"2\"") != std::string::npos);
  // Code that is slower in two rows of five: these, and the one of before.
  const Comparison some = compare(old, now(1, 1.06, 1), quick());
  CHECK(some.common.change == Change::Same);
  CHECK(some.count(Change::Slower) == 13);
}

TEST_CASE("times that are none are not compared with") {
  Random random(4);
  const std::vector<Measured> before = made_up_run(random, usual(), -1, 1);
  for (const double none : {0.0, -1.0, -1e300}) {
    std::vector<Measured> now = made_up_run(random, usual(), -1, 1);
    for (std::size_t i = 0; i < now.size(); i += 3)
      for (std::vector<double>& process : now[i].samples) process.assign(process.size(), none);
    const Comparison comparison = compare(before, now, quick());
    CHECK(comparison.common.shift == doctest::Approx(1).epsilon(0.02));
    CHECK(comparison.count(Change::Slower) == 0);
    for (std::size_t i = 0; i < now.size(); i += 3)
      CHECK(comparison.rows[i].change == Change::Same);
    // Of all: nothing is said of what they share.
    for (Measured& one : now)
      for (std::vector<double>& process : one.samples) process.assign(process.size(), none);
    CHECK(compare(before, now, quick()).common.spread == 0);
  }
}

TEST_CASE("an arm that is not timed any more is a regression, unless the machine lacks its peer") {
  Random random(2);
  const std::vector<Measured> before = made_up_run(random, usual(), -1, 1);
  for (const char* status : {"wrong", "refused", "crashed", "failed", "declined"}) {
    std::vector<Measured> now = made_up_run(random, usual(), -1, 1);
    now[1].samples.clear();
    now[1].status = status;
    const Comparison comparison = compare(before, now, {});
    CHECK(comparison.count(Change::Lost) == 1);
    CHECK(comparison.is_regression());
    CHECK(comparison_text(comparison).find("regression: 1 row is no longer timed") !=
          std::string::npos);
    const std::string junit = comparison_junit(comparison);
    CHECK(junit.find("<failure message=\"no longer timed: old: ok, new: " + std::string(status)) !=
          std::string::npos);
    CHECK(junit.find("failures=\"1\" errors=\"0\"") != std::string::npos);
    CHECK_FALSE(compare(now, before, {}).is_regression());
  }
  std::vector<Measured> now = made_up_run(random, usual(), -1, 1);
  now[1].samples.clear();
  now[1].status = "absent";
  CHECK(compare(before, now, {}).count(Change::NotTimed) == 1);
  CHECK_FALSE(compare(before, now, {}).is_regression());
}

TEST_CASE("where nothing is timed in both runs, that there is no regression is not said") {
  Random random(2);
  const std::vector<Measured> run = made_up_run(random, usual(), -1, 1);
  RegressionOptions options;
  options.filter = "no kernel has this name";
  for (const Comparison& empty : {compare(run, run, options), compare({}, {}, {})}) {
    CHECK(empty.is_empty());
    CHECK(comparison_text(empty).find("nothing is compared") != std::string::npos);
    CHECK(comparison_junit(empty).find("errors=\"1\"") != std::string::npos);
  }
  CHECK_FALSE(compare(run, run, {}).is_empty());
}

TEST_CASE("texts: names are only text, lines fit") {
  Random random(2);
  std::vector<Measured> before = made_up_run(random, usual(), -1, 1),
                        now = made_up_run(random, usual(), 3, 1.2);
  before[3].row = now[3].row =
      "<kernel \"3\"> & a name that goes on for longer than any line of a terminal can be";
  const Comparison comparison = compare(before, now, {});
  const std::string junit = comparison_junit(comparison);
  CHECK(junit.find("<kernel") == std::string::npos);
  CHECK(junit.find("&lt;kernel &quot;3&quot;&gt; &amp; a name") != std::string::npos);
  CHECK(junit.find("failures=\"1\"") != std::string::npos);
  std::istringstream lines(comparison_text(comparison));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 80);
  CHECK(to_json(comparison)["regression"] == true);
}

}  // namespace
}  // namespace polyte::lab
