// Scripts of many shapes (placed, lifted, staged, packed, fused, triangular) through build_loops
// and every pass: the interpreter must see the reference's bits after each.
#include <doctest/doctest.h>

#include "ir/program_text.h"
#include "lower/build_loops.h"
#include "schedule/script/replay.h"
#include "tests/lower/check_passes.h"

using namespace polyte;

namespace {

const char* const kDense = R"(
program dense_relu(M, N, K)
  in    x: f32[M, K]
  const w: f32[K, N]
  in    b: f32[N]
  out   y: f32[M, N]
  acc[m, n] = sum[k] x[m, k] * w[k, n]
  y[m, n]   = max(acc[m, n] + b[n], 0)
)";
const char* const kBlur = R"(
program blur(M, N)
  in  a: f32[M + 2, N + 2]
  out y: f32[M, N]
  bx[u, x] = a[u, x] + a[u, x+1] + a[u, x+2]     for u in 0..M+2, x in 0..N
  y[u, x]  = bx[u, x] + bx[u+1, x] + bx[u+2, x]  for u in 0..M, x in 0..N
)";
const char* const kConv = R"(
program conv(F, C, H, W)
  in    x: f32[C, H, W]
  const w: f32[F, C, 3, 3]
  out   y: f32[F, H, W]
  acc[f, h, q] = sum[c, r, s] (x[c, h+r-1, q+s-1] else 0) * w[f, c, r, s]  for h in 0..H, q in 0..W
  y[f, h, q] = max(acc[f, h, q], 0)
)";
const char* const kTriangle = R"(
program lower(M)
  in  a: f32[M, M]
  in  v: f32[M]
  out y: f32[M]
  Z: s[i] = 0                    for i in 0..M
  S: s[i] += a[i, k] * v[k]      for i in 0..M, k in 0..i
  y[i] = s[i] + 1                for i in 0..M
)";
const char* const kTranspose = R"(
program transpose(M, N)
  in x: f32[N, M]
  out y: f32[M, N]
  y[m, n] = x[n, m]
)";
const char* const kSoftmax = R"(
program softmax(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  mx[i] = max[j] x[i, j]
  l[i]  = sum[j] x[i, j] - mx[i]
  y[i, j] = (x[i, j] - mx[i]) * l[i]
)";
const char* const kArgMax = R"(
program arg_max(M, N)
  in  x: f32[M, N]
  out v: f32[M]
  out p: i64[M]
  (v, p)[m] = argmax[k] (x[m, k], k)
)";

void check(const std::string& text, const std::vector<ir::Values>& sizes,
           const std::string& lines) {
  CAPTURE(lines);
  for (const ir::Values& size : sizes) {
    CAPTURE(size.begin()->second);
    const auto program =
        std::make_shared<const ir::Program>(ir::bind(ir::parse_program(text, "test"), size));
    Machine machine;
    machine.vector_bits = 128;
    machine.vector_registers = 32;
    const auto script =
        schedule::parse_script("schedule s/1 for " + program->name + " f32 unsafe\n" + lines, "s");
    const auto state = schedule::replay(program, script, machine, {schedule::ProofLevel::Off, {}});
    REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
    for (int bits : {128, 256}) test::check_passes(*state, bits);
  }
}

void check_dense(const std::string& lines) {
  check(kDense,
        {{{"M", 1}, {"N", 1}, {"K", 1}},
         {{"M", 7}, {"N", 9}, {"K", 10}},
         {{"M", 8}, {"N", 8}, {"K", 8}},
         {{"M", 1}, {"N", 3}, {"K", 2}},
         {{"M", 5}, {"N", 6}, {"K", 13}}},
        lines);
}

void check_blur(const std::string& lines) {
  check(kBlur,
        {{{"M", 7}, {"N", 9}}, {{"M", 8}, {"N", 8}}, {{"M", 1}, {"N", 1}}, {{"M", 2}, {"N", 5}}},
        lines);
}

