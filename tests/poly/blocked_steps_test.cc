// Recurrences in blocks of steps: what is planned at large sizes has the reference's bits
// at small ones.
#include <random>

#include "poly/auto_schedule.h"
#include "poly/state_price.h"
#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

namespace {

constexpr const char* kByRows = R"(program lu(N)
  inout A: f64[N, N]
  loop i in 0..N
    loop j in 0..i
      S0: A[i, j] -= A[i, k] * A[k, j]   for k in 0..j
      S1: A[i, j] = A[i, j] / A[j, j]
    S2: A[i, j] -= A[i, k] * A[k, j]     for j in i..N, k in 0..i
)";

constexpr const char* kTransposed = R"(program lu(N)
  inout A: f64[N, N]
  loop i in 0..N
    loop j in 0..i
      S0: A[j, i] -= A[k, i] * A[j, k]   for k in 0..j
      S1: A[j, i] = A[j, i] / A[j, j]
    S2: A[j, i] -= A[k, i] * A[j, k]     for j in i..N, k in 0..i
)";

constexpr const char* kTwoTensors = R"(program lu(N)
  in  A: f64[N, N]
  out L: f64[N, N]
  out U: f64[N, N]
  loop i in 0..N
    loop j in 0..i
      T: L[i, j] = A[i, j]
      S0: L[i, j] -= L[i, k] * U[k, j]   for k in 0..j
      S1: L[i, j] = L[i, j] / U[j, j]
    V: U[i, j] = A[i, j]                 for j in i..N
    S2: U[i, j] -= L[i, k] * U[k, j]     for j in i..N, k in 0..i
)";

// Lanes of an operand are far apart in memory: it is packed.
constexpr const char* kCholesky = R"(program cholesky(N)
  inout A: f64[N, N]
  loop i in 0..N
    loop j in 0..i
      S0: A[i, j] -= A[i, k] * A[j, k]   for k in 0..j
      S1: A[i, j] = A[i, j] / A[j, j]
    S2: A[i, i] -= A[i, k] * A[i, k]     for k in 0..i
    S3: A[i, i] = sqrt(A[i, i])
)";

// Neither: every other row of an operand.
constexpr const char* kStrided = R"(program strided(N)
  inout A: f64[N, N]
  inout B: f64[2*N, N]
  loop i in 0..N
    loop j in 0..i
      S0: A[i, j] -= A[i, k] * B[2*j, k]   for k in 0..j
      S1: A[i, j] = A[i, j] / A[j, j]
      S2: B[2*i, j] = A[i, j]
)";

// As kRightLooking, with the lanes outside of the rows.
constexpr const char* kColumnsOutside = R"(program lu(N)
  inout A: f64[N, N]
  loop k in 0..N
    S0: A[i, k] = A[i, k] / A[k, k]    for i in k+1..N
    S1: A[i, j] -= A[i, k] * A[k, j]   for j in k+1..N, i in k+1..N
)";
constexpr const char* kRightCholesky = R"(program cholesky(N)
  inout A: f64[N, N]
  loop k in 0..N
    S0: A[k, k] = sqrt(A[k, k])
    S1: A[i, k] = A[i, k] / A[k, k]    for i in k+1..N
    S2: A[i, j] -= A[i, k] * A[j, k]   for i in k+1..N, j in k+1..i+1
)";

// Steps within a column.
constexpr const char* kGaxpy = R"(program lu(N)
  inout A: f64[N, N]
  loop j in 0..N
    loop k in 0..j
      S1: A[i, j] -= A[i, k] * A[k, j]   for i in k+1..N
    S0: A[i, j] = A[i, j] / A[j, j]      for i in j+1..N
)";

// From the last row to the first: steps within the rows, and around them.
constexpr const char* kFromLast = R"(program back(N)
  in    U: i32[N, N]
  inout X: i32[N, 60]
  loop i in 0..N step -1
    S: X[i, j] -= U[i, k] * X[k, j]    for k in i+1..N
    D: X[i, j] = X[i, j] * U[i, i]
)";
constexpr const char* kFromLastAround = R"(program back(N)
  in    U: i32[N, N]
  inout X: i32[N, 60]
  loop k in 0..N step -1
    D: X[k, j] = X[k, j] * U[k, k]
    S: X[i, j] -= U[i, k] * X[k, j]    for i in 0..k
)";

