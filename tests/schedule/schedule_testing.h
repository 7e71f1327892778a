// What the tests of schedules share: Programs by name, scripts replayed on them with or
// without proof.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "ir/program_text.h"
#include "schedule/script/replay.h"
#include "tests/schedule/execute_state.h"

namespace polyte::schedule {

inline std::shared_ptr<const ir::Program> bound_program(const std::string& text,
                                                        const ir::Values& sizes) {
  return std::make_shared<const ir::Program>(ir::bind(ir::parse_program(text, "test"), sizes));
}

// Its sizes stay open.
inline std::shared_ptr<const ir::Program> open_program(const std::string& text) {
  return std::make_shared<const ir::Program>(ir::parse_program(text, "test"));
}

inline Machine test_machine() {
  Machine machine;
  machine.cpu = "test";
  machine.vector_bits = 128;  // L = 4 for f32
  machine.vector_registers = 32;
  machine.cores = 2;
  return machine;
}

// 16 lanes of f32, 32 registers, one FMA a cycle, caches of 32 KiB, 1 MiB and 4 MiB.
inline Machine wide_machine() {
  Machine machine = test_machine();
  machine.vector_bits = 512;
  machine.fma_per_cycle = 1;
  machine.l1 = {32 * 1024, 8, 64};
  machine.l2 = {1024 * 1024, 8, 64};
  machine.l3 = {4096 * 1024, 16, 64};
  return machine;
}

// As a core with AVX2: sixteen registers, and caches of half the size.
inline Machine narrow_machine() {
  Machine machine = wide_machine();
  machine.vector_bits = 256;
  machine.vector_registers = 16;
  machine.fma_per_cycle = 2;
  machine.l2.bytes = 512 * 1024;
  return machine;
}

inline Script script_of(const ir::Program& program, const std::string& lines,
                        const std::string& contract = "exact") {
  return parse_script("schedule s/1 for " + program.name + " f32 " + contract + "\n" + lines,
                      "s.sched");
}

inline std::string joined_problems(const std::vector<std::string>& problems) {
  std::string text;
  for (const std::string& problem : problems) text += (text.empty() ? "" : "; ") + problem;
  return text;
}

// Replays and executes; the text of the first problem, empty if there is none.
inline std::string problem_of(std::shared_ptr<const ir::Program> program, const std::string& lines,
                              ProofLevel proof = ProofLevel::Off,
                              const std::string& contract = "exact") {
  const auto state =
      replay(program, script_of(*program, lines, contract), test_machine(), {proof, {}});
  if (!state) return to_string(state.error(), "s.sched", "");
  return joined_problems(compare_with_reference(*state));
}

// At every size proved, and executed to the reference's bits.
inline void check_proved(const std::string& text, const std::vector<ir::Values>& sizes,
                         const std::string& lines, const std::string& contract = "exact") {
  CAPTURE(lines);
  for (const ir::Values& each : sizes) {
    CAPTURE(each.begin()->second);
    CHECK(problem_of(bound_program(text, each), lines, ProofLevel::Full, contract) == "");
  }
}

// A directive is printed as it is read.
inline void check_reads_back(const std::string& line) {
  const std::string script = "schedule s/1 for p  f32  exact\n" + line + "\n";
  CHECK(print(parse_script(script, "s")) == script);
}

// What a scheduler wrote, as text, once it is proved and executed.
inline std::string checked_text(std::shared_ptr<const ir::Program> program, const Script& script,
                                const Machine& machine = wide_machine()) {
  const std::string text = print(script);
  CAPTURE(text);
  const auto state = replay(program, script, machine, {ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  CHECK(joined_problems(compare_with_reference(*state)) == "");
  return text;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline State state_of(std::shared_ptr<const ir::Program> program, const std::string& lines) {
  auto state = replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Off, {}});
  REQUIRE_MESSAGE(
      static_cast<bool>(state),
      (state ? std::string() : state.error().directive + ": " + state.error().headline));
  return *state;
}

inline std::string nest_of(const std::string& text, const ir::Values& sizes,
                           const std::string& lines) {
  return print_nest(state_of(bound_program(text, sizes), lines).tree);
}

// What the proof of the last rewrite says once its Program was changed behind the primitive's back.
inline std::string verdict_after(State state, const std::function<void(ir::Program&)>& damage) {
  auto changed = std::make_shared<ir::Program>(*state.basis);
  damage(*changed);
  state.rewrites.back().after = state.basis = changed;
  Prover prover(state.reference);
  const auto refusal = prover.check_rewrites(state);
  return refusal ? refusal->headline : "legal";
}

inline constexpr const char* kDenseRelu = R"(
program dense_relu(M, N, K)
  in    x: f32[M, K]
  const w: f32[K, N]
  in    b: f32[N]
  out   y: f32[M, N]

  acc[m, n] = sum[k] x[m, k] * w[k, n]
  y[m, n]   = max(acc[m, n] + b[n], 0)
)";

// A maximum and a sum over the same rows, in parts or not.
inline constexpr const char* kRowSums = R"(
program row_sums(M, N)
  in  x: f32[M, N]
  in  v: f32[M, N]
  out t: f32[M]
  out s: f32[M]
  t[i] = max[j] x[i, j]
  s[i] = sum[j] x[i, j] * v[i, j]
)";

