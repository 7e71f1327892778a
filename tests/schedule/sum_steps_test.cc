// The steps of sums over several loops: blocks of the outermost, the shortest written out.
#include "schedule/cost/short_steps.h"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "schedule/cost/reduction_blocks.h"
#include "tests/schedule/chosen_tile.h"

using namespace polyte;
using schedule::choice_of;

TEST_CASE("a sum over several loops in blocks of the outermost, the shortest written out") {
  const std::map<std::string, std::int64_t> extents{{"b", 64}, {"h", 7}, {"q", 7}, {"o", 8},
                                                    {"c", 64}, {"d", 8}, {"r", 3}, {"s", 3}};
  const auto choice = choice_of(R"(
program conv()
  in    x: f32[64, 9, 9, 8]
  const w: f32[64, 512, 3, 3, 8]
  out   y: f32[64, 7, 7, 8]
  y[b, h, q, o] = sum[c in 0..64, d, r, s] x[c, h + r, q + s, d] * w[b, 8*c + d, r, s, o]
)",
                                1, extents, schedule::narrow_machine());
  CHECK(choice.lane == "o");
  CHECK(choice.tile.rows == 3);  // blocks of channels inside: each pixel is loaded once
  CHECK(choice.tile.outer_rows == 4);
  CHECK(choice.block == "c");
  CHECK(choice.order.at(1) == schedule::PlannedLoop{"c.o", "c"});
  CHECK(choice.written_out == std::set<std::string>{"s"});
}

TEST_CASE("no blocks where nothing that the steps read moves with the lanes") {
  const auto program = schedule::bound_program(R"(
program sums()
  in  A: f32[64, 32, 8]
  out C: f32[64, 40]
  C[m, n] = sum[k, l] A[m, k, l]   for m in 0..64, n in 0..40, k in 0..32, l in 0..8
)",
                                               {});
  const Machine machine = schedule::narrow_machine();
  const schedule::TileQuestion question{.program = program.get(), .main = &program->statements[1]};
  const schedule::NestAccesses nest = schedule::nest_accesses(
      *program, *question.main, {},
      {{"m", 64, false}, {"n", 40, false}, {"k", 32, true}, {"l", 8, true}});
  schedule::TileCandidate candidate;
  candidate.at.lane = nest.loop_number("n");
  candidate.at.row = nest.loop_number("m");
  candidate.at.outer_row = nest.loops.size();
  candidate.tile = {4, 2, 1};
  CHECK(schedule::ReductionBlocks(question, nest, machine).in_l1(candidate).empty());
}

TEST_CASE("steps of few instructions are written out, those of many stay a loop") {
  const auto written_out = [](const std::string& value) {
    return choice_of(
               "program sums()\n  in  A: f32[64, 8, 40]\n  out C: f32[64, 40]\n"
               "  C[m, n] = sum[k] " +
                   value + "\n",
               1, {{"m", 64}, {"n", 40}, {"k", 8}}, schedule::narrow_machine())
        .written_out;
  };
  CHECK(written_out("A[m, k, n]") == std::set<std::string>{"k"});
  CHECK(written_out("exp(A[m, k, n] * 2)").empty());
}

TEST_CASE("a sum over a middle dimension has all lanes at once, where they fit, and walks on") {
  const auto choice_of_rows = [](std::int64_t images, std::int64_t lanes) {
    const std::string m = std::to_string(images), n = std::to_string(lanes);
    return choice_of("program sums()\n  in  A: f32[" + m + ", 128, " + n + "]\n  out C: f32[" + m +
                         ", " + n + "]\n  C[m, n] = sum[k] A[m, k, n]\n",
                     1, {{"m", images}, {"k", 128}, {"n", lanes}}, schedule::narrow_machine());
  };
  const std::int64_t l = schedule::narrow_machine().lanes(DType::F32);
  const auto whole = choice_of_rows(200, 12 * l);  // from beyond the second cache
  CHECK(whole.lane == "n");
  CHECK(whole.row.empty());
  CHECK(whole.tile.vectors == 12);
  CHECK(whole.block.empty());
  // Rows that do not fit into registers, or end within a vector: blocks of steps walk along them.
  for (const std::int64_t lanes : {40 * l, 12 * l + 3}) {
    const auto choice = choice_of_rows(200, lanes);
    CHECK(choice.row.empty());
    CHECK(choice.block == "k");
    REQUIRE(choice.order.size() == 3);
    CHECK(choice.order.back().iterator == "n");
  }
}

TEST_CASE("a matrix that few rows multiply is read along its rows, a few at a time") {
  const auto product = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    const std::string rows = std::to_string(m), columns = std::to_string(n),
                      steps = std::to_string(k);
    return choice_of("program product()\n  in  A: f32[" + rows + ", " + steps + "]\n  in  B: f32[" +
                         steps + ", " + columns + "]\n  out C: f32[" + rows + ", " + columns +
                         "]\n  C[m, n] = sum[k] A[m, k] * B[k, n]\n",
                     1, {{"m", m}, {"n", n}, {"k", k}}, schedule::narrow_machine());
  };
  for (const std::int64_t m : {1, 2, 4}) {
    CAPTURE(m);
    const auto choice = product(m, 2048, 1000);
    CHECK(choice.lane == "n");
    CHECK(choice.tile.rows * choice.tile.outer_rows == m);
    CHECK(choice.block == "k");
    CHECK(choice.block_size == 8);
    CHECK(choice.order.front() == schedule::PlannedLoop{"k.o", "k"});
  }
  // Many rows share what is fetched; near ones are not waited for.
  CHECK(product(64, 2048, 1000).block_size != 8);
  CHECK(product(1, 128, 128).block.empty());
}
