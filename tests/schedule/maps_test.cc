// map and its small forms: skew, shift, reverse, rename, affine, interchange, wavefront.
// What is accepted executes to the reference's bits and is proved; what is refused is refused
// in these words.
#include "tests/schedule/schedule_testing.h"

namespace polyte::schedule::maps_test {

namespace {

const char* const kSeidel9 = R"(
program seidel_9(T, N)
  inout A: f64[N, N]
  loop t in 0..T
    S: A[i, j] = (A[i-1, j-1] + A[i-1, j] + A[i-1, j+1] + A[i, j-1] + A[i, j+1] +
                  A[i+1, j-1] + A[i+1, j] + A[i+1, j+1])  for i in 1..N-1, j in 1..N-1
)";
const char* const kPlain = R"(
program plain(M, N)
  in  x: f32[M, N]
  out y: f32[M, N]
  S: y[i, j] = x[i, j] + 1
)";
const char* const kCube = R"(
program cube(N)
  in  x: f32[N, N, N]
  out y: f32[N, N, N]
  S: y[j, i, k] = x[j, i, k] + 1
)";
const char* const kTime2 = "map B (t, 2*t+i, 2*t+j), A (t, 2*t+i+1, 2*t+j+1) as (t, I, J)\n";

void check_jacobi(const std::string& lines) {
  check_proved(
      kJacobi,
      {{{"T", 3}, {"N", 7}}, {{"T", 1}, {"N", 3}}, {{"T", 4}, {"N", 6}}, {{"T", 0}, {"N", 5}}},
      lines);
}
void check_seidel(const std::string& lines) {
  check_proved(kSeidel, {{{"T", 3}, {"N", 7}}, {{"T", 1}, {"N", 3}}, {{"T", 5}, {"N", 6}}}, lines);
}
void check_plain(const std::string& lines) {
  check_proved(kPlain, {{{"M", 7}, {"N", 9}}, {{"M", 1}, {"N", 1}}}, lines);
}

// Kind and headline of the refusal, "accepted" if there is none.
std::string refusal(const char* text, const ir::Values& sizes, const std::string& lines) {
  const auto program = bound_program(text, sizes);
  const auto state =
      replay(program, script_of(*program, lines), test_machine(), {ProofLevel::Full, {}});
  if (state) return "accepted";
  static const char* const kKinds[] = {
      "malformed: ", "stale: ", "illegal: ", "unknown: ", "conservative: "};
  return kKinds[static_cast<int>(state.error().kind)] + state.error().headline;
}
std::string plain(const std::string& lines) { return refusal(kPlain, {{"M", 7}, {"N", 9}}, lines); }
std::string jacobi(const std::string& lines) {
  return refusal(kJacobi, {{"T", 3}, {"N", 7}}, lines);
}
std::string seidel(const std::string& lines) {
  return refusal(kSeidel, {{"T", 3}, {"N", 7}}, lines);
}

}  // namespace

TEST_CASE("maps in text") {
  check_reads_back("map S (t, 2*t + i), T (t, 2*t + i + 1) as (t, I)");
  check_reads_back("map S, T: w = t.o + I.o for t.o");
  check_reads_back("map a = i + j, b = j for i, j");
  check_reads_back("skew S: j by 2*i");
  check_reads_back("skew j by i as J");
  check_reads_back("shift S: i by -F");
  check_reads_back("reverse i as r");
  check_reads_back("rename S: i as x");
  check_reads_back("affine S: (i, j) by [[1, 1], [0, -1]] as (a, b)");
  check_reads_back("interchange i, k");
  check_reads_back("wavefront S: w = t + 2*i for t");
  CHECK(print(parse_script("schedule s/1 for p f32 exact\nmap S: i = i + 1\n", "s")) ==
        "schedule s/1 for p  f32  exact\nmap S: i = i + 1 for i\n");
}

