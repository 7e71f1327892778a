// Wrong schedules forced through without proof, on inputs that are all zero: no value can differ,
// so what shows the fault is where the values come from. Beside them their legal neighbours,
// which raise no alarm.
#include "lower/trace_check.h"

#include "ir/loop_program_text.h"
#include "lower/lower.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::lower {

namespace {

constexpr const char* kAccumulatorUsedTwice = R"(program late(N, K)
  in  a: i32[N, K]
  in  b: i32[N, K]
  out w: i32[N]
  temp acc: i32[N]

  I: acc[i] = 0
  P: acc[i] += a[i, k]
  Y: y[i] = acc[i] * 2
  J: acc[i] = 0
  S: acc[i] += b[i, k]
  W: w[i] = y[i] + acc[i])";

constexpr const char* kAccumulatorUsedTwiceMax = R"(program latem(N, K)
  in  a: f32[N, K]
  in  b: f32[N, K]
  out w: f32[N]
  temp m: f32[N]

  I: m[i] = -1.0e30
  P: m[i] max= a[i, k]
  Y: y[i] = m[i] * 2.0
  J: m[i] = -1.0e30
  S: m[i] max= b[i, k]
  W: w[i] = y[i] + m[i])";

constexpr const char* kAccumulatorUsedTwiceReassoc = R"(program late(N, K)
  in  a: f32[N, K]
  in  b: f32[N, K]
  out w: f32[N]
  temp acc: f32[N]

  I: acc[i] = 0
  P: acc[i] += a[i, k]
  Y: y[i] = acc[i] * 2.0
  J: acc[i] = 0
  S: acc[i] += b[i, k]
  W: w[i] = y[i] + acc[i])";

constexpr const char* kNextGenerationRead = R"(program gen(N, K)
  in  a: i32[N, K]
  in  b: i32[N, K]
  out y: i32[N]
  out z: i32[N]
  temp acc: i32[N]

  I: acc[i] = 0
  P: acc[i] += a[i, k]
  y[i] = acc[i]
  J: acc[i] = 0
  S: acc[i] += b[i, k]
  z[i] = acc[i])";

constexpr const char* kProductAndSumInterleaved = R"(program mix(N, K)
  in  a: i32[N, K]
  in  b: i32[N, K]
  out y: i32[N]
  temp acc: i32[N]

  I: acc[i] = 1
  P: acc[i] *= a[i, k]
  S: acc[i] += b[i, k]
  y[i] = acc[i])";

constexpr const char* kSumAndMaxInterleaved = R"(program clamp(N, K)
  in  a: i32[N, K]
  in  z: i32[N, K]
  out y: i32[N]
  temp acc: i32[N]

  I: acc[i] = 0
  S: acc[i] += a[i, k]
  M: acc[i] max= z[i, k]
  y[i] = acc[i])";

constexpr const char* kRegionMaxStaged = R"(program reg(T, N, K)
  in  a: f32[T, N, K]
  out y: f32[T, N]
  temp m: f32[N]

  loop t in 0..T
    I: m[i] = -1.0e30
    P: m[i] max= a[t, i, k]
    Y: y[t, i] = m[i])";

constexpr const char* kLstmStagedGates = R"(program lstm_cell(T, H, X)
  in    x: f32[T, X]
  const w: f32[4*H, X]
  const u: f32[4*H, H]
  inout h: f32[H]
  inout c: f32[H]
  temp  g: f32[4*H]
  temp  r: f32[4*H]

  loop t in 0..T
    g[i] = sum[k] w[i, k] * x[t, k]
    r[i] = sum[k] u[i, k] * h[k]
    c[j] = sigmoid(g[j+H] + r[j+H]) * c[j] + sigmoid(g[j] + r[j]) * tanh(g[j+2*H] + r[j+2*H])
        for j in 0..H
    h[j] = sigmoid(g[j+3*H] + r[j+3*H]) * tanh(c[j])  for j in 0..H)";

