// Program text: golden prints, round trips of every style, inference, identity.
#include "ir/program_text.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "ir/builder.h"
#include "support/error.h"

using namespace polyte;
using namespace polyte::ir;

namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::filesystem::path> example_files() {
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"examples/programs", "bench/polybench"})
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().extension() == ".program") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// print(parse(text)) parses to the same Program and prints the same.
void check_round_trip(const Program& program) {
  const std::string printed = print(program);
  INFO(printed);
  const Program again = parse_program(printed, "printed");
  REQUIRE(equal(program, again));
  REQUIRE(print(again) == printed);
}

// The printed form of one statement among these declarations.
std::string printed_statement(const std::string& statement) {
  const std::string text = R"(
program p(M, N, K) where M >= N
  in    a: f32[M, K]
  in    b: f32[K, N]
  in    x: f64[N]
  in    h: f16[N]
  in    q: i8[N]
  in    idx: i32[N]
  in    mask: bool[N]
  in    s: f64[]
  inout y: f64[N]
  inout z: i32[N]
  inout c: f32[M, N]
  inout f: bool[N]
  inout best: f64[N]
  inout where_: i64[N]
)";
  const Program p = parse_program(text + "  " + statement + "\n", "text");
  check_round_trip(p);
  const std::string printed = print(p);
  return printed.substr(printed.find("\n\n") + 4, printed.size() - printed.find("\n\n") - 5);
}

}  // namespace

TEST_CASE("dense_relu prints in full") {
  const Program p =
      parse_program(read_file("examples/programs/dense_relu.program"), "dense_relu.program");
  CHECK(print(p) == R"(program dense_relu(M, N, K)
  in    x: f32[M, K]
  const w: f32[K, N]
  in    b: f32[N]
  out   y: f32[M, N]
  temp  acc: f32[M, N]

  acc[m, n] = sum[k in 0..K] x[m, k] * w[k, n]  for m in 0..M, n in 0..N
  y[m, n] = max(acc[m, n] + b[n], 0)  for m in 0..M, n in 0..N
)");
  REQUIRE(p.statements.size() == 3);
  CHECK(p.statements[0].name == "acc.init");
  CHECK(p.statements[1].name == "acc.update");
  CHECK(p.statements[1].iterators == std::vector<std::string>{"m", "n", "k"});
  CHECK(p.statements[1].reductions == std::vector<std::string>{"k"});
  CHECK(p.statements[2].name == "y");
}

TEST_CASE("jacobi_2d prints in full") {
  const Program p =
      parse_program(read_file("examples/programs/jacobi_2d.program"), "jacobi_2d.program");
  CHECK(print(p) == R"(program jacobi_2d(T, N)
  inout A: f64[N, N]
  inout B: f64[N, N]

  loop t in 0..T
    B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i - 1, j] + A[i + 1, j])  for i in 1..N - 1, j in 1..N - 1
    A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i - 1, j] + B[i + 1, j])  for i in 1..N - 1, j in 1..N - 1
)");
  CHECK(p.statements[0].iterators == std::vector<std::string>{"t", "i", "j"});
  CHECK(p.statements[0].region_depth == 1);
}

TEST_CASE("every example makes the round trip") {
  const auto files = example_files();
  REQUIRE(files.size() >= 43);
  for (const auto& file : files) {
    INFO(file.string());
    for (const Program& p : parse_programs(read_file(file), file.string())) check_round_trip(p);
  }
}

