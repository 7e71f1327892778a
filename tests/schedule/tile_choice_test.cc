// Which loops become lanes, rows and panels, in which order the others run: what the machine's
// formulas must say of the structures that they are for.
#include "schedule/cost/tile_choice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>

#include "schedule/cost/streams.h"
#include "schedule/cost/tile_candidates.h"
#include "schedule/cost/traffic.h"
#include "tests/schedule/chosen_tile.h"

using namespace polyte;
using schedule::choice_of;

TEST_CASE(
    "tiles: channels are lanes where a row of pixels fills no vector, and weights wait in the "
    "second cache") {
  const auto choice =
      choice_of(R"(
program conv()
  in    x: f32[512, 9, 9]
  const w: f32[512, 512, 3, 3]
  in    b: f32[512]
  out   y: f32[512, 7, 7]
  acc[f, h, q] = sum[c in 0..512, r in 0..3, s in 0..3] x[c, h + r, q + s] * w[f, c, r, s]
    for f in 0..512, h in 0..7, q in 0..7
  y[f, h, q] = acc[f, h, q] + b[f]
)",
                1, {{"f", 512}, {"h", 7}, {"q", 7}, {"c", 512}, {"r", 3}, {"s", 3}});
  CHECK(choice.lane == "f");
  CHECK(choice.row == "q");
  CHECK(choice.outer_row == "h");  // seven rows alone leave registers idle
  CHECK(choice.tile.rows * choice.tile.outer_rows * choice.tile.vectors >= 24);
  CHECK(choice.packed.contains("w"));
  CHECK(choice.order.front() == schedule::PlannedLoop{"f.o", "f"});
}

TEST_CASE(
    "tiles: operands that no cache holds come in blocks of tiles, and no block of a sum is the "
    "innermost loop") {
  const auto product = [](std::int64_t size) {
    const std::string n = std::to_string(size);
    return choice_of("program product()\n  in  A: f64[" + n + ", " + n + "]\n  in  B: f64[" + n +
                         ", " + n + "]\n  out C: f64[" + n + ", " + n +
                         "]\n  C[m, n] = sum[k] A[m, k] * B[k, n]\n",
                     1, {{"m", size}, {"n", size}, {"k", size}});
  };
  const auto large = product(4000);
  REQUIRE(!large.in_blocks.empty());
  CHECK(large.block_tiles >= 2);
  const std::string tiles = schedule::tiles_of(large.in_blocks);
  const auto at = [&](const std::string& loop) {
    return std::ranges::find(large.order, schedule::PlannedLoop{loop, large.in_blocks});
  };
  REQUIRE(at(schedule::tiles_of(tiles)) != large.order.end());
  REQUIRE(at(schedule::within_tile(tiles)) != large.order.end());
  CHECK(at(schedule::tiles_of(tiles)) < at(schedule::within_tile(tiles)));
  for (const std::int64_t size : {96, 500, 1100, 4000}) {
    const auto choice = product(size);
    CHECK((choice.block.empty() || choice.order.back().iterator != choice.block));
  }
  CHECK(product(96).in_blocks.empty());
}

TEST_CASE("traffic: a block of tiles is fetched once, the other operand once for each block") {
  const auto program = schedule::bound_program(R"(
program product()
  in    A: f64[960, 240]
  in    B: f64[240, 800]
  out   C: f64[960, 800]
  C[m, n] = sum[k] A[m, k] * B[k, n]
)",
                                               {});
  const auto nest =
      schedule::nest_accesses(*program, program->statements[1], {},
                              {{"m", 960, false}, {"n", 800, false}, {"k", 240, true}});
  Machine machine = schedule::wide_machine();
  machine.l2.bytes = 512 << 10;
  const auto bytes = [&](std::vector<std::size_t> order, std::int64_t tiles) {
    constexpr double kRate = 16;  // beyond the second cache
    return kRate * schedule::traffic_cycles(
                       nest, {{6, 8, 240}, std::move(order), {"B"}, false, tiles}, machine)[1];
  };
  const double a = 960 * 240 * 8, b = 240 * 800 * 8, c = 960 * 800 * 8;
  CHECK(bytes({1, 0}, 0) == doctest::Approx(100 * a + b + c).epsilon(0.05));
  CHECK(bytes({0, 1, 0}, 16) == doctest::Approx(a + 10 * b + c).epsilon(0.05));
}