TEST_CASE("maps of maps, one after the other") {
  const auto program = bound_program(kPlain, {{"M", 4}, {"N", 4}});
  const std::string lines =
      "map S (i, i + j) as (i, w)\nmap S: v = w - i for w\nskew S: v by i\nshift v by 2 as u\n"
      "reverse S: u\nrename u as j\naffine (i, j) by [[0, 1], [1, 0]] as (a, b)\n"
      "interchange S: a, b\nwavefront S: f = a + b for b\n";
  const Script script = script_of(*program, lines);
  CHECK(print(script).ends_with(lines));
  CHECK(static_cast<bool>(replay(program, script, test_machine(), {ProofLevel::Full, {}})));
}

TEST_CASE("one map is skew, shift and merge") {
  CHECK(nest_of(kJacobi, {{"T", 3}, {"N", 7}}, kTime2) == "t > I > J > { B; A }");
  check_jacobi(kTime2);
  check_jacobi(std::string(kTime2) + "tile (t, I, J) by (2, 4, 5)");
  check_jacobi(
      std::string(kTime2) +
      "tile (t, I, J) by (2, 4, 5)\nnest t.o > I.o > J.o > t.i > I.i > { <J.i> > B; <J.i> > A }");
  check_jacobi(std::string(kTime2) +
               "tile (t, I, J) by (2, 4, 5)   tail cut\n"
               "nest t.o > I.o > J.o > t.i > I.i > { <J.i> > B; <J.i> > A }");
}

TEST_CASE("a wavefront of tiles") {
  const std::string tiles = std::string(kTime2) + "tile (t, I, J) by (2, 4, 5)\n";
  check_jacobi(tiles +
               "map A, B: w = t.o + I.o for t.o\n"
               "nest w > par I.o > J.o > t.i > I.i > { <J.i> > B; <J.i> > A }");
  check_jacobi(tiles +
               "nest t.o > I.o > J.o > t.i > I.i > { <J.i> > B; <J.i> > A }\n"
               "wavefront w = t.o + I.o for t.o");
  CHECK(
      nest_of(
          kJacobi, {{"T", 3}, {"N", 7}},
          tiles + "nest t.o > I.o > J.o > t.i > I.i > { B; A }\nwavefront w = t.o + I.o for t.o") ==
      "w > par I.o > J.o > t.i > I.i > { J.i > B; J.i > A }");
  // the same, every division and remainder by hand
  check_jacobi(
      "map B (t//2 + (2*t+i)//4, (2*t+i)//4, (2*t+j)//5, t%2, (2*t+i)%4, "
      "(2*t+j)%5), A (t//2 + (2*t+i+1)//4, (2*t+i+1)//4, (2*t+j+1)//5, t%2, (2*t+i+1)%4, "
      "(2*t+j+1)%5) as (w, a, b, t, i, j)\nnest w > par a > b > t > i > { <j> > B; <j> > A }");
}

TEST_CASE("the wavefront of seidel") {
  check_seidel("map A (t, i+j, i) as (t, w, i)\nnest t > w > par i > A");
  check_seidel("map A (2*t+i+j, t, i) as (w, t, i)\nnest w > par t > par i > A");
  check_seidel("wavefront A: w = i + j for j");
  check_seidel("wavefront A: w = 2*t + i + j for j\nparallel i");
  check_seidel(
      "map A (t, t+i, t+j) as (t, I, J)\n"
      "tile (t, I, J) by (2, 3, 4)\nnest t.o > I.o > J.o > t.i > I.i > J.i > A");
  check_proved(kSeidel9, {{{"T", 3}, {"N", 7}}, {{"T", 2}, {"N", 5}}},
               "map S (t, 2*i+j, i) as (t, w, i)\nnest t > w > par i > S");
  check_proved(kSeidel9, {{{"T", 3}, {"N", 7}}, {{"T", 2}, {"N", 5}}},
               "map S (4*t+2*i+j, t, i) as (w, t, i)\nnest w > par t > par i > S");
  CHECK(seidel("map A (t, i+j, i) as (t, w, i)\nparallel w") ==
        "illegal: parallel loop w carries a dependence through A[1, 1]");
  CHECK(seidel("map A (t+i+j, t, i) as (w, t, i)\nnest w > par t > i > A").rfind("illegal: ", 0) ==
        0);
}

