// Staging: which copies a stage makes, and that every staged schedule executes to
// the reference's bits.
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::stage_test {

namespace {

constexpr ProofLevel kProof = ProofLevel::Full;

const char* const kGemmNest =
    "split m by 3, n by 4, k by 4\nlet tile = [m.i] > <n.i>\nnest par n.o > k.o > m.o > { "
    "tile > acc.init when first k.o; k.i > tile > acc.update; tile > y when last k.o }\n";

const char* const kBins = R"(
program bins(N)
  in  x: u8[N]
  out h: i32[256]
  t[n] = x[n]
  Z: h[b] = 0      for b in 0..256
  H: h[t[n]] += 1  for n in 0..N
)";

void check(const std::string& program_text, const std::vector<ir::Values>& sizes,
           const std::string& lines, const std::string& contract = "exact") {
  int proved = 0;  // every size is executed, the first two are proved
  for (const ir::Values& size : sizes) {
    CAPTURE(lines);
    CAPTURE(size.begin()->second);
    const auto program = bound_program(program_text, size);
    CHECK(problem_of(program, lines, ++proved <= 2 ? kProof : ProofLevel::Off, contract) == "");
  }
}

void check_gemm(const std::string& lines) {
  check(kDenseRelu,
        {{{"M", 1}, {"N", 1}, {"K", 1}},
         {{"M", 7}, {"N", 9}, {"K", 10}},
         {{"M", 8}, {"N", 8}, {"K", 8}},
         {{"M", 1}, {"N", 3}, {"K", 2}},
         {{"M", 5}, {"N", 6}, {"K", 13}}},
        lines);
}

int instances_of(const State& state, const std::string& statement) {
  // Counted by execution of a State in which the statement alone is watched: its domain is
  // a box of constants.
  int count = 0;
  const ScheduledStatement& s = state.at(statement);
  const std::function<void(std::size_t, ir::Values&)> visit = [&](std::size_t depth,
                                                                  ir::Values& point) {
    if (depth == s.body.iterators.size()) {
      for (const ir::Constraint& c : s.body.domain)
        if (!ir::holds(c, point)) return;
      ++count;
      return;
    }
    for (std::int64_t v = 0; v < 12; ++v) {
      point[s.body.iterators[depth]] = v;
      visit(depth + 1, point);
    }
  };
  ir::Values point;
  visit(0, point);
  return count;
}

}  // namespace

TEST_CASE("a tile has its box whatever its loops are fused to") {
  const auto program = bound_program(R"(
program cube(N)
  in  x: f32[N, N, N]
  out y: f32[N, N, N]
  y[i, j, k] = x[i, j, k] * 2
)",
                                     {{"N", 18}});
  const std::string tiles =
      "split i by 4, j by 4, k by 4\norder y: i.o > j.o > k.o > i.i > j.i > k.i\n";
  for (const char* loops : {"", "fuse i.i, j.i as w\n", "fuse i.i, j.i as w\nfuse w, k.i as v\n",
                            "fuse j.i, k.i as w\nfuse i.i, w as v\n"}) {
    const auto state = replay(program, script_of(*program, tiles + loops + "stage x at y:k.o"),
                              test_machine(), {ProofLevel::Off, {}});
    REQUIRE(state);
    CHECK(state->staged.front().shape == std::vector<std::int64_t>{4, 4, 4});
  }
}

TEST_CASE("an accumulator is copied in after the first block and out before the last") {
  const auto program = bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}});
  const State state = state_of(program, std::string(kGemmNest) + "stage acc at m.o in register");
  REQUIRE(state.find("acc.in"));
  REQUIRE(state.find("acc.out"));
  CHECK(instances_of(state, "acc.in") == 126);  // 63 elements, three blocks of k
  CHECK(instances_of(state, "acc.out") == 126);
  CHECK(state.staged.size() == 1);
  CHECK(state.staged.front().name == "acc.r");
  CHECK(state.staged.front().shape == std::vector<std::int64_t>{3, 4});
  CHECK(print_nest(state.tree) ==
        "par n.o > k.o > m.o > { [acc.m] > <acc.n> > acc.in; [m.i] > <n.i> > acc.init when first "
        "k.o; k.i > [m.i] > "
        "<n.i> > "
        "acc.update; [m.i] > <n.i> > y when last k.o; [acc.m] > <acc.n> > acc.out }");
}