TEST_CASE(
    "tiles: long rows of pixels are lanes of a short reduction, whose results then leave in "
    "vectors") {
  const auto choice = choice_of(R"(
program conv()
  in    x: f32[64, 56, 56]
  const w: f32[64, 64, 1, 1]
  in    b: f32[64]
  out   y: f32[64, 56, 56]
  acc[f, h, q] = sum[c in 0..64] x[c, h, q] * w[f, c, 0, 0]   for f in 0..64, h in 0..56, q in 0..56
  y[f, h, q] = acc[f, h, q] + b[f]
)",
                                1, {{"f", 64}, {"h", 56}, {"q", 56}, {"c", 64}});
  CHECK(choice.lane == "q");
  CHECK(choice.row == "f");
  CHECK(choice.packed.contains("w"));
}

TEST_CASE("tiles: blocks of output channels share the pixels where lanes fill one vector") {
  const auto choice = choice_of(
      R"(
program conv()
  in    x: f32[16, 16, 16, 16]
  const w: f32[16, 16, 3, 3, 16, 16]
  out   y: f32[16, 14, 14, 16]
  y[f, h, q, g] = sum[c, r, s, d] x[c, h + r, q + s, d] * w[f, c, r, s, d, g]
)",
      1, {{"f", 16}, {"h", 14}, {"q", 14}, {"g", 16}, {"c", 16}, {"r", 3}, {"s", 3}, {"d", 16}});
  CHECK(choice.lane == "g");
  CHECK(choice.row == "f");
  CHECK(choice.tile.rows == 2);
  CHECK(choice.tile.outer_rows == 14);
}

TEST_CASE("tiles: lanes lie across memory where the result's rows fill no vector") {
  // 96 channels are six vectors, seven pixels not half of one.
  const auto narrow = choice_of(R"(
program conv()
  in    x: f32[61, 52, 11]
  in    w: f32[96, 61, 5, 5]
  out   y: f32[96, 48, 7]
  y[f, h, q] = sum[c, r, s] w[f, c, r, s] * x[c, h + r, q + s]
)",
                                1, {{"f", 96}, {"h", 48}, {"q", 7}, {"c", 61}, {"r", 5}, {"s", 5}});
  CHECK(narrow.lane == "f");
  const auto columns = choice_of(R"(
program product()
  in  A: f32[512, 333]
  in  B: f32[512, 7]
  out C: f32[333, 7]
  C[m, n] = sum[k] A[k, m] * B[k, n]
)",
                                 1, {{"m", 333}, {"n", 7}, {"k", 512}});
  CHECK(columns.lane == "m");
  CHECK(columns.row == "n");
}

TEST_CASE("tiles: where later rows move an end of the sum, what stands there has no single block") {
  const auto moves = [](const std::string& terms, bool is_followed) {
    const std::string sum = is_followed ? "t" : "y";
    const auto program = schedule::bound_program(
        "program p()\n  in  A: f64[60, 60]\n  in  B: f64[60, 40]\n  out y: f64[60, 40]\n  " + sum +
            "[i, j] = sum[k] A[i, k] * B[k, j]   for i in 0..60, j in 0..40, k in " + terms + "\n" +
            (is_followed ? "  y[i, j] = t[i, j] + 1\n" : ""),
        {});
    const ir::Statement& main = program->statements[1];
    schedule::TileQuestion question{.program = program.get(), .main = &main};
    for (const ir::Statement& s : program->statements)
      if (s.name != main.name) question.others.push_back(&s);
    const schedule::NestAccesses nest = schedule::nest_accesses(
        *program, main, question.others, {{"i", 60}, {"j", 40}, {"k", 60, true}});
    return schedule::ends_move(question, nest, {1, 0, nest.loops.size(), {}});  // lanes j, rows i
  };
  CHECK_FALSE(moves("0..60", true));
  CHECK_FALSE(moves("0..i + 1", false));  // nothing stands at that end
  CHECK(moves("0..i + 1", true));
  CHECK(moves("0..i//2 + 1", true));      // hidden in a division
  CHECK_FALSE(moves("i..60", true));      // the first row begins first, all end at once
  CHECK_FALSE(moves("0..60 - i", true));  // the first row ends last
  CHECK(moves("59 - i..60", false));      // later rows begin earlier, behind the initial value
}