void check_conv(const std::string& lines) {
  check(kConv,
        {{{"F", 5}, {"C", 3}, {"H", 4}, {"W", 5}},
         {{"F", 4}, {"C", 4}, {"H", 6}, {"W", 6}},
         {{"F", 1}, {"C", 1}, {"H", 1}, {"W", 1}}},
        lines);
}

const std::string kTiles =
    "split m by 3, n by 4, k by 4 tail cut\nlet tile = [m.i] > <n.i>\nnest par n.o > k.o > m.o > { "
    "tile > acc.init when first k.o; k.i > tile > acc.update; tile > y when last k.o }\n";

}  // namespace

TEST_CASE("loops of a dense layer") {
  for (const char* lines : {
           "",
           "split m by 3, n by 4, k by 4",
           "split m into 2\nsplit k by 3 from 1",
           "tile acc.update: (m, n) by (3, 2)\nreorder acc.update: n.i > m.i",
           "order acc.update: n > k > m\nvectorize acc.update:m\nunroll acc.update:k",
           "fuse y:m, n as mn\nparallel mn\nsplit mn by 5\nunroll mn.i",
           "merge acc.init, acc.update through n",
           "merge acc.init, acc.update, y through n\nvectorize n",
           "merge acc.init, acc.update through n\nmerge acc.update, y through m\ndistribute m",
           "split m by 2\nmerge acc.init, acc.update, y through m.o\nparallel m.o",
           "reorder acc.update: k > m > n\nplace acc.init when first k\nplace y when last k",
           ("split k by 4\n"
            "order acc.update: k.o > m > k.i > n\nreverse_compute_at y at k.o when last k.o\n"
            "place acc.init when first k.o\nmerge acc.init, acc.update, y through m"),
           ("split k by 3\n"
            "place acc.init when first k.o and first k.i\nplace y when last k.o and last k.i"),
           "nest k > <n> > { m > acc.init when first k; m > acc.update; m > y when last k }",
           "nest m > n > { acc.init; k > acc.update; y }",
           "fuse y:m, n as mn\nsplit mn by 6 tail cut\nvectorize mn.i",
       })
    check_dense(lines);
}

TEST_CASE("staged and packed") {
  for (const char* lines : {
           "stage acc at m.o in register",
           "stage w layout (k, n) [n//4, k, n%4] pad 0 when compile",
           "stage acc at m.o in register\nstage w layout (k, n) [n//4, k, n%4]",
           ("pack w at k.o layout (k, n) [n//4, k, n%4]\n"
            "pack x at m.o in stack layout (m, k) [k, m]"),
           "cache_read x at m.o in stack pad 1\ncache_write acc at m.o in register\nstage y at m.o",
           "stage acc\nstage acc.c at m.o in register",
           "stage acc at k.o",
           "stage acc at n.o",
           "stage acc at k.i in register",
           "stage x\nstage x.c at m.o in stack",
           "stage w copy k > <n> > w.in",
           "stage w at k.o\nsplit w.in: w.k by 2\nreorder w.in: w.n > w.k.i\nvectorize w.in:w.k.i",
       })
    check_dense(kTiles + lines);
}

// Prefetches stand at the head of their loop's body, one per cache line; stores past the
// caches are marked.
TEST_CASE("hints") {
  for (const char* lines : {
           "prefetch w at k.i distance 2\nprefetch x at m.o level 2",
           "stage acc at m.o in register\nprefetch w at k.o\nstream y",
           "stage x at n.o\nprefetch x.c at m.o distance 3\nprefetch b at n.o",
       })
    check_dense(kTiles + lines);
  check_dense(
      "split y: n by 4\n"
      "nest m > n.o > <n.i> > y\nprefetch b at y:n.o\nprefetch acc at y:m distance 2");
  check(kBlur, {{{"M", 7}, {"N", 9}}, {{"M", 4}, {"N", 5}}},
        "split y: x by 4 tail cut\nunroll y: x.o\nprefetch bx at y:x.o\ncut y:u at 2\nstream bx");
  check_conv("prefetch x at acc.update:h\nprefetch w at acc.update:c distance 2 level 3");
}

