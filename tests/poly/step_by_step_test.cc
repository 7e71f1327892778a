// Programs with ordered regions, step by step: products in a step have register tiles, loops of one
// iteration are in nobody's way, and what costs more, or is no schedule, is not taken.
#include "poly/step_by_step.h"
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

struct Planned {
  std::string text;
  std::vector<std::string> considered;
};

// What is planned for large sizes, proved and executed at small ones.
Planned planned(const char* program, const ir::Values& large, const ir::Values& small) {
  Planned plan;
  auto script = auto_schedule(*schedule::bound_program(program, large), one_core(),
                              {.considered = &plan.considered});
  REQUIRE(static_cast<bool>(script));
  plan.text = schedule::print(*script);
  CAPTURE(plan.text);
  script->digest.clear();
  const auto state = schedule::replay(schedule::bound_program(program, small), *script, one_core(),
                                      {schedule::ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  CHECK(schedule::joined_problems(schedule::compare_with_reference(*state)) == "");
  return plan;
}

}  // namespace

TEST_CASE("a product in each step has a register tile, and the script says by whose choice") {
  const Planned plan =
      planned(kCell, {{"T", 50}, {"B", 32}, {"H", 128}}, {{"T", 3}, {"B", 9}, {"H", 37}});
  CAPTURE(plan.text);
  CHECK(has(plan.text, "\nnest t > { "));
  CHECK(has(plan.text, "stage s at P:"));
  CHECK(!has(plan.text, "#: template"));
  REQUIRE(plan.considered.size() >= 2);
  CHECK(plan.considered.back() == "taken instead: step by step");
  CHECK(plan.considered[plan.considered.size() - 2].starts_with("step by step: "));
}

TEST_CASE("a loop of one iteration goes outside, so that others have lanes") {
  const Planned plan =
      planned(kCell, {{"T", 50}, {"B", 1}, {"H", 64}}, {{"T", 4}, {"B", 1}, {"H", 37}});
  CAPTURE(plan.text);
  CHECK(has(plan.text, "<n.i> > S"));
  CHECK(has(plan.text, "> P"));
  CHECK(!has(plan.text, "b > S"));
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
  const Planned rows = planned(R"(
program rows(T, N)
  inout x: f32[N]
  inout y: f32[N]
  loop t in 0..T
    A: x[i] = x[i] + y[i]
    B: y[i] = y[i] * 2
)",
                               {{"T", 20}, {"N", 500}}, {{"T", 3}, {"N", 37}});
  CHECK(std::ranges::count(rows.considered, "taken instead: step by step") == 0);
  // In step 5 e reads at its point what d wrote, in the steps behind it what d writes later.
  const auto shifted = schedule::bound_program(R"(
program shifted(N)
  in    x: f32[N]
  inout d: f32[N + 16]
  out   e: f32[8, N]
  loop t in 3..8
    D: d[t + i] = x[i] + 1      for i in 0..N
    E: e[t, i] = d[2*t - 5 + i] for i in 0..N
)",
                                               {{"N", 70}});
  const auto one_nest = [](const ir::Program&, int) {
    schedule::NestPlan plan;
    plan.tree = schedule::nest_path(
        {{"i"}},
        schedule::nest_sequence({schedule::nest_statement("D"), schedule::nest_statement("E")}));
    return std::vector{plan};
  };
  const auto script = script_by_steps(*shifted, *shifted, one_core(), one_nest);
  REQUIRE(script);
  CHECK(has(schedule::print(*script), "nest t > i > { D; E }"));
  CHECK(!schedule::replay(shifted, *script, one_core(), {schedule::ProofLevel::Directive, {}}));
  // Without nests there is nothing to join.
  CHECK(!script_by_steps(*shifted, *shifted, one_core(), [](const ir::Program&, int) {
    return std::vector<schedule::NestPlan>();
  }));
}

}  // namespace polyte::poly
