// affine S: (i, j) by [[1, 1], [0, 1]] as (a, b):   i > j > S   ->   a > b > S
// with a = i + j, b = j. The matrix is unimodular: its determinant is 1 or -1, so that every
// integer point of the loops is one.
#include "schedule/script/primitives/remap.h"
#include "support/checked.h"

namespace polyte::schedule {

namespace {

using Matrix = std::vector<std::vector<std::int64_t>>;

// Laplace expansion along the first row: exponential, but matrices are as large as nests are deep
// (8 at most).
std::int64_t determinant(const Matrix& m) {
  if (m.empty()) return 1;
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < m.size(); ++c) {
    Matrix minor;
    for (std::size_t r = 1; r < m.size(); ++r) {
      minor.push_back(m[r]);
      minor.back().erase(minor.back().begin() + static_cast<std::ptrdiff_t>(c));
    }
    const std::int64_t term = m[0][c] == 0 ? 0 : checked_mul(m[0][c], determinant(minor));
    sum = checked_add(sum, c % 2 == 0 ? term : -term);
  }
  return sum;
}

Result<Matrix, Refusal> matrix_of(const AffineMap& directive, const PrimitiveContext& context) {
  const std::size_t n = directive.loops.size();
  Matrix matrix;
  for (const std::vector<Size>& row : directive.matrix) {
    matrix.emplace_back();
    for (const Size& size : row) {
      const auto value = evaluate(size, context);
      if (!value) return value.error();
      matrix.back().push_back(*value);
    }
    if (row.size() != n)
      return malformed("a row of the matrix has " + std::to_string(row.size()) +
                       " numbers, expected " + std::to_string(n));
  }
  if (matrix.size() != n || directive.names.size() != n)
    return malformed("affine takes " + std::to_string(n) + " loops, " +
                     std::to_string(matrix.size()) + " rows and " +
                     std::to_string(directive.names.size()) + " names: expected as many of each");
  if (n > 8) return malformed("affine takes at most 8 loops");
  const std::int64_t d = determinant(matrix);
  if (d != 1 && d != -1)
    return malformed("the matrix is not unimodular: its determinant is " + std::to_string(d) +
                     ", expected 1 or -1");
  return matrix;
}

// (2)*i + (-1)*j, the expression of a remap.
std::string row_text(const std::vector<std::int64_t>& row, const std::vector<std::string>& loops) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i] != 0)
      text +=
          (text.empty() ? "" : " + ") + std::string("(") + std::to_string(row[i]) + ")*" + loops[i];
  return text;
}

}  // namespace

Applied affine_map(const State& state, const AffineMap& directive,
                   const PrimitiveContext& context) {
  const auto matrix = matrix_of(directive, context);
  if (!matrix) return matrix.error();
  Remap remap;
  if (!directive.statement.empty()) remap.statements = {directive.statement};
  remap.loops = directive.names;
  remap.replaced = directive.loops;
  for (const auto& row : *matrix) remap.values.push_back({row_text(row, directive.loops)});
  return schedule::remap(state, remap, context);
}

}  // namespace polyte::schedule
