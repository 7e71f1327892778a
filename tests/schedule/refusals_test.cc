// What a user reads when a script means nothing or names what is not there: the exact words.
// Refusals that need the prover (illegal ones, with counterexamples) are in proof_*_test.cc.
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::refusals_test {

namespace {

const char* const kRecurrence = R"(
program two(T, N)
  inout A: f64[N, N]
  inout B: f64[N, N]
  loop t in 0..T
    B[i, j] = A[i, j] + A[i, j-1]   for i in 1..N-1, j in 1..N-1
    A[i, j] = B[i, j] + B[i, j+1]   for i in 1..N-1, j in 1..N-1
)";

std::string refusal_of(std::shared_ptr<const ir::Program> program, const std::string& lines) {
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Off, {}});
  return state ? "accepted" : state.error().headline;
}

std::string gemm(const std::string& lines) {
  return refusal_of(bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}}), lines);
}
std::string blur(const std::string& lines) {
  return refusal_of(bound_program(kBlur, {{"M", 7}, {"N", 9}}), lines);
}
std::string jacobi(const std::string& lines) {
  return refusal_of(bound_program(kRecurrence, {{"T", 3}, {"N", 6}}), lines);
}

const std::string kSplits = "split m by 3, n by 4, k by 4\n";

}  // namespace

TEST_CASE("loops and statements that are not there") {
  CHECK(gemm("split z by 4") == "no statement has a loop z (loops are m, n, k)");
  CHECK(gemm("split acc: m by 0") == "the size is 0, expected 1 or more");
  CHECK(gemm("split k by 4\nsplit k by 2") ==
        "no statement has a loop k: it was split into k.o and k.i (loops are m, n, k.o, k.i)");
  CHECK(gemm("split k by 4\norder acc.update: k > m > n") ==
        "acc.update has no loop k: it was split into k.o and k.i (its loops are m, n, k.o, k.i)");
  CHECK(gemm("rename y:m as x\nrename y:x as m\nsplit y: m by 4\nvectorize y:m") ==
        "y has no loop m: it was split into m.o and m.i (its loops are m.o, m.i, n)");
  CHECK(gemm("rename acc.update:k as q\nnest m > n > k > acc.update") ==
        "acc.update has no loop k: it became q (its loops are m, n, q)");
  CHECK(gemm("vectorize n") == "n is ambiguous: say acc.init:n, acc.update:n, y:n");
  CHECK(gemm("unroll acc.init:k") == "acc.init has no loop k (its loops are m, n)");
  CHECK(gemm("nest m > n > { acc; y }") ==
        "no statement is called acc: did you mean acc.init or acc.update?");
  CHECK(gemm("order z: m > n") ==
        "no statement is called z (statements are acc.init, acc.update, y)");
  CHECK(gemm("param F = G + 1") ==
        "size 'G + 1': 'G' is not known (known are K, L, M, N, cores, registers)");
  CHECK(gemm("param F = 4 / 0") == "size '4 / 0': division by 0");
  CHECK(gemm("param F = 40 where F <= registers - 2") ==
        "the condition does not hold: 40 <= 30 where F = 40, registers = 32");
  CHECK(gemm("tile acc.update: (m, n) by (4)") == "tile has 2 loops and 1 sizes");
}

TEST_CASE("nests that leave open what is meant") {
  CHECK(gemm("nest k > m > n > { acc.init; acc.update }") ==
        "acc.init is inside k and has no loop of that name: say when first, when last or at (its "
        "loops are m, n)");
  CHECK(gemm(kSplits + "nest k.o > m.o > { acc.init when first k.o; acc.update; y }") ==
        "y is inside k.o and has no loop of that name: say when first, when last or at (its loops "
        "are m.o, m.i, n.o, "
        "n.i)");
  CHECK(gemm("nest m > { n > acc.init; acc.init }") == "acc.init is placed twice");
  CHECK(gemm("nest k > m > n > { acc.init when first m and first k; acc.update }") ==
        "acc.init has a loop m of its own: when means a loop it does not have");
  CHECK(gemm("nest m > { acc.init when first k; k > acc.update }") ==
        "acc.init when first k: it is not below k");
  CHECK(gemm("nest par k > { acc.init when first k; acc.update; y when last k }") ==
        "acc.init runs in the first or last iteration of k, and k is parallel: its iterations have "
        "no order");
  CHECK(gemm("split acc: m by 3, n by 4, k by 4\n"
             "nest n.o > k.o > m.o > { acc.init when first k.o; acc.update; y when last k.o }") ==
        "y is inside n.o and has no loop of that name: say when first, when last or at (its loops "
        "are m, n); y is "
        "inside m.o and has no loop of that name: say when first, when last or at (its loops are "
        "m, n)");
  CHECK(gemm("split acc: m by 3\n"
             "split y: m by 2\nnest m.o > { m.i > acc.init; m.i > acc.update; m.i > y }") ==
        "a shared loop needs the same split: m.o is m//3 for acc.update and m//2 for y");
  CHECK(gemm("split k by 4\nnest k.o > m > n > { "
             "acc.init when first k.o; k.i > acc.update; y when last k.o and last "
             "k.i }") == "y when last k.i: it is not below k.i");
  CHECK(jacobi("nest t > i > j > B") ==
        "A is in the ordered region t with statements of this nest: place it too");
  CHECK(gemm("nest k > c > acc.update") ==
        "acc.update is inside c and has no loop of that name: say when first, when last or at (its "
        "loops are m, n, k)");
}

