// How far the analytic model's figures are what is measured. A model that is to choose among
// schedules has to rank the arms of one row; that it also ranks rows is easy, as large kernels
// take longer.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <span>
#include <string>

namespace polyte::lab {

// What prediction.h recorded of an arm, read back: 0 or empty is not known.
struct Predicted {
  double nanoseconds = 0, flops = 0, cycles = 0, beyond_l1 = 0, beyond_l2 = 0, beyond_l3 = 0;
  std::string bound;
};
std::optional<Predicted> predicted_of(const nlohmann::ordered_json& facts);

struct PredictedPoint {
  std::size_t row = 0;
  double predicted = 0, measured = 0;  // nanoseconds
};

// Rank correlations are Spearman's: 1 is the same order, 0 none, -1 the reverse.
struct Agreement {
  std::size_t points = 0, rows = 0;  // arms with both times; rows with three such or more
  std::optional<double> over_all;    // of all points
  std::optional<double> within;      // the mean of each row's own
  double factor = 1;                 // measured over predicted, the median
  double spread = 1;                 // by which a point is off that, the median
};
Agreement agreement_of(std::span<const PredictedPoint> points);  // in the order of their rows
std::string agreement_text(const Agreement& agreement);          // a sentence; empty of no points
nlohmann::ordered_json to_json(const Agreement& agreement);

}  // namespace polyte::lab