TEST_CASE("what others take of a temporary is copied out, what is written again first is not") {
  const auto program_from = [](const std::string& first) {
    return bound_program(
        "program two(N)\n  in  x: f32[N, N]\n  out y: f32[N, N]\n  out z: f32[N, N]\n"
        "  temp p: f32[N, N]\n"
        "  A: p[i, j] = x[i, j]       for i in 0..N, j in 0..N\n"
        "  Y: y[i, j] = p[i, j] + 1   for i in 0..N, j in 0..N\n"
        "  B: p[i, j] = 2 * x[i, j]   for i in 0..N, j in " +
            first +
            "..N\n"
            "  Z: z[i, j] = p[i, j]       for i in 0..N, j in 0..N\n",
        {{"N", 6}});
  };
  const std::string lines = "nest i > { j > A; j > Y }\nstage p at A:i";
  const State dead = state_of(program_from("0"), lines);
  CHECK(dead.find("p.out") == nullptr);
  CHECK(dead.find("p.in") == nullptr);
  const State live = state_of(program_from("1"), lines);
  CHECK(live.find("p.out"));
  for (const char* first : {"0", "1"})
    CHECK(problem_of(program_from(first), lines, kProof, "exact") == "");
  // The same without a prover at hand.
  const auto structure = replay(program_from("0"), script_of(*program_from("0"), lines),
                                test_machine(), {ProofLevel::Off, {}});
  REQUIRE(structure);
  CHECK(structure->find("p.out") == nullptr);
}

TEST_CASE("a copy below skewed loops is not larger than the tensor") {
  const char* const weighted =
      "program f()\n  in da: f32[3, 5, 2]\n  in db: f32[5, 2]\n  inout dc: f32[3, 5]\n"
      "  U: dc[r, i] += da[r, i, k] * db[i, k]  for r in 0..3, i in 0..5, k in 0..2\n";
  const std::string lines =
      "map U (r, i - r, k + 2*i) as (m0, m1, m2)\nskew m0 by 3*m2\n"
      "affine (m2, m1) by [[1, 2], [3, 7]] as (a, b)\nsplit b by 7\nstage da at U:b.o";
  const State state = state_of(bound_program(weighted, {}), lines);
  REQUIRE(state.staged.size() == 1);
  CHECK(state.staged.front().shape == std::vector<std::int64_t>{3, 5, 2});
  CHECK(problem_of(bound_program(weighted, {}), lines, kProof, "exact") == "");
}

TEST_CASE("a read that says where a statement writes is of the copy as well") {
  const std::vector<ir::Values> sizes = {{{"N", 10}}, {{"N", 8}}, {{"N", 1}}};
  const std::string copy_in = "split H: n by 4\nstage t at H:n.o\n";
  const State state = state_of(bound_program(kBins, sizes[0]), copy_in);
  const ir::Index& bin = state.at("H").body.writes.front().indices.front();
  CHECK(has(ir::to_string(bin.indirect), "t.c["));
  check(kBins, sizes, copy_in);
  check(kBins, sizes, "split n by 4\nnest { b > Z; n.o > { n.i > t; n.i > H } }\nstage t at n.o");
  check(kBins, {sizes[0], sizes[1]}, copy_in + "double_buffer t at n.o");
}

TEST_CASE("an unsplit k gives no copies") {
  const auto program = bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}});
  const State state = state_of(
      program,
      "split m by 3, n by 4\n"
      "nest n.o > m.o > { m.i > <n.i> > acc.init; k > m.i > <n.i> > acc.update; m.i > <n.i> > y }\n"
      "stage acc at m.o in register");
  CHECK(state.find("acc.in") == nullptr);
  CHECK(state.find("acc.out") == nullptr);
}

