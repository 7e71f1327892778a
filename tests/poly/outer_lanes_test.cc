// Lanes along rows whose steps wait for each other: what is planned at large sizes has the
// reference's bits at small ones, and a strip keeps only what no one else takes.
#include "poly/outer_lanes.h"

#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

namespace {

// Forwards and backwards along each row. `before` and `after`: more statements.
std::string sweeps(const std::string& before, const std::string& after) {
  return "program sweeps(N, M)\n  in    x: f64[N, M]\n  inout v: f64[M, N]\n  inout z: f64[N]\n"
         "  temp  p: f64[N, M]\n" +
         before +
         "  loop i in 1..N\n"
         "    A: p[i, 0] = 1\n"
         "    loop j in 1..M\n"
         "      P: p[i, j] = x[i, j] - p[i, j-1]\n"
         "    loop b in 0..M-1 step -1\n"
         "      V: v[b, i] = v[b+1, i] + p[i, b]\n" +
         after;
}

const std::string kKept = sweeps("", "");
const std::string kLeft = sweeps("", "  Z: z[i] = p[i, 3]   for i in 1..N\n");
const std::string kWrittenAgain =
    sweeps("", "  P2: p[i, 3] = 2   for i in 1..N\n  Z: z[i] = p[i, 3]   for i in 1..N\n");
const std::string kWaiting =
    "program waiting(N, M)\n  in    x: f64[N, M]\n  inout p: f64[N, M]\n"
    "  loop i in 1..N\n"
    "    loop j in 1..M\n      P: p[i, j] = x[i, j] - p[i, j-1] + p[i-1, j]\n"
    "    loop b in 0..M-1 step -1\n      Q: p[i, b] = p[i, b] + p[i, b+1]\n";

// Without regions: both directions, then their sum.
const std::string kFilters = R"(program filters(N, M)
  in    x: f64[N, M]
  out   y: f64[N, M]
  temp  a: f64[N, M]
  temp  b: f64[N, M]
  A: a[i, j] = x[i, j] + 2 * (a[i, j-1] else 0)
  B: b[i, M-1-j] = x[i, M-1-j] + 2 * (b[i, M-j] else 0)   for i in 0..N, j in 0..M
  y[i, j] = a[i, j] + b[i, j]
)";

const ir::Values kManyRows = {{"N", 900}, {"M", 700}};

// Four lanes.
Machine with_lanes(Machine machine) {
  machine.vector_bits = 256;
  return machine;
}

std::string planned(const std::string& text, const Machine& plain) {
  const Machine machine = with_lanes(plain);
  std::string script;
  for (const ir::Values& small :
       {ir::Values{{"N", 37}, {"M", 9}}, {{"N", 8}, {"M", 5}}, {{"N", 2}, {"M", 5}}})
    script = planned_large(text, kManyRows, small, machine);
  return script;
}

}  // namespace

TEST_CASE("strips of rows are lanes of each step, and keep their temporary turned") {
  const std::string script = planned(kKept, one_core());
  CHECK(has(script, "nest i.o > { <i.i> > A; j > <i.i> > P; b > <i.i> > V }"));
  CHECK(has(script, "stage p at A:i.o layout (d0, d1) [d1, d0]"));
  CHECK(has(planned(kKept, cores(2)), "nest par i.o"));
}

TEST_CASE("what others take is not kept, what is written again before they do is") {
  CHECK_FALSE(has(planned(kLeft, one_core()), "stage p"));
  CHECK(has(planned(kWrittenAgain, one_core()), "stage p at A:i2.o"));
}

TEST_CASE("strips of a loop whose name others have, too") {
  const std::string script = planned(
      sweeps("  E: v[0, i] = 1   for i in 0..N\n", "  Z: z[i] = 2   for i in 0..N\n"), one_core());
  CHECK(has(script, "rename A: i as i2"));
  CHECK(has(script, "i2.o > { <i2.i> > A; j > <i2.i> > P; b > <i2.i> > V }"));
}

TEST_CASE("rows that wait for each other are no lanes") {
  CHECK_FALSE(has(planned(kWaiting, one_core()), "<i.i>"));
}

TEST_CASE("recurrences without regions, in isl's order") {
  const std::string script = planned(kFilters, one_core());
  CHECK(has(script, "stage a at A:i.o layout (d0, d1) [d1, d0]"));
  CHECK(has(script, "stage b at B:i.o layout (d0, d1) [d1, d0]"));
}

TEST_CASE("a definition waits for itself where it reads other elements of what it makes") {
  const auto program = schedule::bound_program(kKept, kManyRows);
  CHECK(waits_for_itself(program->statement("P")));
  CHECK(waits_for_itself(program->statement("V")));
  CHECK_FALSE(waits_for_itself(program->statement("A")));
}

}  // namespace polyte::poly
