// merge with a shift, cut, peel, unroll by, unroll_and_jam: executed and proved; refused
// in these words.
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::loops_test {

namespace {

const char* const kTriangle = R"(
program triangle(M)
  in  x: f32[M, M]
  out y: f32[M]
  y[i] = sum[j] x[i, j]  for i in 0..M, j in 0..i+1
)";

const std::vector<ir::Values> kBlurSizes = {
    {{"M", 7}, {"N", 9}}, {{"M", 1}, {"N", 1}}, {{"M", 2}, {"N", 5}}};
const std::vector<ir::Values> kJacobiSizes = {
    {{"T", 3}, {"N", 7}}, {{"T", 1}, {"N", 3}}, {{"T", 0}, {"N", 5}}};
const std::vector<ir::Values> kGemmSizes = {{{"M", 7}, {"N", 9}, {"K", 10}},
                                            {{"M", 8}, {"N", 8}, {"K", 8}}};

Refusal refused(const char* text, const ir::Values& sizes, const std::string& lines) {
  const auto program = bound_program(text, sizes);
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Full, {}});
  REQUIRE(!state);
  return state.error();
}
std::string headline(const char* text, const ir::Values& sizes, const std::string& lines) {
  static const char* const kKinds[] = {
      "malformed: ", "stale: ", "illegal: ", "unknown: ", "conservative: "};
  const Refusal refusal = refused(text, sizes, lines);
  return kKinds[static_cast<int>(refusal.kind)] + refusal.headline;
}
std::string gemm(const std::string& lines) { return headline(kDenseRelu, kGemmSizes[0], lines); }
std::string blur(const std::string& lines) { return headline(kBlur, kBlurSizes[0], lines); }

}  // namespace

TEST_CASE("the text of merge with, cut, peel, unroll by, unroll_and_jam") {
  check_reads_back("merge A, B through j with i+1, j-2");
  check_reads_back("merge A, B through j with i+F, j-(F + 1)");
  check_reads_back("merge A, B through j with i-2+3, j-(2)+3");
  check_reads_back("cut S:i at 4");
  check_reads_back("cut j at i + 1");
  check_reads_back("peel i first");
  check_reads_back("peel S:i last 2");
  check_reads_back("unroll i by 4");
  check_reads_back("unroll_and_jam S:i by 4");
}

TEST_CASE("merge with the shift that makes it legal") {
  CHECK(nest_of(kBlur, kBlurSizes[0], "merge bx, y through x with u+2") == "u > x > { bx; y }");
  check_proved(kBlur, kBlurSizes, "merge bx, y through u with u+2");
  check_proved(kBlur, kBlurSizes, "merge bx, y through x with u+2");
  check_proved(kBlur, kBlurSizes, "merge bx, y through u with u-2+4");
  check_proved(kBlur, kBlurSizes, "merge bx, y through u with u-(2)+4");
  check_proved(kBlur, kBlurSizes, "merge bx, y through u with u-7//2+5");
  check_proved(kBlur, kBlurSizes, "merge bx, y through x with u+3, x+1");
  check_proved(kJacobi, kJacobiSizes, "merge B, A through j with i+1");
  check_proved(kJacobi, kJacobiSizes,
               "merge B, A through j with i+1, j+1\nsplit i by 2, j by 3\nreorder B: j.o > i.i");
  const Refusal none = refused(kBlur, kBlurSizes[0], "merge bx, y through u");
  REQUIRE(!none.advice.empty());
  CHECK(none.advice.front() == "merge bx, y through u with u+2");
  check_proved(kBlur, kBlurSizes, none.advice.front());
  const Refusal jacobi = refused(kJacobi, kJacobiSizes[0], "merge B, A through j");
  REQUIRE(!jacobi.advice.empty());
  CHECK(jacobi.advice.front() == "merge B, A through j with i+1");
  check_proved(kJacobi, kJacobiSizes, jacobi.advice.front());
  CHECK(blur("merge bx, y through u with u+1") ==
        "illegal: a value would be read before it is written");
  CHECK(blur("merge bx, y through u with q+1") ==
        "malformed: y has no loop q (its loops are u, x)");
  CHECK(gemm("merge acc.init, acc.update, y through m with m+1") ==
        "malformed: merge .. with shifts the second of two statements, got 3");
}

