// Which loop of a nest threads share: every nest of some size has one, whatever its outermost
// loop is.
#include "schedule/cost/threads.h"

#include <doctest/doctest.h>

#include "schedule/templates/templates.h"
#include "tests/schedule/schedule_testing.h"

using namespace polyte;
using schedule::has;

namespace {

std::string template_of(const char* text, const ir::Values& sizes = {}) {
  const auto program = schedule::bound_program(text, sizes);
  const auto script = schedule::make_template(*program, schedule::wide_machine());
  REQUIRE(script);
  return schedule::checked_text(program, *script);
}

}  // namespace

TEST_CASE("threads: a loop of one iteration is passed over, small nests stay on one thread") {
  const std::vector<schedule::CountedLoop> loops{{"n", 1}, {"c", 32}, {"h", 56}};
  CHECK(schedule::loop_for_threads(schedule::wide_machine(), 1e6, loops) == "c");
  CHECK(schedule::loop_for_threads(schedule::wide_machine(), 1e4, loops).empty());
  Machine alone = schedule::wide_machine();
  alone.cores = 1;
  CHECK(schedule::loop_for_threads(alone, 1e6, loops).empty());
}

TEST_CASE("threads: loops with dependences between their iterations are not shared") {
  const std::vector<schedule::CountedLoop> loops{{"k.o", 8, false}, {"n.o", 8}};
  CHECK(schedule::loop_for_threads(schedule::wide_machine(), 1e6, loops) == "n.o");
}

TEST_CASE("threads: an inner loop where the idle end of the outer one costs more than regions do") {
  const std::vector<schedule::CountedLoop> loops{{"c", 3}, {"h", 56}};
  CHECK(schedule::loop_for_threads(schedule::wide_machine(), 1e6, loops) == "h");
  CHECK(schedule::loop_for_threads(schedule::wide_machine(), 5e4, loops) == "c");
}

TEST_CASE("threads: fewer iterations than cores are shared all the same") {
  Machine many = schedule::wide_machine();
  many.cores = 16;
  const std::vector<schedule::CountedLoop> loops{{"b", 2}, {"c", 6}};
  CHECK(schedule::loop_for_threads(many, 1e6, loops) == "c");
}

TEST_CASE(
    "threads: a loop over an open iterator is known by the iterator that it counts, whatever it is "
    "called") {
  const std::vector<schedule::CountedLoop> loops{{"batch_tiles", 32, true, "n"}, {"c", 30}};
  CHECK(schedule::loop_for_threads(schedule::wide_machine(), 1e7, loops) == "batch_tiles");
  CHECK(schedule::loop_for_threads(schedule::wide_machine(), 1e7, loops, {"n"}) == "c");
  CHECK(schedule::CountedLoop{"h", 56}.iterator == "h");
}

TEST_CASE("threads: the nests of a concatenation with a scale behind it, in a batch of one") {
  const std::string script = template_of(R"(
program concat_scale(C, H)
  in  a: f32[1, C, H, 16]
  in  b: f32[1, C, H, 16]
  in  s: f32[2*C, 16]
  out y: f32[1, 2*C, H, 16]
  out z: f32[1, 2*C, H, 16]
  first: y[n, c, h, i]     = a[n, c, h, i]   for n in 0..1, c in 0..C, h in 0..H, i in 0..16
  later: y[n, c + C, h, i] = b[n, c, h, i]   for n in 0..1, c in 0..C, h in 0..H, i in 0..16
  z[n, c, h, i]            = y[n, c, h, i] * s[c, i]
)",
                                         {{"C", 8}, {"H", 100}});
  CHECK(has(script, "parallel first:c "));
  CHECK(has(script, "parallel later:c "));
  CHECK(has(script, "parallel z:c "));
}

TEST_CASE("threads: a mean over pixels leaves a part of its channels to each") {
  const std::string script = template_of(schedule::kMean, {{"C", 6}, {"H", 32}});
  CHECK(has(script, ":c.o "));
}

TEST_CASE("threads: copies of operands for the whole kernel") {
  const std::string padded =
      template_of(schedule::kConv, {{"F", 2}, {"C", 12}, {"H", 20}, {"W", 64}});
  CHECK(has(padded, "parallel x.in:c"));
}

TEST_CASE("threads: the blocks of a reduction are passed over") {
  const auto program = schedule::bound_program(R"(
program product(N, K)
  in  A: f32[N, K]
  in  B: f32[K, N]
  out C: f32[N, N]
  C[m, n] = sum[k] A[m, k] * B[k, n]
)",
                                               {{"N", 1000}, {"K", 4000}});
  Machine machine = schedule::wide_machine();
  machine.l2.bytes = 256 << 10;
  const auto script = schedule::make_template(*program, machine);
  REQUIRE(script);
  const std::string printed = schedule::print(*script);
  CAPTURE(printed);
  CHECK(has(printed, "Kc = "));
  CHECK(has(printed, "nest k.o > "));
  CHECK(has(printed, "parallel C.update:"));
  CHECK(!has(printed, "parallel C.update:k.o"));
}
