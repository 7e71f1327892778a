// A script of `poly`, checked all round: it reads back as it prints and leads to the same loops,
// both judges call it legal, and the nest has the reference's bits.
#pragma once

#include "poly/auto_schedule.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::poly {

inline Machine one_core() {
  Machine machine = schedule::test_machine();
  machine.cores = 1;
  machine.l2.bytes = 1 << 20;
  machine.l3.bytes = 8 << 20;
  return machine;
}

inline std::string checked_script(const std::string& text, const ir::Values& sizes,
                                  const PolyOptions& options = {}) {
  const auto program = schedule::bound_program(text, sizes);
  const auto script = auto_schedule(*program, one_core(), options);
  REQUIRE_MESSAGE(static_cast<bool>(script), (script ? std::string() : script.error().reason));
  const std::string printed = schedule::print(*script);
  CAPTURE(printed);
  const schedule::Script read = schedule::parse_script(printed, "poly");
  CHECK(schedule::print(read) == printed);
  const auto direct =
      schedule::replay(program, *script, one_core(), {schedule::ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(direct), (direct ? std::string() : direct.error().headline));
  const auto again = schedule::replay(program, read, one_core(), {schedule::ProofLevel::Off, {}});
  REQUIRE(static_cast<bool>(again));
  CHECK(schedule::print_nest(direct->tree) == schedule::print_nest(again->tree));
  CHECK(schedule::joined_problems(schedule::compare_with_reference(*direct)) == "");
  return printed;
}

}  // namespace polyte::poly
