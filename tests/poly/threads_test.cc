// Every nest of some size has a loop for threads, as isl's order and the tiles leave it.
#include "tests/poly/poly_testing.h"

namespace polyte::poly {

using schedule::has;

TEST_CASE("a mean over pixels leaves a part of its channels to each thread") {
  const std::string script = script_of(schedule::kMean, {{"C", 6}, {"H", 32}});
  CHECK(has(script, "par c.o >"));
}

TEST_CASE("a product's panels are copied by all threads") {
  const auto program = schedule::bound_program(R"(
program product(N)
  in  A: f32[N, N]
  in  B: f32[N, N]
  out C: f32[N, N]
  C[m, n] = sum[k] A[m, k] * B[k, n]
)",
                                               {{"N", 512}});
  const auto script = auto_schedule(*program, schedule::wide_machine(), {});
  REQUIRE(static_cast<bool>(script));
  const std::string printed = schedule::print(*script);
  CAPTURE(printed);
  CHECK(has(printed, "parallel B.in:n.o"));
  CHECK(static_cast<bool>(schedule::replay(program, *script, schedule::wide_machine(),
                                           {schedule::ProofLevel::Full, {}})));
}

TEST_CASE("the panels of a temporary are written by what defines it: nothing is copied") {
  const auto program = schedule::bound_program(R"(
program dequantised(N)
  in  A: f32[N, N]
  in  B: i8[N, N]
  in  s: f32[N]
  out C: f32[N, N]
  b[k, n] = f32(B[k, n]) * s[n]
  C[m, n] = sum[k] A[m, k] * b[k, n]
)",
                                               {{"N", 512}});
  const auto script = auto_schedule(*program, schedule::wide_machine(), {});
  REQUIRE(static_cast<bool>(script));
  CHECK(has(schedule::print(*script), "stage b layout (k, n)"));
  CHECK(static_cast<bool>(schedule::replay(program, *script, schedule::wide_machine(),
                                           {schedule::ProofLevel::Full, {}})));
}

}  // namespace polyte::poly