TEST_CASE("last tiles that run whole") {
  const std::string tile =
      "split m by 4, n by 8\n"
      "nest m.o > n.o > { [m.i] > <n.i> > acc.init; k > [m.i] > <n.i> > acc.update; "
      "[m.i] > <n.i> > y }\nstage acc at n.o in register\ncache_read x at m.o\n";
  const std::string padded =
      "pad x: x.m to 4\npad w: n to 8\ntail acc:m.i round\ntail acc:n.i round";
  const std::vector<ir::Values> whole = {{{"M", 7}, {"N", 9}, {"K", 10}},
                                         {{"M", 8}, {"N", 8}, {"K", 8}},
                                         {{"M", 5}, {"N", 13}, {"K", 3}}};
  check(kDense, whole, tile + "pack w layout (k, n) [n//8, k, n%8]\n" + padded);
  check(kDense, whole, tile + "pack w layout (k, n) [n//8, k, n%8] when compile\n" + padded);
  const std::vector<ir::Values> sizes = {
      {{"M", 7}, {"N", 9}}, {{"M", 8}, {"N", 8}}, {{"M", 4}, {"N", 6}}};
  check(kBlur, sizes,
        "split y: u by 4, x by 4 tail shift\n"
        "nest u.o > x.o > { u > <x> > bx at x.o; u.i > <x.i> > y }\nstage bx at x.o");
  check(kTranspose, sizes,
        "split n by 4 tail shift\n"
        "split m by 3 tail shift\norder y: m.o > n.o > m.i > n.i\nvectorize n.i");
}

TEST_CASE("lifted producers") {
  for (
      const char* lines : {
          "split y: u by 3, x by 4\nreorder y: u.o > x.o > u.i > x.i\ncompute_at bx at y:x.o",
          "split y: u by 3, x by 4\nnest par u.o > x.o > { u > <x> > bx at x.o; u.i > <x.i> > y }\n"
          "stage bx at x.o in stack",
          "split y: u by 3\nnest par u.o > { u > <x> > bx at u.o; u.i > <x> > y }\nstage bx at u.o",
          "compute_at bx at y:u\nstage bx at y:u",
          "compute_at bx at y:x\nstage bx at y:x in register",
          "compute_inline bx\nsplit u by 2, x by 4 tail cut\n"
          "reorder y: u.o > x.o > u.i > x.i\nparallel u.o\nvectorize x.i",
      })
    check_blur(lines);
}

TEST_CASE("convolutions, blocked and padded") {
  for (const char* lines : {
           "split f by 4, q by 3, c by 2 tail cut\n"
           "nest par f.o > h > q.o > c.o > { [q.i] > <f.i> > acc.init when first c.o; "
           "c.i > r > s > [q.i] > <f.i> > acc.update; [q.i] > <f.i> > y when last c.o }",
           "nest f > h > c > r > s > <q> > { acc.init when first c and first r and first s; "
           "acc.update; "
           "y when last c and last r and last s }",
           "split f by 4, q by 3, c by 2 tail cut\n"
           "stage x\nnest par f.o > h > q.o > c.o > { [q.i] > <f.i> > acc.init when first c.o; "
           "c.i > [r] > [s] > [q.i] > <f.i> > acc.update; [q.i] > <f.i> > y when last c.o }\n"
           "stage acc at q.o in register\n"
           "stage w layout (f, c, r, s) [f//4, c, r, s, f%4] when compile",
           "nest f > h > { q > acc.init; c > r > s > q > acc.update; q > y }\n"
           "stage x at h\nstage acc at h in stack",
           "nest f > h > { <q> > acc.init; c > [r] > [s] > <q> > acc.update; <q> > y }",
       })
    check_conv(lines);
}