inline constexpr const char* kMean = R"(
program mean(C, H)
  in  x: f32[C, H, H, 16]
  out y: f32[C, 16]
  y[c, i] = sum[h, w] x[c, h, w, i]
)";

inline constexpr const char* kBlur = R"(
program blur(M, N)
  in  a: f32[M + 2, N + 2]
  out y: f32[M, N]
  bx[u, x] = a[u, x] + a[u, x+1] + a[u, x+2]     for u in 0..M+2, x in 0..N
  y[u, x]  = bx[u, x] + bx[u+1, x] + bx[u+2, x]  for u in 0..M, x in 0..N
)";

// In step 5 e reads at its point what d wrote, in the steps behind it what d writes later: the
// middle step does not show that the two may not share a loop.
inline constexpr const char* kShifted = R"(
program shifted(N)
  in    x: f32[N]
  inout d: f32[N + 16]
  out   e: f32[8, N]
  loop t in 3..8
    d[t + i] = x[i] + 1      for i in 0..N
    e[t, i] = d[2*t - 5 + i] for i in 0..N
)";

inline constexpr const char* kJacobi = R"(
program jacobi_2d(T, N)
  inout A: f64[N, N]
  inout B: f64[N, N]
  loop t in 0..T
    B[i, j] = 2 * (A[i, j] + A[i, j-1] + A[i, j+1] + A[i-1, j] + A[i+1, j])
        for i in 1..N-1, j in 1..N-1
    A[i, j] = 2 * (B[i, j] + B[i, j-1] + B[i, j+1] + B[i-1, j] + B[i+1, j])
        for i in 1..N-1, j in 1..N-1
)";

inline constexpr const char* kSeidel = R"(
program seidel_2d(T, N)
  inout A: f64[N, N]
  loop t in 0..T
    A[i, j] = A[i-1, j] + A[i, j-1] + A[i, j] + A[i, j+1] + A[i+1, j]  for i in 1..N-1, j in 1..N-1
)";

inline constexpr const char* kConv = R"(
program conv(F, C, H, W)
  in    x: f32[C, H, W]
  const w: f32[F, C, 3, 3]
  out   y: f32[F, H, W]
  acc[f, h, q] = sum[c, r, s] (x[c, h+r-1, q+s-1] else 0) * w[f, c, r, s]  for h in 0..H, q in 0..W
  y[f, h, q] = max(acc[f, h, q], 0)
)";

// A statement to plant a fault in.
inline ir::Statement& statement(ir::Program& program, const std::string& name) {
  for (ir::Statement& s : program.statements)
    if (s.name == name) return s;
  FAIL("no statement " << name);
  return program.statements[0];
}

}  // namespace polyte::schedule
