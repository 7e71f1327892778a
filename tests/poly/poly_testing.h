// What the tests of the poly scheduler share.
#pragma once

#include "poly/auto_schedule.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::poly {

// What it writes for a Program on a wide machine, proved and executed.
inline std::string script_of(const char* text, const ir::Values& sizes) {
  const auto program = schedule::bound_program(text, sizes);
  const auto script = auto_schedule(*program, schedule::wide_machine(), {});
  REQUIRE_MESSAGE(static_cast<bool>(script), (script ? std::string() : script.error().reason));
  return schedule::checked_text(program, *script);
}

}  // namespace polyte::poly
