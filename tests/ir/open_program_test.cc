// Programs of several sizes as one Program with the sizes open: affine functions and texts by hand,
// and what is refused.
#include <doctest/doctest.h>

#include "ir/open_program.h"
#include "ir/program_text.h"

using namespace polyte;
using namespace polyte::ir;

namespace {

// Base 7, one more, two more.
const SizePoints kOne{{"batch"}, {{7}, {8}, {9}}};
const SizePoints kTwo{{"M", "N"}, {{7, 16}, {8, 16}, {7, 17}, {9, 18}}};

// The Program for each point: `#0`, `#1` .. of the text are what `numbers` makes of the sizes.
using Numbers = std::function<std::vector<std::int64_t>(const std::vector<std::int64_t>&)>;
Result<Program> opened(const SizePoints& sizes, const std::string& text, const Numbers& numbers) {
  std::vector<Program> programs;
  for (const std::vector<std::int64_t>& point : sizes.points) {
    std::string filled = text;
    const std::vector<std::int64_t> values = numbers(point);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string hole = "#" + std::to_string(i);
      for (std::size_t at = filled.find(hole); at != std::string::npos; at = filled.find(hole))
        filled.replace(at, hole.size(), std::to_string(values[i]));
    }
    programs.push_back(parse_program(filled, "test"));
  }
  return open_program(sizes, std::vector<SizeRange>(sizes.symbols.size(), {1, 64}), programs);
}

const Numbers kSize = [](const std::vector<std::int64_t>& point) { return std::vector{point[0]}; };

std::string reason(const Result<Program>& result) {
  return result ? "opened:\n" + print(*result) : result.error().reason;
}

}  // namespace

TEST_CASE("fit: one affine function through all points, or none") {
  const auto text = [](const SizePoints& sizes, std::vector<std::int64_t> values) {
    const std::optional<Affine> found = fit(sizes, values);
    return found ? to_string(*found) : "none";
  };
  CHECK(text(kOne, {7, 8, 9}) == "batch");
  CHECK(text(kOne, {5, 5, 5}) == "5");
  CHECK(text(kOne, {20, 23, 26}) == "3*batch - 1");
  CHECK(text(kOne, {3, 4, 4}) == "none");     // batch // 2
  CHECK(text(kOne, {49, 64, 81}) == "none");  // its square
  CHECK(text(kTwo, {23, 24, 24, 27}) == "M + N");
  CHECK(text(kTwo, {112, 128, 119, 162}) == "none");  // M * N
  const SizePoints wide{{"n"}, {{10}, {20}, {30}}};
  CHECK(text(wide, {5, 10, 15}) == "none");  // n / 2 is no number for every n
}

TEST_CASE("programs that differ in sizes are one Program of those sizes") {
  const Result<Program> program =
      opened(kOne, R"(program p()
  in  x: f32[#0, 4]
  out y: f32[#0, 4]
  out z: f32[#1]
  y[i, j] = max(x[i, j], 0.5)
  z[i] = x[i - 2, 3] else 0 for i in 0..#1
)",
             [](const auto& point) { return std::vector{point[0], 2 * point[0] + 1}; });
  REQUIRE(program);
  CHECK(print(*program).starts_with("program p(batch) where batch >= 1 and batch <= 64\n"));
  for (const std::int64_t size : {1, 7, 50}) {
    const Program bound = bind(*program, {{"batch", size}});
    CHECK(constant_shape(bound.buffer("x")) == std::vector<std::int64_t>{size, 4});
    CHECK(constant_shape(bound.buffer("z")) == std::vector<std::int64_t>{2 * size + 1});
    CHECK(verify(bound).empty());
  }
}

TEST_CASE("several sizes; one that a Program does not use is its parameter all the same") {
  const std::string text = "program p()\n  in  x: f32[#0]\n  out y: f32[#0]\n  y[i] = x[i]\n";
  const Result<Program> program =
      opened(kTwo, text, [](const auto& point) { return std::vector{point[1]}; });
  REQUIRE(program);
  CHECK(program->params == std::vector<std::string>{"M", "N"});
  CHECK(program->buffer("x").shape[0] == Affine::symbol("N"));
}

TEST_CASE("what no size changes stays closed") {
  const Result<Program> program =
      opened(kOne, "program p()\n  in  x: f32[4]\n  out y: f32[4]\n  y[i] = x[i]\n", kSize);
  REQUIRE(program);
  CHECK(program->params.empty());
}

TEST_CASE("names of sizes give way to names of the Program") {
  const SizePoints sizes{{"x", "2nd-size"}, {{7, 3}, {8, 3}, {7, 4}, {9, 5}}};
  const Result<Program> program =
      opened(sizes, "program p()\n  in  x: f32[#0]\n  out y: f32[#0]\n  y[i] = x[i]\n", kSize);
  REQUIRE(program);
  CHECK(program->params == std::vector<std::string>{"x_", "N2nd_size"});
}

TEST_CASE("what is no affine function of the sizes is refused, with the lines") {
  CHECK(reason(opened(kOne, "program p()\n  in  x: f32[#0]\n  out y: f32[#0]\n  y[i] = x[i]\n",
                      [](const auto& point) { return std::vector{point[0] / 2}; })) ==
        "'in    x: f32[3]' where batch = 7, 'in    x: f32[4]' where batch = 8, 'in    x: f32[4]' "
        "where batch = 9");
  // A product of a size and an iterator.
  CHECK(reason(
            opened(
                kOne,
                "program p()\n  in  x: f32[700]\n  out y: f32[3]\n  y[i] = x[#0*i] for i in 0..3\n",
                kSize))
            .starts_with("a subscript is not affine: it is a product of a size and an iterator"));
  // A number with a point that changes with the size.
  CHECK(reason(opened(kOne, "program p()\n  in  x: f32[3]\n  out y: f32[3]\n  y[i] = x[i] * #0.5\n",
                      kSize))
            .find("where batch = 8") != std::string::npos);
  // Other statements.
  std::vector<Program> programs;
  for (const char* value : {"x[i]", "x[i]", "x[i] + 1"})
    programs.push_back(parse_program(
        "program p()\n  in  x: f32[3]\n  out y: f32[3]\n  y[i] = " + std::string(value) + "\n",
        "test"));
  CHECK_FALSE(open_program(kOne, std::vector<SizeRange>{{1, 64}}, programs));
}