constexpr const char* kContractLeftByLifting = R"(program two(N, K, J)
  in  a: f32[N, K]
  in  b: f32[N, J]
  out y: f32[N]
  temp acc: f32[N]

  I: acc[i] = 0
  P: acc[i] += a[i, k]
  S: acc[i] += b[i, j]
  y[i] = acc[i])";

constexpr const char* kUpdateReadsItself = R"(program p(M, N)
  in  x: i32[M, N]
  inout s: i32[M]
  U: s[m] max= x[m, n] - s[m]   for m in 0..M, n in 0..N)";

constexpr const char* kFalseRefusalPartialSums = R"(program clr(T, N, K)
  in  a: i32[T, N, K]
  inout s: i32[N]
  out y: i32[T, N]

  loop t in 0..T
    P: s[i] += a[t, i, k]
    Y: y[t, i] = s[i])";

constexpr const char* kFalseRefusalInline = R"(program p(N)
  inout a: i32[N]
  out  y: i32[N]
  t[i] = a[i] * 2
  y[i] = t[i] + 1
  S: a[i] = 0)";

constexpr const char* kGuard = R"(program guarded(N)
  in  x: i32[N]
  out y: i32[N]
  temp c: i32[N]
  I: y[i] = 0
  C: c[i] = x[i]
  Y: y[i] = 1 when c[i] < 5
  D: c[i] = x[i] + 1
  Z: y[i] = y[i] + c[i])";

constexpr const char* kTwoLoops = R"(program two_loops(N, J, K)
  in  b: f32[N, J, K]
  out acc: f32[N]
  I: acc[i] = 0
  S: acc[i] += b[i, j, k])";

constexpr const char* kTwoSums = R"(program two_sums(N, K)
  in  a: i32[N, K]
  in  b: i32[N, K]
  out y: i32[N]
  temp acc: i32[N]
  I: acc[i] = 0
  P: acc[i] += a[i, k]
  S: acc[i] += b[i, k]
  Y: y[i] = acc[i])";

constexpr const char* kArgmax = R"(program winner(M, N)
  in  x: i32[M, N]
  out v: i32[M]
  out q: i64[M]
  (v, q)[m] = argmax[k] (x[m, k], k)  for m in 0..M, k in 0..N)";

constexpr const char* kScan = R"(program scan(T, N)
  in  a: i32[T, N]
  inout s: i32[N]
  out y: i32[T, N]
  loop t in 0..T
    P: s[i] += a[t, i]
    Y: y[t, i] = s[i])";

struct Planted {
  const char *name, *program;
  ir::Values sizes;
  const char *script, *contract;
  bool legal;
};

constexpr const char* kReadsOneElement = R"(program reads_one(N)
  in    a: i32[2, 2, N]
  in    b: i32[N]
  inout y: i32[2, N]
  loop t in 0..2
    Y: y[t, i] += b[i]                              for i in 0..N
    U: y[i, j] += a[t, i, j] - (y[t-1, j] else 1)   for i in 0..2, j in 0..N
)";

