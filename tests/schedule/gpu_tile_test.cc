// gpu_tile: the nest, executed and proved; refused in these words.
#include "schedule/script/holes.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::gpu_tile_test {

namespace {

const char* const kCube = R"(
program cube(M, N, K)
  in  x: i32[M, N, K]
  out y: i32[M, N, K]
  y[i, j, t] = x[i, j, t] + 1
)";

// Rows of a triangle, each with the sum of another one.
const char* const kTriangle = R"(
program triangle(M)
  in  x: i32[M, M]
  out y: i32[M, M]
  y[i, j] = sum[k] x[i, k] * x[k, j]  for i in 0..M, j in 1..i+1, k in 0..j
)";

// i has to run outside k.
const char* const kTurned = R"(
program turned(M, N)
  inout A: i32[4, N + 1, M]
  A[i, k, j] = A[i-1, k+1, j] + 1  for i in 1..4, k in 0..N, j in 0..M
)";

const ir::Values kDense = {{"M", 7}, {"N", 9}, {"K", 10}}, kSmall = {{"M", 7}, {"N", 9}};
const std::vector<ir::Values> kDenseSizes = {kDense, {{"M", 8}, {"N", 8}, {"K", 4}}};
const std::vector<ir::Values> kBlurSizes = {kSmall, {{"M", 1}, {"N", 1}}, {{"M", 8}, {"N", 4}}};

std::string refusal_of(const char* text, const ir::Values& sizes, const std::string& lines) {
  const auto program = bound_program(text, sizes);
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Directive, {}});
  REQUIRE(!state);
  CHECK(has(state.error().directive, "gpu_tile"));
  return state.error().headline;
}
std::string rows_of(const State& state, const std::string& statement) {
  std::string text;
  for (const LoopRow& row : state.at(statement).rows)
    text += row.loop + " = " + ir::to_string(row.value) + "  ";
  return text;
}
std::string dense(const std::string& lines) { return refusal_of(kDenseRelu, kDense, lines); }
std::string cube(const std::string& lines) { return refusal_of(kCube, kDense, lines); }

}  // namespace

TEST_CASE("gpu_tile is printed as it is read") {
  check_reads_back("gpu_tile y: (i, j) by (16, 2*F)");
  check_reads_back("gpu_tile (i) by (64) as lane");
  const Script script =
      parse_script("schedule s/1 for p  f32  exact\ngpu_tile y (i, j) by (?, 16) as t\n", "s");
  CHECK(has(print(script), "\ngpu_tile y: (i, j) by (?, 16) as t\n"));
  CHECK(has_holes(script));
}

TEST_CASE("gpu_tile: tiles are blocks, their points one loop of threads") {
  CHECK(nest_of(kBlur, kSmall, "compute_inline bx\ngpu_tile y (u, x) by (4, 2)") ==
        "block u.o > block x.o > thread t > y");
  CHECK(nest_of(kBlur, kSmall, "compute_inline bx\ngpu_tile y (x) by (4)") ==
        "u > block x.o > thread x.i > y");
  CHECK(nest_of(kCube, kDense, "gpu_tile (t, j) by (4, 2) as p") ==
        "i > block t.o > block j.o > thread p > y");
  // What stands between the loops goes between blocks and threads.
  CHECK(nest_of(kCube, kDense, "gpu_tile (i, t) by (4, 2) as p") ==
        "block i.o > block t.o > j > thread p > y");
  CHECK(nest_of(kCube, kDense, "bind i to block\ngpu_tile (j, t) by (4, 2) as t") ==
        "block i > block j.o > block t.o > thread t > y");
  CHECK(nest_of(kDenseRelu, kDense,
                "merge acc.init, acc.update, y through n\ngpu_tile (m, n) by (4, 2)") ==
        "block m.o > block n.o > thread t > { acc.init; k > acc.update; y }");
}

TEST_CASE("gpu_tile says what split, reorder, fuse and bind say") {
  const auto program = bound_program(kDenseRelu, kDense);
  const State tiled = state_of(program, "gpu_tile y (m, n) by (4, 2)");
  const State said = state_of(program,
                              "split y: m by 4, n by 2\nreorder y: m.o > n.o > m.i > n.i\n"
                              "fuse y: m.i, n.i as t\nbind y: m.o, n.o to block\n"
                              "bind y: t to thread");
  CHECK(print_nest(tiled.tree) == print_nest(said.tree));
  CHECK(rows_of(tiled, "y") == "m.o = m//4  n.o = n//2  t = n % 2 + 2*(m % 4)  ");
  CHECK(rows_of(tiled, "y") == rows_of(said, "y"));
}

TEST_CASE("gpu_tile computes what the reference does") {
  check_proved(kDenseRelu, kDenseSizes,
               "gpu_tile acc.init (m, n) by (4, 2)\ngpu_tile acc.update (n, m) by (3, 4)\n"
               "gpu_tile y (n) by (4)");
  check_proved(kDenseRelu, kDenseSizes,
               "merge acc.init, acc.update, y through n\ngpu_tile (m, n) by (4, 3)\n"
               "stage acc at n.o in register");
  check_proved(kBlur, kBlurSizes, "compute_inline bx\ngpu_tile y (u, x) by (4, 16) as u");
  check_proved(kCube, kDenseSizes, "gpu_tile (t, i, j) by (4, 3, 2)");
  check_proved(kCube, kDenseSizes, "gpu_tile y (i, t) by (2, 3) as i\nsplit j by 4\nunroll j.i");
  check_proved(kTriangle, {{{"M", 7}}, {{"M", 1}}, {{"M", 8}}},
               "gpu_tile y.init (j, i) by (2, 3)\ngpu_tile y.update (i, j) by (3, 4)");
}

