// Chains of rows: which statements go together, in how many lanes their sums are taken, and that
// what the templates write of them is proved and gives the reference's bits (sums of small integers
// are exact in any order).
#include "schedule/cost/row_chain.h"

#include <doctest/doctest.h>

#include "schedule/cost/streaming.h"
#include "schedule/templates/templates.h"
#include "tests/schedule/schedule_testing.h"

using namespace polyte;
using schedule::has;

namespace {

// Shaped like a softmax, on integers.
constexpr const char* kChain = R"(
program chain(M, N)
  in  x: f32[M, N]
  in  g: f32[N]
  out y: f32[M, N]
  top[i]   = max[j] x[i, j]
  e[i, j]  = (top[i] - x[i, j]) * g[j]
  total[i] = sum[j] e[i, j]
  y[i, j]  = e[i, j] + total[i]
)";

std::string checked(const char* text, const ir::Values& sizes,
                    const schedule::TemplateOptions& options = {}) {
  const auto program = schedule::bound_program(text, sizes);
  const auto script = schedule::make_template(*program, schedule::wide_machine(), options);
  REQUIRE(script);
  return schedule::checked_text(program, *script);
}

}  // namespace

TEST_CASE("rows: a chain is one nest of three passes, its sums in several vectors of lanes") {
  const std::string script = checked(kChain, {{"M", 21}, {"N", 200}});
  CHECK(has(script, "reassoc j"));
  CHECK(has(script, "split_reduction total: j by Nv as total_v interleaved"));
  // One pass makes the terms and adds them up.
  CHECK(has(script, "{ <j.i> > e; <j.i> > total_v.update }"));
  CHECK(has(script, "stage total_v at total_v.update:i.i in register"));
  CHECK(has(script, "reuse y for e"));  // until y's own elements are made of them
  CHECK(script.find("nest") == script.rfind("nest"));
}

TEST_CASE(
    "rows: those that read the same elements, and long ones from memory, are summed up side by "
    "side") {
  constexpr const char* kProduct = R"(
program product(M, N)
  in  A: f32[M, N]
  in  x: f32[N]
  out y: f32[M]
  y[i] = sum[j] A[i, j] * x[j]
)";
  for (const ir::Values& sizes :
       {ir::Values{{"M", 64}, {"N", 96}}, ir::Values{{"M", 21}, {"N", 209}},
        ir::Values{{"M", 3}, {"N", 40}}})
    CHECK(has(checked(kProduct, sizes), "] > <j.i> > y_v.update"));
  CHECK(has(checked(kProduct, {{"M", 64}, {"N", 96}}),
            "i.i.o > { [i.i.i] > <j.i> > y_v.init; j.o > [i.i.i] > <j.i> > y_v.update;"));
  CHECK_FALSE(has(checked(kProduct, {{"M", 1}, {"N", 96}}), "j.o > ["));
  constexpr const char* kSum = R"(
program sums(M, N)
  in  x: f32[M, N]
  out y: f32[M]
  y[i] = sum[j] x[i, j]
)";
  const auto sums = [&](const ir::Values& sizes) {
    const auto program = schedule::bound_program(kSum, sizes);
    return schedule::print(*schedule::make_template(*program, schedule::wide_machine(), {}));
  };
  CHECK(has(sums({{"M", 8192}, {"N", 8192}}), "] > <j.i> > y_v.update"));
  // One stream, row after row.
  CHECK_FALSE(has(sums({{"M", 1 << 20}, {"N", 64}}), "] > <j.i> > y_v.update"));
  CHECK_FALSE(has(sums({{"M", 64}, {"N", 96}}), "] > <j.i> > y_v.update"));
}

TEST_CASE("rows: a sum that is added to what is there runs as one that begins at nought") {
  constexpr const char* kAdded = R"(
program added(M, N)
  in    A: f32[M, N]
  in    x: f32[N]
  inout y: f32[M]
  inout z: f32[M]
  y[i] += A[i, j] * x[j]
  z[i] max= A[i, j]
)";
  for (const ir::Values& sizes :
       {ir::Values{{"M", 64}, {"N", 96}}, ir::Values{{"M", 21}, {"N", 209}},
        ir::Values{{"M", 1}, {"N", 40}}}) {
    const std::string script = checked(kAdded, sizes);
    CHECK(has(script, "as y_v interleaved"));
    CHECK(has(script, "as z_v interleaved"));
    CHECK(script.find("nest") == script.rfind("nest"));
  }
}

TEST_CASE("rows: remainders of rows and of their elements, and a single row") {
  for (const ir::Values& sizes :
       {ir::Values{{"M", 1}, {"N", 200}}, ir::Values{{"M", 3}, {"N", 33}},
        ir::Values{{"M", 17}, {"N", 104}}, ir::Values{{"M", 5}, {"N", 64}}})
    CHECK(has(checked(kChain, sizes), "total_v"));
}