TEST_CASE("tiles: rows are neighbours in memory, whichever index they are") {
  const auto choice = choice_of(R"(
program contraction()
  in    A: f32[32, 64, 32]
  in    B: f32[64, 32, 32]
  out   C: f32[32, 32, 32, 32]
  C[a, b, c, d] = sum[e] A[a, e, c] * B[e, b, d]
)",
                                1, {{"a", 32}, {"b", 32}, {"c", 32}, {"d", 32}, {"e", 64}});
  CHECK(choice.lane == "d");
  CHECK(choice.row == "c");
}

TEST_CASE("tiles: a triangle has tiles in blocks as a square has, of the loop that ends first") {
  const auto choice = choice_of(R"(
program syrk()
  in    A: f32[512, 512]
  inout C: f32[512, 512]
  S: C[i, j] += A[i, k] * A[j, k]   for i in 0..512, j in 0..i + 1, k in 0..512
)",
                                0, {{"i", 512}, {"j", 512}, {"k", 512}});
  CHECK(choice.lane == "j");
  CHECK(choice.row == "i");
  std::string order;
  for (const schedule::PlannedLoop& loop : choice.order) order += loop.name + " ";
  CHECK(order == "i.o.o j.o i.o.i ");
  CHECK(choice.packed.contains("A"));
}

TEST_CASE(
    "tiles: a guard on which all lanes agree stays where a copy would cost as much as the sums") {
  constexpr const char* kDepthwise = R"(
program depthwise()
  in    x: f32[4, 14, 14, 16]
  const w: f32[4, 3, 3, 16]
  out   y: f32[4, 14, 14, 16]
  y[c, h, q, g] = sum[r in 0..3, s in 0..3] (x[c, h + r - 1, q + s - 1, g] else 0) * w[c, r, s, g]
    for c in 0..4, h in 0..14, q in 0..14, g in 0..16
)";
  const auto choice =
      choice_of(kDepthwise, 1, {{"c", 4}, {"h", 14}, {"q", 14}, {"g", 16}, {"r", 3}, {"s", 3}});
  CHECK(choice.lane == "g");
  CHECK(choice.in_place.contains("x"));
}

TEST_CASE(
    "tiles: rows are the pixels whose taps share what they read, as many as leave registers for "
    "it") {
  const auto choice = choice_of(R"(
program depthwise()
  in    x: f32[4, 58, 58, 16]
  const w: f32[4, 3, 3, 16]
  out   y: f32[4, 56, 56, 16]
  y[c, h, q, g] = sum[r in 0..3, s in 0..3] x[c, h + r, q + s, g] * w[c, r, s, g]
    for c in 0..4, h in 0..56, q in 0..56, g in 0..16
)",
                                1, {{"c", 4}, {"h", 56}, {"q", 56}, {"g", 16}, {"r", 3}, {"s", 3}});
  CHECK(choice.lane == "g");
  CHECK(choice.row == "q");  // and not h, whose taps are not the innermost ones
  CHECK(choice.tile.rows > 8);
  CHECK(2 * choice.tile.rows <= schedule::wide_machine().vector_registers);
}

TEST_CASE(
    "tiles: lanes whose results lie on pages of their own are worth less than loads across lines") {
  const auto choice =
      choice_of(R"(
program conv()
  in    x: f32[256, 66, 66]
  const w: f32[128, 256, 3, 3]
  in    b: f32[128]
  out   y: f32[128, 64, 64]
  acc[f, h, q] = sum[c in 0..256, r in 0..3, s in 0..3] x[c, h + r, q + s] * w[f, c, r, s]
    for f in 0..128, h in 0..64, q in 0..64
  y[f, h, q] = acc[f, h, q] + b[f]
)",
                1, {{"f", 128}, {"h", 64}, {"q", 64}, {"c", 256}, {"r", 3}, {"s", 3}});
  CHECK(choice.lane == "q");
  CHECK(choice.row == "f");
}

