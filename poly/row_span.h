// What rows of a statement say of its iterators: linear combinations of them, by elimination.
#pragma once

#include <string>
#include <vector>

#include "ir/affine.h"

namespace polyte::poly {

class RowSpan {
 public:
  explicit RowSpan(const std::vector<std::string>& iterators) : iterators_(iterators) {}

  // False where the row is a combination of those before it.
  bool add(const ir::Affine& row);

  // Each iterator as a combination of the rows: iterator i = sum of result[i][r] * row r, constants
  // left out. 0 for rows that say nothing new, and for iterators that the rows do not determine.
  std::vector<std::vector<double>> inverse() const;

 private:
  struct Line {
    std::vector<double> iterators, rows;  // sum of iterators = sum of rows
    std::size_t pivot = 0;                // the iterator that this line alone has, with factor 1
  };
  std::vector<std::string> iterators_;
  std::vector<Line> lines_;
  std::size_t count_ = 0;  // of rows
};

}  // namespace polyte::poly