TEST_CASE("structure that a primitive does not find") {
  CHECK(gemm("nest m > { acc.init; n > acc.update }\nsplit acc.init: m by 2") ==
        "m is shared with acc.update: split it for all of its statements");
  CHECK(gemm("nest m > { acc.init; acc.update }\nreorder acc.update: n > m") ==
        "the loops are not perfectly nested: m holds more than one loop (distribute it, or say the "
        "nest)");
  CHECK(gemm("reorder acc.update: n") == "reorder needs two loops or more");
  CHECK(gemm("distribute y:m") == "m holds one nest only: there is nothing to distribute");
  CHECK(gemm("fuse acc.update:m, k as mk") ==
        "k is not all that m holds: fuse takes two perfectly nested loops");
  CHECK(gemm("merge acc.init, acc.update through k") ==
        "acc.init has no loop k (its loops are m, n)");
  CHECK(gemm("order y: n > m\nmerge acc.update, y through m") ==
        "acc.update and y have different loops above m: m and n");
  CHECK(gemm("merge y, acc.init through m") ==
        "acc.init stands before y: name them in their order");
  CHECK(gemm("place y when first m") ==
        "y has a loop m of its own: when means a loop it does not have");
  CHECK(gemm("reverse_compute_at y at acc.update:k") ==
        "y would be inside k and has no loop of that name: say when first or when last k (its "
        "loops are m, n)");
}

TEST_CASE("recomputation") {
  CHECK(blur("compute_at y at bx:u") == "nothing below u reads y");
  CHECK(blur("compute_at bx at z") == "no statement has a loop z (loops are u, x)");
  CHECK(blur("compute_inline y") == "y is an out tensor: only temporaries are inlined");
  CHECK(blur("compute_inline q") == "no tensor is called q");
  CHECK(gemm("compute_inline acc") == "acc is not one plain definition: it cannot be inlined");
  CHECK(gemm("nest m > { n > acc.init at m; n > acc.update; n > y }") ==
        "recomputing acc.init alone is not enough: say acc.update at m too");
  CHECK(gemm("compute_at acc.update at y:m") ==
        "recomputing acc.update alone is not enough: acc.init, acc.update go together (compute_at "
        "acc)");
  CHECK(blur("compute_at bx at y:u\ncompute_at bx at y:x") == "bx is recomputed already");
}

TEST_CASE("stages") {
  CHECK(gemm("stage q") == "no tensor is called q");
  CHECK(gemm("stage x at y:m") == "nothing below m touches x: there is nothing to stage");
  CHECK(gemm("stage x at acc.update:m\nstage x at acc.update:n") ==
        "nothing below n touches x itself: its elements are in x.c, stage that");
  CHECK(gemm("cache_read acc at acc.update:m") ==
        "acc.update writes acc there: cache_read is for what is only read (use stage)");
  CHECK(gemm("cache_write x at acc.update:m") ==
        "nothing writes x there: cache_write is for what is written (use cache_read)");
  CHECK(gemm("pack w") == "pack needs a layout");
  CHECK(gemm("stage x when compile") ==
        "when compile is for a const tensor staged for the whole kernel: x is an in tensor");
  CHECK(gemm("stage w at acc.update:m when compile") ==
        "when compile is for a const tensor staged for the whole kernel: w is staged at m");
  CHECK(gemm("stage w layout (k, n) [n % 4, k]") ==
        "the layout is not one-to-one: the indices of n do not say where each element is");
  CHECK(gemm("stage w layout (k, n) [n//4, k, n%3]") ==
        "the layout is not one-to-one: the indices of n do not say where each element is");
  CHECK(gemm("stage w layout (k, n) [n//4, k, q]") ==
        "layout index 'q': no dimension is called q (they are k, n)");
  CHECK(gemm("stage w layout (n) [n]") == "layout names 1 dimensions, w has 2");
  CHECK(gemm("stage w layout (k, n) [n + k, k]") ==
        "layout index 'n + k' is not a digit: n, n // F, n % F or (n // F) % G are");
  CHECK(gemm("stage acc at y:n pad 0 - 1") == "pad 0 - 1 is negative");
  CHECK(gemm("stage x at acc.update:m\nnest m > n > k > acc.update") ==
        "x is staged at a loop that acc.update would leave: stage comes after");
}