TEST_CASE("traffic: a window that slides fetches what it has not seen") {
  const auto program = schedule::bound_program(R"(
program columns()
  in    x: f32[66, 4096]
  out   y: f32[64, 4096]
  y[h, q] = sum[r in 0..3] x[h + r, q]   for h in 0..64, q in 0..4096
)",
                                               {});
  const auto nest = schedule::nest_accesses(*program, program->statements[1], {},
                                            {{"h", 64, false}, {"q", 4096, false}, {"r", 3, true}});
  const auto cycles = [&](std::vector<std::size_t> order) {  // into the first cache
    return schedule::traffic_cycles(nest, {{1, 64, 3}, std::move(order), {}, false},
                                    schedule::wide_machine())[0];
  };
  const double down = cycles({1, 0}), along = cycles({0, 1});
  // Of x three rows for each of y, and not one: a row is longer than the cache.
  CHECK(along > 1.8 * down);
  CHECK(down < 1.1 * (66 + 64) * 4096 * 4 / 24);
}

TEST_CASE(
    "traffic: what a cache holds is fetched once, what it does not for each iteration around") {
  const auto program = schedule::bound_program(R"(
program product()
  in    A: f32[1024, 1024]
  in    B: f32[1024, 1024]
  out   C: f32[1024, 1024]
  C[i, j] = sum[k] A[i, k] * B[k, j]
)",
                                               {});
  const ir::Statement* const init = &program->statements[0];
  const auto nest =
      schedule::nest_accesses(*program, program->statements[1], std::span(&init, 1),
                              {{"i", 1024, false}, {"j", 1024, false}, {"k", 1024, true}});
  const auto cycles = [&](std::vector<std::size_t> order, std::set<std::string> packed) {
    return schedule::traffic_cycles(nest,
                                    {{14, 32, 1024}, std::move(order), std::move(packed), false},
                                    schedule::wide_machine());
  };
  const auto column_first = cycles({1, 0}, {"B"}), row_first = cycles({0, 1}, {"B"}),
             in_place = cycles({1, 0}, {});
  CHECK(column_first[1] < row_first[1]);  // a panel of B waits in the second cache while A streams
  // The lines of a column of B in place fall into few of its sets.
  CHECK(column_first[1] < in_place[1]);
}

namespace {

schedule::TileChoice pool_of(const std::string& channels, const std::string& shape,
                             bool channels_last) {
  const std::string x = channels_last ? "x[2*i + r, 2*j + s, c]" : "x[c, 2*i + r, 2*j + s]",
                    y = channels_last ? "y[i, j, c]" : "y[c, i, j]";
  return choice_of("program pool()\n  in x: f32[" + shape + "]\n  out y: f32[" +
                       (channels_last ? "100, 100, " + channels : channels + ", 100, 100") +
                       "]\n  " + y + " = max[r in 0..3, s in 0..3] " + x + "\n",
                   1, {{"c", std::stoll(channels)}, {"i", 100}, {"j", 100}, {"r", 3}, {"s", 3}});
}

}  // namespace

TEST_CASE(
    "tiles: windows that come from memory in short rows are fetched ahead, some rows at a time") {
  const auto far = pool_of("128", "128, 203, 203", false);
  REQUIRE(far.ahead.size() == 1);
  CHECK(far.ahead.front().operand == "x");
  CHECK(far.ahead.front().at == "j.o");
  CHECK(far.ahead.front().along.front() == 'i');  // or i.o
  CHECK(far.ahead.front().distance >= 1);
  CHECK(far.tile.rows <= 3);
  CHECK(pool_of("2", "2, 203, 203", false).ahead.empty());     // stays in the second cache
  CHECK(pool_of("128", "203, 203, 128", true).ahead.empty());  // rows of pages follow each other
}

