// precompute: executed and proved, refused where the value is another one, and faults planted in
// what it makes are refused by the proof of the step.
#include <algorithm>

#include "schedule/templates/templates.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::precompute_test {

namespace {

const char* const kScaled = R"(
program scaled(M, N, K)
  in  A: f32[M, K + 2]
  in  B: i8[K, N]
  in  s: f32[N]
  out C: f32[M, N]
  C[m, n] = sum[k in 2..K+2] 3 * A[m, k] * (f32(B[k-2, n]) * s[n])
)";

std::shared_ptr<const ir::Program> scaled() {
  return bound_program(kScaled, {{"M", 5}, {"N", 7}, {"K", 4}});
}

const char* const kBoth =
    "precompute C.update: a[m, k] = 3 * A[m, k]\n"
    "precompute C.update: b[k, n] = f32(B[k-2, n]) * s[n]";

ir::Statement& statement_of(ir::Program& program, const std::string& name) {
  return *std::ranges::find(program.statements, name, &ir::Statement::name);
}

}  // namespace

TEST_CASE("values are computed before, executed and proved, with what follows") {
  const std::string both = kBoth;
  for (const std::string& lines : std::vector<std::string>{
           both, both + "\ncompute_inline a",
           both + "\nsplit C.update: m by 2\nstage b layout (k, n) [n//4, k, n%4]",
           ("split m by 2\nsplit n by 4\nprecompute C.update: a[k, m] = 3 * A[m, k]\n"
            "nest { k > m > a; n.o > m.o > m.i > n.i > C.init; "
            "n.o > m.o > k > m.i > n.i > C.update }\nvectorize a:m"),
           both + "\nnest { k > n > b; m > { k > a; n > C.init; k > n > C.update } }",
           "nest m > n > { C.init; k > C.update }\nprecompute C.update: a[m, k] = 3 * A[m, k]"}) {
    CAPTURE(lines);
    CHECK(problem_of(scaled(), lines, ProofLevel::Full) == "");
  }
}

TEST_CASE("the new tensor counts from the first iteration") {
  const State state = state_of(scaled(), "precompute C.update: a[m, k] = 3 * A[m, k]");
  CHECK(ir::constant_shape(state.basis->buffer("a")) == std::vector<std::int64_t>{5, 4});
  CHECK(state.basis->statements.front().name == "a");  // in front of C.init
  CHECK(ir::to_string(state.basis->statement("C.update").values[0]) ==
        "a[m, k - 2] * (f32(B[k - 2, n]) * s[n])");
}

TEST_CASE("what is no value of its own is refused") {
  const auto said = [](const std::string& line) {
    return problem_of(scaled(), line, ProofLevel::Full);
  };
  CHECK(has(said("precompute C.update: a[m] = 3 * A[m, k]"),
            "it depends on k, which is no dimension of a"));
  CHECK(
      has(said("precompute C.update: a[m, k] = 4 * A[m, k]"), "C.update has no value 4 * A[m, k]"));
  CHECK(has(said("precompute C.update: a[m, k] = 3 * A[m, "), "is no value of C.update"));
  CHECK(has(said("precompute C.update: C[m, k] = 3 * A[m, k]"),
            "the name C is taken: a tensor is called so"));
  CHECK(has(said("precompute D: a[m, k] = 3 * A[m, k]"), "D"));
  CHECK(
      has(said("stage A\nprecompute C.update: a[m, k] = 3 * A[m, k]"), "comes before that stage"));
  CHECK(has(said("precompute C.update: a[m, n, k] = 3 * A[m, k] * (f32(B[k-2, n]) * s[n])"),
            "the products that C.update adds are not rounded before"));
}

