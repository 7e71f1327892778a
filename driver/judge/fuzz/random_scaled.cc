// Products of matrices whose operands are computed where they are multiplied: converted, shifted,
// by functions that are expensive enough to be computed once, before (`precompute`). Two sums may
// have the same operand, over triangles or in a region. Rows or columns may be few, either operand
// transposed, and what is made of a sum may follow it: squares in registers, lanes across memory,
// sums whose ends move.
#include "driver/judge/fuzz/random_styles.h"

namespace polyte::fuzz {
namespace {

// X stands for the element; the search goes on behind what was put in.
std::string operand(Random& random, const std::string& element) {
  static const std::vector<std::string> kOperands = {
      "exp(X * 0.25)", "(1 / (X * X + 1))", "(sqrt(abs(X)) - 1)", "(tanh(X) * 3)", "(3 * X)", "X"};
  std::string text = random.pick(kOperands);
  for (std::size_t at = text.find('X'); at != std::string::npos;
       at = text.find('X', at + element.size()))
    text.replace(at, 1, element);
  return text;
}

}  // namespace

//   y[i, j] = sum[k in 0..20] exp(A[i, k] * 0.25) * (3 * B[k, j])  for i in 0..18, j in 0..24
//
// The functions make sums inexact in any order, hence a tolerance.
RandomProgram scaled(Random& random) {
  const std::string type = random.chance(50) ? "f32" : "f64";
  const int shape = random.between(0, 9);  // few rows, few columns, or neither
  const std::string m = std::to_string(shape < 2   ? random.between(1, 7)
                                       : shape < 4 ? random.between(18, 50)
                                                   : random.between(18, 26)),
                    n = std::to_string(shape >= 2 && shape < 4 ? random.between(1, 7)
                                                               : random.between(18, 26)),
                    k = std::to_string(random.between(18, 26));
  const bool is_triangle = random.chance(20), in_region = random.chance(15);
  const std::string row = random.chance(30) ? "A[k, i]" : "A[i, k]";
  const bool is_turned = random.chance(30), is_followed = !in_region && random.chance(30);
  const std::string end = random.chance(70) ? "i + 1" : "i//2 + 1";
  const std::string left = operand(random, row), terms = "0.." + (is_triangle ? end : k);
  const std::string last = is_triangle ? m : k;
  const auto array = [&](const std::string& role, const std::string& name, const std::string& rows,
                         const std::string& columns) {
    return "  " + role + " " + name + ": " + type + "[" + rows + ", " + columns + "]\n";
  };
  const auto sum = [&](const std::string& y, const std::string& b) {
    const std::string term = left + " * " + operand(random, b + (is_turned ? "[j, k]" : "[k, j]"));
    const std::string ranges = "  for i in 0.." + m + ", j in 0.." + n;
    if (in_region) return "    " + y + "[i, j] += " + term + ranges + ", k in " + terms + "\n";
    return "  " + y + "[i, j] = sum[k in " + terms + "] " + term + ranges + "\n";
  };
  const bool has_two = random.chance(40);
  const std::string role = in_region ? "inout" : "out  ";
  std::string text =
      "program f()\n" +
      (row == "A[i, k]" ? array("in   ", "A", m, last) : array("in   ", "A", last, m)) +
      (is_turned ? array("in   ", "B", n, last) : array("in   ", "B", last, n)) +
      array(is_followed ? "temp " : role, "y", m, n);
  if (is_followed) text += array("out  ", "v", m, n);
  if (has_two) text += array(role, "z", m, n);
  if (in_region) text += "  loop t in 0..2\n";
  text += sum("y", "B");
  if (has_two) text += sum("z", "B");
  if (is_followed) text += "  v[i, j] = y[i, j] * 0.5 - 1\n";
  const auto calls = [&](const char* function) { return text.find(function) != std::string::npos; };
  return {.text = text,
          .exact_sums = false,
          .tolerance = type == "f32" ? 1e-3 : 1e-11,
          .has_functions = calls("exp(") || calls("tanh(")};
}

}  // namespace polyte::fuzz
