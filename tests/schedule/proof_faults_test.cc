// The end-to-end criterion on States with planted faults: rows, domains, accesses and children
// changed behind the primitives' backs. Each fault is refused with an instance; random mutants are
// judged by execution besides.
#include <random>

#include "schedule/script/primitives/edit.h"
#include "tests/schedule/leaks_of_isl.h"
#include "tests/schedule/planted_faults.h"

namespace polyte::schedule::proof_faults_test {
namespace {

constexpr const char* kStaged = R"(split m by 3, n by 4, k by 4   tail cut
let tile = [m.i] > <n.i>
nest n.o > k.o > m.o > {
  tile > acc.init when first k.o; k.i > tile > acc.update; tile > y when last k.o }
stage acc at m.o in register
stage w layout (k, n) [n//4, k, n%4]
)";

State staged_gemm() {
  return state_of(bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}}), kStaged);
}

}  // namespace

TEST_CASE("a staged and packed matrix product is proved") {
  const State state = staged_gemm();
  INFO(names_of(state));
  CHECK(verdict(state) == "legal");
  CHECK(joined_problems(compare_with_reference(state)).empty());
}

TEST_CASE("loops of a map that are not the images of its instances are refused") {
  const auto program = bound_program(kBlur, {{"M", 7}, {"N", 9}});
  const std::string map = "map bx (2*u, u + x) as (a, b)";
  CHECK(verdict(state_of(program, map)) == "legal");
  State loose = state_of(program, map);
  statement(loose, "bx").loop_domain.clear();
  CHECK(verdict(loose) == "bx would run where it has no instance");
  State tight = state_of(program, map);
  statement(tight, "bx").loop_domain.push_back(ir::at_least(ir::Affine::symbol("a"), 1));
  CHECK(verdict(tight) == "bx would leave an instance out");
}

TEST_CASE("a split loop that runs more or less than its tiles is refused") {
  State none = staged_gemm();
  statement(none, "acc.init").loop_domain.push_back(ir::at_least(ir::Affine::symbol("k.o"), 1));
  CHECK(verdict(none) == "acc.init would leave an instance out");
  State more = staged_gemm();
  std::vector<ir::Constraint>& domain = statement(more, "y").loop_domain;
  std::erase_if(domain, [](const ir::Constraint& c) { return c.expr.uses("m.i"); });
  std::erase_if(statement(more, "y").body.domain,
                [](const ir::Constraint& c) { return c.expr.uses("m"); });
  CHECK(verdict(more) != "legal");
}

constexpr const char* kTwice = R"(
program twice(M, N)
  in  x: i32[M, N]
  out y: i32[M, N]
  t[i, j] = x[i, j] * 2
  y[i, j] = t[i, j] + 1
)";

TEST_CASE("storage that iterations of a parallel loop share is refused") {
  State state = state_of(bound_program(kTwice, {{"M", 3}, {"N", 5}}),
                         "compute_at t at y: i\nstage t at y: i\nparallel y: i");
  CHECK(verdict(state) == "legal");
  REQUIRE(state.staged.size() == 1);
  state.staged[0].alloc_loop = kKernel;
  CHECK(verdict(state).find("parallel loop i carries a dependence through t") == 0);
}

// lower would leave such a loop scalar: the refusal is for the promise, not for a wrong value.
TEST_CASE("the lanes of an atomic update are refused") {
  const auto program = bound_program(R"(
program counts(N)
  in    at: u8[N]
  inout h: i32[256]
  H: h[at[n]] += 1  for n in 0..N
)",
                                     {{"N", 16}});
  CHECK(verdict(state_of(program, "atomic H\nparallel n")) == "legal");
  CHECK(verdict(state_of(program, "atomic H\nvectorize n"))
            .find("vector loop n carries a dependence") == 0);
}

TEST_CASE("a recomputed sum that lacks terms is refused") {
  const auto program = bound_program(R"(
program mean(M, N, K)
  in  x: i32[M, K]
  out y: i32[M, N]
  s[i] = sum[k] x[i, k]
  y[i, j] = s[i] + j
)",
                                     {{"M", 3}, {"N", 5}, {"K", 4}});
  State state = state_of(program, "compute_at s at y: i");
  CHECK(verdict(state) == "legal");
  for (std::vector<ir::Constraint>* domain :
       {&statement(state, "s.update").body.domain, &statement(state, "s.update").loop_domain})
    domain->push_back(ir::less_than(ir::Affine::symbol("k"), 3));
  CHECK(verdict(state) != "legal");
}

