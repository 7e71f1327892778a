#include "ir/align_iterators.h"

#include <doctest/doctest.h>

#include "ir/program_text.h"

namespace polyte::ir {

namespace {

// The statements with other names; the same Program.
std::string aligned(const std::string& text) {
  const Program program = parse_program(text, "test");
  const Program result = align_iterators(program);
  CHECK(canonical_text(result) == canonical_text(program));
  CHECK(verify(result).empty());
  const std::string printed = print(result);
  return printed.substr(printed.find("\n\n") + 2);
}

}  // namespace

TEST_CASE("align iterators: a reader calls its loops as the writer does, and others step aside") {
  CHECK(
      aligned("program attention()\n"
              "  in  q: f32[3, 8, 4]\n"
              "  in  k: f32[3, 7, 4]\n"
              "  in  v: f32[3, 7, 5]\n"
              "  out y: f32[3, 8, 5]\n\n"
              "  t[b, m, n] = sum[d] q[b, m, d] * k[b, n, d]\n"
              "  top[i, j] = max[l] t[i, j, l]\n"
              "  e[i, j, l] = exp(t[i, j, l] - top[i, j])\n"
              "  y[b, m, n] = sum[l] e[b, m, l] * v[b, l, n]\n") ==
      "  t[b, m, n] = sum[d in 0..4] q[b, m, d] * k[b, n, d]  for b in 0..3, m in 0..8, n in 0..7\n"
      "  top[b, m] = max[n in 0..7] t[b, m, n]  for b in 0..3, m in 0..8\n"
      "  e[b, m, n] = exp(t[b, m, n] - top[b, m])  for b in 0..3, m in 0..8, n in 0..7\n  y[b, "
      "m, n2] = sum[n in 0..7] e[b, m, n] * v[b, n, n2]  for b in 0..3, m in 0..8, n2 in 0..5\n");
}

TEST_CASE("align iterators: loops that are swapped, and one that two dimensions want") {
  CHECK(aligned("program swapped()\n"
                "  in  x: f32[6, 5]\n"
                "  out y: f32[5, 6]\n\n"
                "  t[i, j] = x[i, j]\n"
                "  y[i, j] = t[j, i]\n") ==
        "  t[i, j] = x[i, j]  for i in 0..6, j in 0..5\n"
        "  y[j, i] = t[i, j]  for j in 0..5, i in 0..6\n");
  CHECK(aligned("program both()\n"
                "  in  x: f32[6]\n"
                "  out y: f32[6, 6]\n\n"
                "  t[i] = x[i]\n"
                "  y[a, b] = t[a] + t[b]\n") ==
        "  t[i] = x[i]  for i in 0..6\n"
        "  y[i, b] = t[i] + t[b]  for i in 0..6, b in 0..6\n");
}

TEST_CASE(
    "align iterators: numbers, sizes and skewed subscripts have no names, regions keep theirs") {
  const std::string edge =
      "program edge(N)\n"
      "  in  x: f32[N + 1]\n"
      "  out y: f32[N]\n\n"
      "  t[i] = x[i]\n"
      "  y[j] = t[N] + t[0] + t[j + 1]\n";
  CHECK(aligned(edge).find("y[j] = t[N] + t[0] + t[j + 1]") != std::string::npos);
  const std::string region =
      "program steps(N)\n"
      "  inout x: f32[N]\n\n"
      "  loop t in 0..4\n"
      "    s[i] = x[i]\n"
      "    x[j] = s[j]\n";
  CHECK(aligned(region).find("x[j] = s[j]") != std::string::npos);
}

}  // namespace polyte::ir
