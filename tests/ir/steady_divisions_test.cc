// Divisions that change once are planned as the value that they have most often.
#include "ir/steady_divisions.h"

#include <doctest/doctest.h>

#include "ir/program_text.h"

namespace polyte::ir {
namespace {

std::string planned(const std::string& statements) {
  const auto program = with_steady_divisions(parse_program(
      "program p()\n  in    x: f32[100]\n  inout z: f32[100]\n  out   y: f32[100]\n" + statements,
      "test"));
  if (!program) return "";
  const std::string text = print(*program);
  return text.substr(text.find("y[j]"), text.find("  for j") - text.find("y[j]"));
}

}  // namespace

TEST_CASE("steady divisions: one change, the longer side counts") {
  CHECK(planned("  y[j] = x[(j + 37) % 100]  for j in 0..100\n") == "y[j] = x[j + 37]");
  CHECK(planned("  y[j] = x[(j + 63) % 100]  for j in 0..100\n") == "y[j] = x[j - 37]");
  CHECK(planned("  y[j] = x[(j + 99) // 100]  for j in 0..100\n") == "y[j] = x[1]");
}

TEST_CASE("steady divisions: others are left as they are") {
  // Never changes: simplified.
  CHECK(planned("  y[j] = x[j % 50 + j // 50]  for j in 0..50\n").empty());
  CHECK(planned("  y[j] = x[j % 10]  for j in 0..100\n").empty());  // changes nine times
  // Is written.
  CHECK(planned("  y[j] = z[(j + 37) % 100]  for j in 0..100\n  z[j] = 0  for j in 0..100\n")
            .empty());
  CHECK(planned("  y[j] = sum[k in 0..5] x[(j + k) % 100]  for j in 0..100\n").empty());
}

}  // namespace polyte::ir
