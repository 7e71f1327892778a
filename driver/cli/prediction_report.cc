#include "driver/cli/prediction_report.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "driver/lab/agreement.h"
#include "driver/lab/arm_facts.h"
#include "driver/lab/prediction.h"
#include "poly/state_price.h"

namespace polyte::cli {
namespace {

constexpr std::size_t kStatementsShown = 3;

std::string format(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

// "e 52 %, top.update 31 %, y 12 %, others 5 %", the longest first.
std::string shares_text(const nlohmann::json& statements) {
  double all = 0;
  std::vector<std::pair<double, std::string>> costs;
  for (const auto& statement : statements) {
    costs.emplace_back(statement["cycles"].get<double>(), statement["name"].get<std::string>());
    all += costs.back().first;
  }
  if (costs.size() < 2 || all <= 0) return "";
  std::ranges::sort(costs, std::greater());
  std::string text;
  double shown = 0;
  for (std::size_t i = 0; i < std::min(costs.size(), kStatementsShown); ++i) {
    text += (text.empty() ? "" : ", ") + costs[i].second +
            format(" %.0f %%", 100 * costs[i].first / all);
    shown += costs[i].first;
  }
  if (costs.size() > kStatementsShown) text += format(", others %.0f %%", 100 * (1 - shown / all));
  return text;
}

}  // namespace

nlohmann::ordered_json predicted_of(const Work& work, const Machine& machine, int threads) {
  if (!work.op || work.gpu) return nullptr;
  Machine with_threads = machine;
  with_threads.cores = threads;
  nlohmann::ordered_json predicted = lab::predict(work.op->built, with_threads);
  predicted["statements"] = nlohmann::ordered_json::array();
  for (const auto& [statement, price] : poly::prices_of(*work.op->built.state, with_threads))
    predicted["statements"].push_back(
        {{"name", statement}, {"cycles", price.cycles}, {"bound", price.bound()}});
  return predicted;
}

std::vector<std::string> predicted_lines(const nlohmann::json& row) {
  const auto model = lab::predicted_of(row);
  if (!model) return {"not predicted"};
  std::vector<std::string> lines;
  if (row.contains("real_time") && model->nanoseconds > 0)
    lines.push_back(format("measured: %.2f times the prediction",
                           row["real_time"].get<double>() / model->nanoseconds));
  lines.push_back(lab::predicted_work_text(*model));
  if (row["predicted"].contains("statements"))
    lines.push_back(shares_text(row["predicted"]["statements"]));
  std::erase(lines, "");
  return lines.empty() ? std::vector<std::string>{"the time alone"} : lines;
}

std::vector<RankedPair> ranked_pairs(std::span<const std::unique_ptr<Work>> works,
                                     std::span<const double> predicted,
                                     std::span<const bench::Timing> timings) {
  std::vector<RankedPair> pairs;
  for (std::size_t j = 0; j < timings.size(); ++j)
    for (std::size_t i = 0; i < j; ++i)
      if (predicted[i] > 0 && predicted[j] > 0 && works[i]->source == works[j]->source &&
          !has_same_loops(*works[i], *works[j]))
        pairs.push_back({works[i]->name, works[j]->name, predicted[j] / predicted[i],
                         bench::ratio_of(timings[j], timings[i])});
  return pairs;
}

std::vector<std::string> rank_lines(std::span<const RankedPair> pairs) {
  if (pairs.empty()) return {};
  std::size_t alike = 0, right = 0;
  std::vector<std::string> wrong;
  for (const RankedPair& pair : pairs) {
    if (!pair.measured.distinguishable())
      ++alike;
    else if (pair.is_right())
      ++right;
    else
      wrong.push_back("  wrong: " + pair.second + " takes " + format("%.2f", pair.measured.median) +
                      " times as long as " + pair.first + format(", %.2f to ", pair.measured.low) +
                      format("%.2f; the model expected ", pair.measured.high) +
                      format("%.2f", pair.predicted));
  }
  std::vector<std::string> lines{"model: " + std::to_string(right) + " of " +
                                 std::to_string(pairs.size() - alike) + " pairs as measured"};
  if (alike > 0) lines.front() += ", " + std::to_string(alike) + " not distinguishable";
  lines.insert(lines.end(), wrong.begin(), wrong.end());
  return lines;
}

}  // namespace polyte::cli
