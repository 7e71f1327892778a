// tensorize: a nest that is an instruction's Program under other names. What matches keeps every
// value; what does not is refused in its words, with both bodies, the first difference and the way
// to a match.
#include "ir/intrinsics.h"
#include "schedule/script/script_text.h"
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::tensorize_test {

namespace {

const char* const kBytes = R"(
program bytes(M, N, K)
  in    x: u8[M, K]
  const w: i8[K, N]
  out   y: i32[M, N]
  y[m, n] = sum[k] i32(x[m, k]) * i32(w[k, n])
)";
const char* const kFloats = R"(
program floats(M, N, K)
  in    x: f32[M, K]
  const w: f32[K, N]
  out   y: f32[M, N]
  y[m, n] = sum[k] x[m, k] * w[k, n]
)";
const ir::Values kSizes = {{"M", 3}, {"N", 32}, {"K", 8}};
const std::string kTile =
    "split y.update: n by 16, k by 4\n"
    "order y.update: m > n.o > k.o > n.i > k.i\n"
    "pack w layout (k, n) [n//16, k//4, n%16, k%4]\n";
const std::string kDot = "tensorize y.update: n.i with vnni_dot_i32x16";

Refusal refused(const std::string& lines, const std::string& text = kBytes,
                const ir::Values& sizes = kSizes) {
  const auto program = bound_program(text, sizes);
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Full, {}});
  REQUIRE(!state);
  return state.error();
}

std::string headline(const std::string& lines, const std::string& text = kBytes,
                     const ir::Values& sizes = kSizes) {
  return refused(lines, text, sizes).headline;
}

std::string detail(const Refusal& refusal, const std::string& label) {
  std::string text, current;
  for (const auto& [name, line] : refusal.details) {
    if (!name.empty()) current = name;
    if (current == label) text += (text.empty() ? "" : "\n") + line;
  }
  return text;
}

std::string first_difference(const std::string& lines, const std::string& text = kBytes,
                             const ir::Values& sizes = kSizes) {
  return detail(refused(lines, text, sizes), "difference");
}

std::string problem(const std::string& text, const ir::Values& sizes, const std::string& lines) {
  return problem_of(bound_program(text, sizes), lines, ProofLevel::Full);
}

}  // namespace

TEST_CASE("a tile becomes one instruction and keeps every value") {
  CHECK(problem(kBytes, kSizes, kTile + kDot) == "");
  CHECK(problem(kBytes, {{"M", 5}, {"N", 48}, {"K", 20}}, kTile + kDot) == "");
  CHECK(problem(kBytes, kSizes, kTile + "stage y at y.update:m\n" + kDot) == "");
  CHECK(problem(kBytes, kSizes,
                kTile + kDot +
                    "\nparallel y.update: m\nunroll y.update: k.o\nstage y at y.update:n.o") == "");
  // loops in the other order; the accumulator in registers
  CHECK(problem(
            kBytes, kSizes,
            "split n by 16\nsplit y.update: k by 4\npack w layout (k, n) [n//16, k//4, n%16, k%4]\n"
            "nest m > n.o > { n.i > y.init; k.o > k.i > n.i > y.update }\n"
            "stage y at n.o in register\n"
            "tensorize y.update: k.i with vnni_dot_i32x16") == "");
  CHECK(problem(kFloats, {{"M", 3}, {"N", 12}, {"K", 7}},
                "split y.update: n by 4\nreorder y.update: k > n.i\n"
                "tensorize y.update: n.i with fma_f32x4") == "");
}

TEST_CASE("a last tile that runs whole, into padding") {
  const std::string padded = R"(
program padded(M, N)
  in  x: f32[M]
  in  v: f32[N]
  out y: f32[M, N]
  Z: acc[m, n] = 0             for m in 0..M, n in 0..N
  U: acc[m, n] += x[m] * v[n]  for m in 0..M, n in 0..N
  y[m, n] = acc[m, n]
)";
  const std::string rows =
      "stage acc\nbound_storage acc: n by 8\n"
      "stage v\npad v: n to 4\nsplit Z: n by 4 tail round\nsplit U: n by 4 tail round\n";
  for (const ir::Values& sizes : {ir::Values{{"M", 3}, {"N", 7}}, ir::Values{{"M", 2}, {"N", 5}}})
    CHECK(problem(padded, sizes, rows + "tensorize U:n.i with fma_f32x4") == "");
}

