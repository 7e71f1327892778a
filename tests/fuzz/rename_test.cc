// Loops renamed: the same loops. The comparison sees what is no change of names.
#include "driver/judge/fuzz/rename_loops.h"

#include <doctest/doctest.h>

#include "codegen/target.h"
#include "driver/judge/fuzz/random_program.h"
#include "lower/lower.h"
#include "schedule/script/replay.h"

using namespace polyte;
using namespace polyte::fuzz;

TEST_CASE("texts are compared up to a one-to-one change of names") {
  CHECK(
      difference_but_names("for i.o in 0..4\n  y[i.o] = x[i.o]\n", "for a in 0..4\n  y[a] = x[a]\n")
          .empty());
  CHECK(difference_but_names("for i in 0..4\n  y[i]\n", "for i in 0..5\n  y[i]\n") ==
        "'for i in 0..4' has become 'for i in 0..5'");
  CHECK(!difference_but_names("y[i] = x[j]\n", "y[k] = x[k]\n").empty());  // two names became one
  CHECK(!difference_but_names("y[i] = x[i]\n", "y[i] = x[k]\n").empty());  // one became two
  // Its name was another's.
  CHECK(difference_but_names("for i_1 in 0..2 as i\n", "for loop7 in 0..2\n").empty());
  CHECK(!difference_but_names("for i_1 in 0..2 as i\n", "for loop7 in 0..3\n").empty());
  const std::string loops = "for a in 0..2\n for b in 0..2\n  ",
                    others = "for u in 0..2\n for v in 0..2\n  ";
  CHECK(difference_but_names(loops + "if a >= 1 and b == 0\n", others + "if v == 0 and u >= 1\n")
            .empty());
  CHECK(!difference_but_names(loops + "if a >= 1 and b == 0\n", others + "if u == 0 and v >= 1\n")
             .empty());
  CHECK(!difference_but_names(loops + "if a >= 1 and b == 0\n", others + "if u >= 1 and u >= 1\n")
             .empty());
  const std::string sum = "  y[a + 2*b]\n";
  CHECK(difference_but_names(loops + sum, others + "  y[2*v + u]\n").empty());
  CHECK(!difference_but_names(loops + sum, others + "  y[2*u + v + v]\n").empty());
  CHECK(difference_but_names("a\nb\n", "a\n") == "'b' is gone");
  CHECK(difference_but_names("a\n", "a\nb\n") == "'b' has come");
}

TEST_CASE("every loop gets another name, and the loops stay") {
  RandomProgram program;
  program.text =
      "program f(M, N)\n  in  x: i32[M, N]\n  out y: i32[M]\n\n  y[i] = sum[k] x[i, k]\n";
  program.sizes = {{"M", 7}, {"N", 5}};
  const codegen::Target target = codegen::target_for_cpu("x86-64-v3");
  const auto script = schedule::parse_script(
      "schedule s/1 for f  i32  exact\n"
      "split i by 4   tail cut\nnest par i.o > i.i > { y.init; k > y.update }\n",
      "s");
  const auto state = schedule::replay(bound_program(program), script, target.machine,
                                      {schedule::ProofLevel::Full, {}});
  REQUIRE(state);
  Random random(1, 1);
  const std::optional<schedule::State> renamed = renamed_loops(*state, target.machine, random);
  REQUIRE(renamed);
  CHECK(schedule::print_nest(renamed->tree).find("i.o") == std::string::npos);
  CHECK(schedule::print_nest(renamed->tree).find("> k") == std::string::npos);
  const auto loops = [&](const schedule::State& s) {
    return ir::print(lower::lower(s, {.machine = target.machine}));
  };
  CHECK(difference_but_names(loops(*state), loops(*renamed)).empty());
}