namespace {

schedule::TileChoice product_of(const std::string& m, const std::string& n, const std::string& k) {
  return choice_of("program product()\n  in  A: f32[" + m + ", " + k + "]\n  in  B: f32[" + k +
                       ", " + n + "]\n  out C: f32[" + m + ", " + n +
                       "]\n  C[m, n] = sum[k] A[m, k] * B[k, n]\n",
                   1, {{"m", std::stoll(m)}, {"n", std::stoll(n)}, {"k", std::stoll(k)}},
                   schedule::narrow_machine());
}

}  // namespace

TEST_CASE("tiles: blocks of lanes around the only tile of the rows") {
  const auto few = product_of("8", "4096", "1024");
  std::string order;
  for (const auto& loop : few.order) order += loop.name + " ";
  CHECK(few.in_blocks == "n");
  CHECK(order == "n.o.o k.o m.o n.o.i ");
}

namespace {

struct StreamCase {
  std::vector<std::int64_t> shape, points;
  std::vector<std::size_t> order;
  std::int64_t bytes;
  double starts;
  schedule::StreamReach reach = schedule::kOfReads;
  std::int64_t block_tiles = 0;
};

// x[a, b, c] of f32 under loops a, b, c.
schedule::Streams streams_of(const StreamCase& each) {
  schedule::NestAccess access;
  access.shape = each.shape;
  access.strides = {each.shape[1] * each.shape[2], each.shape[2], 1};
  access.subscripts = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  schedule::NestAccesses nest;
  for (std::size_t l = 0; l < 3; ++l)
    nest.loops.push_back({std::string(1, "abc"[l]), each.shape[l]});
  nest.all = {access};
  return schedule::streams_of(
      nest.all[0], nest, {each.points, each.order, {}, false, each.block_tiles}, true, each.reach);
}

}  // namespace

TEST_CASE("traffic: what a cache holds does not come from beyond it") {
  const auto cycles = [](std::int64_t size) {
    const std::string n = std::to_string(size);
    const auto program = schedule::bound_program(
        "program scale()\n  in  x: f32[" + n + "]\n  out y: f32[" + n + "]\n  y[i] = x[i] * x[i]\n",
        {});
    const auto nest =
        schedule::nest_accesses(*program, program->statements[0], {}, {{"i", size, false}});
    return schedule::traffic_cycles(nest, {{16}, {0}, {}, false}, schedule::wide_machine());
  };
  const Machine machine = schedule::wide_machine();
  const auto first = cycles(machine.l1.bytes / 16), second = cycles(machine.l2.bytes / 16),
             third = cycles(machine.l3.bytes / 16), memory = cycles(machine.l3.bytes);
  CHECK(first == std::vector<double>{0, 0, 0});
  CHECK((second[0] > 0 && second[1] == 0 && second[2] == 0));
  CHECK((third[1] > 0 && third[2] == 0));
  CHECK(memory[2] > memory[1]);
}

TEST_CASE("traffic: rows that begin within lines take one more, and results are written once") {
  const auto nest_of = [](const std::string& width) {
    const auto program = schedule::bound_program("program sums()\n  in  x: f32[100, " + width +
                                                     ", 8]\n  out y: f32[100, " + width +
                                                     "]\n  y[i, j] = sum[k] x[i, j, k]\n",
                                                 {});
    return schedule::nest_accesses(
        *program, program->statements[1], std::array{&program->statements[0]},
        {{"i", 100, false}, {"j", std::stoll(width), false}, {"k", 8, true}});
  };
  const std::vector<std::int64_t> tile{4, 16, 8};
  const auto result = [](const schedule::NestAccesses& nest) {
    CHECK(std::ranges::count(nest.all, std::string("y"), &schedule::NestAccess::buffer) == 1);
    return *std::ranges::find(nest.all, std::string("y"), &schedule::NestAccess::buffer);
  };
  CHECK(result(nest_of("64")).footprint(tile, false, 64) == 4 * 64);
  CHECK(result(nest_of("63")).footprint(tile, false, 64) == 4 * (64 + 60));
  CHECK(result(nest_of("56")).footprint(tile, false, 64) == 4 * (64 + 32));  // every second row
}