TEST_CASE("what the value reads is not written in between") {
  const auto said = [](const std::string& statements, const std::string& line) {
    const auto program = bound_program(
        "program p(N)\n  in x: f32[N]\n  inout y: f32[N]\n  out z: f32[N]\n" + statements,
        {{"N", 4}});
    return problem_of(program, line, ProofLevel::Full);
  };
  const std::string line = "precompute z: a[i] = y[i] + 1";
  CHECK(said("  y[i] = x[i]\n  z[i] = (y[i] + 1) * x[i]\n", line) == "");
  CHECK(said("  z[i] = (y[i] + 1) * x[i]\n  y[i] = x[i]\n", line) == "");
  CHECK(has(said("  loop t in 0..N\n    z[i] = (y[i] + 1) * x[t]\n    y[i] = z[i]\n", line),
            "what it reads is written in the same region"));
  CHECK(said("  loop t in 0..N\n    z[i] = (x[i] + 1) * y[t]\n    y[i] = z[i]\n",
             "precompute z: a[i] = x[i] + 1") == "");
}

TEST_CASE("reads at points that the statement has not stay in their tensors") {
  const auto program = bound_program(R"(
program lower(N)
  in  x: f32[N]
  in  v: f32[N]
  out y: f32[N]
  y[i] = sum[j in 0..i] (x[i - j] + 1) * v[j]
)",
                                     {{"N", 5}});
  CHECK(has(problem_of(program, "precompute y.update: a[i, j] = x[i - j] + 1", ProofLevel::Full),
            "subscript i - j of x (dimension 0) goes below 0"));
}

TEST_CASE("what precompute makes has to be the Program") {
  const auto verdict = [](const std::function<void(ir::Program&)>& damage) {
    return verdict_after(state_of(scaled(), "precompute C.update: a[m, k] = 3 * A[m, k]"), damage);
  };
  CHECK(verdict([](ir::Program&) {}) == "legal");
  // The last column is not computed.
  CHECK(has(verdict([](ir::Program& p) {
              statement_of(p, "a").domain.push_back(
                  ir::less_than(ir::Affine::symbol("k"), ir::Affine(5)));
            }),
            "reads an element of 'a' that is not computed"));
  CHECK(has(verdict([](ir::Program& p) {
              statement_of(p, "a").values[0] = ir::make_float(DType::F32, 3);
            }),
            "is not what the Program computes"));
  CHECK(has(verdict([](ir::Program& p) {
              std::ranges::rotate(p.statements, p.statements.begin() + 1);  // behind what reads it
            }),
            "before it is computed"));
  CHECK(has(verdict([](ir::Program& p) {
              ir::Expr& value = statement_of(p, "C.update").values[0];
              value = ir::substitute(value, {{"m", ir::Affine(0)}});
            }),
            "is not what the Program computes"));
}

TEST_CASE("our schedulers compute scaled operands before the product") {
  const auto program = bound_program(R"(
program product()
  in  A: f32[96, 80]
  in  B: f32[80, 96]
  out C: f32[96, 96]
  C[m, n] = sum[k] 2 * A[m, k] * B[k, n]
)",
                                     {});
  const auto script = make_template(*program, wide_machine());
  REQUIRE(script);
  const std::string text = checked_text(program, *script);
  CHECK_MESSAGE(has(text, "precompute C.update: A_value[m, k] = 2 * A[m, k]"), text);
}

TEST_CASE("the operand of two products is computed before each, under names of their own") {
  const auto program = bound_program(R"(
program products()
  in  A: f32[96, 80]
  in  B: f32[80, 96]
  out C: f32[96, 96]
  out D: f32[96, 96]
  C[m, n] = sum[k] 2 * A[m, k] * B[k, n]
  D[m, n] = sum[k] 2 * A[m, k] * (B[k, n] + 1)
)",
                                     {});
  const auto script = make_template(*program, wide_machine());
  REQUIRE(script);
  const std::string text = checked_text(program, *script);
  CHECK_MESSAGE(has(text, "precompute C.update: A_value[m, k] = 2 * A[m, k]"), text);
  CHECK_MESSAGE(has(text, "precompute D.update: A_value_2[m, k] = 2 * A[m, k]"), text);
}

}  // namespace polyte::schedule::precompute_test
