#include "poly/loop_extents.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "poly/price_rates.h"

namespace polyte::poly {
namespace {

double value_at(const ir::Affine& e, const std::map<std::string, double>& at) {
  double sum = static_cast<double>(e.constant());
  for (const ir::Term& term : e.terms()) {
    const auto found = at.find(term.atom.symbol);
    if (term.atom.div || found == at.end()) return std::nan("");
    sum += static_cast<double>(term.coefficient) * found->second;
  }
  return sum;
}

double steps_of(const std::vector<double>& coefficients, const std::vector<double>& widths) {
  double sum = 0;
  for (std::size_t i = 0; i < coefficients.size(); ++i)
    sum += std::abs(coefficients[i]) * (widths[i] - 1);
  return sum;
}

// What a domain says of one iterator where those outside have values.
struct Range {
  double low = 0, high = 0;  // the last value
  double width() const { return std::max(0.0, high - low + 1); }
};

Range range_at(const ir::Statement& statement, const std::string& it,
               const std::map<std::string, double>& at) {
  Range range{0, std::nan("")};
  bool has_low = false;
  for (const ir::Constraint& constraint : statement.domain) {
    const double factor = static_cast<double>(constraint.expr.coefficient(it));
    if (factor == 0) continue;
    const double rest =
        value_at(constraint.expr - ir::Affine::symbol(it) * constraint.expr.coefficient(it), at);
    if (std::isnan(rest)) continue;  // of an iterator further inside
    const double bound = -rest / factor;
    if (factor > 0 || constraint.equality)
      range.low = has_low ? std::max(range.low, bound) : bound, has_low = true;
    if (factor < 0 || constraint.equality)
      range.high = std::isnan(range.high) ? bound : std::min(range.high, bound);
  }
  if (std::isnan(range.high)) range.high = range.low + kOpenSize - 1;
  return range;
}

// Gauss-Legendre quadrature with three nodes: the mean of a polynomial of degree up to 5 over a
// range of width w is the weighted mean of its values at the middle m and at m +- w * sqrt(3/5) /
// 2. The number of instances inside an iteration is such a polynomial of the iterators outside.
constexpr double kGaussAway = 0.38729833462074170;  // from the middle, of the width
constexpr struct {
  double away, weight;
} kGauss[] = {{-kGaussAway, 5.0 / 18}, {0, 8.0 / 18}, {kGaussAway, 5.0 / 18}};

// Instances of the statement: the width of an iterator's range times the mean count of what is
// inside, at the nodes above where bounds further in depend on the iterator (`is_bound`), else at
// its middle alone.
double count_points(const ir::Statement& statement, const std::vector<bool>& is_bound,
                    std::size_t depth, std::map<std::string, double>& at) {
  if (depth == statement.iterators.size()) return 1;
  const std::string& it = statement.iterators[depth];
  const Range range = range_at(statement, it, at);
  const double width = range.width(), middle = (range.low + range.high) / 2;
  double mean = 0;
  if (!is_bound[depth]) {
    at[it] = middle;
    mean = count_points(statement, is_bound, depth + 1, at);
  } else {
    for (const auto& [away, weight] : kGauss) {
      at[it] = middle + away * width;
      mean += weight * count_points(statement, is_bound, depth + 1, at);
    }
  }
  at.erase(it);
  return width * mean;
}

// Which other iterators the iterator's lower bounds use, wherever their loops are.
std::vector<bool> bounds_below(const ir::Statement& statement, const std::string& iterator) {
  std::vector<bool> bounds;
  for (const std::string& other : statement.iterators)
    bounds.push_back(other != iterator &&
                     std::ranges::any_of(statement.domain, [&](const ir::Constraint& c) {
                       return c.expr.coefficient(iterator) > 0 && c.expr.uses(other);
                     }));
  return bounds;
}

}  // namespace

// Iterators outermost first, each at the middle of its range once it is done:
//
//   i in 0..N        middle (N - 1) / 2, width N
//   j in 0..i+1      bounds taken at i's middle: width (N + 1) / 2, the mean of the triangle's rows
//
// Not exact, and not meant to be: prices multiply these, and a mean is what a sum over
// iterations needs. The product of means is not the mean of products: instances are counted.
LoopExtents::LoopExtents(const ir::Program& program, const ir::Statement& statement,
                         const std::vector<ir::Affine>& rows) {
  const std::vector<std::string>& iterators = statement.iterators;
  std::map<std::string, double> at;
  for (const std::string& param : program.params) at[param] = kOpenSize;
  for (const auto& [name, value] : program.sizes) at[name] = static_cast<double>(value);
  std::map<std::string, double> sizes = at;
  std::vector<bool> bounds_others(iterators.size(), false);
  for (std::size_t i = 0; i < iterators.size(); ++i) {
    const Range range = range_at(statement, iterators[i], at);
    std::vector<std::size_t> bounded_by;
    for (const ir::Constraint& constraint : statement.domain) {
      const std::int64_t factor = constraint.expr.coefficient(iterators[i]);
      const ir::Affine rest = constraint.expr - ir::Affine::symbol(iterators[i]) * factor;
      if (factor == 0 || std::isnan(value_at(rest, at))) continue;
      for (std::size_t outer = 0; outer < i; ++outer)
        if (constraint.expr.uses(iterators[outer])) {
          bounded_by.push_back(outer);
          bounds_others[outer] = true;
        }
    }
    at[iterators[i]] = (range.low + range.high) / 2;
    widths_at_middle_.push_back(range.width());
    bounded_by_.push_back(std::move(bounded_by));
    bounds_below_.push_back(bounds_below(statement, iterators[i]));
  }
  points_ = count_points(statement, bounds_others, 0, sizes);
  for (const ir::Affine& row : rows) {
    row_middles_.push_back(value_at(row, at));
    rows_.emplace_back();
    for (const std::string& it : iterators)
      rows_.back().push_back(static_cast<double>(row.coefficient(it)));
  }
  find_iterators();
}

void LoopExtents::find_iterators() {
  if (!is_box()) return;
  std::vector<std::size_t> found;
  for (const Coefficients& row : rows_) {
    const auto is_moved = [](double factor) { return factor != 0; };
    const auto at = std::ranges::find_if(row, is_moved);
    if (std::ranges::count_if(row, is_moved) != 1 || std::abs(*at) != 1) return;
    found.push_back(static_cast<std::size_t>(at - row.begin()));
  }
  iterator_of_ = std::move(found);
}

bool LoopExtents::begins_anywhere(std::size_t row) const {
  const auto moved = std::ranges::count_if(rows_[row], [](double factor) { return factor != 0; });
  if (moved > 1) return true;
  for (std::size_t other = 0; other < rows_.size(); ++other)
    if (begins_by(row, other)) return true;
  return false;
}

// Whether the first value of `row` changes with `other`: both use one iterator (a skewed loop), or
// a lower bound of an iterator of `row` uses one of `other`.
bool LoopExtents::begins_by(std::size_t row, std::size_t other) const {
  if (row == other) return false;
  for (std::size_t i = 0; i < bounds_below_.size(); ++i) {
    if (rows_[row][i] == 0) continue;
    if (rows_[other][i] != 0) return true;
    for (std::size_t o = 0; o < bounds_below_.size(); ++o)
      if (rows_[other][o] != 0 && bounds_below_[i][o]) return true;
  }
  return false;
}

bool LoopExtents::is_box() const {
  return std::ranges::all_of(bounded_by_, [](const auto& outer) { return outer.empty(); });
}

// The same as `extent` where iterators are independent of one another, as most are, and much
// faster: many orders are priced.
double LoopExtents::extent_in_box(std::size_t row, const std::vector<KnownRow>& known) const {
  double steps = std::max(1.0, widths_at_middle_[iterator_of_[row]]) - 1;
  for (const KnownRow& outer : known)
    if (iterator_of_[outer.row] == iterator_of_[row]) steps = std::min(steps, outer.slack);
  return 1 + steps;
}

double LoopExtents::extent(std::size_t row, const std::vector<KnownRow>& known) const {
  if (!iterator_of_.empty()) return extent_in_box(row, known);
  return 1 + width(rows_[row], widths(known, false), known);
}

double LoopExtents::widest(std::size_t row, const std::vector<KnownRow>& known) const {
  return 1 + width(rows_[row], widths(known, true), known);
}

// How many values each iterator takes while the rows in `known` stand still but for their slack;
// all of its values where nothing is known. That is its width at the middle of the iterators that
// bound it, and half of what these move:
//
//   i in 0..N, j in 0..i+1     j: (N + 1) / 2 with i in the middle, and (N - 1) / 2 by i: N
//
// `are_widest`: iterators outside take all of their values.
std::vector<double> LoopExtents::widths(const std::vector<KnownRow>& known, bool are_widest) const {
  std::vector<double> widths;
  const auto box = [&](std::size_t i, const std::vector<double>& outside) {
    double width = std::max(1.0, widths_at_middle_[i]);
    for (const std::size_t outer : bounded_by_[i])
      width = std::max(width, std::max(1.0, widths_at_middle_[i]) + (outside[outer] - 1) / 2);
    return width;
  };
  for (std::size_t i = 0; i < widths_at_middle_.size(); ++i) widths.push_back(box(i, widths));
  if (known.empty()) return widths;
  const std::vector<double> alone = widths;
  for (std::size_t i = 0; i < widths_at_middle_.size(); ++i) {
    Coefficients self(widths_at_middle_.size(), 0);
    self[i] = 1;
    widths[i] = box(i, are_widest ? alone : widths);
    widths[i] = 1 + width(std::move(self), widths, known);
  }
  return widths;
}

// The row's range given the known rows. A row sum c_i * i moves by sum |c_i| (w_i - 1), and less if
// multiples of known rows are subtracted, for these stand still (but for their slack, which counts
// |factor| times):
//
//   row t + i, known t     ->  i:      N values in place of T + N - 1
//
// Greedy: the multiple that leaves least, then again, as in Gaussian elimination but never
// accepting a wider row.
double LoopExtents::width(Coefficients of, const std::vector<double>& widths,
                          const std::vector<KnownRow>& known) const {
  double least = steps_of(of, widths), slack = 0;
  while (true) {
    const Coefficients* best = nullptr;
    double best_factor = 0, best_slack = 0;
    for (const KnownRow& outer : known)
      for (std::size_t i = 0; i < of.size(); ++i) {
        const Coefficients& row = rows_[outer.row];
        if (of[i] == 0 || row[i] == 0) continue;
        const double factor = of[i] / row[i], more = slack + std::abs(factor) * outer.slack;
        double width = more;
        for (std::size_t j = 0; j < of.size(); ++j)
          width += std::abs(of[j] - factor * row[j]) * (widths[j] - 1);
        if (width < least) least = width, best = &row, best_factor = factor, best_slack = more;
      }
    if (!best) return least;
    for (std::size_t j = 0; j < of.size(); ++j) of[j] -= best_factor * (*best)[j];
    slack = best_slack;
  }
}

}  // namespace polyte::poly
