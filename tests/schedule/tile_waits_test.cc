// What tiles wait for beside their steps: loads in two lines, runs that begin, lines that are
// fetched ahead.
#include <doctest/doctest.h>

#include <string>

#include "schedule/cost/step_cost.h"
#include "schedule/cost/tile_ahead.h"
#include "schedule/cost/tile_choice.h"
#include "tests/schedule/chosen_tile.h"

using namespace polyte;
using schedule::choice_of;

namespace {

std::string order_of(const schedule::TileChoice& choice) {
  std::string text;
  for (const auto& loop : choice.order) text += loop.name + " ";
  return text;
}

// Rows of A, a few of each of 30 matrices B whose lines have n elements.
schedule::TileChoice batched(std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::string rows = std::to_string(m), columns = std::to_string(n),
                    steps = std::to_string(k);
  return choice_of("program batched()\n  in  A: f32[30, " + rows + ", " + steps +
                       "]\n  in  B: f32[30, " + steps + ", " + columns + "]\n  out C: f32[30, " +
                       rows + ", " + columns + "]\n  C[b, m, n] = sum[k] A[b, m, k] * B[b, k, n]\n",
                   1, {{"b", 30}, {"m", m}, {"n", n}, {"k", k}}, schedule::narrow_machine());
}

}  // namespace

TEST_CASE("a load that lies in two lines is two loads") {
  // B's lines begin on vectors, or anywhere; a tile of one row loads one of its vectors per sum.
  const auto cycles = [](std::int64_t columns) {
    const std::string n = std::to_string(columns);
    const auto program = schedule::bound_program(
        "program product()\n  in  A: f32[96, 64]\n  in  B: f32[64, " + n +
            "]\n  out C: f32[96, 96]\n  C[m, n] = sum[k] A[m, k] * B[k, n]  for m in 0..96, n in "
            "0..96\n",
        {});
    const ir::Statement* const init = &program->statements[0];
    const auto nest =
        schedule::nest_accesses(*program, program->statements[1], std::span(&init, 1),
                                {{"m", 96, false}, {"n", 96, false}, {"k", 64, true}});
    const schedule::StepCost cost(nest, program->statements[1], schedule::narrow_machine());
    return cost.cycles({1, 0, 3, {}}, {1, 8});
  };
  CHECK(cycles(96) == cycles(104));
  CHECK(cycles(99) > 1.05 * cycles(96));
  CHECK(cycles(100) < cycles(99));  // every second of them begins on a vector
}

TEST_CASE("a few rows of each matrix stay in registers for all steps where its lines are short") {
  const auto short_lines = batched(8, 48, 150), long_lines = batched(4, 2000, 150);
  CHECK(short_lines.block.empty());
  CHECK(short_lines.row == "m");
  CHECK(long_lines.block == "k");
}

TEST_CASE("pixels of all channels along a line are one walk") {
  const auto pool = choice_of(R"(
program pool()
  in  x: f32[67, 102, 79]
  out y: f32[65, 100, 79]
  y[i, j, c] = max[r in 0..2, s in 0..2] x[i + r, j + s, c]
)",
                              1, {{"i", 65}, {"j", 100}, {"c", 79}, {"r", 2}, {"s", 2}},
                              schedule::narrow_machine());
  CHECK(pool.lane == "c");
  CHECK(order_of(pool).ends_with("c.o "));
}

TEST_CASE("tiles: what each tile of a column would fetch once more is not fetched ahead") {
  const auto program = schedule::bound_program(R"(
program depthwise()
  in  x: f32[300, 202, 20]
  in  w: f32[300, 3, 3]
  out y: f32[300, 100, 9]
  y[c, i, j] = sum[r, s] x[c, 2*i + r, 2*j + s] * w[c, r, s]
)",
                                               {});
  const ir::Statement* const init = &program->statements[0];
  const auto nest = schedule::nest_accesses(
      *program, program->statements[1], std::span(&init, 1),
      {{"c", 300, false}, {"i", 100, false}, {"j", 9, false}, {"r", 3, true}, {"s", 3, true}});
  // 27 lines per tile, which the other columns share.
  CHECK(schedule::operands_ahead(nest, {{1, 13, 1, 3, 3}, {0, 2, 1}, {}, false}, 1e6,
                                 schedule::narrow_machine())
            .empty());
}