TEST_CASE("statement styles") {
  CHECK(printed_statement("y[i] = x[i]") == "y[i] = x[i]  for i in 0..N");
  CHECK(printed_statement("S1: y[i] = x[i]  for i in 1..N-1") ==
        "S1: y[i] = x[i]  for i in 1..N - 1");
  CHECK(printed_statement("y[i] = x[i] for i in 0..N if i >= 2 and i % 3 == 1") ==
        "y[i] = x[i]  for i in 0..N if i >= 2 and i % 3 == 1");
  CHECK(printed_statement("c[m, n] += a[m, k] * b[k, n]") ==
        "c[m, n] += a[m, k] * b[k, n]  for m in 0..M, n in 0..N, k in 0..K");
  CHECK(printed_statement("y[i] *= 2") == "y[i] *= 2  for i in 0..N");
  CHECK(printed_statement("y[i] max= x[i]") == "y[i] max= x[i]  for i in 0..N");
  CHECK(printed_statement("y[i] min= 0") == "y[i] min= 0  for i in 0..N");
  CHECK(printed_statement("c[m, n] = prod[k] b[k, n]") ==
        "c[m, n] = product[k in 0..K] b[k, n]  for m in 0..M, n in 0..N");
  CHECK(printed_statement("f[i] = any[j] mask[j]") ==
        "f[i] = or[j in 0..N] mask[j]  for i in 0..N");
  CHECK(printed_statement("f[i] = all[j in 0..i] x[j] > 0") ==
        "f[i] = and[j in 0..i] 0 < x[j]  for i in 0..N");
  CHECK(printed_statement("y[i] = sum[j in 0..i+1] x[j]") ==
        "y[i] = sum[j in 0..i + 1] x[j]  for i in 0..N");
  CHECK(printed_statement("y[i] = sum[j in 0..N, k in j..N] x[k] if k > i") ==
        "y[i] = sum[j in 0..N, k in j..N] x[k]  for i in 0..N if i < k");
  CHECK(printed_statement("(best, where_)[i] = argmin[j] (x[j], j)") ==
        "(best, where_)[i] = argmin[j in 0..N] (x[j], j)  for i in 0..N");
  CHECK(printed_statement("(best, where_)[i] = argmin[j] (x[j], j // 3)") ==
        "(best, where_)[i] = argmin[j in 0..N] (x[j], j//3)  for i in 0..N");
  CHECK(printed_statement("(best[i], where_[i]) argmax= (x[i], i)") ==
        "(best, where_)[i] argmax= (x[i], i)  for i in 0..N");
  CHECK(printed_statement("t[j, i] = x[i] + j for i in 0..N, j in 0..M") ==
        "t[j, i] = x[i] + j  for i in 0..N, j in 0..M");
  CHECK(printed_statement("r[] = sum[i] x[i] * x[i]") == "r[] = sum[i in 0..N] x[i] * x[i]");
  CHECK(printed_statement("y[i] = s") == "y[i] = s[]  for i in 0..N");
  CHECK(printed_statement("loop t in 0..M (step -1)\n    y[i] = x[i] + y[i]") ==
        "loop t in 0..M step -1\n    y[i] = x[i] + y[i]  for i in 0..N");
  CHECK(
      printed_statement("loop t in 0..M\n    loop u in t..M\n      y[i] = x[i]\n    S: y[i] = 0") ==
      "loop t in 0..M\n"
      "    loop u in t..M\n      y[i] = x[i]  for i in 0..N\n    S: y[i] = 0  for i in 0..N");
  CHECK(printed_statement("y[i] = x[i] for i if i == K") == "y[i] = x[i]  for i if i == K");
  CHECK(printed_statement("y[2*i] = x[2*i+1] for i in 0..(N-1)//2") ==
        "y[2*i] = x[2*i + 1]  for i in 0..(N + 1)//2 - 1");
  CHECK(printed_statement("y[i] = x[i]\n    + s[]   # goes on\n    for i in 0..N") ==
        "y[i] = x[i] + s[]  for i in 0..N");
}

