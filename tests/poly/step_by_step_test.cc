// Programs with ordered regions, step by step: products in a step have register tiles, loops of one
// iteration are in nobody's way, and what costs more, or is no schedule, is not taken.
#include "poly/step_by_step.h"
#include <algorithm>

#include "poly/state_price.h"
#include "schedule/state/nest_plan.h"
#include "tests/poly/checked_script.h"

namespace polyte::poly {

using schedule::has;

namespace {

// B sequences side by side, of H states.
constexpr const char* kCell = R"(
program cell(T, B, H)
  in    x: f32[T, B, H]
  in    w: f32[H, H]
  inout h: f32[B, H]
  temp  s: f32[B, H]
  loop t in 0..T
    I: s[b, n] = x[t, b, n]
    P: s[b, n] += h[b, k] * w[k, n]   for b in 0..B, n in 0..H, k in 0..H
    S: h[b, n] = max(min(s[b, n], 2), -2)
)";

// What is planned for large sizes, proved and executed at small ones.
std::string planned(const char* program, const ir::Values& large, const ir::Values& small,
                    std::vector<std::string>& considered) {
  return planned_large(program, large, small, one_core(), {.considered = &considered});
}

}  // namespace

TEST_CASE("a product in each step has a register tile, and the script says by whose choice") {
  std::vector<std::string> considered;
  const std::string script = planned(kCell, {{"T", 50}, {"B", 32}, {"H", 128}},
                                     {{"T", 3}, {"B", 9}, {"H", 37}}, considered);
  CAPTURE(script);
  CHECK(has(script, "\nnest t > { "));
  CHECK(has(script, "stage s at P:"));
  CHECK(!has(script, "#: template"));
  REQUIRE(considered.size() >= 2);
  CHECK(considered.back() == "taken instead: step by step");
  CHECK(considered[considered.size() - 2].starts_with("step by step: "));
}

TEST_CASE("steps are taken where a factor of the weights is computed before, too") {
  std::string scaled = kCell;
  scaled.replace(scaled.find("w[k, n]"), 7, "(2 * w[k, n])");
  std::vector<std::string> considered;
  const std::string script = planned(scaled.c_str(), {{"T", 50}, {"B", 32}, {"H", 128}},
                                     {{"T", 3}, {"B", 9}, {"H", 37}}, considered);
  CAPTURE(script);
  CHECK(has(script, "precompute "));
  CHECK(has(script, "\nnest t > { "));
  CHECK(std::ranges::count(considered, "taken instead: step by step") == 1);
}

TEST_CASE("a loop of one iteration goes outside, so that others have lanes") {
  const std::string script = planned_large(kCell, {{"T", 50}, {"B", 1}, {"H", 64}},
                                           {{"T", 4}, {"B", 1}, {"H", 37}}, one_core());
  CAPTURE(script);
  CHECK(has(script, "<n.i> > S"));
  CHECK(has(script, "> P"));
  CHECK(!has(script, "b > S"));
}

TEST_CASE("a loop of one iteration has no price, wherever it stands") {
  const auto program = schedule::bound_program(kCell, {{"T", 2}, {"B", 1}, {"H", 64}});
  const auto cycles = [&](const std::string& nest) {
    const auto state = schedule::replay(program,
                                        schedule::script_of(*program,
                                                            "split P: n by 2*L\nsplit I: n by 2*L\n"
                                                            "split S: n by 2*L\n" +
                                                                nest),
                                        one_core(), {});
    REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
    return cycles_of(*state, one_core());
  };
  const double outside =
      cycles("nest b > t > { n.o > <n.i> > I; k > n.o > <n.i> > P; n.o > <n.i> > S }\n");
  const double inside =
      cycles("nest t > { n.o > <n.i> > b > I; k > n.o > <n.i> > b > P; n.o > <n.i> > b > S }\n");
  CHECK(inside == outside);
}

TEST_CASE("steps that are no cheaper, or no schedule for all steps, are not taken") {
  // Nothing but rows: the whole is as good.
  std::vector<std::string> considered;
  planned(R"(
program rows(T, N)
  inout x: f32[N]
  inout y: f32[N]
  loop t in 0..T
    A: x[i] = x[i] + y[i]
    B: y[i] = y[i] * 2
)",
          {{"T", 20}, {"N", 500}}, {{"T", 3}, {"N", 37}}, considered);
  CHECK(std::ranges::count(considered, "taken instead: step by step") == 0);
  const auto shifted = schedule::bound_program(schedule::kShifted, {{"N", 70}});
  const auto one_nest = [](const ir::Program&, int) {
    schedule::NestPlan plan;
    plan.tree = schedule::nest_path(
        {{"i"}},
        schedule::nest_sequence({schedule::nest_statement("d"), schedule::nest_statement("e")}));
    return std::vector{plan};
  };
  const auto script = script_by_steps(*shifted, *shifted, one_core(), one_nest);
  REQUIRE(script);
  CHECK(has(schedule::print(*script), "nest t > i > { d; e }"));
  CHECK(!schedule::replay(shifted, *script, one_core(), {schedule::ProofLevel::Directive, {}}));
  // Without nests there is nothing to join.
  CHECK(!script_by_steps(*shifted, *shifted, one_core(), [](const ir::Program&, int) {
    return std::vector<schedule::NestPlan>();
  }));
}

}  // namespace polyte::poly