TEST_CASE("small forms") {
  check_plain("skew S: j by 2*i");
  check_plain("skew i by 3*j");
  check_plain("shift i by 2\nshift S: j by -3");
  check_plain("reverse i\nreverse j as J\nsplit J by 4\nvectorize J.i");
  check_plain("rename i as x\nsplit x by 3\nreorder S: x.i > j");
  check_plain("affine S: (i, j) by [[1, 1], [0, 1]] as (a, b)\nparallel a\nvectorize b");
  check_plain(
      "affine (i, j) by [[2, 1], [1, 1]] as (a, b)\nsplit a by 4, b by 3\nreorder S: b.o > a.i");
  check_plain("interchange i, j");
  check_plain("interchange j, i\nskew j by -i\ninterchange S: i, j");
  check_plain("split i by 3, j by 4\ninterchange i.i, j.i\nskew i.o by j.o\nshift j.i by 2");
  check_plain("map S (i, j//4, j%4) as (a, b, c)");
  check_plain("map S (2*i, 3*j + 1) as (a, b)");
  check_plain("map S (i + 9*j) as (q)\nsplit q by 5");
  check_plain("map S (j, i, i + j) as (b, a, c)");
  check_plain("map S (i//2 + j, i, 5) as (q, i, c)");
  check_jacobi("skew i by t\nskew j by t");
  check_jacobi("reverse B: i\nreverse A: j");
  check_jacobi("shift t by 3");
  check_proved(kBlur, {{{"M", 7}, {"N", 9}}, {{"M", 1}, {"N", 1}}},
               "map bx (u, x), y (u+2, x) as (u, x)\nnest u > { <x> > bx; <x> > y }");
  check_proved(kBlur, {{{"M", 7}, {"N", 9}}, {{"M", 1}, {"N", 1}}},
               "shift y: u by 2\nmerge bx, y through u");
  check_proved(kBlur, {{{"M", 7}, {"N", 9}}, {{"M", 2}, {"N", 3}}},
               "shift y: u by 2\n"
               "merge bx, y through x\nsplit u by 3, x by 4\nreorder bx: u.o > x.o > u.i > x.i");
}

TEST_CASE("names after a map") {
  CHECK(plain("map S (i, i+j) as (i, w)\nsplit j by 4") ==
        "malformed: no statement has a loop j: it became i, w (loops are i, w)");
  CHECK(plain("skew S: j by i as J\nvectorize S:j") ==
        "malformed: S has no loop j: it became J (its loops are i, J)");
}

TEST_CASE("maps that are not one-to-one") {
  CHECK(plain("map S (i, i) as (a, b)") ==
        "malformed: the map of S is not one-to-one: S(i=0, j=0) and S(i=0, j=1) would be one "
        "iteration");
  CHECK(plain("map S (i + j) as (w)") ==
        "malformed: the map of S is not one-to-one: S(i=0, j=1) and S(i=1, j=0) would be one "
        "iteration");
  CHECK(plain("map S (i, j//2) as (i, h)") ==
        "malformed: the map of S is not one-to-one: S(i=0, j=0) and S(i=0, j=1) would be one "
        "iteration");
  CHECK(plain("map S: w = i + j, v = i + j for i, j") ==
        "malformed: the map of S is not one-to-one: S(i=0, j=1) and S(i=1, j=0) would be one "
        "iteration");
  CHECK(plain("map S: i = i//2") ==
        "malformed: the map of S is not one-to-one: S(i=0, j=0) and S(i=1, j=0) would be one "
        "iteration");
  CHECK(refusal(kCube, {{"N", 4}}, "cut S:k at j\nmap S: i = i//2") ==
        "malformed: the map of S is not one-to-one: S(j=0, i=0, k=0) and S(j=0, i=1, k=0) would "
        "be one iteration");
  CHECK(plain("affine S: (i, j) by [[1, 1], [1, -1]] as (a, b)") ==
        "malformed: the matrix is not unimodular: its determinant is -2, expected 1 or -1");
}