TEST_CASE("rows: what is read beside its own place keeps a buffer of its own") {
  const std::string script = checked(R"(
program beside(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  e[i, j]  = x[i, j] * x[i, j]
  total[i] = sum[j] e[i, j]
  y[i, j]  = total[i] - e[i, N - 1 - j]
)",
                                     {{"M", 9}, {"N", 130}});
  CHECK_FALSE(has(script, "reuse"));
}

TEST_CASE("rows: what another nest reads later keeps a buffer of its own") {
  const std::string script = checked(R"(
program both(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  out c: f32[N]
  e[i, j]  = x[i, j] * x[i, j]
  total[i] = sum[j] e[i, j]
  y[i, j]  = e[i, j] + total[i]
  c[j]     = sum[i] e[i, j]
)",
                                     {{"M", 9}, {"N", 130}});
  CHECK(has(script, "as total_v"));
  CHECK_FALSE(has(script, "reuse"));
  CHECK_FALSE(has(script, "stage e"));
}

TEST_CASE("rows: one reciprocal a row, where the divisor is no number that overflows it") {
  const auto divided_by = [](const std::string& divisor) {
    return "program divided(M, N)\n  in  x: f32[M, N]\n"
           "  out y: f32[M, N]\n  top[i] = max[j] x[i, j]\n  e[i, j] = exp(x[i, j] - top[i])\n"
           "  total[i] = sum[j] e[i, j]\n  plain[i] = sum[j] x[i, j]\n  y[i, j] = x[i, j] / (" +
           divisor + ")\n";
  };
  // Proved; the sums of exponentials are no integers, whose bits would be the reference's.
  const auto lines = [&](const std::string& divisor, bool keep_order) {
    const auto program = schedule::bound_program(divided_by(divisor), {{"M", 9}, {"N", 130}});
    const auto script =
        schedule::make_template(*program, schedule::wide_machine(), {.keep_order = keep_order});
    REQUIRE(script);
    CHECK(schedule::replay(program, *script, schedule::wide_machine(),
                           {schedule::ProofLevel::Full, {}}));
    return schedule::print(*script);
  };
  for (const char* tame :
       {"total[i]", "sqrt(plain[i])", "sqrt(plain[i]) + 0.00001", "max(sqrt(plain[i]), 0.5)"})
    CHECK(has(lines(tame, false), "reciprocal y"));
  for (const char* wild : {"plain[i]", "top[i]", "plain[i] + 1", "total[i] * plain[i]"})
    CHECK_FALSE(has(lines(wild, false), "reciprocal"));
  CHECK_FALSE(has(lines("total[i]", true), "reciprocal"));
}

TEST_CASE("rows: the next rows come ahead where all together is more than the second cache") {
  const auto lines = [](const ir::Values& sizes) {
    const auto program = schedule::bound_program(kChain, sizes);
    const auto script = schedule::make_template(*program, schedule::wide_machine());
    REQUIRE(script);
    return schedule::print(*script);
  };
  CHECK(has(lines({{"M", 1024}, {"N", 1024}}), "prefetch x at e:j.o distance 1 along i.o"));
  CHECK_FALSE(has(lines({{"M", 64}, {"N", 200}}), "prefetch"));
}

TEST_CASE("rows: functions of as many vectors side by side as have registers") {
  std::string text = kChain;
  text.replace(text.find("(top[i] - x[i, j]) * g[j]"), 25, "exp(top[i] - x[i, j])");
  const auto program = schedule::bound_program(text, {{"M", 64}, {"N", 2000}});
  const auto lines = [&](const Machine& machine) {
    const auto script = schedule::make_template(*program, machine);
    REQUIRE(script);
    return schedule::print(*script);
  };
  Machine wide = schedule::wide_machine();
  wide.fma_per_cycle = 2;
  CHECK(has(lines(wide), "split e: j.o by 8"));
  CHECK(has(lines(schedule::narrow_machine()), "split e: j.o by 4"));
}

TEST_CASE("rows: a contract that keeps the order has no sums in parts, maxima still are") {
  const std::string script = checked(kChain, {{"M", 21}, {"N", 200}}, {.keep_order = true});
  CHECK(has(script, "exact"));
  CHECK_FALSE(has(script, "as total_"));
  CHECK(has(script, "as top_v interleaved"));
}

TEST_CASE(
    "rows: sums of one pass that do not need each other run together; the next waits for both") {
  const std::string script = checked(R"(
program two_sums(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  s[i] = sum[j] x[i, j]
  q[i] = sum[j] x[i, j] * x[i, j]
  d[i] = q[i] - s[i]
  y[i, j] = x[i, j] - d[i]
)",
                                     {{"M", 9}, {"N", 130}});
  CHECK(has(script, "{ <j.i> > s_v.update; <j.i> > q_v.update }"));
  CHECK(script.find("nest") == script.rfind("nest"));
}

TEST_CASE("rows: all of a tensor is one row") {
  const std::string script = checked(R"(
program all(M, N)
  in  x: f32[M, N]
  out s: f32[]
  s[] = sum[i, j] x[i, j]
)",
                                     {{"M", 5}, {"N", 100}});
  CHECK(has(script, "ij.o > <ij.i> > s_v.update"));
}

