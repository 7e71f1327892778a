// The price of orders against the clock: measured_candidates.json, which
// bench/polybench/candidates.py has measured.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>

#include <nlohmann/json.hpp>

#include "poly/state_price.h"
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

StatePrice price_of_nest(const ir::Values& sizes, const std::string& nest) {
  const auto program = schedule::bound_program(R"(
program again(T, M, N, K)
  in    A: f32[M, K]
  in    B: f32[K, N]
  inout C: f32[M, N]
  loop t in 0..T
    P: C[m, n] += A[m, k] * B[k, n]   for m in 0..M, n in 0..N, k in 0..K
)",
                                               sizes);
  const auto state =
      schedule::replay(program, schedule::script_of(*program, nest), measured_machine(), {});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  return poly::price_of(*state, measured_machine());
}

}  // namespace

TEST_CASE("a product that is added to a sum is one instruction of the price") {
  // Twelve vectors per step, which take longer than their operands' loads.
  const double steps = 64, cycles = 12 / measured_machine().fma_per_cycle;
  const StatePrice price =
      price_of_nest({{"T", 1}, {"M", 4}, {"N", 48}, {"K", 64}},
                    "nest t > k > [m] > <n> > P\nstage C at P:t in register\n");
  CHECK(price.issue >= steps * cycles);
  CHECK(price.issue < 1.5 * steps * cycles);
}

TEST_CASE("what a cache does not hold comes again with each step of a region") {
  const std::string nest = "split P: n by 2*L\nnest t > m > k > n.o > <n.i> > P\n";
  const ir::Values sizes = {{"T", 1}, {"M", 1}, {"N", 256}, {"K", 128}};  // B: 128 KiB
  ir::Values often = sizes;
  often["T"] = 10;
  const StatePrice once = price_of_nest(sizes, nest), ten = price_of_nest(often, nest);
  CHECK(once.beyond_l1 >= 128 * 1024);
  CHECK(ten.beyond_l1 >= 9 * once.beyond_l1);
  CHECK(ten.beyond_l2 < 2 * once.beyond_l2);
}

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
