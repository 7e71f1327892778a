// The second judge: what is executed, at which sizes, and what happens where an accepted
// schedule is wrong.
#include "driver/compile/second_judge.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "driver/compile/build_kernel.h"
#include "driver/compile/execution_check.h"
#include "ir/program_text.h"
#include "schedule/script/replay.h"
#include "support/error.h"

namespace polyte::driver {

namespace {

constexpr const char* kGemm = R"(
program gemm(M, N, K)
  in  a: f32[M, K]
  in  b: f32[K, N]
  out c: f32[M, N]
  c[m, n] = sum[k] a[m, k] * b[k, n]
)";

// The second sum is read where the first one should be.
constexpr const char* kTwice = R"(
program late(N, K)
  in  a: i32[N, K]
  in  b: i32[N, K]
  out w: i32[N]
  temp acc: i32[N]
  I: acc[i] = 0
  P: acc[i] += a[i, k]
  Y: y[i] = acc[i] * 2
  J: acc[i] = 0
  S: acc[i] += b[i, k]
  W: w[i] = y[i] + acc[i]
)";
constexpr const char* kWrong = "nest { i > I; i > k > P; i > J; i > k > S; i > Y; i > W }";

std::shared_ptr<const ir::Program> open_program(const char* text) {
  return std::make_shared<const ir::Program>(ir::parse_program(text, "test"));
}

std::shared_ptr<const ir::Program> bound_program(const char* text, const ir::Values& sizes) {
  return std::make_shared<const ir::Program>(ir::bind(ir::parse_program(text, "test"), sizes));
}

Machine machine() {
  Machine result;
  result.cpu = "test";
  result.vector_bits = 128;
  result.vector_registers = 32;
  result.cores = 2;
  return result;
}