constexpr const char* kAverages = R"(program averages(T, N)
  inout A: f64[N]
  inout B: f64[N]
  loop t in 0..T
    P: B[i] = 0.33 * (A[i-1] + A[i] + A[i+1])   for i in 1..N-1
    Q: A[i] = 0.33 * (B[i-1] + B[i] + B[i+1])   for i in 1..N-1
)";

std::string planned(const char* text, const ir::Values& large, const ir::Values& small,
                    const Machine& machine = one_core()) {
  auto script = auto_schedule(*schedule::bound_program(text, large), machine, {.keep_order = true});
  REQUIRE_MESSAGE(static_cast<bool>(script), (script ? std::string() : script.error().reason));
  const std::string printed = schedule::print(*script);
  CAPTURE(printed);
  script->digest.clear();
  const auto state = schedule::replay(schedule::bound_program(text, small), *script, machine,
                                      {schedule::ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
  return printed;
}

}  // namespace

TEST_CASE("trailing updates of finished blocks of steps are tiles in registers, for few blocks") {
  for (const char* text : {kByRows, kTransposed}) {
    const std::string script = planned(text, {{"N", 130}}, {{"N", 75}}, schedule::wide_machine());
    CAPTURE(script);
    for (const char* sum : {"S0", "S2"}) {
      CHECK(has(script, std::string("cut ") + sum + ":k at"));
      CHECK(has(script, std::string("at ") + sum + ".far.full:"));
    }
    CHECK(has(script, "in register updates"));
  }
}

TEST_CASE("blocks of many steps have panels, and tiles before them, whatever the words") {
  for (const auto& [text, small] :
       {std::pair(kByRows, 131), {kTransposed, 75}, {kTwoTensors, 75}}) {
    const std::string script = planned(text, {{"N", 400}}, {{"N", small}});
    CAPTURE(script);
    for (const char* sum : {"S0", "S2"})
      for (const char* part : {".before.mid.full:", ".before.far.full:"})
        CHECK(has(script, std::string("at ") + sum + part));
  }
}

TEST_CASE("an operand that lies across the lanes is packed, block by block and panel by panel") {
  CHECK(has(planned(kCholesky, {{"N", 130}}, {{"N", 75}}, schedule::wide_machine()),
            "stage S0.far: A[j, k] at S0.far:j.o layout (j, k) [j//3*L, k, j%3*L]"));
  const std::string script = planned(kCholesky, {{"N", 400}}, {{"N", 131}});
  CAPTURE(script);
  const std::string layout = " layout (j, k) [j//4*L, k, j%4*L]";
  CHECK(has(script, "stage S0.before.far: A[j, k] at S0.before.far:j.o" + layout));
  CHECK(has(script, "stage S0.before.mid: A[j, k] at S0.before.mid:j2.o.o" + layout));
  CHECK(has(script, "stage A at S0.before.mid.full:j2.i.o in register updates"));
}

TEST_CASE("a panel's own rows are finished in it, then those below, some at a time") {
  for (const char* text : {kByRows, kCholesky}) {
    const std::string script = planned(text, {{"N", 400}}, {{"N", 49}});
    CAPTURE(script);
    CHECK(has(script, "nest j.o > { j.i.o > { i.o > j.i.i > i.i > {"));
    CHECK(has(script, "cut S0.near:i.o at j.i.o + 4*j.o + 1 as i.o.own, i.o.below"));
  }
}

TEST_CASE("threads share the rows that a block of steps is subtracted from") {
  const std::string script = planned_large(kCholesky, {{"N", 1200}}, {{"N", 75}}, cores(2));
  CAPTURE(script);
  CHECK(has(script, "par i.o > j2.o > i.i.o > j2.i.o > j.i > i.i.i > <j2.i.i> > S0.before.far"));
  CHECK(
      has(script, "par i.o > j2.o.i > i.i.o > j2.i.o > j.i.i > i.i.i > <j2.i.i> > S0.before.mid"));
  CHECK(has(script, "parallel S0.near.below:i.o.below"));
}

// A tile of rows above the block has no steps: were it copied to registers and back all the same,
// it would overwrite what another thread does there.
TEST_CASE("threads share rows, too, of which some have no steps in the block") {
  const std::string script = planned_large(kByRows, {{"N", 1200}}, {{"N", 75}}, cores(2));
  CAPTURE(script);
  CHECK(has(script, "par i.o > j2.o > i.i.o > j2.i.o > j.i > i.i.i > <j2.i.i> > S2.before.far"));
  CHECK(has(script, "par i.o > j2.o > i.i.o > j2.i.o > j.i > i.i.i > <j2.i.i> > S0.before.far"));
}

TEST_CASE("steps that are a loop around their updates come in blocks, too") {
  for (const char* text : {kRightLooking, kColumnsOutside}) {
    const std::string outer = text == kRightLooking ? "i" : "j", inner = outer == "i" ? "j" : "i";
    const std::string script =
        planned(text, {{"N", 400}}, {{"N", text == kRightLooking ? 131 : 75}});
    CAPTURE(script);
    CHECK(has(script, "cut S1:" + outer + " at "));
    CHECK(has(script, "cut S1.rest.far:" + inner + " at "));
    for (const char* part : {"S1.rest.mid.mid", "S1.rest.far.before.mid", "S1.rest.far.before.far"})
      CHECK(has(script, std::string("stage A at ") + part + ":"));
  }
  const std::string cholesky = planned(kRightCholesky, {{"N", 400}}, {{"N", 131}});
  CAPTURE(cholesky);
  CHECK(has(cholesky, "cut S2:j at "));
  CHECK(has(cholesky, "stage A at S2.before.far.full:"));
  CHECK(has(cholesky, "stage S2.before.far: A[j, k] at S2.before.far:k.o layout (j, k)"));
  const std::string panels =
      planned(kRightLooking, {{"N", 90}}, {{"N", 75}}, schedule::wide_machine());
  CAPTURE(panels);
  CHECK(has(panels, "stage A at S1.rest.far:"));
}

namespace {

// A factorisation in words of its own: which loop is outside, where the elements lie, which part of
// them is updated, from where steps count and how far they stay below, in which arrays it all is.
std::string drawn_steps(std::mt19937& random) {
  const auto one_of = [&](std::vector<std::string> all) { return all[random() % all.size()]; };
  const bool is_turned = random() % 2 == 0, has_arrays = random() % 5 == 0;
  const auto at = [&](const std::string& array, const std::string& row, const std::string& column) {
    return array + "[" + (is_turned ? column + ", " + row : row + ", " + column) + "]";
  };
  const std::string type = one_of({"f64", "f32", "i32"}), l = has_arrays ? "L" : "A",
                    u = has_arrays ? "U" : "A";
  std::string rows = "i in " + one_of({"k+1", "k+1", "k+3"}) + "..N",
              lanes = "j in " + one_of({"k+1", "k+1", "k+1", "k+2"}) + "..";
  const std::string part = one_of({"all", "all", "lower", "upper"});
  if (part == "upper") lanes = "j in i..";
  lanes += part == "lower" ? "i+1" : "N";
  const bool is_as_in_c = random() % 4 == 0;
  if (part == "all" && !is_as_in_c && random() % 2 == 0) std::swap(rows, lanes);
  std::string text = "program steps(N)\n  inout A: " + type + "[N, N]\n";
  for (const char* array : {"L", "U"})
    if (has_arrays) text += std::string("  in    ") + array + ": " + type + "[N, N]\n";
  text += "  loop k in " + one_of({"0", "1", "5"}) + "..N\n";
  std::string scale =
      "S0: " + at("A", "i", "k") + " = " + at("A", "i", "k") + " * " + at(u, "k", "k");
  std::string update = "S1: " + at("A", "i", "j") + " -= " + at(l, "i", "k") + " * " +
                       (part == "lower" ? at(l, "j", "k") : at(u, "k", "j"));
  if (is_as_in_c) {
    text += "    loop " + rows + "\n";
    if (random() % 2 == 0) return text + "      " + scale + "\n      " + update + "   for " + lanes;
    return text + "      " + scale + "\n      loop " + lanes + "\n        " + update + "\n";
  }
  scale = "    " + scale + "   for i in k+1..N\n";
  update = "    " + update + "   for " + rows + ", " + lanes + "\n";
  if (random() % 4 == 0) return text + update;
  return text + (random() % 4 == 0 ? update + scale : scale + update);
}

}  // namespace

TEST_CASE("drawn factorisations with the steps around are proved and right, most in blocks") {
  std::mt19937 random(5);
  int in_blocks = 0;
  for (int i = 0; i < 10; ++i) {
    const std::string text = drawn_steps(random);
    CAPTURE(text);
    const std::string script =
        planned(text.c_str(), {{"N", 400}}, {{"N", 45 + static_cast<int>(random() % 90)}},
                random() % 2 == 0 ? one_core() : cores(2));
    in_blocks += has(script, "cut S1:") && has(script, "in register updates");
  }
  CHECK(in_blocks > 5);
}

TEST_CASE("steps within a column are cut at its panel, rows at that of the step") {
  const std::string script = planned(kGaxpy, {{"N", 400}}, {{"N", 131}});
  CAPTURE(script);
  CHECK(has(script, "cut S1:k at 24*(j//24) as k.rest, k.near"));
  CHECK(has(script, "cut S1.rest.far:i at 24*(k.far//24) + 24 as i.near, i.before"));
  CHECK(has(script, "stage A at S1.rest.far.before.far:"));
}

TEST_CASE("steps from the last to the first come in blocks; their sums in another order") {
  for (const char* text : {kFromLast, kFromLastAround}) {
    const std::string script = planned(text, {{"N", 400}}, {{"N", 131}});
    CAPTURE(script);
    CHECK(has(script, text == kFromLast ? "cut S:k at " : "cut S:i at "));
    CHECK(has(script, "stage X at S.before.far:"));
  }
  std::string floats = kFromLast;
  for (std::size_t at; (at = floats.find("i32")) != std::string::npos;)
    floats.replace(at, 3, "f64");
  const auto program = schedule::bound_program(floats, {{"N", 400}});
  for (const bool keep_order : {false, true}) {
    const auto script = auto_schedule(*program, one_core(), {.keep_order = keep_order});
    REQUIRE(static_cast<bool>(script));
    const std::string printed = schedule::print(*script);
    CAPTURE(printed);
    CHECK(has(printed, "reassoc k") == !keep_order);
    CHECK(has(printed, "stage X at S.before.far:") == !keep_order);
    CHECK(static_cast<bool>(
        schedule::replay(program, *script, one_core(), {schedule::ProofLevel::Full, {}})));
  }
}

TEST_CASE("threads share the rows of steps around, too") {
  const std::string script = planned_large(kRightLooking, {{"N", 1200}}, {{"N", 75}}, cores(2));
  CAPTURE(script);
  CHECK(has(script,
            "par i.o > j.o > i.i.o > j.i.o > k.i > i.i.i > <j.i.i> > S1.rest.far.before.far"));
  CHECK(has(script, "i.o.below"));
}

TEST_CASE("the price of a finished schedule counts the instances of parts that are cut") {
  const auto program = schedule::bound_program(kByRows, {{"N", 400}});
  const auto script = auto_schedule(*program, one_core(), {.keep_order = true});
  REQUIRE(static_cast<bool>(script));
  const auto state =
      schedule::replay(program, *script, one_core(), {schedule::ProofLevel::Off, {}});
  REQUIRE(static_cast<bool>(state));
  const double terms = 400.0 * 400 * 400 / 3;
  const StatePrice price = price_of(*state, one_core());
  CHECK(price.issue > terms / 16);
  CHECK(price.issue < 2 * terms);
}

TEST_CASE("few steps, and sums without lanes, stay as they are") {
  CHECK(!has(planned(kByRows, {{"N", 60}}, {{"N", 60}}), ".far"));
  CHECK(!has(planned(kStrided, {{"N", 1200}}, {{"N", 60}}), ".far"));
}

TEST_CASE("long rows run several vectors per turn, from a cache line on wherever they begin") {
  const char* columns = R"(program columns(M, N)
  inout A: f64[M, N]
  in    Q: f64[M, N]
  in    R: f64[N, N]
  loop k in 0..N
    S: A[i, j] max= Q[i, k] * R[k, j]   for i in 0..M, j in k+1..N
    P: A[i, k] = A[i, k] * R[k, k]      for i in 0..M
)";
  const ir::Values large = {{"M", 1000}, {"N", 1200}}, small = {{"M", 9}, {"N", 75}};
  Machine machine = schedule::wide_machine();
  machine.cores = 1;
  CHECK(has(planned(columns, large, small, machine), "split S: i by 4*L   tail cut"));
  const std::string script = planned(kAverages, {{"T", 500}, {"N", 2000}}, {{"T", 5}, {"N", 203}});
  CAPTURE(script);
  // from 1 on, from the cache line that it is in
  for (const char* row : {"split P: i by 4*L   tail cut", "split Q: i by 4*L   tail cut"})
    CHECK(has(script, row));
  CHECK(!has(planned(kAverages, {{"T", 500}, {"N", 20}}, {{"T", 5}, {"N", 20}}), "4*L"));
}

}  // namespace polyte::poly
