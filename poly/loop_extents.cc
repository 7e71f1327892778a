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

}  // namespace

// Iterators outermost first, each at the middle of its range once it is done:
//
//   i in 0..N        middle (N - 1) / 2, width N
//   j in 0..i+1      bounds taken at i's middle: width (N + 1) / 2, the mean of the triangle's rows
//
// Not exact, and not meant to be: prices multiply these, and a mean is what a sum over
// iterations needs.
LoopExtents::LoopExtents(const ir::Program& program, const ir::Statement& statement,
                         const std::vector<ir::Affine>& rows) {
  const std::vector<std::string>& iterators = statement.iterators;
  std::map<std::string, double> at;
  for (const std::string& param : program.params) at[param] = kOpenSize;
  for (const auto& [name, value] : program.sizes) at[name] = static_cast<double>(value);
  for (std::size_t i = 0; i < iterators.size(); ++i) {
    const std::string& it = iterators[i];
    double low = 0, high = std::nan("");
    bool has_low = false, is_bounded_below = false;
    std::vector<std::size_t> bounded_by;
    for (const ir::Constraint& constraint : statement.domain) {
      const double factor = static_cast<double>(constraint.expr.coefficient(it));
      if (factor == 0) continue;
      const double rest =
          value_at(constraint.expr - ir::Affine::symbol(it) * constraint.expr.coefficient(it), at);
      if (std::isnan(rest)) continue;  // of an iterator further inside
      for (std::size_t outer = 0; outer < i; ++outer)
        if (constraint.expr.uses(iterators[outer])) {
          bounded_by.push_back(outer);
          is_bounded_below = is_bounded_below || factor > 0;
        }
      const double bound = -rest / factor;
      if (factor > 0 || constraint.equality)
        low = has_low ? std::max(low, bound) : bound, has_low = true;
      if (factor < 0 || constraint.equality)
        high = std::isnan(high) ? bound : std::min(high, bound);
    }
    if (std::isnan(high)) high = low + kOpenSize - 1;
    at[it] = (low + high) / 2;
    middle_.push_back(std::max(0.0, high - low + 1));
    bounded_by_.push_back(std::move(bounded_by));
    is_bounded_below_.push_back(is_bounded_below);
  }
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
  std::size_t moving = 0;
  bool is_bounded = false;
  for (std::size_t i = 0; i < is_bounded_below_.size(); ++i) {
    if (rows_[row][i] == 0) continue;
    ++moving;
    is_bounded = is_bounded || is_bounded_below_[i];
  }
  return moving > 1 || is_bounded;
}

bool LoopExtents::is_box() const {
  return std::ranges::all_of(bounded_by_, [](const auto& outer) { return outer.empty(); });
}

double LoopExtents::points() const {
  double product = 1;
  for (const double extent : middle_) product *= extent;
  return product;
}

// What `extent` finds where iterators are independent of one another, as most are: many
// orders are priced.
double LoopExtents::extent_in_box(std::size_t row, const std::vector<KnownRow>& known) const {
  double steps = std::max(1.0, middle_[iterator_of_[row]]) - 1;
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

// Of each iterator: from its middle, the range of those that it depends on added.
// How far an iterator moves while those outside move freely (`known` empty), or only within what
// `known` leaves.
std::vector<double> LoopExtents::widths(const std::vector<KnownRow>& known, bool are_widest) const {
  std::vector<double> widths;
  const auto box = [&](std::size_t i, const std::vector<double>& outside) {
    double width = std::max(1.0, middle_[i]);
    for (const std::size_t outer : bounded_by_[i])
      width = std::max(width, std::max(1.0, middle_[i]) + (outside[outer] - 1) / 2);
    return width;
  };
  for (std::size_t i = 0; i < middle_.size(); ++i) widths.push_back(box(i, widths));
  if (known.empty()) return widths;
  const std::vector<double> alone = widths;
  for (std::size_t i = 0; i < middle_.size(); ++i) {
    Coefficients self(middle_.size(), 0);
    self[i] = 1;
    widths[i] = box(i, are_widest ? alone : widths);
    widths[i] = 1 + width(std::move(self), widths, known);
  }
  return widths;
}

// Multiples of what is known are taken away, the best first, as long as that leaves less.
// The row's range given the known rows: of = sum of c_i * i moves by sum |c_i| (w_i - 1).
// Subtracting f times a known row leaves the same range, for that row stands still (but for its
// slack, which counts |f| times):
//
//   row t + i, known t     ->  i:      N values in place of T + N - 1
//
// Greedy: the multiple that leaves least, then again, as Gauss would take pivots but never
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