TEST_CASE("texts that are nested too deeply") {
  const auto around = [](int depth, const std::string& text) {
    return std::string(static_cast<std::size_t>(depth), '(') + text +
           std::string(static_cast<std::size_t>(depth), ')');
  };
  const std::string deep = "it is nested more than 200 deep";
  CHECK(gemm("split m by " + around(150, "4")) == "accepted");
  CHECK(gemm("split m by " + around(20'000, "4")) == "size '((((((((((((((((((((...': " + deep);
  CHECK(gemm("split m by " + std::string(100'000, '-') + "4") ==
        "size '--------------------...': " + deep);
  CHECK(gemm("map y: m = " + around(150, "m") + " for m") == "accepted");
  CHECK(gemm("map y: m = " + around(20'000, "m") + " for m") ==
        "'((((((((((((((((((((...': " + deep);
  CHECK(gemm("map y: m = " + std::string(100'000, '-') + "m for m") ==
        "'--------------------...': " + deep);
  const std::string header = "schedule s/1 for p f32 exact\nnest ",
                    too_deep = "f:2: the nest is more than 200 deep";
  const std::string braces = std::string(20'000, '{') + "y" + std::string(20'000, '}');
  CHECK_THROWS_WITH(parse_script(header + braces, "f"), too_deep.c_str());
  std::string path = "y";
  for (int i = 0; i < 20'000; ++i) path = "m > " + path;
  CHECK_THROWS_WITH(parse_script(header + path, "f"), too_deep.c_str());
}

TEST_CASE("a tensor is inlined under a scatter's subscript too") {
  const auto program = bound_program(R"(
program scatter(N)
  in  p: i64[N]
  in  v: f32[N]
  out y: f32[N]
  temp t: i64[N]
  T: t[i] = p[i] + 1
  Z: y[i] = 0
  Y: y[t[i]] += v[i]    for i in 0..N
)",
                                     {{"N", 8}});
  const auto state = replay(program, script_of(*program, "compute_inline t"), test_machine(),
                            {ProofLevel::Off, {}});
  REQUIRE(state);
  const std::string text = ir::print(*state->basis);
  CAPTURE(text);
  CHECK(text.find("t[i]") == std::string::npos);
  CHECK(text.find("p[i]") != std::string::npos);
}

TEST_CASE("headers") {
  const auto program = bound_program(kDenseRelu, {{"M", 1}, {"N", 1}, {"K", 1}});
  const auto headline = [&](const std::string& header) {
    const auto state =
        replay(program, parse_script(header, "s"), test_machine(), {ProofLevel::Off, {}});
    return state ? std::string("accepted") : state.error().headline;
  };
  const std::string digest = ir::digest(*program);
  CHECK(headline("schedule s/1 for dense_relu@" + digest + " f32 exact") == "accepted");
  CHECK(headline("schedule s/1 for other f32 exact") ==
        "the script is for program other, this is dense_relu");
  CHECK(headline("schedule s/1 for dense_relu@000000 f32 exact") ==
        "the script is stale: it is for dense_relu@000000, this program is dense_relu@" + digest);
  // One digest for all sizes; that of the text with its sizes put in, which scripts had
  // before, counts too.
  const auto larger = bound_program(kDenseRelu, {{"M", 2}, {"N", 3}, {"K", 4}});
  CHECK(ir::digest(*larger) == digest);
  CHECK(ir::digest_of_text(*larger) != digest);
  CHECK(headline("schedule s/1 for dense_relu@" + ir::digest_of_text(*program) + " f32 exact") ==
        "accepted");
  CHECK(headline("schedule s/1 for dense_relu@" + ir::digest_of_text(*larger) + " f32 exact") ==
        "the script is stale: it is for dense_relu@" + ir::digest_of_text(*larger) +
            ", this program is dense_relu@" + digest);
  CHECK(headline("schedule s/1 for dense_relu on znver5 f32 exact") ==
        "the script is for znver5 with vectors of 512 bits, test has 128");
  CHECK(headline("schedule s/1 for dense_relu on x86-64-v2 f32 exact") == "accepted");
}

TEST_CASE("a refusal names the file, the line and the directive") {
  const auto program = bound_program(kDenseRelu, {{"M", 7}, {"N", 9}, {"K", 10}});
  const auto state = replay(
      program, script_of(*program, "# a comment\nsplit m by 4\nunroll acc.init:k   #: template\n"),
      test_machine(), {ProofLevel::Off, {}});
  REQUIRE(!state);
  CHECK(to_string(state.error(), "mine.sched", "") ==
        "mine.sched:4: unroll acc.init:k  is not a schedule: acc.init has no loop k (its loops are "
        "m.o, m.i, n)\n");
  CHECK(exit_status(state.error().kind) == ExitStatus::Refused);
}

}  // namespace polyte::schedule::refusals_test
