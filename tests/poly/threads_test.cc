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
  CHECK(static_cast<bool>(
      schedule::replay(program, *script, schedule::wide_machine(), {schedule::ProofLevel::Full, {}})));
}

}  // namespace polyte::poly