TEST_CASE("tensorize reads back as it is printed") {
  const auto program = bound_program(kBytes, kSizes);
  const std::string line = "tensorize y.update:n.i with vnni_dot_i32x16";
  CHECK(print(script_of(*program, kDot).directives.front()) == line);
  CHECK(print(script_of(*program, line).directives.front()) == line);
  CHECK(print(script_of(*program, "tensorize i with fma_f32x4").directives.front()) ==
        "tensorize i with fma_f32x4");
}

TEST_CASE("what the State holds") {
  const State state = state_of(bound_program(kBytes, kSizes), kTile + kDot);
  REQUIRE(state.tensorized.size() == 1);
  CHECK(state.tensorized.front().name == "y.update:n.i");
  CHECK(print_nest(state.tree) == print_nest(state_of(bound_program(kBytes, kSizes), kTile).tree));
}

TEST_CASE("a nest that is something else: both bodies and the first difference") {
  const Refusal refusal = refused(kTile + "tensorize y.update: n.i with vnni_pair_i32x16");
  CHECK(refusal.headline == "the nest of n.i is not what vnni_pair_i32x16 computes");
  CHECK(detail(refusal, "intrinsic") ==
        "c[i] = c[i] + i32(a[i, k]) * i32(b[i, k])  for i in 0..16, k in 0..2\n"
        "where a: i16[16, 2], b: i16[16, 2], c: i32[16]");
  CHECK(detail(refusal, "the nest") ==
        "y[m, n.i + 16*n.o] = y[m, n.i + 16*n.o] + i32(x[m, k.i + 4*k.o]) * i32(w.p[n.o, k.o, n.i, "
        "k.i])"
        "  for n.i in 0..16, k.i in 0..4");
  CHECK(detail(refusal, "difference") == "loop k.i runs 4 times, expected 2");
  // It is another one.
  CHECK(detail(refusal, "would match") == "tensorize y.update:n.i with vnni_dot_i32x16");
}

TEST_CASE("the way to a match, each step proved") {
  CHECK(detail(refused("order y.update: m > n > k\ntensorize y.update: n with vnni_dot_i32x16"),
               "would match") ==
        "split y.update: n by 16\nsplit y.update: k by 4\nreorder y.update: n.o > k.o > n.i > k.i\n"
        "pack w layout (k, n) [n//16, k//4, n%16, k%4]\n"
        "tensorize y.update:n.i with vnni_dot_i32x16");
  CHECK(
      detail(
          refused("split y.update: n by 16, k by 4\norder y.update: m > n.o > k.o > n.i > k.i\n" +
                  kDot),
          "would match") ==
      "pack w layout (k, n) [n//16, k//4, n%16, k%4]\ntensorize y.update:n.i with vnni_dot_i32x16");
}

TEST_CASE("the nearest wrong uses") {
  CHECK(headline("tensorize y.update: n with vnni").substr(0, 62) ==
        "no intrinsic is called vnni (they are vnni_dot_i32x16, vnni_do");
  CHECK(headline("tensorize y.update: q with fma_f32x4").find("y.update has no loop q") == 0);
  CHECK(headline("tensorize m with vnni_dot_i32x16") == "m is ambiguous: say y.init:m, y.update:m");
  CHECK(first_difference(kTile + "tensorize y.update: k.i with vnni_dot_i32x16") ==
        "the nest has 1 loop, k.i of 4; vnni_dot_i32x16 has i of 16, k of 4");
  CHECK(first_difference(
            "split y.update: n by 16, k by 4\norder y.update: m > n.o > k.o > n.i > k.i\n" +
            kDot) == "w (operand b) moves by 1 element with n.i, expected 4 (or 0, a broadcast)");
  const std::string other = R"(
program other(N)
  in    x: i8[N]
  in    w: i8[N]
  inout y: i32[N]
  U: y[n] += i32(x[n]) * i32(w[n])
)";
  CHECK(first_difference("tensorize n with sum_i32x16", other, {{"N", 16}}) ==
        "where a[i] is expected, the nest has i32(x[n]) * i32(w[n])");
  CHECK(first_difference("tensorize n with fma_f32x16", other, {{"N", 16}}) ==
        "y is i32, expected f32");
  CHECK(headline(
            "nest m > n > { y.init; k > y.update }\ntensorize y.update: n with vnni_dot_i32x16") ==
        "the nest of n holds 2 statements (y.init, y.update), an instruction is one");
}