TEST_CASE("a recomputed sum that lacks terms which another iteration of its site has is refused") {
  const auto program = bound_program(R"(
program pairs(M, K)
  in  x: i32[M + 1, K]
  out y: i32[M]
  s[u] = sum[k] x[u, k]  for u in 0..M+1
  y[i] = s[i] + s[i+1]   for i in 0..M
)",
                                     {{"M", 4}, {"K", 4}});
  State state = state_of(program, "compute_at s at y: i");
  CHECK(verdict(state) == "legal");
  ScheduledStatement& update = statement(state, "s.update");
  REQUIRE(update.body.iterators.size() == 3);
  const auto iterator = [&](std::size_t n) { return ir::Affine::symbol(update.body.iterators[n]); };
  // s[1] at y[0]: without its last term.
  update.body.domain.push_back(
      ir::less_than(iterator(2), iterator(0) * 20 - iterator(1) * 10 + 13));
  CHECK(verdict(state) == "a sum would be read that lacks some of its terms");
}

// A staged accumulator of which some statements forget that it is staged: they work on the tensor
// itself, beside the copy, and what the copy brings back at the end comes on top.
constexpr const char* kClamped = R"(
program clamped(N, K)
  in  a: i32[N, K]
  in  b: i32[N, K]
  out y: i32[N]
  temp acc: i32[N]
  I: acc[i] = 0
  S: acc[i] += a[i, k]
  T: acc[i] += b[i, k]
  M: acc[i] max= b[i, k]
  Y: y[i] = acc[i]
)";

State with_forgotten(const std::vector<std::string>& forgotten) {
  const auto program = bound_program(kClamped, {{"N", 3}, {"K", 4}});
  const std::string nest = "nest { i > I; i > { k > S; k > T; k > M; Y } }\n";
  const State plain = state_of(program, nest);
  State staged = state_of(program, nest + "stage acc at Y: i");
  CHECK(verdict(staged) == "legal");
  for (const std::string& name : forgotten) statement(staged, name).body = plain.at(name).body;
  return staged;
}

TEST_CASE("a sum that two values go on from is refused") {
  CHECK(verdict(with_forgotten({"T"})) == "a partial sum would be counted twice");
}

TEST_CASE("a maximum that goes on from what stood before the sum is refused") {
  CHECK(verdict(with_forgotten({"M", "Y"})) == "a partial sum would be counted twice");
}

TEST_CASE("a partial sum with other terms is refused where all of it is computed anew") {
  const auto program = bound_program(R"(
program middle(N, K)
  in    a: i32[N, K]
  out   z: i32[N]
  temp  s: i32[N]
  temp  y: i32[N]
  I: s[i] = 0
  P: s[i] += a[i, k]
  Y: y[i] = s[i] * 2
  Q: s[i] += a[i, k] * 3
  Z: z[i] = y[i] + s[i]
)",
                                     {{"N", 4}, {"K", 5}});
  const std::string anew = "compute_at y at Z: i\ncompute_at s at Z: i\nnest i > { I; ";
  const std::string other_terms =
      "a partial sum would be read with other terms than in the reference";
  CHECK(verdict(state_of(program, anew + "k > P; Y; k > Q; Z }")) == "legal");
  CHECK(verdict(state_of(program, anew + "k > { Q; P }; Y; Z }")) == other_terms);
  CHECK(verdict(state_of(program, anew + "k > Q; Y; k > P; Z }")) == other_terms);
  CHECK(verdict(state_of(program, anew + "k > { P; Y when first k }; k > Q; Z }")) == other_terms);
}

TEST_CASE("a partial sum that is computed anew without some of its terms is refused") {
  // Nobody reads the whole sum: that it lacks terms shows in the middle only.
  const auto program = bound_program(R"(
program middle(N, K)
  in    a: i32[N, K]
  out   z: i32[N]
  temp  s: i32[N]
  temp  y: i32[N]
  I: s[i] = 0
  P: s[i] += a[i, k]
  Y: y[i] = s[i] * 2
  Q: s[i] += a[i, k] * 3
  Z: z[i] = y[i]
)",
                                     {{"N", 4}, {"K", 5}});
  State state = state_of(
      program, "compute_at y at Z: i\ncompute_at s at Z: i\nnest i > { I; k > P; Y; k > Q; Z }");
  CHECK(verdict(state) == "legal");
  for (std::vector<ir::Constraint>* domain :
       {&statement(state, "P").body.domain, &statement(state, "P").loop_domain})
    domain->push_back(ir::less_than(ir::Affine::symbol("k"), 4));
  CHECK(verdict(state) == "a partial sum would be read with other terms than in the reference");
}

TEST_CASE("a copy-in that leaves elements out is refused") {
  State state = staged_gemm();
  ScheduledStatement& copy = statement(state, "acc.in");
  copy.body.domain.push_back(ir::less_than(ir::Affine::symbol(copy.body.iterators.back()), 3));
  CHECK(verdict(state) == "a value would be read that was never written");
}