TEST_CASE("maps that mean nothing") {
  CHECK(plain("map S (i, j, i) as (a, b)") == "malformed: the map of S has 3 values for 2 loops");
  CHECK(plain("map S (i, j) as (a, a)") == "malformed: a names two loops of the map");
  CHECK(plain("map S (i, k) as (a, b)") ==
        "malformed: 'k': k is not known (iterators of S are i, j)");
  CHECK(plain("map S (i, i*j) as (a, b)") ==
        "malformed: 'i*j': a product of two iterators of S is not affine");
  CHECK(plain("map S (i, j//i) as (a, b)") ==
        "malformed: 'j//i': a division is by a positive number");
  CHECK(plain("map S (i, j/3) as (a, b)") ==
        "malformed: 'j/3': / says that nothing is left: write //, which rounds down");
  CHECK(plain("map S: j = i + 7/2 for j") ==
        "malformed: 'i + 7/2': 7 / 2 is no whole number (// rounds down)");
  CHECK(plain("map S: j = j + 6/2 for j") == "accepted");
  CHECK(plain("map S (i, j), S (i, j) as (a, b)") == "malformed: S is mapped twice");
  CHECK(plain("map R (i, j) as (a, b)") ==
        "malformed: no statement is called R (statements are S)");
  CHECK(plain("map S: a = i, b = j for i") ==
        "malformed: the map makes 2 loops of 1: expected as many");
  CHECK(plain("map S: j = i for i") == "malformed: S has a loop j already");
  CHECK(plain("skew S: j by 3") == "malformed: '3' uses no loop: shift moves a loop by a number");
  CHECK(plain("skew S: j by 2*j") == "malformed: skew j is by other loops, '2*j' uses j itself");
  CHECK(plain("skew S: j by k") == "malformed: 'k': k is not known (loops of S are i, j)");
  CHECK(plain("shift i by j") ==
        "malformed: 'j' uses a loop: shift moves a loop by a number, skew by other loops");
  CHECK(plain("interchange i, i") == "malformed: interchange takes two different loops");
  CHECK(plain("rename i as j") == "malformed: S has a loop j already");
  CHECK(plain("affine (i, j) by [[1, 1]] as (a, b)") ==
        "malformed: affine takes 2 loops, 1 rows and 2 names: expected as many of each");
  CHECK(plain("affine (i, j) by [[1], [1]] as (a, b)") ==
        "malformed: a row of the matrix has 1 numbers, expected 2");
  CHECK(plain("wavefront w = 2*i for i") ==
        "malformed: '2*i' uses one loop: a wavefront runs across two or more");
  CHECK(plain("wavefront w = i for j") ==
        "malformed: 'i' does not use j, the loop that the wavefront replaces");
  CHECK(jacobi("map B (t, i, j) as (a, b, c)") ==
        "malformed: A is in the ordered region t with statements of this nest: place it too");
  CHECK(jacobi("skew B: t by i as w") == "malformed: t is shared with A: name it too");
  CHECK(refusal(kBlur, {{"M", 7}, {"N", 9}}, "stage bx at y:u\nshift y: u by 1") ==
        "malformed: bx is staged at u: stage comes after");
}

TEST_CASE("maps that change the result") {
  CHECK(jacobi("map B (t, i, j), A (t, i, j) as (t, i, j)") ==
        "illegal: a value would be read before it is written");
  CHECK(jacobi("map B (t, i, j), A (t, i+1, j) as (t, i, j)") == "accepted");
  CHECK(jacobi("map B (i, t, j), A (i, t, j) as (i, t, j)").rfind("illegal: ", 0) == 0);
  CHECK(seidel("reverse A: i").rfind("illegal: ", 0) == 0);
  CHECK(seidel("interchange A: t, i").rfind("illegal: ", 0) == 0);
  CHECK(seidel("map A (t, i, j) as (t, i, j)\n"
               "tile (t, i, j) by (2, 2, 2)\nnest t.o > i.o > j.o > t.i > i.i > j.i > A")
            .rfind("illegal: ", 0) == 0);
  CHECK(refusal(kBlur, {{"M", 7}, {"N", 9}}, "shift y: u by 1\nmerge bx, y through u") ==
        "illegal: a value would be read before it is written");
  CHECK(seidel("wavefront A: w = t + i for t").rfind("illegal: ", 0) == 0);
}

}  // namespace polyte::schedule::maps_test
