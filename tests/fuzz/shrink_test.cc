// A planted failure shrinks to what causes it.
#include "driver/judge/fuzz/shrink.h"

#include <doctest/doctest.h>

using namespace polyte;
using namespace polyte::fuzz;

TEST_CASE("directives, statements, declarations and sizes go while the failure stays") {
  Case c;
  c.program.text = R"(program f(M, N)
  in    a: i32[M, N]
  in    b: i32[M]
  out   y: i32[M]
  out   z: i32[M]

  t[i, j] = a[i, j] * 2  for i in 0..M, j in 0..N
  y[i] = sum[k in 0..N] t[i, k]  for i in 0..M
  z[i] = b[i] + 1  for i in 0..M
)";
  c.program.sizes = {{"M", 9}, {"N", 7}};
  c.script = schedule::parse_script(
      "schedule s/1 for f  i32  exact\nsplit i by 4\nsplit k by 3\nunroll k.i\nvectorize j\n",
      "s.sched");
  int trials = 0;
  const auto fails = [&](const Case& candidate) {
    ++trials;
    const std::string script = schedule::print(candidate.script);
    return script.find("split k by 3") != std::string::npos &&
           candidate.program.text.find("y[i] = sum") != std::string::npos &&
           candidate.program.sizes.at("N") >= 3;
  };
  const Case small = shrink(c, {.still_fails = fails});
  CHECK(small.script.directives.size() == 1);
  CHECK(small.program.text.find("b[i]") == std::string::npos);
  CHECK(small.program.text.find("out   z") == std::string::npos);
  CHECK(small.program.text.find("a[i, j] * 2") == std::string::npos);  // t became an input
  CHECK(small.program.text.find("in    t: i32[M, N]") != std::string::npos);
  CHECK(small.program.sizes == ir::Values{{"M", 1}, {"N", 3}});
  CHECK(trials <= 400);
}