// Accepted without proof: what a wrong proof would say.
std::string judged(const std::shared_ptr<const ir::Program>& program, const std::string& lines,
                   std::int64_t budget, std::shared_ptr<const ir::Program> open = nullptr) {
  const schedule::Script script = schedule::parse_script(
      "schedule s/1 for " + program->name + " f32 exact\n" + lines, "s.sched");
  const auto state = schedule::replay(program, script, machine(), {schedule::ProofLevel::Off, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  return ask_second_judge({*state, script, std::move(open)}, machine(), budget).text;
}

}  // namespace

TEST_CASE("an accepted schedule is executed at small sizes") {
  const std::string tiles =
      "split m by 4, n by 8\nnest m.o > n.o > { m.i > n.i > c.init; k > m.i > n.i > c.update }";
  const auto open = open_program(kGemm);
  CHECK(judged(open, tiles, 20'000) == "agrees (executed at K=7, M=5, N=10)");
  CHECK(judged(open, tiles, 300) == "agrees (executed at K=7, M=5, N=6)");
  const auto large = bound_program(kGemm, {{"M", 512}, {"N", 512}, {"K", 512}});
  CHECK(judged(large, tiles, 20'000, open) == "agrees (executed at K=7, M=5, N=10)");
  CHECK(judged(large, tiles, 20'000) == "not run (would take 1.3e+08 steps, budget 20000)");
  CHECK(judged(bound_program(kGemm, {{"M", 6}, {"N", 9}, {"K", 3}}), tiles, 500) ==
        "agrees (executed at its own sizes)");
}

TEST_CASE("an accepted schedule that is wrong is an internal error that shows the fault") {
  std::string message;
  try {
    judged(open_program(kTwice), kWrong, 20'000);
  } catch (const InternalError& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("the proof accepts schedule 's/1' of program 'late'") != std::string::npos);
  CHECK(message.find("order: Y(0) reads what") != std::string::npos);
  CHECK(message.find("i > k > P") != std::string::npos);
}

// One tile holds all of a loop that carries a dependence: at other sizes the same lines are another
// schedule, which the proof has not accepted.
TEST_CASE("what is legal at its sizes alone is not judged at others") {
  constexpr const char* kScan = R"(
program scan(T, N)
  inout x: f32[T, N]
  loop t in 1..T
    S: x[t, i] = x[t - 1, i] + 1   for i in 0..N
)";
  const std::string lines = "split t by 4\nparallel t.o";
  const auto bound = bound_program(kScan, {{"T", 4}, {"N", 100000}});
  CHECK(judged(bound, lines, 200, open_program(kScan)) ==
        "not run (the script is not legal at N=6, T=5)");
}

TEST_CASE("a kernel says what its second judge did") {
  const auto program = bound_program(kGemm, {{"M", 4}, {"N", 5}, {"K", 3}});
  for (const Scheduler scheduler : {Scheduler::Naive, Scheduler::Template, Scheduler::Poly}) {
    KernelOptions options;
    options.scheduler = scheduler;
    CHECK(build_kernel(program, machine(), options).second_judge.ran);
    options.second_judge = false;
    CHECK_FALSE(build_kernel(program, machine(), options).second_judge.ran);
    options.second_judge = true;
    options.proof = schedule::ProofLevel::Off;
    CHECK_FALSE(build_kernel(program, machine(), options).second_judge.ran);
  }
}

TEST_CASE("the budget grows with the proof, by steps that a busy machine seldom changes") {
  CHECK(judge_budget(0, false) == kLeastJudgeSteps);
  CHECK(judge_budget(9, false) == kLeastJudgeSteps);
  CHECK(judge_budget(10, false) == 4 * kLeastJudgeSteps);
  CHECK(judge_budget(39, false) == 4 * kLeastJudgeSteps);
  CHECK(judge_budget(1e9, false) == kLeastJudgeSteps << 12U);
  CHECK(judge_budget(39, true) == kLeastJudgeSteps);
  CHECK(judge_budget(40, true) == 4 * kLeastJudgeSteps);
}

TEST_CASE("what another rounding makes jump is not compared, what lies beside it is") {
  const auto program = bound_program(R"(
program ratio(N)
  in  x: f32[N]
  in  w: f32[1]
  out below: f32[N]
  out q: f32[N]
  below[i] = select(x[i] / w[0] < 1, 100, 0)
  q[i] = x[i] / w[0]
)",
                                     {{"N", 2}});
  const schedule::Script script = schedule::parse_script(
      "schedule s/1 for ratio f32 exact\nreciprocal below\nreciprocal q", "s.sched");
  const auto state = schedule::replay(program, script, machine(), {schedule::ProofLevel::Full, {}});
  REQUIRE(state);
  ir::Environment inputs = small_integer_environment(*program, 1);
  for (const std::int64_t i : {0, 1}) ir::set_real(inputs.at("x"), i, 41);
  ir::set_real(inputs.at("w"), 0, 41);  // 41 * (1 / 41) < 1
  CHECK(faults_by_execution(*state, machine(), inputs).empty());
  schedule::State wrong = *state;
  auto another = std::make_shared<ir::Program>(*wrong.reference);
  another->statements.back().values.front() = ir::make_float(DType::F32, 2);
  wrong.reference = another;
  const auto faults = faults_by_execution(wrong, machine(), inputs);
  REQUIRE(faults.size() == 1);
  CHECK(faults.front().text == "the rewritten program computes another q");
}

TEST_CASE("adverse numbers: some have to be rounded, some are equal, some zeros are negative") {
  for (const std::string type : {"f64", "f32", "f16", "bf16"}) {
    CAPTURE(type);
    const std::string text =
        "program p(N)\n  in x: " + type + "[N]\n  out y: " + type + "[N]\n  y[i] = x[i]\n";
    const auto program = bound_program(text.c_str(), {{"N", 200}});
    const ir::Environment inputs = adverse_environment(*program, 1, true);
    int whole = 0, odd = 0, negative_zeros = 0;
    for (std::int64_t i = 0; i < 200; ++i) {
      const double value = ir::get_real(inputs.at("x"), i);
      ++(value == std::floor(value) ? whole : odd);
      negative_zeros += value == 0 && std::signbit(value) ? 1 : 0;
    }
    CHECK(whole > 60);  // of nine numbers: many are equal
    CHECK(odd > 60);
    CHECK(negative_zeros > 3);
  }
}

TEST_CASE("a product that is not rounded before it is added is another number") {
  const auto program = bound_program(R"(
program products(N)
  in  x: f32[N, 6]
  in  v: f32[N, 6]
  out y: f32[N]
  p[a, i] = x[a, i] * v[a, i]
  y[a] = sum[i] p[a, i]
)",
                                     {{"N", 12}});
  const schedule::Script script =
      schedule::parse_script("schedule s/1 for products f32 exact\ncompute_inline p", "s");
  auto state = schedule::replay(program, script, machine(), {schedule::ProofLevel::Full, {}});
  REQUIRE(state);
  const ir::Environment inputs =
      adverse_environment(*program, 1, !schedule_relaxes_rounding(*state));
  CHECK(faults_by_execution(*state, machine(), inputs).empty());
  auto fused = std::make_shared<ir::Program>(*state->basis);
  // Without the factor 1.
  const ir::Expr term = std::get<ir::Binary>(fused->statements.back().values[0]->op).b;
  for (ir::Expr* value :
       {&fused->statements.back().values[0], &state->statements.back().body.values[0]})
    *value = term;
  state->basis = state->rewrites.back().after = fused;
  const auto faults = faults_by_execution(*state, machine(), inputs);
  REQUIRE(faults.size() == 1);
  CHECK(faults.front().text == "the rewritten program computes another y");
}

TEST_CASE("numbers that a few roundings of the inputs change are not compared") {
  constexpr const char* kSums = R"(
program sums(N)
  in  x: f32[N]
  out ratio: f32[N]
  out total: f32[N]
  a[m] = sum[k in 0..N] x[k] * 0.1      for m in 0..N
  b[m] = sum[k in 0..N] x[N-1-k] * 0.1  for m in 0..N
  ratio[m] = (a[m] - b[m]) * 1000000      for m in 1..N
  first: ratio[m] = x[m] * 100            for m in 0..1
  total[m] = a[m]
)";
  const auto program = bound_program(kSums, {{"N", 24}});
  const auto replayed = [&](const std::string& lines) {
    const schedule::Script script =
        schedule::parse_script("schedule s/1 for sums f32 reassoc k\n" + lines, "s.sched");
    const auto state =
        schedule::replay(program, script, machine(), {schedule::ProofLevel::Full, {}});
    REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
    return *state;
  };
  const schedule::State state = replayed("split_reduction a: k by 4 as a_l interleaved");
  ir::Environment inputs = small_integer_environment(*program, 1);
  for (std::int64_t i = 0; i < 24; ++i)
    ir::set_real(inputs.at("x"), i, 100.0 / static_cast<double>(i + 3));
  std::set<std::string> not_compared;
  CHECK(faults_by_execution(state, machine(), inputs, {.not_compared = &not_compared}).empty());
  CHECK(not_compared == std::set<std::string>{"part of ratio"});
  const auto faults_with = [&](const std::string& statement, const ir::Expr& value) {
    schedule::State wrong = state;
    auto another = std::make_shared<ir::Program>(*wrong.reference);
    const auto found = std::ranges::find(another->statements, statement, &ir::Statement::name);
    REQUIRE(found != another->statements.end());
    found->values.front() = value;
    wrong.reference = another;
    std::string text;
    for (const lower::TraceFault& fault : faults_by_execution(wrong, machine(), inputs))
      text += fault.text + "\n";
    return text;
  };
  CHECK(faults_with("total", ir::make_float(DType::F32, 2)) ==
        "the rewritten program computes another total\n");
  // Of `ratio` the numbers that no rounding moves are compared.
  CHECK(faults_with("first", ir::make_float(DType::F32, 2)) ==
        "the rewritten program computes another ratio\n");
}

}  // namespace polyte::driver