TEST_CASE("an update by subtraction adds the negative, of a product that of its first factor") {
  CHECK(printed_statement("c[m, n] -= a[m, k] * b[k, n]") ==
        "c[m, n] += -a[m, k] * b[k, n]  for m in 0..M, n in 0..N, k in 0..K");
  CHECK(printed_statement("y[i] -= x[i]") == "y[i] += -x[i]  for i in 0..N");
  CHECK(printed_statement("y[i] -= x[i] + 1") == "y[i] += -(x[i] + 1)  for i in 0..N");
  CHECK(printed_statement("y[i] -= x[i] / s") == "y[i] += -(x[i] / s[])  for i in 0..N");
  CHECK(printed_statement("y[i] -= (x[i] + 1) * s * 2") ==
        "y[i] += -(x[i] + 1) * s[] * 2  for i in 0..N");
  CHECK(printed_statement("y[i] -= 1.5 * x[i]") == "y[i] += -1.5 * x[i]  for i in 0..N");
  CHECK(printed_statement("y[i] -= -1.5") == "y[i] += 1.5  for i in 0..N");
  CHECK(printed_statement("y[i] -= x[i-1] else 2") == "y[i] += -(x[i - 1] else 2)  for i in 0..N");
  CHECK(printed_statement("z[i] -= i * 2") == "z[i] += -2*i  for i in 0..N");
  CHECK(printed_statement("z[i] -= idx[i] % 3 when mask[i]") ==
        "z[i] += -(idx[i] % 3)  for i in 0..N when mask[i]");
}

TEST_CASE("a named constant is the number written out") {
  const auto parse = [](const std::string& constants, const std::string& body) {
    return parse_program(
        "program p(N)\n  in s: f32\n  in x: f32[N]\n  inout y: f32[N]\n" + constants + body, "t");
  };
  const std::string constants = R"(  const alpha = 1.5
  const two = 2
  const beta = -(alpha + 1) / f32(N)
)";
  const auto same = [&](const std::string& named, const std::string& written) {
    const Program p = parse(constants, named);
    check_round_trip(p);
    CHECK(print(p) == print(parse("", written)));
    CHECK(equal(p, parse("", written)));
  };
  same("  y[i] = alpha * x[i] + s", "  y[i] = 1.5 * x[i] + s[]");
  same("  y[i] -= alpha * x[i]", "  y[i] -= 1.5 * x[i]");
  same("  y[i] = -alpha", "  y[i] = -1.5");
  same("  y[i] = x[i] / beta", "  y[i] = x[i] / (-(1.5 + 1) / f32(N))");
  same("  y[i] = x[two*i+two] for i in two..N//two - two",
       "  y[i] = x[2*i+2] for i in 2..N//2 - 2");
  same("  loop t in 0..two\n    y[i] += x[i-two] else alpha when x[i] > alpha",
       "  loop t in 0..2\n    y[i] += x[i-2] else 1.5 when x[i] > 1.5");
  same("  temp z: f32[N + two]\n  z[i] = x[i] for i in 0..N if i >= two\n",
       "  temp z: f32[N + 2]\n  z[i] = x[i] for i in 0..N if i >= 2\n");
}

TEST_CASE(
    "ranges of a stencil: the tensor that is written decides, or what all reads have where its "
    "shape follows") {
  const std::string text =
      print(parse_program("program blur(M, N)\n"
                          "  in  a: f32[M + 2, N + 2]\n"
                          "  out y: f32[M, N]\n"
                          "  b[u, x] = a[u, x] + a[u, x+1] + a[u, x+2]\n"
                          "  y[u, x] = b[u, x] + b[u+1, x] + b[u+2, x]\n",
                          "t.program"));
  CHECK(text.find("temp  b: f32[M + 2, N]\n") != std::string::npos);
  CHECK(text.find("a[u, x + 2]  for u in 0..M + 2, x in 0..N\n") != std::string::npos);
  CHECK(text.find("b[u + 2, x]  for u in 0..M, x in 0..N\n") != std::string::npos);
}