TEST_CASE("triangles, transposes, statistics and tuples") {
  const std::vector<ir::Values> triangles = {{{"M", 1}}, {{"M", 2}}, {{"M", 7}}, {{"M", 8}}};
  check(kTriangle, triangles,
        "split i by 3, k by 2\n"
        "nest k.o > i.o > { i.i > Z when first k.o; k.i > i.i > S; i.i > y when last k.o }");
  check(kTriangle, triangles, "nest i > { Z; k > S; y }\nstage s at i in register");
  check(kTriangle, triangles,
        "split i by 4 tail cut\n"
        "nest par i.o > { <i.i> > Z; k > <i.i> > S; <i.i> > y }\nstage s at i.o");
  check(kTranspose, {{{"M", 5}, {"N", 7}}, {{"M", 4}, {"N", 4}}},
        "split m by 4, n by 4 tail cut\n"
        "nest par m.o > n.o > m.i > <n.i> > y\nstage x at n.o in stack");
  const std::vector<ir::Values> rows = {{{"M", 5}, {"N", 6}}, {{"M", 1}, {"N", 1}}};
  check(kSoftmax, rows, "nest par i > { mx.init; j > mx.update; l.init; j > l.update; <j> > y }");
  check(kSoftmax, rows,
        "split y: i by 2\n"
        "nest par i.o > { i > { mx.init at i.o; j > mx.update at i.o }; i > { l.init at i.o; "
        "j > l.update at i.o }; i.i > <j> > y }\nstage mx at i.o in stack\nstage l at i.o");
  check(kArgMax, rows, "");
}

// A subscript that lanes share is read for those that run, of which lane 0 need not be one.
TEST_CASE("gathers in tiles whose first lanes are skipped") {
  const std::string text =
      "program sums(M)\n  in p: i32[M]\n  in x: i32[M, M]\n  out t: i32[M]\n"
      "  t[i] = sum[k in 0..i] x[i, min(max(p[k], 0), M - 1)]   for i in 0..M\n";
  for (const char* by : {"4", "6", "8"})
    check(text, {{{"M", 2}}, {{"M", 7}}, {{"M", 16}}},
          std::string("split i by ") + by +
              "   tail cut\nnest i.o > { <i.i> > t.init; k > <i.i> > t.update }\n"
              "stage t at t.update:i.o in register");
}

// Above a diagonal, below one, and between two: rows of a tile begin, end, or both, in the middle
// of it.
TEST_CASE("tiles of triangles and bands, accumulators in registers") {
  for (const char* domain : {"j in i..M", "j in i+1..M", "j in i+3..M", "j in 0..i+1",
                             "j in 2*i..M", "j in i..i+3 if j < M"}) {
    CAPTURE(domain);
    const std::string text =
        std::string("program gram(M, K)\n  in x: f32[K, M]\n  inout y: f32[M, M]\n") +
        "  S: y[i, j] += x[k, i] * x[k, j]   for i in 0..M, k in 0..K, " + domain + "\n";
    const int least = std::string(domain) == "j in i+3..M" ? 4 : 2;
    const std::vector<ir::Values> sizes = {{{"M", least}, {"K", 2}},
                                           {{"M", 9}, {"K", 3}},
                                           {{"M", 16}, {"K", 3}},
                                           {{"M", 23}, {"K", 2}}};
    for (const char* tile : {"i by 2, j by 8", "i by 4, j by 4", "i by 3, j by 8", "i by 8, j by 4",
                             "i by 4, j by 12", "i by 7, j by 4"}) {
      const std::string split = std::string("split S: ") + tile + "   tail cut\n";
      check(text, sizes,
            split + "nest j.o > i.o > k > [i.i] > <j.i> > S\nstage y at S:i.o in register");
      check(text, sizes,
            split +
                "split S: j.o by 2, k by 2   tail cut\n"
                "nest k.o > j.o.o > i.o > j.o.i > k.i > [i.i] > <j.i> > S\n"
                "stage y at S:j.o.i in register\nstage x layout (k, j) [j//4, k, j%4]");
    }
  }
}

