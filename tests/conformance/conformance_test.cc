// ONNX's cases under poly and template (of template every other one where time counts,
// tests/sweep.h): the same ones pass, they are those of expected.txt, every other
// one is refused with its reasons. POLYTE_BLESS=1 (all of both) writes expected.txt
// and bench/results/conformance.json anew.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <doctest/doctest.h>
#include "driver/compile/parallel_jobs.h"
#include "driver/judge/conformance.h"
#include "tests/conformance/suites.h"
#include "tests/sweep.h"

using namespace polyte;
using driver::CaseOutcome;
using driver::CaseResult;
using driver::Scheduler;

namespace {

constexpr const char* kExpected = "tests/conformance/expected.txt";
constexpr const char* kRecord = "bench/results/conformance.json";
using Names = std::set<std::string>;

Names read_expected() {
  Names names;
  std::ifstream file(kExpected);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') names.insert(line);
  }
  return names;
}

Names names_of(const std::vector<CaseResult>& results, Scheduler scheduler) {
  Names names;
  for (const CaseResult& r : results)
    if (r.scheduler == scheduler) names.insert(r.name);
  return names;
}

Names passing(const std::vector<CaseResult>& results, Scheduler scheduler) {
  Names names;
  for (const CaseResult& r : results) {
    if (r.scheduler == scheduler && r.outcome == CaseOutcome::Pass) names.insert(r.name);
  }
  return names;
}

std::vector<CaseResult> run_all(const codegen::Target& target) {
  const auto cases = driver::find_cases(testing::suites(), "*");
  std::vector<CaseResult> results =
      driver::run_cases(cases, {Scheduler::Poly}, target, driver::default_jobs());
  auto some = cases;
  std::size_t number = 0;
  if (!std::getenv("POLYTE_BLESS"))
    std::erase_if(some, [&](const auto&) { return !test::is_swept(number++, 3); });
  std::ranges::move(driver::run_cases(some, {Scheduler::Template}, target, driver::default_jobs()),
                    std::back_inserter(results));
  return results;
}

void write_expected(const Names& names) {
  std::ofstream file(kExpected);
  file << "# Cases of libonnx-testdata that poly and template pass.\n";
  for (const std::string& name : names) file << name << "\n";
}

// Counts for each suite and scheduler, and why the others are refused.
void write_record(const std::vector<CaseResult>& results, const codegen::Target& target) {
  nlohmann::json json;
  json["cpu"] = target.machine.cpu;
  for (const CaseResult& r : results) {
    nlohmann::json& suite =
        json["suites"][r.name.substr(0, r.name.find('/'))][to_string(r.scheduler)];
    if (suite.is_null()) suite = nlohmann::json::object();
    for (const auto outcome :
         {CaseOutcome::Pass, CaseOutcome::Fail, CaseOutcome::Unsupported, CaseOutcome::Error}) {
      const int one = outcome == r.outcome ? 1 : 0;
      suite[to_string(outcome)] = suite.value(to_string(outcome), 0) + one;
    }
    const bool passes = r.outcome == CaseOutcome::Pass;
    if (r.scheduler == Scheduler::Poly && passes) json["passed"].push_back(r.name);
    if (r.scheduler == Scheduler::Poly && !passes)
      json["not passed"][r.name] = to_string(r.outcome) + ": " + r.detail;
  }
  std::filesystem::create_directories(std::filesystem::path(kRecord).parent_path());
  std::ofstream(kRecord) << json.dump(1) << "\n";
}

std::string missing(const Names& from, const Names& in) {
  std::string text;
  for (const std::string& name : in) text += from.contains(name) ? "" : " " + name;
  return text;
}

int count(const Names& names, const std::string& suite) {
  return static_cast<int>(std::ranges::count_if(
      names, [&](const std::string& name) { return name.starts_with(suite + "/"); }));
}

}  // namespace

TEST_CASE(
    "conformance: poly and template pass the expected cases and refuse the others with reasons") {
  if (testing::suites().empty()) {
    MESSAGE("skipped: libonnx-testdata is not installed");
    return;
  }
  const codegen::Target target = codegen::detect_host();
  const std::vector<CaseResult> results = run_all(target);
  const Names poly = passing(results, Scheduler::Poly),
              by_template = passing(results, Scheduler::Template);
  const Names asked = names_of(results, Scheduler::Template);
  if (std::getenv("POLYTE_BLESS")) {
    write_expected(poly);
    write_record(results, target);
  }
  for (const CaseResult& r : results) {
    INFO(r.name << ", " << to_string(r.scheduler) << ": " << r.detail);
    CHECK((r.outcome == CaseOutcome::Pass || r.outcome == CaseOutcome::Unsupported));
    CHECK((r.outcome == CaseOutcome::Pass || !r.detail.empty()));
    CHECK(r.detail.find("the reference order is used") == std::string::npos);
  }
  CHECK(missing(poly, by_template) == "");
  Names poly_of_asked;
  std::ranges::set_intersection(poly, asked, std::inserter(poly_of_asked, poly_of_asked.end()));
  CHECK(asked.size() >= 300);
  CHECK(missing(by_template, poly_of_asked) == "");
  CHECK(missing(poly, read_expected()) == "");
  CHECK_MESSAGE(missing(read_expected(), poly) == "", "POLYTE_BLESS=1 adds them to " << kExpected);
  CHECK(count(poly, "node") >= 800);
  CHECK(count(poly, "pytorch-converted") >= 82);
  CHECK(count(poly, "pytorch-operator") >= 35);
  CHECK(count(poly, "simple") >= 7);
}
