// Every nest of some size has a loop for threads, as isl's order and the tiles leave it.
#include <array>
#include <random>

#include "schedule/templates/templates.h"
#include "tests/poly/checked_script.h"
#include "tests/poly/poly_testing.h"

namespace polyte::poly {

using schedule::has;

TEST_CASE("a mean over pixels leaves a part of its channels to each thread") {
  const std::string script = script_of(schedule::kMean, {{"C", 6}, {"H", 32}});
  CHECK(has(script, "par c.o >"));
}

TEST_CASE("a product's panels are copied by all threads") {
  const auto program = schedule::bound_program(R"(
program product(N)
  in  A: f32[N, N]
  in  B: f32[N, N]
  out C: f32[N, N]
  C[m, n] = sum[k] A[m, k] * B[k, n]
)",
                                               {{"N", 512}});
  const auto script = auto_schedule(*program, schedule::wide_machine(), {});
  REQUIRE(static_cast<bool>(script));
  const std::string printed = schedule::print(*script);
  CAPTURE(printed);
  CHECK(has(printed, "parallel B.in:n.o"));
  CHECK(static_cast<bool>(schedule::replay(program, *script, schedule::wide_machine(),
                                           {schedule::ProofLevel::Full, {}})));
}

TEST_CASE("the panels of a temporary are written by what defines it: nothing is copied") {
  const auto program = schedule::bound_program(R"(
program dequantised(N)
  in  A: f32[N, N]
  in  B: i8[N, N]
  in  s: f32[N]
  out C: f32[N, N]
  b[n, k] = f32(B[n, k]) * s[n]
  C[m, n] = sum[k] A[m, k] * b[n, k]
)",
                                               {{"N", 512}});
  const auto script = auto_schedule(*program, schedule::wide_machine(), {});
  REQUIRE(static_cast<bool>(script));
  CHECK(has(schedule::print(*script), "stage b layout (n, k)"));
  CHECK_FALSE(has(schedule::print(*script), "b.in"));
  CHECK(static_cast<bool>(schedule::replay(program, *script, schedule::wide_machine(),
                                           {schedule::ProofLevel::Full, {}})));
}

namespace {

constexpr const char* kSweeps = R"(
program sweeps(T, N)
  inout A: f64[N, N]
  inout B: f64[N, N]
  loop t in 0..T
    S0: B[i, j] = 0.25 * (A[i, j-1] + A[i, j+1] + A[i+1, j] + A[i-1, j])   for i in 1..N-1, j in 1..N-1
    S1: A[i, j] = 0.25 * (B[i, j-1] + B[i, j+1] + B[i+1, j] + B[i-1, j])   for i in 1..N-1, j in 1..N-1
)";

}  // namespace

TEST_CASE("tiles of sweeps in time wait for each other: threads share those of a front") {
  const ir::Values large = {{"T", 400}, {"N", 1500}}, small = {{"T", 19}, {"N", 70}};
  CHECK(has(planned_large(kSweeps, large, small, cores(2)), "wavefront w = "));
  CHECK(!has(planned_large(kSweeps, large, small, cores(1)), "wavefront w = "));
  // One statement fills a row alone.
  std::string with_border = kSweeps;
  with_border.insert(with_border.find("  loop t"), "  in c: f64[T]\n");
  with_border.insert(with_border.find("    S0:"), "    S2: A[0, j] = c[t]   for j in 0..N\n");
  CHECK(has(planned_large(with_border, large, small, cores(2)), "wavefront w = "));
  // Each sweep in the nearest cache: fronts of a few microseconds are not worth threads.
  CHECK(!has(planned_large(kSweeps, {{"T", 20}, {"N", 60}}, {{"T", 7}, {"N", 23}}, cores(2)),
             "wavefront w = "));
}

namespace {

constexpr const char* kPaths = R"(
program paths(N)
  inout path: i32[N, N]
  loop k in 0..N
    path[i, j] = min(path[i, j], path[i, k] + path[k, j])
)";

