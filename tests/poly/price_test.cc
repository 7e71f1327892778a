// The price of orders against the clock: measured_candidates.json, which
// bench/polybench/candidates.py has measured.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>

#include <nlohmann/json.hpp>

#include "poly/whole_program.h"
#include "tests/poly/checked_script.h"

namespace polyte::poly {
namespace {

constexpr double kLeastCorrelation = 0.85;
constexpr std::size_t kLeastCandidates = 400;

nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), path);
  return nlohmann::json::parse(file);
}

// The machine of the measurements, as polyte saw it.
Machine measured_machine() {
  Machine machine = schedule::wide_machine();
  machine.cores = 1;
  return machine;
}

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> place(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i)
      place[order[i]] = static_cast<double>(first + end - 1) / 2;
  }
  return place;
}

// Spearman's; equal values share the middle of their places.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> ra = ranks(a), rb = ranks(b);
  const double middle = (static_cast<double>(a.size()) - 1) / 2;
  double across = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    across += (ra[i] - middle) * (rb[i] - middle);
    of_a += (ra[i] - middle) * (ra[i] - middle);
    of_b += (rb[i] - middle) * (rb[i] - middle);
  }
  return across / std::sqrt(of_a * of_b);
}

std::map<std::string, double> predicted(const std::string& kernel, const std::string& size,
                                        const nlohmann::json& sizes) {
  std::ifstream file("bench/polybench/" + kernel + ".program");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ir::Values values;
  for (const auto& [name, value] : sizes.at(kernel).at(size).items())
    values[name] = value.get<std::int64_t>();
  const ir::Program program = ir::bind(ir::parse_program(text, kernel), values);
  std::map<std::string, double> cycles;
  for (const Candidate& candidate : candidates_of(program, measured_machine(), false))
    cycles[candidate.name] = candidate.cycles;
  return cycles;
}

}  // namespace

TEST_CASE("the price ranks measured orders of PolyBench") {
  const nlohmann::json measured = read_json("tests/poly/measured_candidates.json");
  const nlohmann::json sizes = read_json("bench/polybench/sizes.json");
  const std::string size = measured.at("context").at("size");
  std::map<std::string, std::map<std::string, double>> predictions;
  std::vector<double> cycles, seconds;
  for (const nlohmann::json& row : measured.at("candidates")) {
    const std::string kernel = row.at("kernel"), candidate = row.at("candidate");
    CAPTURE(kernel);
    CAPTURE(candidate);
    if (!predictions.contains(kernel)) predictions[kernel] = predicted(kernel, size, sizes);
    REQUIRE(predictions[kernel].contains(candidate));  // else measure again
    cycles.push_back(predictions[kernel][candidate]);
    seconds.push_back(row.at("seconds"));
  }
  MESSAGE("rank correlation ", rank_correlation(cycles, seconds), " over ", cycles.size());
  CHECK(cycles.size() >= kLeastCandidates);
  CHECK(rank_correlation(cycles, seconds) >= kLeastCorrelation);
}

}  // namespace polyte::poly