TEST_CASE("windows, folds and buffers in place") {
  const std::string window =
      "split y: u by 4 tail cut\n"
      "nest par u.o > u.i > { u > <x> > bx at u.i once per u.o; <x> > y }\nstage bx at u.o";
  check_blur(window);
  check_blur(window + " in stack\nfold_storage bx: u by 3");
  check_blur(window + " fold layout (u, x) [u%3, x]");
  check_blur("nest u > { bx.u > <x> > bx at u once per root; <x> > y }\nfold_storage bx: u by 3");
  check_blur(
      "split y: u by 4, x by 2\n"
      "nest u.o > u.i > x.o > x.i > { u > x > bx at x.i once per root; y }");
  check_blur("nest u > <x> > y\ncompute_at bx at y:u\nstore_at bx at root");
  const std::string tile =
      "split y: u by 4, x by 4\n"
      "nest par u.o > x.o > { u > x > bx at x.o; u.i > <x.i> > y }\nstage bx at x.o\n";
  check_blur(tile + "hoist_storage bx at u.o\nstorage_align bx: u by 8\nbound_storage bx: u by 7");
  check_blur(tile + "transform_layout bx (u, x) [x, u]\nset_scope bx stack");
  check(kTranspose, {{{"M", 5}, {"N", 7}}, {{"M", 4}, {"N", 4}}, {{"M", 1}, {"N", 1}}},
        "split m by 2, n by 4\n"
        "nest par m.o > n.o > { m.i > <n.i> > y }\nstage x at n.o\ndouble_buffer x at n.o");
  check_dense(
      "split m by 3, k by 4\nnest m.o > k.o > { m.i > n > acc.init when first k.o; "
      "k.i > m.i > <n> > acc.update; m.i > n > y when last k.o }\n"
      "stage x at k.o in stack\ndouble_buffer x at k.o\nstage w at k.o\ndouble_buffer w at k.o");
}

namespace {

std::string loops_of(const std::string& text, const ir::Values& sizes, const std::string& lines) {
  const auto program =
      std::make_shared<const ir::Program>(ir::bind(ir::parse_program(text, "test"), sizes));
  const auto script =
      schedule::parse_script("schedule s/1 for " + program->name + " f32 exact\n" + lines, "s");
  const auto state = schedule::replay(program, script, Machine{}, {schedule::ProofLevel::Full, {}});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  return ir::print(lower::lower_to_nest(*state));
}

}  // namespace

TEST_CASE("the loops of a window, a fold and a hoisted buffer") {
  const std::string window =
      loops_of(kBlur, {{"M", 8}, {"N", 5}},
               "split y: u by 4\nnest u.o > u.i > { u > x > bx at u.i once per u.o; x > y }\n"
               "stage bx at u.o\nfold_storage bx: u by 3");
  CAPTURE(window);
  CHECK(window.find("alloc bx.c: f32[3, 5] in heap") != std::string::npos);
  CHECK(window.find("for u in (2*((u.i + 3)//4))..3") != std::string::npos);
  const std::string hoisted =
      loops_of(kBlur, {{"M", 8}, {"N", 8}},
               "split y: u by 4, x by 4\nnest u.o > x.o > { u > x > bx at x.o; u.i > x.i > y }\n"
               "stage bx at x.o\nhoist_storage bx at u.o");
  CAPTURE(hoisted);
  CHECK(hoisted.find("alloc bx.c") < hoisted.find("for x.o"));
  CHECK(hoisted.find("alloc bx.c") > hoisted.find("for u.o"));
}