TEST_CASE(
    "rows: operands that rows share are for tiles, and rows too short for lanes are lanes "
    "themselves") {
  CHECK_FALSE(has(checked(R"(
program product(M, N, K)
  in  a: f32[M, K]
  in  b: f32[N, K]
  out c: f32[M, N]
  c[m, n] = sum[k] a[m, k] * b[n, k]
)",
                          {{"M", 20}, {"N", 20}, {"K", 64}}),
                  "split_reduction"));
  CHECK_FALSE(has(checked(kChain, {{"M", 21}, {"N", 19}}), "split_reduction"));
}

TEST_CASE("rows: another row's result cannot be read in the same chain") {
  const std::string script = checked(R"(
program shifted(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  s[i] = sum[j] x[i, j]
  y[i, j] = x[i, j] + (s[i - 1] else 0)
)",
                                     {{"M", 20}, {"N", 96}});
  CHECK(script.find("nest") != script.rfind("nest"));
}

TEST_CASE("rows: short ones that several loops add up keep a vector each in registers") {
  constexpr const char* kShort = R"(
program shorts(I, J, K)
  in  x: f32[I, J, K]
  out y: f32[J]
  y[j] = sum[i, k] x[i, j, k]
)";
  for (const ir::Values& sizes :
       {ir::Values{{"I", 9}, {"J", 40}, {"K", 19}}, ir::Values{{"I", 9}, {"J", 33}, {"K", 5}},
        ir::Values{{"I", 20}, {"J", 17}, {"K", 100}}}) {
    const std::string script = checked(kShort, sizes);
    CHECK(has(script, "i > k.o > [j.i] > <k.i> > y_v.update"));
    CHECK(has(script, "stage y_v at y_v.update:j.o in register"));
  }
  // Two sums share what they read; what is made of a sum is another pass, of one row at a time
  // where the rows of a block do not stay in the cache. Both keep their vectors.
  constexpr const char* kTwo = R"(
program two(I, J, K)
  in  x: f32[I, J, K]
  out s: f32[J]
  out m: f32[J]
  s[j] = sum[i, k] x[i, j, k]
  m[j] = max[i, k] x[i, j, k]
)";
  const std::string two = checked(kTwo, {{"I", 9}, {"J", 40}, {"K", 19}});
  CHECK(has(two, "stage s_v at s_v.update:j.o in register"));
  CHECK(has(two, "stage m_v at m_v.update:j.o in register"));
  constexpr const char* kCentred = R"(
program centred(I, J, K)
  in  x: f32[I, J, K]
  out y: f32[I, J, K]
  s[j] = sum[i, k] x[i, j, k]
  y[i, j, k] = x[i, j, k] - s[j]
)";
  for (const std::int64_t i : {6, 300})
    CHECK(has(checked(kCentred, {{"I", i}, {"J", 40}, {"K", 19}}), "in register"));
  // Long rows are walked one by one, and rows that follow each other for one result are one row.
  CHECK_FALSE(
      has(checked(kShort, {{"I", 9}, {"J", 40}, {"K", 200}}), "[j.i] > <k.i> > y_v.update"));
  constexpr const char* kOne = R"(
program one(I, J, K)
  in  x: f32[I, J, K]
  in  w: f32[J, K]
  out y: f32[I]
  y[i] = sum[j, k] x[i, j, k] * w[j, k]
)";
  CHECK_FALSE(has(checked(kOne, {{"I", 40}, {"J", 9}, {"K", 19}}), "[i.i] > <k.i> > y_v.update"));
}

TEST_CASE("rows: sums along the slow axis read few rows at once where these are far apart") {
  const auto program = schedule::bound_program(R"(
program columns(M, N)
  in  x: f32[M, N]
  out s: f32[N]
  s[j] = sum[i] x[i, j]
)",
                                               {{"M", 4096}, {"N", 4096}});
  const auto script = schedule::make_template(*program, schedule::wide_machine());
  REQUIRE(script);
  const std::string printed = schedule::print(*script);
  CAPTURE(printed);
  CHECK(has(printed, "exact"));
  CHECK(has(printed, "[i.i] > <j.i.i> > s.update"));
  CHECK(has(printed, "nest j.o > i.o > j.i.o"));
  CHECK(has(printed, "parallel s.update:j.o"));
}

TEST_CASE("rows: results are stored past the caches where all together exceed them by far") {
  constexpr const char* kCopy = R"(
program copy(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  y[i, j] = x[i, j] + 1
)";
  const auto large = schedule::bound_program(kCopy, {{"M", 4096}, {"N", 4096}});
  const auto small = schedule::bound_program(kCopy, {{"M", 512}, {"N", 512}});
  CHECK(schedule::streamed_results(*large, schedule::wide_machine(), {}) ==
        std::vector<std::string>{"y"});
  CHECK(schedule::streamed_results(*small, schedule::wide_machine(), {}).empty());
  const std::set<std::string> reused = {"y"};  // what lies in it is read again
  CHECK(schedule::streamed_results(*large, schedule::wide_machine(), reused).empty());
}
