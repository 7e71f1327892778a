// How many values a row of a statement takes: alone the box around its domain, and fewer where rows
// outside are known.
//
//   rows t, t + i of (t, i) in 0..T x 0..N      t + i alone: T + N - 1       with t known: N
//                                               with t known up to a tile of 8: N + 7
//
// Bounds that depend on other iterators are taken in the middle of these; a triangle's row is
// half its box.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace polyte::poly {

struct KnownRow {
  std::size_t row = 0;
  double slack = 0;  // known up to so many values more; 0: exactly
};

class LoopExtents {
 public:
  // `rows` over the statement's iterators and the Program's sizes.
  LoopExtents(const ir::Program& program, const ir::Statement& statement,
              const std::vector<ir::Affine>& rows);

  double extent(std::size_t row, const std::vector<KnownRow>& known = {}) const;  // 1 at least
  // Where a triangle is widest.
  double widest(std::size_t row, const std::vector<KnownRow>& known) const;
  double middle(std::size_t row) const { return row_middles_[row]; }  // of its values
  bool begins_anywhere(std::size_t row) const;  // its first value depends on other iterators
  bool begins_by(std::size_t row, std::size_t other) const;  // on those that the other row moves
  bool is_box() const;                                       // no bound depends on another iterator
  double points() const { return points_; }                  // instances

 private:
  using Coefficients = std::vector<double>;  // by iterator
  std::vector<Coefficients> rows_;
  std::vector<double> row_middles_;
  double points_ = 0;
  std::vector<std::vector<bool>> bounds_below_;  // of each iterator, by which others
  // How many values an iterator takes where those outside are in their middle.
  std::vector<double> widths_at_middle_;
  std::vector<std::vector<std::size_t>> bounded_by_;  // iterators outside that its bounds depend on
  // By row, where each is one iterator of a box, up to its sign; else empty.
  std::vector<std::size_t> iterator_of_;

  std::vector<double> widths(const std::vector<KnownRow>& known, bool are_widest) const;
  double width(Coefficients of, const std::vector<double>& widths,
               const std::vector<KnownRow>& known) const;
  double extent_in_box(std::size_t row, const std::vector<KnownRow>& known) const;
  void find_iterators();
};

}  // namespace polyte::poly
