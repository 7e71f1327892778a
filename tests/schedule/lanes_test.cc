// Which loops a scheduler may take as lanes, and that the templates ask.
#include "schedule/cost/lanes.h"

#include <doctest/doctest.h>

#include "ir/program_text.h"
#include "schedule/templates/templates.h"
#include "tests/schedule/chosen_tile.h"
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

TEST_CASE("lanes: subscripts from data, along with it and beside it") {
  constexpr const char* kGather = R"(
program gather()
  in  t: f32[8, 16]
  in  k: i32[4]
  out y: f32[4, 16]
  y[i, j] = t[k[i], j]
)";
  CHECK(lanes(kGather, "i"));
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

TEST_CASE("lanes: channels of a group find in one place what they share") {
  constexpr const char* kGroups = R"(
program groups()
  in    x: f32[94, 27, 13]
  const w: f32[96, 47, 3, 3]
  out   y: f32[96, 25, 11]
  y[c, h, q] = sum[d in 0..47, r in 0..3, s in 0..3] x[d + 47*(c//48), h + r, q + s] * w[c, d, r, s]
)";
  const auto program = schedule::bound_program(kGroups, {});
  const auto carries = [&](std::int64_t vector) {
    return schedule::can_carry_lanes(*program, program->statements.back(), "c", vector);
  };
  CHECK_FALSE(carries(1));
  CHECK(carries(16));
  CHECK_FALSE(carries(32));
  // Eleven of sixteen lanes along a row, all of them along channels, in tiles that lie in a group.
  const auto choice = schedule::choice_of(
      kGroups, 1, {{"c", 96}, {"h", 25}, {"q", 11}, {"d", 47}, {"r", 3}, {"s", 3}});
  CHECK(choice.lane == "c");
  CHECK(48 % (choice.tile.vectors * 16) == 0);
  // Tiles from the fifth channel on lie across groups.
  std::string later = kGroups;
  later.insert(later.find_last_not_of('\n') + 1, "  for c in 5..96, h in 0..25, q in 0..11");
  CHECK(schedule::choice_of(later, 1,
                            {{"c", 91}, {"h", 25}, {"q", 11}, {"d", 47}, {"r", 3}, {"s", 3}})
            .lane == "q");
}

namespace {

constexpr const char* kTurn = R"(
program turn(M, N)
  in  x: f32[N, M]
  in  v: f32[M, N]
  out y: f32[M, N]
  y[m, n] = x[n, m] + v[m, n]
)";
constexpr const char* kRows = R"(
program rows(M, N)
  in  x: f32[M, N]
  out t: f32[M]
  out y: f32[M]
  t[i] = sum[j] x[i, j]
  y[i] = t[i] / f32(N)
)";

// With lanes enough that elements put together one by one cost more than squares.
Machine wide_machine() {
  Machine machine = schedule::test_machine();
  machine.vector_bits = 512;
  return machine;
}

std::string template_nest(const char* text, const ir::Values& sizes) {
  const auto program = schedule::bound_program(text, sizes);
  const auto script = schedule::make_template(*program, wide_machine());
  REQUIRE(script);
  const auto state =
      schedule::replay(program, *script, wide_machine(), {schedule::ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
  return schedule::print_nest(state->tree);
}

}  // namespace

TEST_CASE(
    "lanes: what strides along them is transposed along the loop along which it does not stride") {
  const auto turn = schedule::bound_program(kTurn, {{"M", 20}, {"N", 20}});
  CHECK(schedule::turning_loop(*turn, turn->statements[0], "n") == "m");
  CHECK(schedule::turning_loop(*turn, turn->statements[0], "m") == "n");
  const auto rows = schedule::bound_program(kRows, {{"M", 20}, {"N", 20}});
  CHECK(schedule::turning_loop(*rows, rows->statements[1], "i") == "j");
  CHECK(schedule::turning_loop(*rows, rows->statements[1], "j") == "");
  const auto both = schedule::bound_program(R"(
program both()
  in  x: f32[20, 20, 20]
  out y: f32[20, 20, 20]
  y[a, b, c] = x[c, b, a] + x[a, c, b]
)",
                                            {});
  CHECK(schedule::turning_loop(*both, both->statements[0], "c") == "");
}

TEST_CASE("lanes: templates read rows and turn them, and keep the order of sums") {
  const ir::Values large = {{"M", 21}, {"N", 19}};
  CHECK(template_nest(kTurn, large).find("[m.i] > <n.i> > y") != std::string::npos);
  CHECK(template_nest(kRows, large).find("<i.i> > t.init; j.o > [j.i] > <i.i> > t.update") !=
        std::string::npos);
  CHECK(template_nest(kTurn, {{"M", 2}, {"N", 19}}).find("[m.i]") == std::string::npos);
  CHECK(template_nest(kRows, {{"M", 21}, {"N", 2}}).find("[j.i]") == std::string::npos);
}