TEST_CASE("gpu_tile: a producer in shared memory has threads of its own") {
  check_proved(kBlur, kBlurSizes,
               "gpu_tile y (u, x) by (2, 4)\ncompute_at bx at y:x.o\nstage bx at y:x.o in shared\n"
               "fuse bx: u, x as e\nbind bx: e to thread");
}

TEST_CASE("gpu_tile: lines that mean nothing") {
  CHECK(dense("gpu_tile y (m, n) by (4)") == "gpu_tile has 2 loops and 1 sizes");
  CHECK(dense("gpu_tile y (m, m) by (4, 4)") == "gpu_tile names m twice");
  CHECK(dense("gpu_tile y (m, n) by (4, 0)") == "the size is 0, expected 1 or more");
  CHECK(dense("gpu_tile y (m, n) by (64, 32)") ==
        "a tile has 64 * 32 points, a thread each: a block has 1024 threads at the most");
  CHECK(dense("gpu_tile y (m, n) by (4611686018427387904, 8)") ==
        "a tile has 4611686018427387904 * 8 points, a thread each: a block has 1024 threads at "
        "the most");
  CHECK(dense("gpu_tile y (m, k) by (4, 4)") == "y has no loop k (its loops are m, n)");
  CHECK(dense("gpu_tile acc (m, n) by (4, 4)") == "m is ambiguous: say acc.init:m, acc.update:m");
  CHECK(cube("split i by 2\ngpu_tile (i.o, i.i, j, t) by (2, 2, 2, 2)") ==
        "a grid has 3 axes, got 4 loops: fuse two before");
  CHECK(cube("split i by 2\nbind i.o, i.i to block\ngpu_tile (j, t) by (2, 2)") ==
        "a grid has 3 axes, got 2 loops inside 2 of blocks: fuse two before");
}

TEST_CASE("gpu_tile: loops that have a kind, names that are taken, nests that are none") {
  CHECK(dense("bind y: m to block\ngpu_tile y (m, n) by (4, 4)") ==
        "block m has its kind already: gpu_tile takes serial loops");
  CHECK(cube("unroll j\ngpu_tile (i, t) by (4, 4)") ==
        "[j] has its kind already: gpu_tile takes serial loops");
  CHECK(cube("bind t to thread\ngpu_tile (i, j) by (4, 4)") ==
        "thread t is inside j, whose iterations would be threads already");
  CHECK(cube("parallel i\ngpu_tile (j, t) by (4, 4)") ==
        "j is inside par i: loops around blocks are serial, a launch per iteration");
  CHECK(cube("bind i to block\ngpu_tile (t) by (4)") ==
        "t is inside j, which is inside block i: expected loops of blocks directly within each "
        "other");
  CHECK(dense("merge acc.init, acc.update through m\nbind acc.update: m to block\n"
              "gpu_tile acc.update (n) by (4)") ==
        "n stands beside others inside block m: expected loops of blocks directly within each "
        "other");
  CHECK(cube("gpu_tile (i, j) by (4, 4)") ==
        "y has a loop t already: give the loop of threads a name, as NAME");
  CHECK(dense("merge acc.init, acc.update through m\ngpu_tile acc.update (m, n) by (4, 4)") ==
        "m holds more than one loop: gpu_tile takes a perfect nest");
  CHECK(dense("reorder acc.update: k > m > n\nplace acc.init when first k\n"
              "merge acc.init, acc.update through n\ngpu_tile acc.update (k, m) by (4, 4)") ==
        "acc.init is placed in an iteration of k: gpu_tile comes before");
  CHECK(dense("merge acc.init, acc.update through n\ngpu_tile acc.update (m, n) by (4, 4)") ==
        "m is shared with acc.init: split it for all of its statements");
}

TEST_CASE("gpu_tile: loops that are not parallel, and an order that breaks a dependence") {
  const auto headline = [](const char* text, const ir::Values& sizes, const std::string& line) {
    const auto program = bound_program(text, sizes);
    const auto state =
        replay(program, script_of(*program, line), test_machine(), {ProofLevel::Directive, {}});
    REQUIRE(!state);
    CHECK(has(state.error().directive, "gpu_tile"));  // there, and not at the end
    return (state.error().kind == RefusalKind::Illegal ? "illegal: " : "") + state.error().headline;
  };
  CHECK(headline(kDenseRelu, kDense, "gpu_tile acc.update (m, k) by (4, 4)") ==
        "illegal: block loop k.o carries a dependence through acc[0, 0]");
  CHECK(headline(kDenseRelu, kDense, "gpu_tile acc.update (k) by (16)") ==
        "illegal: thread loop k.i carries a dependence through acc[0, 0]");
  for (const std::string line :
       {"gpu_tile A (i, j) by (4, 4) as p", "gpu_tile A (j, i) by (4, 4) as p",
        "gpu_tile A (j) by (4)", "gpu_tile A (t) by (4)"}) {
    CAPTURE(line);
    CHECK(has(headline(kSeidel, {{"T", 3}, {"N", 9}}, line), "illegal: "));
  }
  // One block, threads that do not race: k would run outside i.
  CHECK(headline(kTurned, kSmall, "gpu_tile (i, j) by (4, 4)") ==
        "illegal: a value would be read before it is written");
  CHECK(problem_of(bound_program(kTurned, kSmall), "gpu_tile (j) by (4)", ProofLevel::Full) == "");
}

}  // namespace polyte::schedule::gpu_tile_test
