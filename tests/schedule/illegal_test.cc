// Schedules that change the result: refused as illegal by the prover, and wrong when executed all
// the same. The two judges share nothing, so each checks the other.
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::illegal_test {

namespace {

const char* const kScan = R"(
program scan(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  I: y[i, j] = x[i, j]              for i in 0..M, j in 0..1
  F: y[i, j] = y[i, j-1] + x[i, j]  for i in 0..M, j in 1..N
)";
const char* const kHistogram = R"(
program histogram(N)
  in  bin: u8[N]
  out h: i32[9]
  Z: h[b] = 0        for b in 0..9
  H: h[bin[n]] += 1  for n in 0..N
)";

// The refusal's kind and headline; executes the same script unproved and demands that
// a problem shows.
std::string verdict(const char* text, const ir::Values& sizes, const std::string& lines) {
  const auto program = bound_program(text, sizes);
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Directive, {}});
  CAPTURE(lines);
  const std::string shown = problem_of(program, lines, ProofLevel::Off);
  CHECK(shown != "");
  CHECK(shown.find("s.sched") == std::string::npos);  // executed, not refused by form
  if (state) return "accepted";
  return (state.error().kind == RefusalKind::Illegal ? "illegal: " : "other: ") +
         state.error().headline;
}
std::string gemm(const std::string& lines) {
  return verdict(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}}, lines);
}
std::string blur(const std::string& lines) { return verdict(kBlur, {{"M", 7}, {"N", 9}}, lines); }
std::string jacobi(const std::string& lines) {
  return verdict(kJacobi, {{"T", 3}, {"N", 6}}, lines);
}

}  // namespace

TEST_CASE("races") {
  CHECK(gemm("parallel acc.update:k") ==
        "illegal: parallel loop k carries a dependence through acc[0, 0]");
  CHECK(gemm("vectorize acc.update:k") ==
        "illegal: vector loop k carries a dependence through acc[0, 0]");
  CHECK(gemm("split k by 4\nparallel k.o") ==
        "illegal: parallel loop k.o carries a dependence through acc[0, 0]");
  CHECK(verdict(kScan, {{"M", 3}, {"N", 4}}, "vectorize F:j") ==
        "illegal: vector loop j carries a dependence through y[0, 1]");
  CHECK(jacobi("parallel t") == "illegal: parallel loop t carries a dependence through B[1, 1]");
}

TEST_CASE("values read too early or too late") {
  CHECK(gemm("nest k > m > n > { acc.init when first k; acc.update; y when first k }")
            .rfind("illegal: ", 0) == 0);
  CHECK(gemm("nest k > m > n > { acc.init when last k; acc.update; y when last k }")
            .rfind("illegal: ", 0) == 0);
  CHECK(gemm("nest m > n > { y; acc.init; k > acc.update }").rfind("illegal: ", 0) == 0);
  CHECK(gemm("nest m > { n > k > acc.update; n > { acc.init; y } }").rfind("illegal: ", 0) == 0);
  CHECK(jacobi("nest t > i > j > { B; A }") ==
        "illegal: a value would be read before it is written");
  CHECK(jacobi("nest i > t > { j > B; j > A }").rfind("illegal: ", 0) == 0);
  CHECK(jacobi("split i by 2\nnest i.o > t > { i.i > j > B; i.i > j > A }").rfind("illegal: ", 0) ==
        0);
  CHECK(blur("nest u > x > { bx; y }").rfind("illegal: ", 0) == 0);
  CHECK(verdict(kScan, {{"M", 3}, {"N", 4}}, "nest i > { j > F; j > I }").rfind("illegal: ", 0) ==
        0);
}

TEST_CASE("the order of sums") {
  const auto program = bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}});
  const std::string lines = "split k by 4\norder acc.update: m > n > k.i > k.o";
  const auto exact =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Full, {}});
  REQUIRE(!exact);
  CHECK(exact.error().kind == RefusalKind::Illegal);
  CHECK(problem_of(program, lines, ProofLevel::Full, "reassoc k") == "");
}

TEST_CASE("recomputation and storage") {
  CHECK(blur("split y: u by 4\nnest u.o > { u.i > <x> > y; u > <x> > bx at u.o }")
            .rfind("illegal: ", 0) == 0);
  CHECK(blur("split y: u by 3\nnest par u.o > { u > <x> > bx at u.o; u.i > <x> > y }")
            .rfind("illegal: ", 0) == 0);
  CHECK(verdict(kHistogram, {{"N", 9}}, "parallel H:n").rfind("illegal: ", 0) == 0);
}

}  // namespace polyte::schedule::illegal_test
