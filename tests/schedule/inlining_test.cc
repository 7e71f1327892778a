// compute_inline of definitions with an offset and of padded reads: executed, proved, and faults
// planted in what stands in place of the read are refused by the proof of the step.
#include "schedule/proof/prover.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::inlining_test {

namespace {

const char* const kPadded = R"(
program padded(N)
  in  x: i32[N + 2]
  out y: i32[N]
  a[i] = x[i] + 1                                for i in 0..N+2
  c[i + 1] = x[i] * 3                            for i in 0..N+2
  b[i] = (a[i-1] else 7) * 2 + (a[i+3] else 5)   for i in 0..N+1
  y[i] = b[i] + a[i+2] * b[i+1] - c[i+2]         for i in 0..N
)";

using Damage = std::function<ir::Expr(const ir::Expr&)>;

// Every choice in e damaged.
ir::Expr damaged(const ir::Expr& e, const Damage& damage, int& hits) {
  if (std::holds_alternative<ir::Select>(e->op)) return ++hits, damage(e);
  const auto* binary = std::get_if<ir::Binary>(&e->op);
  if (!binary) return e;
  return ir::make_binary(binary->op, damaged(binary->a, damage, hits),
                         damaged(binary->b, damage, hits));
}

std::string verdict(const std::string& lines, const Damage& damage) {
  int hits = 0;
  const std::string said =
      verdict_after(state_of(bound_program(kPadded, {{"N", 6}}), lines), [&](ir::Program& changed) {
        for (ir::Statement& s : changed.statements)
          s.values[0] = damaged(s.values[0], damage, hits);
      });
  CHECK(hits > 0);
  return said;
}

}  // namespace

TEST_CASE("padded reads and definitions with an offset are inlined, executed and proved") {
  for (const std::string lines :
       {"compute_inline a", "compute_inline b", "compute_inline a, b, c", "compute_inline b, a",
        "compute_inline all", "compute_inline all\nsplit i by 4\nvectorize y:i.i"})
    for (const ir::Values& size : std::vector<ir::Values>{{{"N", 6}}, {{"N", 1}}, {{"N", 9}}}) {
      CAPTURE(lines);
      CHECK(problem_of(bound_program(kPadded, size), lines, ProofLevel::Full) == "");
    }
}

TEST_CASE("faults in an inlined padded read are refused") {
  for (const std::string lines : {"compute_inline a", "compute_inline a, b"}) {
    CAPTURE(lines);
    const auto choice = [](const ir::Expr& e) { return std::get<ir::Select>(e->op); };
    const auto moved = [](const ir::Expr& e) {
      return ir::substitute(e, {{"i", ir::Affine::symbol("i") + 1}});
    };
    CHECK(verdict(lines, [](const ir::Expr& e) { return e; }) == "legal");
    const auto is_refused = [&](const Damage& damage) {
      return verdict(lines, damage).find("is not what the Program computes") != std::string::npos;
    };
    CHECK(is_refused([&](const ir::Expr& e) { return choice(e).a; }));
    CHECK(is_refused([&](const ir::Expr& e) { return choice(e).b; }));
    CHECK(is_refused([&](const ir::Expr& e) {
      return ir::make_select(choice(e).condition, choice(e).b, choice(e).a);
    }));
    CHECK(is_refused([&](const ir::Expr& e) {
      return ir::make_select(moved(choice(e).condition), choice(e).a, choice(e).b);
    }));
    CHECK(is_refused([&](const ir::Expr& e) {
      return ir::make_select(choice(e).condition, moved(choice(e).a), choice(e).b);
    }));
    CHECK(is_refused([&](const ir::Expr& e) {
      return ir::make_select(choice(e).condition, choice(e).a, ir::make_literal(DType::I32, 6));
    }));
  }
}

TEST_CASE(
    "a product that is inlined into a sum is rounded before it is added, as the tensor's elements "
    "were") {
  const State state = state_of(bound_program(R"(
program products(N)
  in  x: f32[N]
  in  v: f32[N]
  out y: f32[1]
  p[i] = x[i] * v[i]
  y[a] = sum[i] p[i]
)",
                                             {{"N", 6}}),
                               "compute_inline p");
  CHECK(ir::to_string(state.basis->statement("y.update").values[0]) == "1 * (x[i] * v[i])");
  CHECK(verdict_after(state, [](ir::Program&) {}) == "legal");
  const auto with_term = [&](const std::function<ir::Expr(const ir::Binary&)>& term) {
    return verdict_after(state, [&](ir::Program& changed) {
      ir::Expr& value = changed.statements.back().values[0];
      value = term(std::get<ir::Binary>(value->op));
    });
  };
  const std::string refused = "the inlined value of 'y.update' is not what the Program computes";
  CHECK(with_term([](const ir::Binary& term) { return term.b; }) == refused);
  CHECK(with_term([](const ir::Binary& term) {
          return ir::make_binary(ir::BinaryOp::Mul, ir::make_float(DType::F32, 2), term.b);
        }) == refused);
}

}  // namespace polyte::schedule::inlining_test
