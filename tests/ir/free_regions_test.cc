// Regions whose loops order nothing are taken away, all others stay.
#include "ir/free_regions.h"

#include <doctest/doctest.h>

#include "ir/program_text.h"

namespace polyte::ir {
namespace {

std::optional<FreeRegions> freed(const std::string& statements) {
  return without_regions(parse_program(R"(
program p()
  in    A: f32[8, 8]
  in    B: f32[8, 8]
  in    v: f32[16]
  inout C: f32[8, 8]
  inout D: f32[8, 8]
  inout u: f32[16]
)" + statements,
                                       "test"));
}

const Statement& statement(const FreeRegions& regions, const char* name) {
  return regions.program.statement(name);
}

TEST_CASE("free regions: iterations that write elements of their own, terms of a sum") {
  const auto rows = freed("  loop m in 0..8\n    C[m, n] = sum[k] A[m, k] * B[k, n]\n");
  REQUIRE(rows);
  CHECK(statement(*rows, "C.update").region_depth == 0);
  CHECK(statement(*rows, "C.update").iterators == std::vector<std::string>{"m", "n", "k"});
  CHECK(statement(*rows, "C.update").reductions == std::vector<std::string>{"k"});
  REQUIRE(rows->shared.size() == 1);
  CHECK(rows->shared[0].iterator == "m");

  const auto terms = freed("  C[m, n] = 0\n  loop k in 0..8\n    C[m, n] += A[m, k] * B[k, n]\n");
  REQUIRE(terms);
  CHECK(statement(*terms, "C.update").reductions == std::vector<std::string>{"k"});
  CHECK(terms->shared.empty());  // the loop is the update's alone
  CHECK(terms->program.order.size() == 2);

  const auto outer = freed(
      "  u[i] = 0    for i in 0..8\n"
      "  loop t in 0..4\n    u[i] += A[t, k]    for i in 0..8, k in 0..8\n");
  REQUIRE(outer);  // the terms' order stays: all of t = 0 come first
  CHECK(statement(*outer, "u.update").reductions == std::vector<std::string>{"t", "k"});

  const auto both = freed(
      "  loop m in 0..8\n    loop n in 0..8\n      C[m, n] = 0\n      loop k in 0..m\n"
      "        C[m, n] += A[m, k] * B[k, n]\n      D[m, n] = C[m, n] * 2\n");
  REQUIRE(both);
  REQUIRE(both->shared.size() == 2);  // innermost first
  CHECK(both->shared[0].iterator == "n");
  CHECK(both->shared[1].iterator == "m");
  CHECK(freed("  C[m, n] = 0\n  loop m in 0..8 step -1\n    D[m, n] = A[m, n]\n")
            .has_value());  // apart, whatever the order
}

TEST_CASE("free regions: what a loop orders stays in it") {
  for (const char* words : {
           // Reads the iteration before.
           "  loop t in 1..16\n    u[t] = u[t - 1] + v[t]\n",
           "  loop t in 0..8\n    u[i] = v[i] * 2    for i in 0..16\n",  // the last one counts
           // Of another iteration.
           "  loop m in 0..8\n    C[m, n] = A[m, n]\n    D[m, n] = C[7 - m, n]\n",
           // Of a later one.
           "  loop m in 0..8\n    u[m] = v[m]\n    S1: u[m + 8] = u[m] + v[m]\n",
           "  loop m in 0..8\n    u[m + i] += v[i]    for i in 0..8\n",  // they meet
           // A sum that reads itself.
           "  loop k in 0..16\n    u[i] += v[k] * u[i]    for i in 0..16\n",
           // While it grows.
           "  C[m, n] = 0\n  loop k in 0..8\n    C[m, n] += A[m, k]\n    D[m, k] = C[m, 0]\n",
           // From the end.
           ("  u[i] = 0    for i in 0..16\n"
            "  loop k in 0..16 step -1\n    u[i] += v[k]    for i in 0..16\n"),
           "  C[m, n] = A[m, n]\n",  // no region
       }) {
    CAPTURE(words);
    CHECK_FALSE(freed(words));
  }
}

}  // namespace
}  // namespace polyte::ir