TEST_CASE("a packed panel written at another place is refused") {
  State state = staged_gemm();
  ScheduledStatement& copy = statement(state, "w.in");
  ir::Index& last = copy.body.writes[0].indices.back();
  last.affine = ir::mod(last.affine + 1, 4);
  CHECK(verdict(state) != "legal");
}

TEST_CASE("initial values in the last block of the sum are refused") {
  State state = staged_gemm();
  ScheduledStatement& init = statement(state, "acc.init");
  for (LoopRow& row : init.rows) {
    if (row.loop == "k.o") row.value = 2;
  }
  CHECK(verdict(state) != "legal");
}

TEST_CASE("an epilogue in the first block of the sum is refused") {
  State state = staged_gemm();
  ScheduledStatement& epilogue = statement(state, "y");
  for (LoopRow& row : epilogue.rows) {
    if (row.loop == "k.o") row.value = 0;
  }
  CHECK(verdict(state) != "legal");
}

TEST_CASE("a copy-out that misses a tile is refused") {
  State state = staged_gemm();
  ScheduledStatement& copy = statement(state, "acc.out");
  copy.body.domain.push_back(ir::at_least(ir::Affine::symbol(copy.body.iterators[0]), 1));
  CHECK(verdict(state) != "legal");
}

TEST_CASE("an access beyond its buffer is refused") {
  State state = staged_gemm();
  ScheduledStatement& update = statement(state, "acc.update");
  update.body.writes[0].indices[0].affine = update.body.writes[0].indices[0].affine + 1;
  CHECK(verdict(state) == "an access would leave its buffer");
}

TEST_CASE("parallel blocks of a sum are refused") {
  State state = staged_gemm();
  state.tree = map_loops(state.tree, [](const Loop& loop) {
    Loop copy = loop;
    if (loop.name == "k.o") copy.kind = LoopKind::Parallel;
    return copy;
  });
  CHECK(verdict(state).find("parallel loop k.o carries a dependence") == 0);
}

TEST_CASE("a statement that loses instances is found") {
  State state = staged_gemm();
  ScheduledStatement& update = statement(state, "acc.update");
  update.body.domain.push_back(ir::less_than(ir::Affine::symbol("k"), 9));
  CHECK_THROWS_AS(verdict(state), InternalError);
}

TEST_CASE("a budget that is spent anywhere decides nothing, and is asked again") {
  [[maybe_unused]] const LeaksOfIsl expected;
  State wrong = staged_gemm();
  for (LoopRow& row : statement(wrong, "acc.init").rows)
    if (row.loop == "k.o") row.value = 2;
  int undecided = 0, refused = 0;
  for (std::uint64_t quota = 100; quota < 4'000'000; quota += quota / 3) {
    CAPTURE(quota);
    Prover prover(wrong.reference, {.quota = quota});
    // What is kept from the first time is whole, or is made anew.
    for (int again = 0; again < 3; ++again) {
      const std::optional<Refusal> refusal = prover.check_end_to_end(wrong);
      REQUIRE(refusal.has_value());
      (refusal->kind == RefusalKind::Illegal ? refused : undecided) += 1;
    }
    CHECK_NOTHROW(prover.reordered(wrong));
  }
  CHECK(undecided > 10);
  CHECK(refused > 3);
}

// Sound: whatever execution finds wrong, the prover refuses.
TEST_CASE("random mutants are refused wherever execution shows a fault") {
  std::mt19937 random(20261121);
  auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int wrong = 0, refused = 0;
  for (int i = 0; i < 100; ++i) {
    State state = staged_gemm();
    ScheduledStatement& s = state.statements[below(state.statements.size())];
    std::string change;
    if (below(2) == 0) {
      LoopRow& row = s.rows[below(s.rows.size())];
      row.value = row.value * -1;
      change = row.loop + " reversed";
    } else {
      ir::Index& index = s.body.writes[0].indices[below(s.body.writes[0].indices.size())];
      index.affine = index.affine + (below(2) == 0 ? 1 : -1);
      change = ir::to_string(index.affine);
    }
    const std::string problem = joined_problems(compare_with_reference(state));
    const bool faulty = !problem.empty();
    CAPTURE(change);
    CAPTURE(problem);
    const bool accepted = verdict(state) == "legal";
    CAPTURE(i);
    CAPTURE(s.body.name);
    CHECK_FALSE((faulty && accepted));
    wrong += faulty;
    refused += !accepted;
  }
  CHECK(wrong > 20);
  CHECK(refused >= wrong);
}

}  // namespace polyte::schedule::proof_faults_test
