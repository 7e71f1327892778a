// Which neighbours of a Program share a nest, and which do not.
#include <sstream>

#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

namespace {

const ir::Values kLarge = {{"N", 2000}}, kSmall = {{"N", 75}};

std::string planned(const std::string& text) {
  return planned_large(text, kLarge, kSmall, one_core());
}

bool share_a_nest(const std::string& script, const std::string& a, const std::string& b) {
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);)
    if (has(line, "nest ") && has(line, a) && has(line, b)) return true;
  return false;
}

}  // namespace

TEST_CASE(
    "a matrix is updated and added up across its rows in one pass, what needs all sums apart") {
  const std::string script = planned(R"(
program gemver(N)
  inout A: f64[N, N]
  in    u: f64[N]
  in    v: f64[N]
  inout w: f64[N]
  inout x: f64[N]
  in    y: f64[N]
  S0: A[i, j] = A[i, j] + u[i] * v[j]
  S1: x[i] += A[j, i] * y[j]
  S2: w[i] += A[i, j] * x[j]
)");
  CHECK(share_a_nest(script, "S0", "S1"));
  CHECK(!share_a_nest(script, "S1", "S2"));
}

// In one iteration each pass would wait for the one before.
TEST_CASE(
    "short rows that the second cache holds have nests of their own, long ones share theirs") {
  const char* text = R"(
program softmax(N)
  in  x: f32[N, 24]
  out y: f32[N, 24]
  top[i]   = max[j] x[i, j]
  e[i, j]  = exp(x[i, j] - top[i])
  total[i] = sum[j] e[i, j]
  y[i, j]  = e[i, j] / total[i]
)";
  Machine machine = schedule::wide_machine();
  machine.cores = 1;
  const auto share = [&](std::int64_t rows) {
    const std::string script = planned_large(text, {{"N", rows}}, {{"N", 40}}, machine);
    return share_a_nest(script, "> e", "> y");
  };
  CHECK(!share(500));
  CHECK(share(1000000));
}

TEST_CASE("many threads go through the matrix twice, sooner than one of them once") {
  const char* text = R"(
program products(N)
  in    A: f64[N, N]
  in    p: f64[N]
  inout s: f64[N]
  inout t: f64[N]
  S: s[i] += A[i, j] * p[j]
  T: t[j] += A[i, j] * p[i]
)";
  const std::string shared = planned_large(text, kLarge, kSmall, cores(8));
  CAPTURE(shared);
  CHECK(has(shared, "nest par j.o > i.o > j.i.o > [i.i] > <j.i.i> > T"));
  CHECK(has(shared, "nest par i.o > "));
  CHECK(share_a_nest(planned(text), "S", "T"));
}

TEST_CASE("two pairs of sums in two nests, what is between them in its own") {
  const std::string script = planned(R"(
program pairs(N)
  in  A: f64[N, N]
  in  B: f64[N, N]
  in  p: f64[N]
  in  q: f64[N]
  inout s: f64[N]
  inout t: f64[N]
  inout u: f64[N]
  inout v: f64[N]
  temp c: f64[N]
  S: s[i] += A[i, j] * p[j]
  T: t[j] += A[i, j] * q[i]
  C: c[i] = s[i] * t[i] + p[i]
  U: u[i] += B[i, j] * c[j]
  V: v[j] += B[i, j] * c[i]
)");
  CHECK(share_a_nest(script, "S", "T"));
  CHECK(share_a_nest(script, "U", "V"));
  CHECK(!share_a_nest(script, "T", "U"));
}

TEST_CASE("three sums of one matrix share one nest") {
  const std::string script = planned(R"(
program three(N)
  in  A: f64[N, N]
  in  p: f64[N]
  in  q: f64[N]
  inout s: f64[N]
  inout t: f64[N]
  inout u: f64[N]
  S: s[i] += A[i, j] * p[j]
  T: t[j] += A[i, j] * q[i]
  U: u[i] += A[i, j] * q[j]
)");
  CHECK(share_a_nest(script, "S", "T"));
  CHECK(share_a_nest(script, "T", "U"));
}

}  // namespace polyte::poly
