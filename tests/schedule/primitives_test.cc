// Every accepted schedule executes to the reference's bits, at several sizes, each directive
// and the end proved.
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::primitives_test {

namespace {

constexpr ProofLevel kProof = ProofLevel::Full;

const std::vector<ir::Values> kGemmSizes = {{{"M", 1}, {"N", 1}, {"K", 1}},
                                            {{"M", 7}, {"N", 9}, {"K", 10}},
                                            {{"M", 8}, {"N", 8}, {"K", 8}},
                                            {{"M", 1}, {"N", 3}, {"K", 2}}};

// Replays, executes and, unless `proof` is Off, proves.
void check_gemm(const std::string& lines, ProofLevel proof = kProof) {
  for (const ir::Values& sizes : kGemmSizes) {
    CAPTURE(lines);
    CAPTURE(sizes.at("M"));
    CAPTURE(sizes.at("K"));
    const ProofLevel level = sizes.at("M") == 1 && sizes.at("K") == 2 ? ProofLevel::Off : proof;
    CHECK(problem_of(bound_program(kDenseRelu, sizes), lines, level) == "");
  }
}

void check_blur(const std::string& lines, ProofLevel proof = kProof) {
  for (const auto& [m, n] : {std::pair{7, 9}, std::pair{8, 8}, std::pair{1, 1}, std::pair{2, 5}}) {
    CAPTURE(lines);
    CAPTURE(m);
    const auto program = bound_program(kBlur, {{"M", m}, {"N", n}});
    CHECK(problem_of(program, lines, proof) == "");
  }
}

void check_conv(const std::string& lines, ProofLevel proof = kProof) {
  for (const auto& [f, c, h, w] :
       {std::array{5, 3, 4, 5}, std::array{4, 4, 6, 6}, std::array{1, 1, 1, 1}}) {
    CAPTURE(lines);
    CAPTURE(f);
    const auto program = bound_program(kConv, {{"F", f}, {"C", c}, {"H", h}, {"W", w}});
    CHECK(problem_of(program, lines, proof) == "");
  }
}

}  // namespace

TEST_CASE("the reference order executes to the reference") {
  check_gemm("");
  check_blur("");
  check_conv("");
}

TEST_CASE("split, order, reorder, fuse, merge, distribute and kinds of a GEMM") {
  check_gemm("split m by 3, n by 4, k by 4");
  check_gemm("split m into 2\nsplit k by 3 from 1");
  check_gemm("tile acc.update: (m, n) by (3, 2)\nreorder acc.update: n.i > m.i");
  check_gemm("order acc.update: n > k > m\nvectorize acc.update:m\nunroll acc.update:k");
  check_gemm("fuse y:m, n as mn\nparallel mn\nsplit mn by 5\nunroll mn.i");
  check_gemm("merge acc.init, acc.update through n");
  check_gemm("merge acc.init, acc.update, y through n\nvectorize n");
  check_gemm("merge acc.init, acc.update through n\nmerge acc.update, y through m\ndistribute m");
  // And n, which m holds alone.
  check_gemm("merge acc.init, acc.update, y through n\ndistribute acc.init:m");
  check_gemm("merge acc.init, acc.update, y through n\nsplit m by 3\ndistribute acc.init:m.i");
  check_gemm("split m by 2\nmerge acc.init, acc.update, y through m.o\nparallel m.o");
  check_gemm("parallel acc.update:m\nvectorize acc.update:n");
}

TEST_CASE("place and reverse_compute_at") {
  check_gemm("reorder acc.update: k > m > n\nplace acc.init when first k");
  check_gemm("reorder acc.update: k > m > n\nplace acc.init when first k\nplace y when last k");
  check_gemm("reorder acc.update: m > k > n\nreverse_compute_at y at acc.update:m");
  check_gemm(
      "split k by 4\n"
      "order acc.update: k.o > m > k.i > n\nreverse_compute_at y at k.o when last k.o\n"
      "place acc.init when first k.o\nmerge acc.init, acc.update, y through m");
  check_gemm("split k by 4\nreorder acc.update: k.o > m > n > k.i\nplace acc.init when first k.o");
  check_gemm("place acc.init when first k");
  check_gemm(
      "split k by 3\n"
      "place acc.init when first k.o and first k.i\nplace y when last k.o and last k.i");
}

TEST_CASE("the nest of a GEMM with placed init and epilogue") {
  check_gemm(
      "split m by 3, n by 4, k by 4\n"
      "nest par n.o > k.o > m.o > { m.i > <n.i> > acc.init when first k.o; "
      "k.i > [m.i] > <n.i> > acc.update; [m.i] > <n.i> > y when last k.o }");
  check_gemm(
      "param Mr = 3, Nr = L, Kc = 4 where Mr * Nr/L <= registers - 2\n"
      "split m by Mr, n by Nr, k by Kc tail cut\n"
      "let tile = [m.i] > <n.i>\nnest par n.o > k.o > m.o > { "
      "tile > acc.init when first k.o; k.i > tile > acc.update; tile > y when last k.o }");
  check_gemm("nest k > <n> > { m > acc.init when first k; m > acc.update; m > y when last k }");
  check_gemm("nest m > n > { acc.init; k > acc.update; y }");
  check_gemm("nest m > { acc.init; acc.update; y }");
  check_gemm(
      "split k by 4\nnest k.o > m > n > k.i > { "
      "acc.init when first k.o and first k.i; acc.update; y when last k.o and last k.i }");
}

TEST_CASE("expanded directives give the same tree") {
  const auto program = bound_program(kDenseRelu, kGemmSizes[1]);
  const Script script = script_of(*program,
                                  "split m by 3, n by 4, k by 4\nlet tile = [m.i] > <n.i>\n"
                                  "nest par n.o > k.o > m.o > { tile > acc.init when first k.o; "
                                  "k.i > tile > acc.update; tile > y when last k.o }\n"
                                  "stage acc at m.o in register");
  const auto direct = replay(program, script, test_machine(), {ProofLevel::Off, {}});
  REQUIRE(static_cast<bool>(direct));
  const Script expanded = expand_to_directives(script);
  const std::string text = print(expanded);
  CHECK(text.find("nest") == std::string::npos);
  CHECK(print(parse_script(text, "e")) == text);
  const auto through_text = replay(program, parse_script(text, "e"), test_machine(), {kProof, {}});
  REQUIRE(static_cast<bool>(through_text));
  CHECK(print_nest(through_text->tree) == print_nest(direct->tree));
}

TEST_CASE("compute_at lifts a stencil's producer") {
  check_blur("split y: u by 3, x by 4\nreorder y: u.o > x.o > u.i > x.i\ncompute_at bx at y:x.o");
  check_blur("split y: u by 3, x by 4\nnest u.o > x.o > { u > <x> > bx at x.o; u.i > <x.i> > y }");
  check_blur(
      "split y: u by 3, x by 4\nnest par u.o > x.o > { u > <x> > bx at x.o; u.i > <x.i> > y }\n"
      "stage bx at x.o in stack");
  check_blur(
      "split y: u by 3\nnest par u.o > { u > <x> > bx at u.o; u.i > <x> > y }\nstage bx at u.o");
  check_blur("compute_at bx at y:u\nstage bx at y:u");
  check_blur("stage bx at y:u\ncompute_at bx at y:u");
  check_blur("compute_at bx at y:x\nstage bx at y:x in register");
}

TEST_CASE("compute_inline") {
  check_blur("compute_inline bx");
  check_blur(
      "compute_inline bx\n"
      "split u by 2, x by 4\nreorder y: u.o > x.o > u.i > x.i\nparallel u.o\nvectorize x.i");
}

TEST_CASE("a convolution, channels blocked, padded input staged") {
  check_conv(
      "split f by 4, q by 3, c by 2\n"
      "nest par f.o > h > q.o > c.o > { [q.i] > <f.i> > acc.init when first c.o; "
      "c.i > r > s > [q.i] > <f.i> > acc.update; [q.i] > <f.i> > y when last c.o }");
  check_conv(
      "nest f > h > c > r > s > <q> > { acc.init when first c and first r and first s; acc.update; "
      "y when last c and last r and last s }");
  check_conv(
      "split f by 4, q by 3, c by 2\n"
      "stage x\nnest par f.o > h > q.o > c.o > { [q.i] > <f.i> > acc.init when first c.o; "
      "c.i > r > s > [q.i] > <f.i> > acc.update; [q.i] > <f.i> > y when last c.o }\n"
      "stage acc at q.o in register\n"
      "stage w layout (f, c, r, s) [f//4, c, r, s, f%4] when compile");
  check_conv(
      "nest f > h > { q > acc.init; c > r > s > q > acc.update; q > y }\n"
      "stage x at h\nstage acc at h in stack");
}

}  // namespace polyte::schedule::primitives_test