TEST_CASE("GEMM staged and packed") {
  const std::string nest = kGemmNest;
  check_gemm(nest + "stage acc at m.o in register");
  check_gemm(nest + "stage w layout (k, n) [n//4, k, n%4] pad 0 when compile");
  check_gemm(nest + "stage acc at m.o in register\nstage w layout (k, n) [n//4, k, n%4]");
  check_gemm(
      nest +
      "pack w at k.o layout (k, n) [n//4, k, n%4]\npack x at m.o in stack layout (m, k) [k, m]");
  check_gemm(
      nest +
      "cache_read x at m.o in stack pad 1\ncache_write acc at m.o in register\nstage y at m.o");
  check_gemm(nest + "stage y at m.o in stack");
  check_gemm(nest + "stage acc\nstage acc.c at m.o in register");
  check_gemm(nest + "stage acc at k.o");
  check_gemm(nest + "stage acc at n.o");
  check_gemm(nest + "stage acc at k.i in register");
  check_gemm(nest + "stage x\nstage x.c at m.o in stack");
  check_gemm(nest + "stage w copy k > <n> > w.in");
  check_gemm(nest +
             "stage acc at m.o in register copy { [acc.n] > [acc.m] > acc.in; acc.m > <acc.n> > "
             "acc.out }");
  check_gemm(
      nest +
      "stage w at m.o\nsplit w.in: w.k by 2\nreorder w.in: w.n > w.k.i\nvectorize w.in:w.k.i");
}

TEST_CASE("registers hold vectors: the lanes' dimension is the last one of a copy in registers") {
  const std::string across =
      "split m by 4, n by 3\nnest n.o > m.o > { [n.i] > <m.i> > acc.init; k > [n.i] > <m.i> > "
      "acc.update; [n.i] > <m.i> > y }\n";
  const auto program = bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}});
  const auto shape_of = [&](const std::string& lines) {
    return state_of(program, lines).staged.back().shape;
  };
  using Shape = std::vector<std::int64_t>;
  CHECK(shape_of(across + "stage acc at m.o in register") == Shape{3, 4});
  CHECK(shape_of(across + "stage acc at m.o in stack") == Shape{4, 3});  // as the tensor is
  CHECK(shape_of(across + "stage acc at m.o layout (m, n) [m, n] in register") == Shape{4, 3});
  check_gemm(across + "stage acc at m.o in register");
  check_gemm(across + "stage y at m.o in register");
  check_gemm(across + "stage acc at m.o in register\nstage y at m.o in register");
  // A loop that the nest does not name follows innermost: a batch of one lies within the lanes.
  const auto batch = bound_program(
      "program batch(M, N)\n  in  x: f32[1, M, N]\n  out y: f32[1, M, N]\n"
      "  y[b, m, n] = sum[k] x[b, m, n] * x[b, m, k]  for b in 0..1, m in 0..M, n in 0..N, k in "
      "0..3\n",
      {{"M", 7}, {"N", 9}});
  CHECK(state_of(batch,
                 "split m by 4, n by 3\nnest n.o > m.o > { [n.i] > <m.i> > y.init; k > [n.i] > "
                 "<m.i> > y.update }\nstage y at m.o in register")
            .staged.back()
            .shape == Shape{1, 3, 4});
  // Lanes of two dimensions: neither is last by right.
  const std::string both =
      "split m by 4, n by 3\nnest n.o > m.o > { [m.i] > <n.i> > acc.init; k > [n.i] > <m.i> > "
      "acc.update; [n.i] > <m.i> > y }\n";
  CHECK(shape_of(both + "stage acc at m.o in register") == Shape{4, 3});
  check_gemm(both + "stage acc at m.o in register");
}

TEST_CASE("copies by several free loops") {
  check_gemm(
      "split k by 4\nsplit k.i by 2\n"
      "split m by 3\nnest k.o > k.i.o > m.o > { m.i > n > acc.init when first k.o and first k.i.o; "
      "k.i.i > m.i > n > acc.update; m.i > n > y when last k.o and last k.i.o }\n"
      "stage acc at m.o in register");
  check(kConv, {{{"F", 3}, {"C", 2}, {"H", 4}, {"W", 5}}, {{"F", 1}, {"C", 1}, {"H", 1}, {"W", 1}}},
        "nest f > c > r > h > { q > acc.init when first c and first r; s > q > acc.update; "
        "q > y when last c and last r }\nstage acc at h in register\nstage x at h");
}

TEST_CASE("transposed copy, depthwise, staged at a tile") {
  check(R"(
program transpose(M, N)
  in x: f32[N, M]
  out y: f32[M, N]
  y[m, n] = x[n, m]
)",
        {{{"M", 5}, {"N", 7}}, {{"M", 4}, {"N", 4}}},
        "split m by 4, n by 4\nnest par m.o > n.o > m.i > <n.i> > y\nstage x at n.o in stack");
  check(R"(
program depthwise(C, H, W)
  in x: f32[C, H + 2, W + 2]
  in w: f32[C, 3, 3]
  out y: f32[C, H, W]
  y[c, h, q] = sum[r, s] x[c, h+r, q+s] * w[c, r, s]   for h in 0..H, q in 0..W
)",
        {{{"C", 2}, {"H", 4}, {"W", 5}}},
        "split q by 3\nnest par c > h > q.o > { <q.i> > y.init; [r] > [s] > <q.i> > y.update }\n"
        "stage y at q.o in register\nstage x at h");
}