TEST_CASE("streams: a loop goes on where the ones inside end, or begins elsewhere") {
  const std::vector<StreamCase> cases = {
      // From end to end.
      {{8, 100, 256}, {1, 1, 32}, {0, 1, 2}, 8 * 100 * 256 * 4, 1},
      // Four rows of 1 KiB at a time: as long as a row, for each of 8 * 25 tiles.
      {{8, 100, 256}, {1, 4, 32}, {0, 1, 2}, 1024, 4 * 8 * 25},
      // Two rows of 256 bytes lie together.
      {{8, 100, 64}, {1, 2, 32}, {0, 1, 2}, 8 * 100 * 64 * 4, 1},
      // The next row before this one's end.
      {{8, 100, 256}, {1, 1, 32}, {0, 2, 1}, 128, 8 * 8 * 100},
      // Rows far apart, each read on and on.
      {{8, 100, 256}, {4, 1, 32}, {0, 1, 2}, 100 * 256 * 4, 4 * 2},
      // The same in turns: written on where each ends, read anew each time.
      {{8, 100, 256}, {4, 1, 32}, {1, 2, 0}, 100 * 256 * 4, 4 * 2, schedule::kOfResults},
      {{8, 100, 256}, {4, 1, 32}, {1, 2, 0}, 128, 4 * 2 * 100 * 8},
      // Too many take turns.
      {{80, 100, 256}, {4, 1, 32}, {1, 2, 0}, 128, 4 * 20 * 100 * 8, schedule::kOfResults},
      // Blocks of five tiles along b: each row once.
      {{8, 100, 256}, {1, 4, 256}, {1, 0, 1}, 5 * 4 * 256 * 4, 8 * 5, schedule::kOfReads, 5}};
  for (const StreamCase& each : cases) {
    const schedule::Streams streams = streams_of(each);
    CHECK(streams.bytes == each.bytes);
    CHECK(streams.starts == each.starts);
  }
  const Machine machine = schedule::wide_machine();
  const schedule::Streams rows{1024, 1000};
  const double far = 4.0 * static_cast<double>(machine.l3.bytes);
  CHECK(schedule::start_cycles(rows, far, machine) >
        10 * schedule::start_cycles(rows, static_cast<double>(machine.l2.bytes), machine));
  CHECK(schedule::start_cycles(rows, 1000, machine) == 0);
}

TEST_CASE("tiles: a window over channels reads on, row behind row") {
  const auto choice = choice_of(R"(
program pool()
  in  x: f32[202, 202, 63]
  out y: f32[100, 100, 63]
  y[i, j, c] = max[r in 0..2, s in 0..2] x[2*i + r, 2*j + s, c]
)",
                                1, {{"i", 100}, {"j", 100}, {"c", 63}, {"r", 3}, {"s", 3}});
  CHECK(choice.lane == "c");
  // The order around the tile, whatever of i and j is its rows: j before i ends.
  std::vector<std::string> order;
  for (const schedule::PlannedLoop& loop : choice.order) order.push_back(loop.iterator);
  CHECK(std::ranges::find(order, "i") < std::ranges::find(order, "j"));
}

TEST_CASE("tiles: sixteen registers hold twelve sums, three vectors of lanes and a factor") {
  const auto choice = product_of("60", "120", "256");
  CHECK(choice.tile.rows == 4);
  CHECK(choice.tile.vectors == 3);
  CHECK(choice.written_out.empty());
}

TEST_CASE("tiles: rows of one group share what its channels read") {
  const std::map<std::string, std::int64_t> extents{{"o", 32}, {"h", 29}, {"q", 48},
                                                    {"c", 16}, {"r", 5},  {"s", 5}};
  const auto choice = choice_of(R"(
program groups()
  in    x: f32[2, 16, 33, 52]
  const w: f32[32, 16, 5, 5]
  out   y: f32[32, 29, 48]
  y[o, h, q] = sum[c, r, s] x[o//16, c, h + r, q + s] * w[o, c, r, s]
)",
                                1, extents, schedule::narrow_machine());
  CHECK(choice.lane == "q");
  CHECK(choice.row == "o");
  CHECK(16 % choice.tile.rows == 0);
}
