// Views: which flat subscripts are digits, with what constants, and that undoing a view gives
// back the Program.
#include "ir/views.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "ir/interpret.h"
#include "ir/program_text.h"

namespace polyte::ir {
namespace {

Program flat_program(const std::string& statements) {
  return parse_program(R"(
program p()
  in    A: f32[4096]
  in    B: f32[64, 64]
  in    at: i32[64]
  out   C: f32[4096]
)" + statements,
                       "test");
}

std::string views_of(const Program& program) {
  std::string text;
  for (const View& view : digits_apart(program)) {
    text += (text.empty() ? "" : "; ") + view.buffer;
    for (const std::int64_t extent : view.shape) text += " " + std::to_string(extent);
  }
  return text;
}
std::string views_of(const std::string& statements) { return views_of(flat_program(statements)); }

// What is written and read, in the view of C that there is.
std::string seen(const std::string& statements, const View& view) {
  const Program program = flat_program(statements);
  const Result<Program> result = with_view(program, view);
  if (!result) return result.error().reason;
  const std::vector<std::string> problems = verify(*result);
  CHECK_MESSAGE(problems.empty(), (problems.empty() ? "" : problems.front()));
  Program undone = *result;
  for (Statement& s : undone.statements)
    undo_view(*result, s, view.buffer, constant_shape(program.buffer(view.buffer)), view.shape);
  std::ranges::find(undone.buffers, view.buffer, &Buffer::name)->shape =
      program.buffer(view.buffer).shape;
  CHECK(equal(undone, program));
  return print(*result);
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("views: digits of flat subscripts") {
  CHECK(views_of("  C[64*i + j] = A[64*i + j]  for i in 0..64, j in 0..64\n") ==
        "A 64 64; C 64 64");
  CHECK(views_of("  C[512*i + 32*j + k] = A[512*i + k]  for i in 0..8, j in 0..16, k in 0..32\n") ==
        "A 8 512; C 8 16 32");
  // Strides within a row, rows counted from elsewhere or backwards, a window.
  CHECK(
      views_of(
          "  C[64*i + 2*j] = A[64*i + j + 3] + A[4032 - 64*i + j]  for i in 0..64, j in 0..32\n") ==
      "A 64 64; C 64 64");
  CHECK(views_of("  C[64*i + j] = A[64*i + 64*r + j + s]  for i in 0..60, j in 0..60, r in 0..3, s "
                 "in 0..3\n") == "A 64 64; C 64 64");
}

TEST_CASE("views: what only looks like digits") {
  CHECK(views_of("  C[64*i + j] = A[i]  for i in 0..63, j in 0..65\n").empty());  // carries
  CHECK(views_of("  C[16*i + j] = A[16*i + j]  for i in 0..64, j in 0..48\n").empty());
  CHECK(views_of("  C[4*i + j] = 0  for i in 0..1024, j in 0..4\n").empty());  // short rows
  // Rows do not fill it.
  CHECK(views_of("  C[60*i + j] = 0  for i in 0..60, j in 0..60\n").empty());
  // One element of each row.
  CHECK(views_of("  C[64*i] = A[64*i]  for i in 0..64\n").empty());
  CHECK(views_of("  C[64*i + j] = A[at[i]]  for i in 0..64, j in 0..64\n") == "C 64 64");
  CHECK(views_of("  C[i] = B[i // 64, i % 64]  for i in 0..4096\n").empty());
  // No digits are looked for where sums of coefficients would not fit; there is one k.
  Program large = flat_program("  C[64*i + j] = 0  for i in 0..64, j in 0..64, k in 0..1\n");
  Affine& subscript = large.statements[0].writes[0].indices[0].affine;
  subscript = subscript + Affine::symbol("k") * 6917529027641081856;
  CHECK(views_of(large).empty());
  // A padded read in front of each row but the first.
  CHECK(views_of("  C[64*i + j] = A[64*i + j - 1] else 0  for i in 0..64, j in 0..64\n") ==
        "C 64 64");
  // A tensor without elements: of extents below one no view is made.
  CHECK(views_of(parse_program(R"(
program p()
  out C: f32[0, 4096]
  C[h, 64*i + j] = 0  for h in 0..0, i in 0..64, j in 0..64
)",
                               "test"))
            .empty());
}

TEST_CASE("views: subscripts, and back") {
  const std::string text = seen(
      "  C[64*i + j] = 0  for i in 0..64, j in 0..64\n"
      "  C[4095 - 64*i - j] += A[j]  for i in 0..64, j in 0..64\n",
      {"C", {64, 64}});
  CHECK_MESSAGE(says(text, "C[i, j] = "), text);
  CHECK_MESSAGE(says(text, "C[63 - i, 63 - j] += "), text);
  CHECK(says(seen("  C[64*i + j] = A[32*j + i]  for i in 0..64, j in 0..64\n", {"A", {128, 32}}),
             "no digit"));
  const std::string padded = seen(
      "  C[64*i + j] = A[64*i + j - 128] else 0  for i in 0..64, j in 0..64\n", {"A", {64, 64}});
  CHECK_MESSAGE(says(padded, "A[i - 2, j]"), padded);
  CHECK(says(seen("  C[i] = A[64*(i // 64) + i % 64]  for i in 0..4096\n", {"A", {4, 1024}}),
             "no digit"));
  CHECK(says(seen("  C[i] = A[64*(i % 64) + i // 64]  for i in 0..4096\n", {"A", {64, 64}}),
             "A[i % 64, i//64]"));
}

TEST_CASE("views: neighbours among dimensions become one, and come apart again") {
  const std::string sum =
      seen("  C[64*i + j] = B[i, j]  for i in 0..64, j in 0..64\n", {"B", {4096}});
  CHECK_MESSAGE(says(sum, "B[64*i + j]"), sum);
  const std::string padded =
      seen("  C[64*i + j] = B[i - 1, j + 1] else 0  for i in 0..64, j in 0..64\n", {"B", {4096}});
  CHECK_MESSAGE(says(padded, "B[64*i + j - 63]"), padded);
  // Part of it is read from memory.
  CHECK(says(seen("  C[64*i + j] = B[at[i], j]  for i in 0..64, j in 0..64\n", {"B", {4096}}),
             "read from memory"));
  // A copy of the long rows has elements of all dimensions: those are found by division.
  const Program stored = parse_program(R"(
program p()
  in  x: f32[4, 6, 5]
  out y: f32[120]
  y[30*i + j] = x[i, j // 5, j % 5]  for i in 0..4, j in 0..30
)",
                                       "test"),
                long_rows = parse_program(R"(
program p()
  in  x: f32[4, 30]
  out y: f32[120]
  y[30*i + j] = x[i, j]  for i in 0..4, j in 0..30
)",
                                          "test");
  Statement statement = long_rows.statements.front();
  undo_view(long_rows, statement, "x", {4, 6, 5}, {4, 30});
  CHECK(equal(statement, stored.statements.front()));
}

TEST_CASE("views: shapes that are none") {
  const std::string copy = "  C[64*i + j] = B[i, j]  for i in 0..64, j in 0..64\n";
  for (const View& view : std::vector<View>{{"C", {4095}},
                                            {"C", {64, 65}},
                                            {"C", {}},
                                            {"B", {32, 128}},
                                            {"B", {4095}},
                                            {"C", {64, std::numeric_limits<std::int64_t>::max()}},
                                            {"C", {-64, -64}},
                                            {"C", {0, 4096}}})
    CHECK(says(seen(copy, view), "no factors"));
  CHECK(says(seen(copy, {"D", {64}}), "no tensor D"));
  CHECK(says(seen(copy, {"C", {1, 64, 1, 64, 1}}), "C[0, i, 0, j, 0] = "));
}

}  // namespace polyte::ir