TEST_CASE("softmax in three passes, and its statistics recomputed") {
  const char* const softmax = R"(
program softmax(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  mx[i] = max[j] x[i, j]
  l[i]  = sum[j] x[i, j] - mx[i]
  y[i, j] = (x[i, j] - mx[i]) * l[i]
)";
  const std::vector<ir::Values> sizes = {{{"M", 5}, {"N", 6}}, {{"M", 1}, {"N", 1}}};
  check(softmax, sizes, "nest par i > { mx.init; j > mx.update; l.init; j > l.update; <j> > y }");
  check(softmax, sizes,
        "split y: i by 2\nnest i.o > { i > { mx.init at i.o; "
        "j > mx.update at i.o }; i > { l.init at i.o; j > l.update at i.o }; i.i > <j> > y }");
  check(softmax, sizes,
        "split y: i by 2\n"
        "nest par i.o > { i > { mx.init at i.o; j > mx.update at i.o }; i > { l.init at i.o; "
        "j > l.update at i.o }; i.i > <j> > y }\nstage mx at i.o in stack\nstage l at i.o");
}

TEST_CASE("triangular domains") {
  const char* const trmm = R"(
program trmm(M, N)
  in    a: f64[M, M]
  inout b: f64[M, N]
  S: b[i, j] += a[k, i] * b[k, j]   for i in 0..M, j in 0..N, k in i+1..M
  R: b[i, j] = b[i, j] * 2          for i in 0..M, j in 0..N
)";
  check(trmm, {{{"M", 5}, {"N", 4}}, {{"M", 1}, {"N", 1}}},
        "split j by 2\nnest j.o > j.i > { i > k > S; i > R }");
  const char* const triangular = R"(
program lower(M)
  in  a: f32[M, M]
  in  v: f32[M]
  out y: f32[M]
  Z: s[i] = 0                    for i in 0..M
  S: s[i] += a[i, k] * v[k]      for i in 0..M, k in 0..i
  y[i] = s[i] + 1                for i in 0..M
)";
  const std::vector<ir::Values> sizes = {{{"M", 1}}, {{"M", 2}}, {{"M", 7}}, {{"M", 8}}};
  check(triangular, sizes,
        "split i by 3, k by 2\n"
        "nest k.o > i.o > { i.i > Z when first k.o; k.i > i.i > S; i.i > y when last k.o }");
  check(triangular, sizes, "nest i > { Z; k > S; y }\nstage s at i in register");
  check(triangular, sizes,
        "split i by 4\nnest par i.o > { i.i > Z; k > i.i > S; i.i > y }\nstage s at i.o");
}

TEST_CASE("a chain of producers at one tile") {
  check(R"(
program chain(M, N)
  in  a: f32[M + 4, N + 4]
  out y: f32[M, N]
  p[u, x] = a[u, x+1] - a[u, x]            for u in 0..M+4, x in 0..N+3
  q[u, x] = a[u+1, x] + p[u, x]            for u in 0..M+3, x in 0..N+3
  r[u, x] = p[u, x] * q[u, x+1]            for u in 0..M+2, x in 0..N+2
  s[u, x] = r[u, x] + r[u+1, x] + r[u, x+1]  for u in 0..M+1, x in 0..N+1
  y[u, x] = s[u, x] * s[u+1, x+1]          for u in 0..M, x in 0..N
)",
        {{{"M", 5}, {"N", 6}}, {{"M", 1}, {"N", 1}}},
        "split y: u by 4, x by 4\nnest par u.o > x.o > { u > <x> > p at x.o; "
        "u > <x> > q at x.o; u > <x> > r at x.o; u > <x> > s at x.o; u.i > <x.i> > y }\n"
        "stage p at x.o\nstage q at x.o\nstage r at x.o in stack\nstage s at x.o");
}

}  // namespace polyte::schedule::stage_test