constexpr const char* kColumns = R"(
program columns(M, N)
  inout A: f64[M, N]
  inout R: f64[N, N]
  inout Q: f64[M, N]
  loop k in 0..N
    nrm[] = sum[i] A[i, k] * A[i, k]
    S0: R[k, k] = sqrt(nrm[])
    S1: Q[i, k] = A[i, k] / R[k, k]
    S2: R[k, j] = 0                        for j in k+1..N
    S3: R[k, j] += Q[i, k] * A[i, j]       for j in k+1..N, i in 0..M
    S4: A[i, j] -= Q[i, k] * R[k, j]       for i in 0..M, j in k+1..N
)";

}  // namespace

TEST_CASE("rows before and after the one that all others wait for are shared by threads") {
  const std::string script = planned_large(kPaths, {{"N", 800}}, {{"N", 41}}, cores(2));
  CAPTURE(script);
  CHECK(has(script, "cut path:i at k as i.lo, i.rest"));
  CHECK(has(script, "parallel path.lo.lo:i.lo"));
  CHECK(has(script, "parallel path.rest.hi.lo:i.hi"));
  for (const auto& [size, count] : {std::pair(800, 1), std::pair(60, 2)}) {
    const std::string lanes = planned_large(kPaths, {{"N", size}}, {{"N", 41}}, cores(count));
    CAPTURE(lanes);
    CHECK(has(lanes, "vectorize path.rest.hi:j.hi"));
    CHECK_FALSE(has(lanes, "parallel"));
  }
}

// What a step does once is on the diagonal of the tiles of steps and columns.
TEST_CASE("tiles of a band whose statements have loops of their own: its last loop is in these") {
  const ir::Values large = {{"M", 300}, {"N", 3000}}, small = {{"M", 45}, {"N", 75}};
  for (const int count : {1, 2}) {
    const std::string script =
        planned_large(kColumns, large, small, cores(count), {.keep_order = true});
    CAPTURE(script);
    CHECK(has(script, "map nrm.init (k, k), S0 (k, k) as (k, k2)"));
    CHECK(has(script, "k.i > { k2.i > { nrm.init; i > nrm.update; S0; i.o > <i.i> > S1 };"));
    CHECK(has(script, "i.o > k2.i.o > [i.i] > <k2.i.i> > S3; i > <k2.i> > S4 }"));
    CHECK(has(script, "wavefront w = ") == (count == 2));
  }
}

namespace {

// By poly and by the templates, proved.
std::vector<std::string> scripts_of(const char* text, const Machine& machine) {
  const auto program = schedule::bound_program(text, {});
  const auto by_poly = auto_schedule(*program, machine, {});
  const auto by_template = schedule::make_template(*program, machine);
  std::vector<std::string> printed;
  for (const auto* script : {&by_poly, &by_template}) {
    REQUIRE(static_cast<bool>(*script));
    CHECK(static_cast<bool>(
        schedule::replay(program, **script, machine, {schedule::ProofLevel::Full, {}})));
    printed.push_back(schedule::print(**script));
  }
  return printed;
}

constexpr char kBatched[] = R"(
program batched()
  in  A: f32[24, 300, 200]
  in  B: f32[24, 150, 200]
  out C: f32[24, 300, 150]
  C[b, m, n] = sum[k] A[b, m, k] * B[b, n, k]
)";

}  // namespace

TEST_CASE("panels of a batched product are copied matrix by matrix, across in squares") {
  for (const std::string& script : scripts_of(kBatched, schedule::wide_machine())) {
    CAPTURE(script);
    CHECK(has(script, "stage B at C.update:b layout"));
    CHECK(has(script, "split B.in: k by L   tail cut"));
    CHECK(has(script, "unroll B.in:k.i"));
  }
}

TEST_CASE(
    "where threads share a loop inside of a batch, they share the copy of the whole as well") {
  std::string few = kBatched;
  for (std::size_t at; (at = few.find("24, ")) != std::string::npos;) few.replace(at, 4, "3, ");
  for (const std::string& script : scripts_of(few.c_str(), schedule::wide_machine())) {
    CAPTURE(script);
    CHECK(has(script, "stage B layout"));
    CHECK(has(script, "parallel B.in:n.o"));
    CHECK(has(script, "unroll B.in:k.i"));
  }
}

