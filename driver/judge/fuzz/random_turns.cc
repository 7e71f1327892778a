// Results that several definitions fill in turn, y[2*i + 1, 2*j], .., and what looks their elements
// up: all phases or some, in any order, one perhaps twice, at other ranges, or of what another
// wrote. Beside them what lies between the points of a coarse grid, g[x//8] and x % 8.
#include "driver/judge/fuzz/random_styles.h"

namespace polyte::fuzz {
namespace {

struct Phase {
  int row = 0, column = 0;
};

std::string multiple(int step, const std::string& iterator, int begin) {
  return (step == 1 ? "" : std::to_string(step) + "*") + iterator +
         (begin > 0 ? " + " + std::to_string(begin) : "");
}

}  // namespace

//   P0: y[i, 2*j] = a[i, j] + b[i, j]        for i in 0..3, j in 0..20
//   P1: y[i, 2*j + 1] = a[i + 1, j + 2]      for i in 0..3, j in 0..20
RandomProgram turns(Random& random) {
  static const std::vector<std::string> kTypes = {"f32", "f64", "i32", "i16", "u8"};
  const std::string type = random.pick(kTypes);
  const int rows = random.chance(60) ? 1 : 2, columns = random.between(2, 4),
            m = random.between(1, 3), n = random.between(1, 40);
  const int end_row = rows * m, end_column = columns * n;
  std::vector<Phase> phases;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) phases.push_back({row, column});
  if (random.chance(30)) random.shuffle(phases);
  if (random.chance(15)) phases.pop_back();
  if (random.chance(15)) phases.push_back(phases.front());
  const std::string shape = "[" + std::to_string(end_row) + ", " + std::to_string(end_column) + "]";
  std::string text = "program f()\n  in    a: " + type + "[" + std::to_string(m + 1) + ", " +
                     std::to_string(n + 2) + "]\n  in    b: " + type + "[" + std::to_string(m) +
                     ", " + std::to_string(n) + "]\n  inout y: " + type + shape + "\n";
  const bool looks_up = random.chance(60);
  if (looks_up)
    text += "  in    t: " + type + "[16]\n  in    k: i32" + shape + "\n  out   z: " + type + shape +
            "\n";
  text += "\n";
  const auto element = [&](const Phase& phase) {
    return "y[" + multiple(rows, "i", phase.row) + ", " + multiple(columns, "j", phase.column) +
           "]";
  };
  for (std::size_t p = 0; p < phases.size(); ++p) {
    static const std::vector<std::string> kValues = {"a[i, j] + b[i, j]", "a[i + 1, j + 2]",
                                                     "a[i, j + 1] * b[i, j]",
                                                     "max(b[i, j], a[i + 1, j])"};
    std::string value = random.pick(kValues);
    if (p > 0 && random.chance(15)) value += " + " + element(phases[p - 1]);
    const std::string last = std::to_string(random.chance(90) ? n : n - 1);
    text += "  P" + std::to_string(p) + ": " + element(phases[p]) + " = " + value +
            "  for i in 0.." + std::to_string(m) + ", j in 0.." + last + "\n";
  }
  if (random.chance(40)) {
    const int size = random.between(2, 4) * 4;
    const std::string by = std::to_string(size), cells = std::to_string(end_column / size + 2);
    text.insert(text.find("  inout y"),
                "  in    g: " + type + "[" + cells + "]\n  out   w: " + type + shape + "\n");
    text += "  w[u, x] = g[x//" + by + "] + g[x//" + by + " + 1] * " + type + "(x % " + by +
            ")  for u in 0.." + std::to_string(end_row) + ", x in 0.." +
            std::to_string(end_column) + "\n";
  }
  if (!looks_up) return {.text = text, .exact_sums = true};
  const std::string place = random.chance(50) ? "k[u, x] & 15" : "(k[u, x] & 7) + i32(x % 8)";
  text += "  place[u, x] = " + place + "  for u in 0.." + std::to_string(end_row) + ", x in 0.." +
          std::to_string(end_column) + "\n  z[u, x] = t[place[u, x]]" +
          (random.chance(50) ? " + y[u, x]" : "") + "\n";
  return {.text = text, .exact_sums = true};
}

}  // namespace polyte::fuzz