TEST_CASE("cut and peel") {
  check_proved(kBlur, kBlurSizes, "");
  check_proved(kBlur, {kBlurSizes[0]}, "cut y:u at 3\ncut bx:u at 5\nvectorize y:x\ncut y:x at 4");
  check_proved(kBlur, {kBlurSizes[0]}, "cut y:x at u + 1\nparallel y:u");
  check_proved(kBlur, kBlurSizes,
               "merge bx, y through u with u+2\npeel bx:u first 2\npeel bx:u last 2");
  check_proved(kTriangle, {{{"M", 7}}, {{"M", 1}}}, "peel y.update:j last\npeel y.update:j");
  check_proved(kTriangle, {{{"M", 7}}}, "cut y.update:j at i//2\nunroll y.update:j");
  check_proved(kDenseRelu, kGemmSizes,
               "split m by 3, n by 4, k by 4\n"
               "nest par n.o > k.o > m.o > { m.i > n.i > acc.init when first k.o; "
               "k.i > m.i > n.i > acc.update; m.i > n.i > y when last k.o }\n"
               "peel k.o first\npeel k.o last\nstage acc at m.o in register");
  check_proved(
      kDenseRelu, kGemmSizes,
      "merge acc.init, acc.update through n\ncut acc.update:m at 5\nparallel acc.update:m");
  CHECK(nest_of(kBlur, kBlurSizes[0], "cut y:u at 3") == "{ u > x > bx; u > x > y }");
  // What is legal at all sizes is no fault at some: a part may be empty.
  check_proved(kBlur, {kBlurSizes[0]}, "cut y:u at 0\ncut y:u at 7\nvectorize y:x");
  check_proved(kTriangle, {{{"M", 1}}, {{"M", 7}}}, "cut y.update:i at 4\ncut y.update:j at 2");
  CHECK(blur("cut y:u at x") == "malformed: 'x': x is not known (loops outside u are none)");
  CHECK(blur("cut u at 3") == "malformed: u is ambiguous: say bx:u, y:u");
  CHECK(blur("cut y:u at 3\nsplit y:u by 4") ==
        "malformed: u of y is cut at 3, and would be gone: cut comes after");
  CHECK(blur("cut y:u at 3\nskew y: u by x") == "malformed: u is cut at 3: map comes before");
  CHECK(blur("cut y:u at 3\nfuse y:u, y:x as ux") ==
        "malformed: u of y is cut at 3, and would be gone: cut comes after");
  CHECK(blur("cut y:x at 3\nfuse y:u, y:x as x") ==
        "malformed: x of y is cut at 3, and would be gone: cut comes after");
  CHECK(blur("cut y:x at u\nrename y:u as v\nskew y: v by x as w") ==
        "malformed: x is cut at v: map comes before");
  CHECK(
      blur("cut y:x at u\ninterchange y: u, x") ==
      "malformed: x of y is cut at u, and would be outside a loop of that point: cut comes after");
  CHECK(blur("peel y:u last 0") == "malformed: peel takes 1 iteration or more, got 0");
  CHECK(blur("peel z:u") == "malformed: no statement is called z (statements are bx, y)");
}

TEST_CASE("unroll by and unroll_and_jam") {
  CHECK(nest_of(kDenseRelu, kGemmSizes[0], "unroll acc.update:k by 4") ==
        "{ m > n > acc.init; m > n > k.o > [k.i] > acc.update; m > n > y }");
  CHECK(nest_of(kDenseRelu, kGemmSizes[0], "unroll_and_jam acc.update:m by 4") ==
        "{ m > n > acc.init; m.o > n > k > [m.i] > acc.update; m > n > y }");
  check_proved(kDenseRelu, kGemmSizes, "unroll acc.update:k by 4\nunroll y:n by 2");
  check_proved(kDenseRelu, kGemmSizes,
               "unroll_and_jam acc.update:m by 4\nunroll_and_jam acc.update:n by 3");
  check_proved(kDenseRelu, kGemmSizes,
               "merge acc.init, acc.update, y through n\nunroll_and_jam acc.update:m by 4");
  check_proved(kBlur, kBlurSizes, "unroll_and_jam bx:u by 2\nunroll_and_jam y: u by 3");
  CHECK(blur("unroll_and_jam y:x by 4") == "malformed: x holds no loop to jam into: unroll x by 4");
  CHECK(headline(kJacobi, kJacobiSizes[0], "unroll_and_jam B:t by 2").rfind("illegal: ", 0) == 0);
  CHECK(blur("unroll y:x by 0") == "malformed: the size is 0, expected 1 or more");
  CHECK(
      gemm("merge acc.init, acc.update through n\nreorder acc.update: m > n\nplace y when last k\n"
           "unroll_and_jam k by 2") != "");
}

}  // namespace polyte::schedule::loops_test
