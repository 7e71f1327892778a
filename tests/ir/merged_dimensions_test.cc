// Which dimensions merge, what becomes of the Program, and what keeps them apart.
#include "ir/merged_dimensions.h"

#include <doctest/doctest.h>

#include "ir/program_text.h"

namespace polyte::ir {
namespace {

std::optional<MergedDimensions> merged(const std::string& body, const std::string& y = "[7]") {
  const auto result = merged_dimensions(parse_program(
      "program p()\n  in x: f32[5, 6, 7]\n  in v: f32[6]\n  out y: f32" + y + "\n" + body, "test"));
  if (result) CHECK(verify(result->program).empty());
  return result;
}

std::string text_of(const std::string& body, const std::string& y = "[7]") {
  const auto result = merged(body, y);
  return result ? print(result->program) : "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("extents of 1 of which a shape does not say where they merge: nothing is") {
  const std::string over = "  for n in 0..3, c in 0..1, d2 in 0..1, h in 0..4, w in 0..2\n";
  const Program ranks = parse_program(
      "program p()\n  in v: f64[3, 1, 1, 4, 2]\n  out y: f64[3, 1, 1, 4, 2]\n"
      "  temp rank: i64[3, 1, 1, 4, 2]\n  temp place: i64[3, 1, 1, 4, 2]\n"
      "  rank[n, c, d2, h, w] = sum[r in 0..1] select(v[n, c, r, h, w] < v[n, c, d2, h, w], "
      "i64(1), 0)" +
          over +
          "  place[n, c, d2, h, w] = sum[d in 0..1] select(rank[n, c, d, h, w] == d2, i64(d), 0)" +
          over + "  y[n, c, d2, h, w] = v[n, c, place[n, c, d2, h, w], h, w]" + over,
      "test");
  CHECK_FALSE(merged_dimensions(ranks));
}

TEST_CASE("dimensions that are gone through together are one") {
  const auto last = merged("  y[i] = sum[j, k] x[i, j, k]\n", "[5]");
  REQUIRE(last);
  CHECK(says(print(last->program), "y[i] = sum[jk in 0..42] x[i, jk]"));
  REQUIRE(last->views.size() == 1);
  CHECK(last->views[0].shape == Extents{5, 42});
  REQUIRE(last->fused.size() == 1);
  CHECK(last->fused[0].statement == "y.update");
  CHECK(last->fused[0].iterators == std::vector<std::string>{"j", "k"});
  CHECK(says(text_of("  y[k] = max[i, j] x[i, j, k]\n"), "max[ij in 0..30] x[ij, k]"));
  CHECK(says(text_of("  y[j, k] = sum[i] x[i, j, k]\n", "[6, 7]"),
             "y[jk] = sum[i in 0..5] x[i, jk]"));
  CHECK(says(text_of("  y[] = sum[i, j, k] x[i, j, k]\n", "[]"), "sum[ijk in 0..210] x[ijk]"));
  // What is made of the sums goes the same way.
  const std::string chain =
      text_of("  t[j, k] = sum[i] x[i, j, k]\n  y[j, k] = t[j, k] * 2\n", "[6, 7]");
  CHECK_MESSAGE(says(chain, "y[jk] = t[jk] * 2"), chain);
}

TEST_CASE("a convolution by 1x1 is a product of whole images, however it is written") {
  const auto text_of_convolution = [](const std::string& statement) {
    const auto result = merged_dimensions(
        parse_program("program p()\n  in x: f32[4, 6, 7]\n  in w: f32[9, 4, 1, 1]\n"
                      "  out y: f32[9, 6, 7]\n  " +
                          statement + "\n",
                      "test"));
    REQUIRE(result);
    CHECK(verify(result->program).empty());
    return print(result->program);
  };
  CHECK(says(text_of_convolution("y[f, i, j] = sum[c] x[c, i, j] * w[f, c, 0, 0]"), "x[c, ij]"));
  const std::string with_taps = text_of_convolution(
      "y[f, i, j] = sum[c, r in 0..1, s in 0..1] x[c, i + r, j + s] * w[f, c, r, s]");
  CHECK_MESSAGE(says(with_taps, "y[f, ij] ="), with_taps);
}

TEST_CASE("what keeps dimensions apart") {
  CHECK(!merged("  y[j] = sum[i, k] x[i, j, k]\n", "[6]"));                    // no neighbours
  CHECK(!merged("  y[i] = sum[j, k] x[i, j, k] * v[j]\n", "[5]"));             // j by itself
  CHECK(!merged("  y[i] = sum[j, k in 0..6] x[i, j, k]\n", "[5]"));            // part of the rows
  CHECK(!merged("  y[i] = sum[j, k in 0..j] x[i, j, k]\n", "[5]"));            // a triangle
  CHECK(!merged("  y[i] = sum[k, j] x[i, j, k]\n", "[5]"));                    // another order
  CHECK(!merged("  y[i, j] = x[i, j, 0] * 2\n", "[5, 6]"));                    // no sum
  CHECK(!merged("  y[i, j] = sum[k, r in 0..2] x[i, j + r, k]\n", "[5, 5]"));  // taps
  // An iterator of a condition alone.
  CHECK(!merged("  y[i] = sum[j in 0..3, k in 0..3] (x[i, 0, 0] if k >= 2 else 1)\n", "[5]"));
  CHECK(!merged("  y[i] = sum[j, k] select(j < 3, x[i, j, k], 0)\n", "[5]"));
  CHECK(!merged("  t[i, j, k] = x[i, j, k] * v[j]\n  y[i] = sum[j, k] t[i, j, k]\n", "[5]"));
  CHECK(!merged("  loop t in 0..3\n    y[i] = sum[j, k] x[i, j, k]\n", "[5]"));
  // A first dimension may be taken in part.
  CHECK(
      says(text_of("  y[i] = sum[j in 0..4, k] x[i, j, k]\n", "[5]"), "sum[jk in 0..28] x[i, jk]"));
}

}  // namespace polyte::ir