const Planted kPlanted[] = {
    {"accumulator used twice",
     kAccumulatorUsedTwice,
     {{"N", 4}, {"K", 5}},
     R"(stage acc
nest { i > I; i > k > P; i > J; i > k > S; i > Y; i > W })",
     "exact",
     false},
    {"accumulator used twice max",
     kAccumulatorUsedTwiceMax,
     {{"N", 4}, {"K", 5}},
     R"(stage m
nest { i > I; i > k > P; i > J; i > k > S; i > Y; i > W })",
     "exact",
     false},
    {"accumulator used twice reassoc",
     kAccumulatorUsedTwiceReassoc,
     {{"N", 4}, {"K", 5}},
     R"(stage acc
nest { i > I; i > k > P; i > J; i > k > S; i > Y; i > W })",
     "reassoc k",
     false},
    {"consumer moved past second sum",
     kAccumulatorUsedTwice,
     {{"N", 4}, {"K", 5}},
     R"(compute_at y at W:i)",
     "exact",
     false},
    {"next generation read",
     kNextGenerationRead,
     {{"N", 4}, {"K", 5}},
     R"(nest i > { I; k > P; y; J; k > S; z }
compute_at acc at y:i)",
     "exact",
     false},
    {"product and sum interleaved",
     kProductAndSumInterleaved,
     {{"N", 4}, {"K", 5}},
     R"(compute_at acc at y:i
merge P, S through k)",
     "exact",
     false},
    {"sum and max interleaved",
     kSumAndMaxInterleaved,
     {{"N", 4}, {"K", 5}},
     R"(compute_at acc at y:i
merge S, M through k)",
     "exact",
     false},
    {"region max staged",
     kRegionMaxStaged,
     {{"T", 3}, {"N", 4}, {"K", 5}},
     R"(stage m
nest { t > i > I; t > i > k > P; t > i > Y })",
     "exact",
     false},
    {"lstm staged gates",
     kLstmStagedGates,
     {{"T", 3}, {"H", 2}, {"X", 3}},
     R"(stage g
nest { t > i > g.init; t > i > k > g.update; t > { i > r.init; i > k > r.update; j > c; j > h } })",
     "reassoc k",
     false},
    {"contract left by lifting",
     kContractLeftByLifting,
     {{"N", 4}, {"K", 5}, {"J", 6}},
     R"(compute_at acc at y:i
reverse S:j)",
     "reassoc k",
     false},
    {"update reads itself",
     kUpdateReadsItself,
     {{"M", 3}, {"N", 6}},
     R"(reorder U: n > m
reverse n)",
     "exact",
     false},
    {"false refusal partial sums",
     kFalseRefusalPartialSums,
     {{"T", 3}, {"N", 4}, {"K", 5}},
     R"(stage s)",
     "exact",
     true},
    {"false refusal inline", kFalseRefusalInline, {{"N", 8}}, R"(compute_inline t)", "exact", true},
    {"a guard reads what comes later",
     kGuard,
     {{"N", 4}},
     "nest { i > I; i > C; i > D; i > Y; i > Z }",
     "exact",
     false},
    {"a guard reads what it should",
     kGuard,
     {{"N", 4}},
     "nest i > { I; C; Y; D; Z }",
     "exact",
     true},
    {"a loop that no contract names",
     kTwoLoops,
     {{"N", 2}, {"J", 3}, {"K", 4}},
     "reverse S:j",
     "reassoc k",
     false},
    {"a loop that the contract names",
     kTwoLoops,
     {{"N", 2}, {"J", 3}, {"K", 4}},
     "reverse S:k",
     "reassoc k",
     true},
    {"the second of two sums first",
     kTwoSums,
     {{"N", 3}, {"K", 4}},
     "nest i > { I; k > S; k > P; Y }",
     "exact",
     true},
    {"a sum read before its end",
     kTwoSums,
     {{"N", 3}, {"K", 4}},
     "nest i > { I; k > P; Y; k > S }",
     "exact",
     false},
    {"a position backwards", kArgmax, {{"M", 2}, {"N", 5}}, "reverse k", "exact", true},
    {"a scan read at its end",
     kScan,
     {{"T", 3}, {"N", 2}},
     "nest { t > i > P; t > i > Y }",
     "exact",
     false},
    // Of y[0] its second update is no mere update: it reads what it adds to.
    {"updates of other elements before those that read one",
     kReadsOneElement,
     {{"N", 3}},
     "nest { t > i > Y; t > i > j > U }",
     "exact",
     true},
    {"an update that reads its element first",
     kReadsOneElement,
     {{"N", 3}},
     "nest { t > i > j > U; t > i > Y }",
     "exact",
     false},
    {"a scan by columns", kScan, {{"T", 3}, {"N", 2}}, "nest i > t > { P; Y }", "exact", true},
};

ir::Environment zeros(const ir::Program& program) {
  ir::Environment buffers;
  for (const ir::Buffer* buffer : program.interface())
    if (buffer->role != ir::Role::Out)
      buffers[buffer->name] = ir::make_contents(buffer->dtype, ir::constant_shape(*buffer));
  return buffers;
}