TEST_CASE(
    "lanes: phases of a loop that subscripts divide by two to four carry them, others leave it "
    "serial") {
  const auto phases = [](const char* text) {
    const auto program = schedule::bound_program(text, {});
    const auto found = schedule::lane_phases(*program, program->statements[0]);
    return found ? found->loop + " " + std::to_string(found->count) : "";
  };
  constexpr const char* kFour =
      "program p()\n  in  x: f32[8, 4]\n  out y: f32[8, 16]\n  y[h, w] = x[h, w // 4] + w % 2\n";
  constexpr const char* kThree =
      "program p()\n  in  x: f32[8, 8]\n  out y: f32[8, 24]\n  y[h, w] = x[h, w // 3]\n";
  constexpr const char* kFive =
      "program p()\n  in  x: f32[8, 8]\n  out y: f32[8, 40]\n  y[h, w] = x[h, w // 5]\n";
  CHECK(phases(kUpsample) == "w 2");
  CHECK(phases(kFour) == "w 4");
  CHECK(phases(kThree) == "w 3");
  CHECK(phases(kFive).empty());
  CHECK(phases(kTurn).empty());
  const auto script = [](const char* text) {
    const auto made =
        schedule::make_template(*schedule::bound_program(text, {}), schedule::test_machine());
    REQUIRE(made);
    return schedule::print(*made);
  };
  CHECK(script(kUpsample).find("[w.i] > <w.o.i> > y") != std::string::npos);
  // By as much as a vector: in a block of so many the quotient stands still.
  constexpr const char* kGrid =
      "program p()\n  in  x: f32[8, 4]\n  out y: f32[8, 32]\n  y[h, w] = x[h, w // 8] + f32(w % "
      "8)\n";
  const auto block = [](const char* text, std::int64_t lanes) {
    const auto program = schedule::bound_program(text, {});
    const ir::Statement* const only = &program->statements[0];
    return schedule::lane_block(*program, {&only, 1}, "w", lanes).value_or(0);
  };
  CHECK(block(kGrid, 4) == 8);
  CHECK(block(kGrid, 16) == 8);
  CHECK(block(kGrid, 32) == 0);  // too few of a vector's lanes
  CHECK(block(kTurn, 4) == 0);
  CHECK(script(kGrid).find("h > w.o > <w.i> > y") != std::string::npos);
  CHECK(script(kThree).find("[w.i] > <w.o.i> > y") != std::string::npos);
  CHECK(script(kFive).find("<w") == std::string::npos);
  // Squares as wide as a line that is shorter than a vector.
  constexpr const char* kLines =
      "program p()\n  in  x: f32[3, 40]\n  out y: f32[40, 3]\n  y[k, i] = x[i, k]\n";
  CHECK(script(kLines).find("Side = 4") != std::string::npos);
  CHECK(script(kLines).find("k.o > [k.i] > <i> > y") != std::string::npos);
  CHECK(schedule::square_side(5, 16) == 8);
  CHECK(schedule::square_side(8, 16) == 8);
  CHECK(schedule::square_side(17, 16) == 16);
  CHECK(schedule::square_side(1, 16) == 1);
}

TEST_CASE("lanes: squares step where the lines that wait for the next do not crowd the cache") {
  const Machine machine = schedule::wide_machine();
  const auto stepping = [&](std::int64_t m, std::int64_t n) {
    const auto program = schedule::bound_program(
        "program p(M, N)\n  in  x: f32[N, M]\n  out y: f32[M, N]\n  y[m, n] = x[n, m]\n",
        {{"M", m}, {"N", n}});
    return schedule::stepping_loop(*program, program->statements[0], "n", "m", 16, machine);
  };
  CHECK(stepping(500, 501) == "m");    // nothing crowds: each line is complete when it is written
  CHECK(stepping(1000, 1024) == "n");  // rows of y are 4 KiB apart
  CHECK(stepping(1024, 1040) == "m");  // those of x are
  CHECK(stepping(1024, 1024) == "n");  // both: what is written comes from memory first
  CHECK(stepping(1000, 1152) == "n");  // eight sets
  // Past the caches:
  CHECK(stepping(8192, 128) == "n");   // eight sets weigh more
  CHECK(stepping(4000, 4000) == "m");  // nothing crowds
}