TEST_CASE("reads: guards, gathers, scatters, run-time guards") {
  CHECK(printed_statement("y[i] = x[i-1] else 0") == "y[i] = x[i - 1] else 0  for i in 0..N");
  CHECK(printed_statement("y[i] = x[i] else 0") == "y[i] = x[i]  for i in 0..N");
  CHECK(printed_statement("y[i] = x[i-1] else 0  for i in 1..N") ==
        "y[i] = x[i - 1]  for i in 1..N");
  CHECK(printed_statement("y[i] = (x[i-1] else -1.5) * 2") ==
        "y[i] = (x[i - 1] else -1.5) * 2  for i in 0..N");
  CHECK(printed_statement("y[i] = x[i+1] if i < K and i < N-1 else x[i]  for i in 0..N") ==
        "y[i] = x[i + 1] if i < K and i <= N - 2 else x[i]  for i in 0..N");
  CHECK(printed_statement("y[i] = x[3] if i >= 1 for i in 0..N").find("if i >= 1") !=
        std::string::npos);
  CHECK(printed_statement("y[i] = x[idx[i]]") == "y[i] = x[idx[i]]  for i in 0..N");
  CHECK(printed_statement("y[i] = x[idx[i] + 2*i - 1]") ==
        "y[i] = x[idx[i] + 2*i - 1]  for i in 0..N");
  CHECK(printed_statement("y[i] = x[idx[i] - idx[0] - i]") ==
        "y[i] = x[(idx[i] - idx[0]) - i]  for i in 0..N");
  CHECK(printed_statement("y[i] = x[-idx[i]]") == "y[i] = x[(-idx[i])]  for i in 0..N");
  CHECK(printed_statement("z[idx[n]] += 1") == "z[idx[n]] += 1  for n in 0..N");
  CHECK(printed_statement("z[idx[n] + 1] = n for n in 0..N") == "z[idx[n] + 1] = n  for n in 0..N");
  CHECK(printed_statement("y[i] += x[i] when mask[i]") ==
        "y[i] += x[i]  for i in 0..N when mask[i]");
  CHECK(printed_statement("y[i] = x[i] when x[i] > 0 and not(mask[i]) or z[i] == 3") ==
        "y[i] = x[i]  for i in 0..N when 0 < x[i] and not(mask[i]) or z[i] == 3");
}

TEST_CASE("values: types, literals, functions, precedence") {
  CHECK(printed_statement("y[i] = f64(h[i]) + f64(q[i])") ==
        "y[i] = f64(h[i]) + f64(q[i])  for i in 0..N");
  CHECK(printed_statement("y[i] = -x[i] - -x[i] - (-1)") ==
        "y[i] = -x[i] - -x[i] - -1  for i in 0..N");
  CHECK(printed_statement("y[i] = (x[i] + 1) * 2 / (3 - x[i])") ==
        "y[i] = (x[i] + 1) * 2 / (3 - x[i])  for i in 0..N");
  CHECK(printed_statement("y[i] = x[i] - (x[i] - x[i])") ==
        "y[i] = x[i] - (x[i] - x[i])  for i in 0..N");
  CHECK(printed_statement("y[i] = select(i < 3, x[i], 1e-30)") ==
        "y[i] = select(i64(i) < 3, x[i], 1e-30)  for i in 0..N");
  CHECK(printed_statement("y[i] = fma(x[i], 2, 0.1)") == "y[i] = fma(x[i], 2, 0.1)  for i in 0..N");
  CHECK(printed_statement("y[i] = pow(x[i], 1.7) + erf(sqrt(abs(x[i])))") ==
        "y[i] = pow(x[i], 1.7) + erf(sqrt(abs(x[i])))  for i in 0..N");
  CHECK(printed_statement("y[i] = max(-inf, min(x[i], inf)) + nan") ==
        "y[i] = max(-inf, min(x[i], inf)) + nan  for i in 0..N");
  CHECK(printed_statement("z[i] = (z[i] << 2 | 1) ^ z[i] & 255") ==
        "z[i] = (z[i] << 2 | 1) ^ z[i] & 255  for i in 0..N");
  CHECK(printed_statement("z[i] = z[i] % 3 + i32(x[i]) + i") ==
        "z[i] = z[i] % 3 + i32(x[i]) + i  for i in 0..N");
  CHECK(printed_statement("y[i] = 2 * i + 1") == "y[i] = 2*i + 1  for i in 0..N");
  CHECK(printed_statement("y[i] = 0.5 * i + s") == "y[i] = f64(0.5) * i + s[]  for i in 0..N");
  CHECK(printed_statement("f[i] = true") == "f[i] = true  for i in 0..N");
  CHECK(printed_statement("f[i] = x[i] >= 0 and x[i] != 1") ==
        "f[i] = 0 <= x[i] and x[i] != 1  for i in 0..N");
  CHECK(printed_statement("y[i] = f64(u64(18446744073709551615))") ==
        "y[i] = f64(u64(18446744073709551615))  for i in 0..N");
  CHECK(printed_statement("y[i] = f64(f16(0.1)) + f64(f32(0.1)) + 0.1") ==
        "y[i] = f64(f16(0.1)) + f64(f32(0.1)) + 0.1  for i in 0..N");
}

