// A product of matrices, and what may follow it, in flat subscripts. Rows may be longer than what
// is read of them, come in reverse, begin late, overlap their neighbours, or be read beyond their
// ends: some are digits, and some only look like it.
#include <algorithm>

#include "driver/judge/fuzz/random_styles.h"

namespace polyte::fuzz {
namespace {

// Row i and column j of a matrix lie at stride * i + begin + j of one dimension.
struct Matrix {
  std::string name;
  int rows = 1, columns = 1, stride = 1;  // stride: from row to row
  int begin = 0;                          // of the first column
  bool reversed = false;

  int extent() const { return rows * std::max(stride, columns); }
  std::string at(const std::string& row, const std::string& column) const {
    const std::string first = reversed ? std::to_string(stride * (rows - 1)) + " - " : "";
    return first + std::to_string(stride) + "*" + row + " + " + column +
           (begin > 0 ? " + " + std::to_string(begin) : "");
  }
  std::string element(const std::string& row, const std::string& column) const {
    return name + "[" + at(row, column) + "]";
  }
};

Matrix random_matrix(Random& random, const std::string& name, int rows, int columns) {
  Matrix m{name, rows, columns, columns};
  const int form = random.between(0, 99);
  if (form < 30) m.stride += random.between(1, 3), m.begin = random.between(0, m.stride - columns);
  if (form >= 90) m.stride = std::max(1, columns - 1);  // its rows overlap
  m.reversed = random.chance(15);
  return m;
}

std::string declared(const std::string& role, const std::string& type, const Matrix& m) {
  return "  " + role + " " + m.name + ": " + type + "[" + std::to_string(m.extent()) + "]\n";
}

}  // namespace

//   y[9*i + j] = sum[k in 0..6] p[6*i + k] * q[9*k + j]  for i in 0..7, j in 0..9
RandomProgram flat(Random& random) {
  static const std::vector<std::string> kTypes = {"f32", "f64", "i32"};
  const std::string type = random.pick(kTypes);
  const int m = random.between(1, 7), n = random.between(1, 9), k = random.between(1, 6);
  Matrix p = random_matrix(random, "p", m, k), q = random_matrix(random, "q", k, n);
  Matrix sum = random_matrix(random, random.chance(50) ? "t" : "y", m, n),
         y = random_matrix(random, "y", m, n);
  const bool follows = sum.name == "t";
  // Each element once.
  for (Matrix* written : {&sum, &y}) written->stride = std::max(written->stride, n);
  if (!follows) y = sum;
  const std::string terms = random.chance(20) ? "0..i + 1" : "0.." + std::to_string(k);
  if (terms == "0..i + 1") p.columns = p.stride = m, p.begin = 0, q.rows = m;
  std::string read = p.element("i", "k");
  if (random.chance(15)) read = "(p[" + p.at("i", "k") + " - 1] else 0)";
  const std::string ranges =
      "  for i in 0.." + std::to_string(m) + ", j in 0.." + std::to_string(n) + "\n";
  std::string text = "program f()\n" + declared("in   ", type, p) + declared("in   ", type, q) +
                     declared("out  ", type, y);
  text += "  " + sum.element("i", "j") + " = sum[k in " + terms + "] " + read + " * " +
          q.element("k", "j") + ranges;
  if (follows)
    text += "  " + y.element("i", "j") + " = " + sum.element("i", "j") + " * 2 + 1" + ranges;
  return {.text = text, .exact_sums = true};
}

}  // namespace polyte::fuzz