std::vector<TraceFault> faults_of(const schedule::State& state, const ir::Environment& inputs) {
  const Machine machine = schedule::test_machine();
  const ReferenceTrace reference(*state.basis, inputs, {.any_order = reorderable_updates(state)});
  const ir::LoopProgram packing = lower_packing(state, {.machine = machine});
  std::vector<TraceFault> faults =
      compare_traces(reference, packing, lower_to_nest(state), padded_statements(state));
  if (faults.empty())
    faults = compare_traces(reference, packing, lower(state, {.machine = machine}),
                            padded_statements(state));
  return faults;
}

schedule::State forced(const Planted& planted) {
  const auto program = schedule::bound_program(planted.program, planted.sizes);
  const auto state =
      schedule::replay(program, schedule::script_of(*program, planted.script, planted.contract),
                       schedule::test_machine(), {schedule::ProofLevel::Off, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  return *state;
}

}  // namespace

TEST_CASE("wrong schedules show where their values come from, whatever the data") {
  for (const Planted& planted : kPlanted) {
    CAPTURE(planted.name);
    const schedule::State state = forced(planted);
    const std::vector<TraceFault> faults = faults_of(state, zeros(*state.basis));
    CHECK_MESSAGE(faults.empty() == planted.legal,
                  (faults.empty() ? std::string("no fault") : faults.front().text));
    for (const TraceFault& fault : faults) CHECK(fault.kind != TraceFault::Kind::Values);
  }
}

TEST_CASE("an atomic update whose guard reads the tensor is a race") {
  schedule::State state = forced({"",
                                  R"(program p(N, B)
  in  bin: i32[N]
  in  oth: i32[N]
  inout h: i32[B]
  U: h[bin[n]] += 1 when h[oth[n]] < 2)",
                                  {{"N", 8}, {"B", 3}},
                                  "parallel n",
                                  "exact",
                                  false});
  // No script gets that far.
  for (schedule::ScheduledStatement& s : state.statements) s.atomic = true;
  ir::Environment inputs = zeros(*state.basis);
  for (std::int64_t n = 0; n < 8; ++n) {
    ir::set_real(inputs.at("bin"), n, static_cast<double>(n % 3));
    ir::set_real(inputs.at("oth"), n, static_cast<double>((n + 1) % 3));
  }
  const std::vector<TraceFault> faults = faults_of(state, inputs);
  REQUIRE(!faults.empty());
  CHECK(faults.front().kind == TraceFault::Kind::Fault);
  CHECK(schedule::has(faults.front().text, "race on h["));
}

TEST_CASE("lanes that go from row to row are followed one by one") {
  const auto program = schedule::bound_program(R"(program rows()
  in  x: i32[2, 4, 3]
  out y: i32[4, 3]
  Y: y[j, k] = x[0, j, k] - x[1, j, k])",
                                               {});
  const ReferenceTrace reference(*program, zeros(*program), {});
  const auto faults = [&](const std::string& first, const std::string& instance) {
    const std::string text =
        "loops rows\n  in x: i32[24]\n  out y: i32[12]\n\n  y[0; 12 by 1] = (x[" + first +
        "; 12 by 1] - x[12; 12 by 1])  @Y(" + instance + ")\n";
    const ir::LoopProgram loops = ir::parse_loop_program(text, "test");
    CHECK(ir::print(ir::parse_loop_program(ir::print(loops), "again")) == ir::print(loops));
    return compare_traces(reference, {}, loops);
  };
  CHECK(faults("0", "_lane//3, _lane % 3").empty());
  CHECK(!faults("1", "_lane//3, _lane % 3").empty());        // reads other elements
  CHECK(!faults("0", "_lane//3, (_lane + 1) % 3").empty());  // says other instances
  CHECK(!faults("0", "_lane//4, _lane % 4").empty());
}

}  // namespace polyte::lower