TEST_CASE("all element types are declared and cast") {
  for (int t = 0; t < kDTypeCount; ++t) {
    const std::string name(to_string(static_cast<DType>(t)));
    const Program p = parse_program(
        "program p()\n  in x: f32[4]\n  out y: " + name + "[4]\n  y[i] = " + name + "(x[i])",
        "text");
    CHECK(p.buffers[1].dtype == static_cast<DType>(t));
    check_round_trip(p);
  }
}

TEST_CASE("several programs, several declarations on a line") {
  const auto programs = parse_programs(
      "program a()\n"
      "  in x: f32[4]; out y: f32[4]\n  y[i] = x[i]\nprogram b(N)\n  out y: i8[N]\n  y[i] = 1",
      "t");
  REQUIRE(programs.size() == 2);
  CHECK(programs[0].buffers.size() == 2);
  CHECK(programs[1].name == "b");
}

TEST_CASE("built programs make the round trip") {
  const Affine n = Affine::symbol("N"), i = Affine::symbol("i"), j = Affine::symbol("j"),
               t = Affine::symbol("t");
  ProgramBuilder b("built", {"N"});
  b.declare("x", Role::In, DType::F32, {n, n});
  b.declare("y", Role::Out, DType::F32, {n});
  b.reduce(
      {"acc", {i}}, {{"i", 0, n}}, {{"j", 0, i + 1}}, Combiner::Max,
      b.padded_load("x", {i - 1, j}, make_float(DType::F32, -1), {{"i", 0, n}, {"j", 0, i + 1}}));
  b.reduce({"start", {i}}, {{"i", 0, n}}, {{"j", 0, n}}, Combiner::Sum, b.load("x", {i, j}),
           {at_least(j, i)}, b.load("acc", {i}));
  b.begin_region("t", 0, n, -1);
  b.define({"y", {i}}, {{"i", 0, n}},
           make_binary(BinaryOp::Mul, b.load("acc", {i}), make_index(i * 2 + 1, DType::F32)),
           {less_than(i, t + 1)});
  b.end_region();
  const Program p = b.build();
  check_round_trip(p);
  CHECK(print(p).find("acc[i] = max[j in 0..i + 1] x[i - 1, j] else -1  for i in 0..N\n") !=
        std::string::npos);
  CHECK(print(p).find("start.init: start[i] = acc[i]  for i in 0..N\n") != std::string::npos);
  CHECK(b.fresh("acc") == "acc_2");
  CHECK(b.fresh("in") == "in_2");
}