TEST_CASE("the loops of prefetches, streams and padding") {
  const ir::Values sizes = {{"M", 6}, {"N", 20}, {"K", 8}};
  const std::string hints = loops_of(
      kDense, sizes,
      "prefetch w at acc.update:m level 2\nprefetch w at acc.update:k distance 3\nstream y");
  CAPTURE(hints);
  CHECK(hints.find("unrolled w.ahead0 in 0..8") != std::string::npos);
  CHECK(hints.find("prefetch w[w.ahead0, 16*w.ahead1] level 2") != std::string::npos);
  CHECK(hints.find("prefetch w[k + 3, n_1] level 1") != std::string::npos);
  CHECK(hints.find("nontemporal y[") != std::string::npos);
  const std::string rows = loops_of(kDense, sizes, "prefetch x at acc.update:k distance 2 along m");
  CAPTURE(rows);
  CHECK(rows.find("prefetch x[m_1 + 2, k] level 1") != std::string::npos);
  const std::string whole =
      loops_of(kDense, sizes,
               "split acc: m by 4\nnest m.o > { m.i > n > acc.init; k > m.i > n > acc.update }\n"
               "stage acc\nbound_storage acc: m by 8\nstage x\npad x: m to 4\ntail acc:m.i round");
  CAPTURE(whole);
  CHECK(whole.find("for m.i in 0..4") != std::string::npos);
  CHECK(whole.find("min(") == std::string::npos);
  CHECK(whole.find("else f32(0)") != std::string::npos);
}

// Where they are constant because a division of an open size is, the size is asked for.
TEST_CASE("a tensorized nest of an open size runs where its loops do") {
  const auto program = std::make_shared<const ir::Program>(ir::parse_program(R"(
program outer(M, N) where N <= 7
  in    a: f32[M, N + 1]
  in    b: f32[8]
  inout c: f32[M, 8]
  U: c[r, i] += a[r, 0] * b[i]  for r in 0..M, i in 0..4*(N//4)
)",
                                                                             "test"));
  const schedule::Script script = schedule::parse_script(
      "schedule s/1 for outer  f32  exact\ntensorize U:i with fma_f32x4\n", "s");
  const auto state = schedule::replay(program, script, Machine{}, {});
  REQUIRE_MESSAGE(static_cast<bool>(state), (state ? std::string() : state.error().headline));
  const ir::LoopProgram loops = lower::build_loops(*state);
  for (const std::int64_t n : {0, 3, 4, 7}) {
    CAPTURE(n);
    CHECK(test::compare(*program, loops, {{"M", 2}, {"N", n}}) == "");
  }
}

// An instruction's loops have constant extents and no guards, whatever is split or fused
// around them.
TEST_CASE("tensorized nests") {
  const char* const outer = R"(
program outer(M, N)
  in    a: f32[M, N]
  in    b: f32[N]
  inout c: f32[M, N]
  U: c[r, i] += a[r, 0] * b[i]  for r in 0..M, i in 0..N
)";
  for (const char* lines : {
           "tensorize U:i with fma_f32x4",
           "split i by 8 tail cut\ntensorize U:i.i with fma_f32x4",
           "split r by 4 tail cut\n"
           "tensorize U:i with fma_f32x4\nreorder U: r.i > r.o\nfuse U:r.o, U:i as q",
           "reorder U: i > r\n"
           "split r by 2\norder U: r.o > r.i > i\nunroll r.i\ntensorize U:i with fma_f32x4",
       })
    check(outer, {{{"M", 2}, {"N", 4}}, {{"M", 1}, {"N", 4}}}, lines);
  check(outer, {{{"M", 3}, {"N", 24}}},
        "split i by 8\nparallel r\nunroll i.o\ntensorize U:i.i with fma_f32x8");
  check(outer, {{{"M", 3}, {"N", 24}}},
        "split i by 8\nstage c at r in register\nunroll U:i.o\ntensorize U:i.i with fma_f32x8");
  const std::string loops =
      loops_of(outer, {{"M", 2}, {"N", 4}}, "split i by 8\ntensorize U:i.i with fma_f32x4");
  CHECK(loops.find("tensorized fma_f32x4\n") != std::string::npos);
  CHECK(loops.find("for i.i in 0..4\n") != std::string::npos);
}