TEST_CASE("matrices that two products read are copied once, before both") {
  for (const std::string& script : scripts_of(R"(
program twice()
  in  A: f32[24, 300, 200]
  in  E: f32[24, 96, 200]
  in  B: f32[24, 150, 200]
  out C: f32[24, 300, 150]
  out D: f32[24, 96, 150]
  C[b, m, n] = sum[k] A[b, m, k] * B[b, n, k]
  D[b, m, n] = sum[k] E[b, m, k] * B[b, n, k]
)",
                                              schedule::wide_machine())) {
    CAPTURE(script);
    CHECK(has(script, "stage B layout"));
    CHECK_FALSE(has(script, "stage B at"));
  }
}

TEST_CASE("four lanes are put together line by line") {
  std::string text = kBatched;
  for (std::size_t at; (at = text.find("f32")) != std::string::npos;) text.replace(at, 3, "f64");
  for (std::size_t at; (at = text.find("96, ")) != std::string::npos;) text.replace(at, 4, "384, ");
  Machine machine = schedule::wide_machine();
  machine.vector_bits = 256;
  for (const std::string& script : scripts_of(text.c_str(), machine)) {
    CAPTURE(script);
    CHECK(has(script, "stage B at C.update:b layout"));
    CHECK_FALSE(has(script, "split B.in"));
  }
}

// Sizes that divide nothing, sums shorter than a square, single rows, elements of 4 and 8 bytes.
TEST_CASE(
    "few rows by a transposed operand: drawn products are proved and right, many in squares") {
  std::mt19937 random(7);
  const auto draw = [&](unsigned least, unsigned most) {
    return std::to_string(least + random() % (most - least + 1));
  };
  Machine narrow = schedule::wide_machine();
  narrow.vector_bits = 256;
  narrow.vector_registers = 16;
  int in_squares = 0;
  for (int i = 0; i < 16; ++i) {
    const std::string type = std::array{"f32", "f64", "i32"}.at(random() % 3);
    const std::string m = draw(1, 13), n = draw(8, 57), k = draw(3, 41);
    const std::string text = "program p()\n  in  A: " + type + "[" + m + ", " + k +
                             "]\n  in  B: " + type + "[" + n + ", " + k + "]\n  out C: " + type +
                             "[" + m + ", " + n + "]\n  C[m, n] = sum[k] A[m, k] * B[n, k]\n";
    CAPTURE(text);
    const auto program = schedule::bound_program(text, {});
    for (const Machine& machine : {schedule::wide_machine(), narrow})
      for (const auto& script :
           {auto_schedule(*program, machine, {}), schedule::make_template(*program, machine)}) {
        REQUIRE(static_cast<bool>(script));
        in_squares += has(schedule::checked_text(program, *script, machine), "k.o > [k.i] > [m.i]");
      }
  }
  CHECK(in_squares > 20);
}

// Few columns: lanes along the rows, across the result's memory, which begins or goes on.
TEST_CASE("few columns: drawn products are proved and right, many with lanes across memory") {
  std::mt19937 random(11);
  const auto draw = [&](unsigned least, unsigned most) {
    return std::to_string(least + random() % (most - least + 1));
  };
  int across = 0;
  for (int i = 0; i < 16; ++i) {
    const std::string type = std::array{"f32", "f64", "i32"}.at(random() % 3);
    const std::string m = draw(16, 71), n = draw(1, 7), k = draw(9, 41);
    const bool begins = random() % 2 == 0, is_turned = random() % 2 == 0;
    const std::string text =
        "program p()\n  in    A: " + type + "[" + (is_turned ? k + ", " + m : m + ", " + k) +
        "]\n  in    B: " + type + "[" + k + ", " + n + "]\n  " + (begins ? "out  " : "inout") +
        " C: " + type + "[" + m + ", " + n + "]\n  C[m, n] " + (begins ? "= sum[k] " : "+= ") +
        (is_turned ? "A[k, m]" : "A[m, k]") + " * B[k, n]\n";
    CAPTURE(text);
    const auto program = schedule::bound_program(text, {});
    for (const auto& script : {auto_schedule(*program, schedule::wide_machine(), {}),
                               schedule::make_template(*program, schedule::wide_machine())}) {
      REQUIRE(static_cast<bool>(script));
      across += has(schedule::checked_text(program, *script), "<m.i> > C.update") ||
                has(schedule::print(*script), "<m> > C.update");
    }
  }
  CHECK(across > 8);
}

}  // namespace polyte::poly