TEST_CASE("bind replaces sizes and checks them") {
  const Program p = parse_program(
      "program p(M, N) where M >= N\n"
      "  in x: f32[M, N]\n  out y: f32[N]\n  y[n] = x[n, n]  for n in 0..N",
      "t");
  const Program bound = ir::bind(p, {{"M", 5}, {"N", 4}});
  CHECK(bound.params.empty());
  CHECK(constant_shape(bound.buffers[0]) == std::vector<std::int64_t>{5, 4});
  CHECK(print(bound).find("for n in 0..4") != std::string::npos);
  check_round_trip(bound);
  CHECK_THROWS_WITH_AS(ir::bind(p, {{"M", 3}, {"N", 4}}), "program 'p': the sizes violate N <= M",
                       UserError);
  CHECK_THROWS_WITH_AS(ir::bind(p, {{"Q", 3}}), "program 'p' has no size Q", UserError);
  CHECK_THROWS_WITH_AS(ir::bind(p, {{"N", -3}}),
                       doctest::Contains("size N is -3, expected 0 or more"), UserError);
}

TEST_CASE("the digest sees structure, not names") {
  const auto of = [](const char* text) { return digest(parse_program(text, "t")); };
  const std::string base = of("program a(N)\n  in x: f32[N]\n  out y: f32[N]\n  y[i] = x[i] + 1");
  CHECK(base.size() == 6);
  CHECK(base ==
        of("program other(M)\n  in src: f32[M]\n  out dst: f32[M]\n  L: dst[q] = src[q] + 1"));
  CHECK(base != of("program a(N)\n  in x: f32[N]\n  out y: f32[N]\n  y[i] = x[i] + 2"));
  CHECK(base != of("program a(N)\n  in x: f64[N]\n  out y: f64[N]\n  y[i] = x[i] + 1"));
  CHECK(base != of("program a(N)\n  const x: f32[N]\n  out y: f32[N]\n  y[i] = x[i] + 1"));
  CHECK(of("program a(N)\n  inout x: f32[N]\n  loop t in 0..N\n    x[i] = x[i] + t") ==
        of("program a(N)\n  inout x: f32[N]\n  loop s in 0..N\n    x[k] = x[k] + s"));
  // Also of names that are those of the canonical text, in other places.
  CHECK(base == of("program a(i0)\n  in x: f32[i0]\n  out y: f32[i0]\n  y[N0] = x[N0] + 1"));
  CHECK(of("program a(N)\n  inout x: f32[N]\n  loop t in 0..N\n    x[i] = x[i] + t") ==
        of("program a(r0)\n  inout x: f32[r0]\n  loop N0 in 0..r0\n    x[r1] = x[r1] + N0"));
  CHECK(of("program a(M, N)\n  in x: f32[M, N]\n  out y: f32[M, N]\n  y[i, j] = x[i, j]") ==
        of("program a(N1, N0)\n  in x: f32[N1, N0]\n  out y: f32[N1, N0]\n  y[i1, i0] = "
           "x[i1, i0]"));
}

TEST_CASE("damaged text is refused, never followed into a crash") {
  std::mt19937 random(11);
  const auto files = example_files();
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = read_file(files[random() % files.size()]);
    for (int k = 0; k < 3; ++k) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text.erase(at, random() % 8);
          break;
        case 1:
          text[at] = static_cast<char>(32 + random() % 95);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 12));
      }
    }
    try {
      for (const Program& p : parse_programs(text, "damaged")) check_round_trip(p);
    } catch (const UserError&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("a Program's type is that of its last result") {
  const auto type_of = [](const std::string& text) {
    return result_type(parse_program(text, "test"));
  };
  CHECK(type_of("program p()\n  in  x: f32[4]\n  out y: f64[4]\n  y[i] = f64(x[i])\n") ==
        DType::F64);
  CHECK(type_of("program p()\n  in    x: f64[4]\n  inout y: f16[4]\n  y[i] = f16(x[i])   for i in "
                "0..4\n") == DType::F16);
}
