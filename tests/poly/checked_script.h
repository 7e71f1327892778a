// A script of `poly`, checked all round: it reads back as it prints and leads to the same loops,
// both judges call it legal, and the nest has the reference's bits.
#pragma once

#include "poly/auto_schedule.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::poly {

inline Machine cores(int count) {
  Machine machine = schedule::test_machine();
  machine.cores = count;
  machine.l2.bytes = 1 << 20;
  machine.l3.bytes = 8 << 20;
  return machine;
}

// A factorisation with the steps around their updates.
inline constexpr const char* kRightLooking = R"(program lu(N)
  inout A: f64[N, N]
  loop k in 0..N
    S0: A[i, k] = A[i, k] / A[k, k]    for i in k+1..N
    S1: A[i, j] -= A[i, k] * A[k, j]   for i in k+1..N, j in k+1..N
)";

inline Machine one_core() { return cores(1); }
// Whose second cache holds no tensor, as if all were large.
inline Machine small_cache() {
  Machine machine = one_core();
  machine.l2.bytes = 8;
  return machine;
}

// Planned at large sizes, proved and run at small ones.
inline std::string planned_large(const std::string& text, const ir::Values& large_sizes,
                                 const ir::Values& small_sizes, const Machine& machine,
                                 const PolyOptions& options = {}) {
  const auto large = schedule::bound_program(text, large_sizes);
  auto script = auto_schedule(*large, machine, options);
  REQUIRE_MESSAGE(static_cast<bool>(script), (script ? std::string() : script.error().reason));
  const std::string printed = schedule::print(*script);
  CAPTURE(printed);
  script->digest.clear();
  const auto small = schedule::bound_program(text, small_sizes);
  const auto state = schedule::replay(small, *script, machine, {schedule::ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
  return printed;
}

inline std::string checked_script(const std::string& text, const ir::Values& sizes,
                                  const PolyOptions& options = {},
                                  const Machine& machine = one_core()) {
  const auto program = schedule::bound_program(text, sizes);
  const auto script = auto_schedule(*program, machine, options);
  REQUIRE_MESSAGE(static_cast<bool>(script), (script ? std::string() : script.error().reason));
  const std::string printed = schedule::print(*script);
  CAPTURE(printed);
  const schedule::Script read = schedule::parse_script(printed, "poly");
  CHECK(schedule::print(read) == printed);
  const auto direct = schedule::replay(program, *script, machine, {schedule::ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(direct), (direct ? std::string() : direct.error().headline));
  const auto again = schedule::replay(program, read, machine, {schedule::ProofLevel::Off, {}});
  REQUIRE(static_cast<bool>(again));
  CHECK(schedule::print_nest(direct->tree) == schedule::print_nest(again->tree));
  CHECK(schedule::joined_problems(schedule::compare_with_reference(*direct)) == "");
  return printed;
}

}  // namespace polyte::poly