TEST_CASE("signedness is part of the type") {
  const std::string swapped = R"(
program swapped(N)
  in    x: i8[N, 4]
  in    w: i8[N, 4]
  inout y: i32[N]
  U: y[n] += i32(x[n, k]) * i32(w[n, k])   for n in 0..N, k in 0..4
)";
  CHECK(first_difference("tensorize n with vnni_dot_i32x4", swapped, {{"N", 4}}) ==
        "x is i8, expected u8 (a[i, k])");
}

TEST_CASE("tiles that are not whole") {
  const Refusal odd = refused(kTile + kDot, kBytes, {{"M", 3}, {"N", 20}, {"K", 8}});
  CHECK(odd.headline == "not every tile of n.i is whole");
  CHECK(odd.kind == RefusalKind::Conservative);
  CHECK(detail(odd, "not always") == "n.i + 16*n.o <= 19");
  const std::string triangle = R"(
program triangle(N)
  in    a: f32[N, N]
  in    v: f32[N]
  inout s: f32[N]
  S: s[k] += a[i, k] * v[k]   for i in 0..N, k in 0..i
)";
  CHECK(headline("tensorize S: k with fma_f32x4", triangle, {{"N", 5}}) ==
        "not every tile of k is whole");
}

TEST_CASE("loops of another kind, inside or around") {
  CHECK(headline(kTile + "vectorize y.update: n.i\n" + kDot) ==
        "<n.i> is no plain loop: an instruction runs its iterations in its own way");
  CHECK(headline(kTile + "unroll y.update: k.i\n" + kDot) ==
        "[k.i] is no plain loop: an instruction runs its iterations in its own way");
  CHECK(headline(kTile + "vectorize y.update: m\n" + kDot) ==
        "n.i is inside the vector loop m: an instruction is a vector itself");
}

TEST_CASE("what happens in the middle of the nest") {
  CHECK(headline(kTile + "stage x at y.update:n.i\n" + kDot) ==
        "the nest of n.i holds 2 statements (x.in, y.update), an instruction is one");
  CHECK(headline(kTile + "prefetch x at y.update:n.i\n" + kDot) ==
        "x is prefetched at a loop of the nest: prefetch at a loop outside it");
  CHECK(headline(kTile + "cut y.update:n.i at 8\n" + kDot) ==
        "n.i runs in two parts, an instruction runs all of it");
  CHECK(first_difference(kTile + "stream y\n" + kDot).find("") == 0);
}

TEST_CASE("in place: an instruction reads everything before it writes") {
  const std::string smooth = R"(
program smooth(N)
  inout s: f32[N + 1]
  in    v: f32[N]
  S: s[i] += s[i + 1] * v[i]   for i in 0..N
)";
  CHECK(first_difference("tensorize i with fma_f32x4", smooth, {{"N", 4}}) ==
        "s is written, and read as another operand (a)");
}

TEST_CASE("a later step may not change the nest") {
  const std::string done = kTile + kDot + "\n";
  const std::string start = "y.update:n.i, tensorized with vnni_dot_i32x16, would be ";
  CHECK(headline(done + "split y.update: n.i by 4") ==
        start +
            "something else (the nest has 3 loops, n.i.o of 4, n.i.i of 4, k.i of 4; "
            "vnni_dot_i32x16 has i of 16, "
            "k of 4): tensorize comes after");
  CHECK(headline(done + "fuse y.update: n.i, k.i as p") == start + "gone: tensorize comes after");
  CHECK(headline(done + "vectorize y.update: n.i") ==
        start +
            "something else (<n.i> is no plain loop: an instruction runs its iterations in its own "
            "way): "
            "tensorize comes after");
  CHECK(headline(done + "reorder y.update: n.i > k.o") ==
        start +
            "something else (the nest has 3 loops, n.i of 16, k.o of 2, k.i of 4; vnni_dot_i32x16 "
            "has i of 16, k of 4): "
            "tensorize comes after");
  CHECK(headline(done + "storage_align w.c: k.i by 8") != "");
  CHECK(headline(done + "tensorize y.update: n.i with vnni_dot_i32x16") ==
        "n.i is tensorized already, with vnni_dot_i32x16");
  CHECK(headline(done + "tensorize y.update: k.i with vnni_dot_i32x16") ==
        "y.update:n.i, in the same nest, is tensorized already, with vnni_dot_i32x16");
}

}  // namespace polyte::schedule::tensorize_test
