// The nest of a State against the code that isl makes for the same order.
#include "lower/ast_oracle.h"

#include "lower/lower.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::lower {

namespace {

using schedule::bound_program;
using schedule::State;

std::string difference(const State& state, const ir::LoopProgram& nest) {
  ir::Environment buffers = schedule::make_inputs(*state.basis, 3), constants = buffers;
  const Machine machine = schedule::test_machine();
  const ir::LoopProgram packing = lower_packing(state, {.machine = machine});
  if (!packing.buffers.empty()) ir::interpret(packing, constants, {});
  for (const auto& [name, contents] : constants) buffers.try_emplace(name, contents);
  return order_difference(state, nest, std::move(buffers));
}

std::string difference(const std::shared_ptr<const ir::Program>& program,
                       const std::string& lines) {
  const State state = schedule::state_of(program, lines);
  return difference(state, lower_to_nest(state));
}

constexpr const char* kTriangularSum = R"(
program triangle(N)
  in L: f32[N, N]
  inout x: f32[N]
  x[i] += L[i, j] * x[j]   for i in 0..N, j in 0..i
)";

}  // namespace

TEST_CASE("elements of a view of what was there before are those that the State names") {
  const auto program = bound_program(
      "program p()\n  in    x: f32[2, 3]\n  inout y: f32[2, 3]\n  y[i, j] = x[i, j]\n", {});
  const State state =
      schedule::state_of(program, "view x as [6]\nview y as [6]\nfuse y: i, j as ij");
  CHECK(order_difference(state, lower_to_nest(state), schedule::make_inputs(*program, 3)) == "");
}

TEST_CASE("loops run the instances that isl's code runs, in its order") {
  const auto gemm = bound_program(schedule::kDenseRelu, {{"M", 5}, {"N", 9}, {"K", 6}});
  CHECK(difference(gemm, "") == "");
  CHECK(difference(
            gemm,
            "split m by 2, n by 4\nnest par m.o > { acc.init; acc.update; y }\nstage x at m.o") ==
        "");
  CHECK(difference(gemm,
                   "split m by 2, n by 4, k by 4 tail cut\nlet tile = [m.i] > <n.i>\n"
                   "nest par n.o > k.o > m.o > { tile > acc.init when first k.o; "
                   "k.i > tile > acc.update; tile > y when last k.o }\n"
                   "stage acc at m.o in register\n"
                   "stage w layout (k, n) [n//4, k, n%4] when compile") == "");
  const auto blur = bound_program(schedule::kBlur, {{"M", 5}, {"N", 6}});
  CHECK(
      difference(
          blur,
          "split y: u by 3, x by 4\nnest par u.o > x.o > { u > <x> > bx at x.o; u.i > <x.i> > y }\n"
          "stage bx at x.o") == "");
  const auto seidel = bound_program(schedule::kSeidel, {{"T", 3}, {"N", 6}});
  CHECK(difference(seidel, "") == "");
  CHECK(difference(seidel, "skew i by t\nskew j by t\nsplit i by 4\nreorder i.o > t > i.i") == "");
  const auto triangle = bound_program(kTriangularSum, {{"N", 7}});
  CHECK(difference(triangle, "") == "");
  CHECK(difference(triangle, "split i by 3, j by 2\nreorder j.o > i.o > j.i > i.i") == "");
  CHECK(difference(triangle, "reverse j") == "");
}

TEST_CASE("loops of another order, with an instance less or one more, are found") {
  const auto triangle = bound_program(kTriangularSum, {{"N", 5}});
  const State state = schedule::state_of(triangle, "");
  const auto damaged = [&](const std::string& lines) {
    return difference(state, lower_to_nest(schedule::state_of(triangle, lines)));
  };
  CHECK(damaged("") == "");
  CHECK(schedule::has(damaged("reorder j > i"), "in isl's code"));
  CHECK(schedule::has(damaged("reverse j"), "in isl's code"));
  ir::LoopProgram shorter = lower_to_nest(state);
  const auto* loop = std::get_if<ir::For>(&shorter.body->op);
  REQUIRE(loop);
  ir::For copy = *loop;
  for (ir::Affine& bound : copy.upper) bound = bound - 1;
  shorter.body = ir::make_for(std::move(copy));
  CHECK(schedule::has(difference(state, shorter), "is none, in isl's code"));
}

}  // namespace polyte::lower
