#include "driver/lab/agreement.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "driver/lab/rank_test.h"
#include "driver/lab/record.h"
#include "driver/lab/statistics.h"

namespace polyte::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLeastOfRow = 3;

std::optional<double> correlation(std::span<const PredictedPoint> points) {
  std::vector<double> predicted, measured;
  for (const PredictedPoint& point : points) {
    predicted.push_back(point.predicted);
    measured.push_back(point.measured);
  }
  return rank_correlation(predicted, measured);
}

}  // namespace

// From facts that another version may have written: what is missing is 0, or none.
std::optional<Predicted> predicted_of(const Json& facts) {
  if (!facts.is_object()) return std::nullopt;
  const auto found = facts.find("predicted");
  if (found == facts.end() || !found->is_object()) return std::nullopt;
  const Json bytes = found->contains("bytes") && (*found)["bytes"].is_object() ? (*found)["bytes"]
                                                                               : Json::object();
  Predicted predicted{number_at(*found, "nanoseconds"),
                      number_at(*found, "flops"),
                      number_at(*found, "cycles"),
                      number_at(bytes, "beyond_l1"),
                      number_at(bytes, "beyond_l2"),
                      number_at(bytes, "beyond_l3"),
                      ""};
  const auto bound = found->find("bound");
  if (bound != found->end() && bound->is_string()) predicted.bound = bound->get<std::string>();
  return predicted;
}

Agreement agreement_of(std::span<const PredictedPoint> points) {
  Agreement agreement;
  agreement.points = points.size();
  if (points.empty()) return agreement;
  agreement.over_all = correlation(points);
  std::vector<double> factors, off;
  for (const PredictedPoint& point : points)
    factors.push_back(std::log(point.measured / point.predicted));
  // In logarithms: the median factor, and how far a point is from it in the middle (the median
  // absolute deviation). A model that is off by one factor everywhere ranks as well as a right one.
  const double middle = median(factors);
  for (const double factor : factors) off.push_back(std::abs(factor - middle));
  agreement.factor = std::exp(middle);
  agreement.spread = std::exp(median(off));
  double sum = 0;
  // Points of a row stand together. A correlation of two points is 1 or -1 whatever they are.
  for (std::size_t from = 0, to = 0; from < points.size(); from = to) {
    // `within` is the mean of the rows' own correlations: whether the model ranks the arms of
    // one row, which is what a scheduler needs of it. `over_all` also counts that large rows
    // take longer.
    while (to < points.size() && points[to].row == points[from].row) ++to;
    if (to - from < kLeastOfRow) continue;
    const std::optional<double> own = correlation(points.subspan(from, to - from));
    if (!own) continue;
    sum += *own;
    ++agreement.rows;
  }
  if (agreement.rows > 0) agreement.within = sum / static_cast<double>(agreement.rows);
  return agreement;
}

std::string agreement_text(const Agreement& agreement) {
  if (agreement.points == 0) return "";
  char text[160];
  std::snprintf(text, sizeof text,
                "the model: measured is %.3g times what it predicts (median of %zu), off by %.3gx",
                agreement.factor, agreement.points, agreement.spread);
  std::string words = text;
  if (agreement.over_all) {
    std::snprintf(text, sizeof text, "; rank correlation %.2f over all", *agreement.over_all);
    words += text;
  }
  if (agreement.within) {
    std::snprintf(text, sizeof text, ", %.2f within a row (mean of %zu)", *agreement.within,
                  agreement.rows);
    words += text;
  }
  return words;
}

Json to_json(const Agreement& agreement) {
  const auto known = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  return {{"points", agreement.points},
          {"rank_correlation", known(agreement.over_all)},
          {"rows", agreement.rows},
          {"rank_correlation_within_rows", known(agreement.within)},
          {"measured_over_predicted", agreement.points > 0 ? Json(agreement.factor) : Json()},
          {"spread", agreement.points > 0 ? Json(agreement.spread) : Json()}};
}

}  // namespace polyte::lab
