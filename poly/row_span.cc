#include "poly/row_span.h"

#include <algorithm>
#include <cmath>

namespace polyte::poly {
namespace {

void subtract(std::vector<double>& from, const std::vector<double>& line, double factor) {
  from.resize(std::max(from.size(), line.size()), 0);
  for (std::size_t i = 0; i < line.size(); ++i) from[i] -= factor * line[i];
}

}  // namespace

// Gauss-Jordan elimination: the new row without the pivots of the known lines, scaled to a pivot of
// 1, which is then removed from these. What each line is made of is kept along, for inverse().
bool RowSpan::add(const ir::Affine& row) {
  Line line{{}, std::vector<double>(++count_, 0)};
  for (const std::string& it : iterators_)
    line.iterators.push_back(static_cast<double>(row.coefficient(it)));
  line.rows.back() = 1;
  const auto without = [](Line& from, const Line& other) {
    const double factor = from.iterators[other.pivot];
    subtract(from.iterators, other.iterators, factor);
    subtract(from.rows, other.rows, factor);
  };
  // Each known line is 1 at its own pivot and 0 at those of the others: rows t + i and t give
  //
  //   t = row 1,   i = row 0 - row 1
  for (const Line& known : lines_) without(line, known);
  const auto pivot =
      std::ranges::find_if(line.iterators, [](double value) { return std::abs(value) > 1e-9; });
  if (pivot == line.iterators.end()) return false;
  line.pivot = static_cast<std::size_t>(pivot - line.iterators.begin());
  const double scale = *pivot;
  for (auto* side : {&line.iterators, &line.rows})
    for (double& value : *side) value /= scale;
  for (Line& known : lines_) without(known, line);
  lines_.push_back(std::move(line));
  return true;
}

std::vector<std::vector<double>> RowSpan::inverse() const {
  std::vector<std::vector<double>> result(iterators_.size(), std::vector<double>(count_, 0));
  const auto exact = [](double value) {  // whole numbers have gone through fractions
    const double whole = std::round(value);
    return std::abs(value - whole) < 1e-9 ? whole : value;
  };
  for (const Line& line : lines_)
    std::ranges::transform(line.rows, result[line.pivot].begin(), exact);
  return result;
}

}  // namespace polyte::poly
