// Rows of a recurrence, several side by side.
#include <array>

#include "poly/auto_schedule.h"
#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

namespace {

// Its elements grow with each row: what is run is of few, so that all values are exact integers.
// The terms of row i are those of the rows before it, from `begin`, up to `behind` before.
std::string substitution(int first, int begin, int behind, const std::string& after) {
  return "program rows(N)\n  in    L: f64[N, N]\n  in    b: f64[N]\n  out   x: f64[N]\n"
         "  S0: x[i] = b[i]\n  loop i in " +
         std::to_string(first) + "..N\n    S1: x[i] -= L[i, j] * x[j]   for j in " +
         std::to_string(begin) + "..i - " + std::to_string(behind - 1) + "\n" + after;
}

std::string printed(const std::string& text, std::int64_t rows) {
  const auto program = schedule::bound_program(text, {{"N", rows}});
  const auto script = auto_schedule(*program, schedule::wide_machine(), {});
  REQUIRE(static_cast<bool>(script));
  return schedule::print(*script);
}

}  // namespace

TEST_CASE("substitution in a triangle adds up whole vectors of terms for eight rows together") {
  const std::string text = substitution(0, 0, 1, "    S2: x[i] = x[i] * 2\n");
  CHECK(has(printed(text, 2000),
            "i.o > { [i.i] > <j.i> > x_v.init; j.far > [i.i] > <j.i> > x_v.update.far; "
            "[i.i] > { j.near > <j.i> > x_v.update.near; [j.i] > S1; S2 } }"));
  planned_large(text, {{"N", 75}}, {{"N", 21}}, one_core());
}

TEST_CASE("rows and terms that begin anywhere, and end anywhere before the row") {
  for (const auto& [first, begin, behind] :
       {std::array{1, 0, 1}, std::array{5, 2, 3}, std::array{13, 0, 9}, std::array{3, 3, 1}}) {
    const std::string text = substitution(first, begin, behind, "");
    CAPTURE(text);
    CHECK(has(printed(text, 900), "x_v.update.far"));
    for (const std::int64_t rows : {66, 75, 80})
      planned_large(text, {{"N", rows}}, {{"N", rows - 56}}, one_core());
  }
}

TEST_CASE("few rows, and sums whose terms are not those before their row, stay as they are") {
  CHECK(!has(printed(substitution(0, 0, 1, ""), 40), ".far"));
  const std::string whole = R"(program rows(N)
  in    L: f64[N, N]
  inout x: f64[N]
  loop i in 0..N
    S1: x[i] -= L[i, j] * x[N - 1 - j]   for j in 0..N
)";
  CHECK(!has(printed(whole, 900), ".far"));
  checked_script(whole, {{"N", 75}});
}

}  // namespace polyte::poly
