// Which loops a scheduler may take as lanes, and that the templates ask.
#include "schedule/lanes.h"

#include <doctest/doctest.h>

#include "ir/program_text.h"
#include "schedule/templates/templates.h"
#include "tests/schedule/schedule_testing.h"

using namespace polyte;

namespace {

bool lanes(const std::string& text, const std::string& loop) {
  const auto program = schedule::bound_program(text, {});
  return schedule::can_carry_lanes(*program, program->statements.back(), loop);
}

constexpr const char* kUpsample = R"(
program upsample()
  in  x: f32[8, 8]
  out y: f32[8, 16]
  y[h, w] = x[h, w // 2]
)";

}  // namespace

TEST_CASE("lanes: a remainder does not advance evenly") {
  CHECK_FALSE(lanes(kUpsample, "w"));
  CHECK(lanes(kUpsample, "h"));
}

TEST_CASE("lanes: subscripts from data that moves along") {
  constexpr const char* kGather = R"(
program gather()
  in  t: f32[8, 16]
  in  k: i32[4]
  out y: f32[4, 16]
  y[i, j] = t[k[i], j]
)";
  CHECK_FALSE(lanes(kGather, "i"));
  CHECK(lanes(kGather, "j"));
}

TEST_CASE("lanes: borders are cut, strides are fine") {
  constexpr const char* kShift = R"(
program shift()
  in  x: f32[32]
  out y: f32[16]
  y[i] = (x[2*i - 1] else 0)
)";
  CHECK(lanes(kShift, "i"));
}

TEST_CASE("lanes: templates leave a loop serial that cannot carry them") {
  const auto program = schedule::bound_program(kUpsample, {});
  const auto script = schedule::make_template(*program, schedule::test_machine());
  REQUIRE(script);
  CHECK(schedule::print(*script).find("<w") == std::string::npos);
}
