// C to Programs: the kernels of PolyBench compute what their Programs compute, bit for bit; each
// form of C; the words for what is not read; damaged files.
#include "frontend/c/c_reader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "ir/interpret.h"
#include "ir/program_text.h"
#include "support/error.h"

using namespace polyte;

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<fs::path> kernels() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator("bench/polybench"))
    if (entry.path().extension() == ".program") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

fs::path c_of(const fs::path& program) {
  return program.parent_path() / "peers" / (program.stem().string() + ".c");
}

ir::Program at_small_sizes(const ir::Program& open) {
  ir::Values sizes;
  std::vector<std::string> params = open.params;
  std::ranges::sort(params);
  std::int64_t next = 7;
  for (const std::string& param : params) sizes[param] = param.starts_with("T") ? 3 : next++;
  return ir::bind(open, sizes);
}

// Small whole numbers, the same for the same name; the diagonals large, for what divides by them.
ir::Environment filled(const ir::Program& program) {
  ir::Environment result;
  for (const ir::Buffer* buffer : program.interface()) {
    ir::Contents contents = ir::make_contents(buffer->dtype, ir::constant_shape(*buffer));
    const auto& shape = contents.shape;
    const std::int64_t width = shape.empty() ? 1 : shape.back();
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    for (std::int64_t i = 0; i < count; ++i)
      ir::set_real(
          contents, i,
          shape.size() == 2 && i % (width + 1) == 0 ? 100 : static_cast<double>(i * 7 % 13 - 4));
    result[buffer->name] = std::move(contents);
  }
  return result;
}

std::string printed(const std::string& body, const std::string& before = "") {
  const std::string text =
      before +
      "void f(int n, double A[restrict N][N], const "
      "double x[N], double y[N], float s[N], int k[N], const signed char q[N]) {\n#pragma scop\n" +
      body + "\n#pragma endscop\n}\n";
  const std::string program = ir::print(frontend::read_c(text, "t.c", DType::F64).at(0));
  REQUIRE(ir::print(ir::parse_program(program, "printed")) == program);
  std::string result = program.substr(program.find("\n\n") + 2);
  result.pop_back();
  return result;
}

// Of what is on line 3 and after it.
std::string refusal(const std::string& body, const std::string& before = "") {
  try {
    printed(body, before);
  } catch (const UserError& error) {
    CHECK(error.status() == ExitStatus::InvalidInput);
    return error.what();
  }
  return "no problem";
}

}  // namespace

TEST_CASE("the C of PolyBench computes what its Programs compute") {
  const auto files = kernels();
  CHECK(files.size() == 30);
  for (const fs::path& file : files) {
    CAPTURE(file.string());
    const ir::Program written = at_small_sizes(ir::parse_program(text_of(file), file.string()));
    const ir::Program read =
        at_small_sizes(frontend::read_c(text_of(c_of(file)), file.string(), DType::F64).at(0));
    CAPTURE(ir::print(read));
    ir::Environment expected = filled(written), got = filled(read);
    ir::interpret(written, expected, {});
    ir::interpret(read, got, {});
    for (const ir::Buffer* buffer : written.interface()) {
      CAPTURE(buffer->name);
      REQUIRE(got.count(buffer->name) == 1);
      const ir::Contents &a = expected.at(buffer->name), &b = got.at(buffer->name);
      REQUIRE(a.bytes.size() == b.bytes.size());
      if (file.stem() != "fdtd-2d") {
        CHECK(std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0);
        continue;
      }
      // `-=` of the C is fused, `ey - 0.5 * ...` of the Program is not.
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(a.bytes.size()) / 8; ++i)
        CHECK(ir::get_real(a, i) == doctest::Approx(ir::get_real(b, i)).epsilon(1e-12));
    }
  }
}

TEST_CASE("loops") {
  CHECK(printed("for (int i = 0; i < N; i++) y[i] = x[i];") == "  S0: y[i] = x[i]  for i in 0..N");
  CHECK(printed("for (int i = 1; i <= N - 2; ++i) y[i] = 2 * x[i + 1];") ==
        "  S0: y[i] = 2 * x[i + 1]  for i in 1..N - 1");
  CHECK(printed("for (long i = N - 1; 0 <= i; i -= 1) y[i] = x[i];") ==
        "  loop i in 0..N step -1\n    S0: y[i] = x[i]");
  CHECK(printed("for (int i = 1; i < N; i += 3) y[i] = x[i];") ==
        "  S0: y[3*i + 1] = x[3*i + 1]  for i in 0..(N + 1)//3");
  CHECK(printed("for (int i = N - 1; i > 1; i = i - 2) y[i] = x[i];") ==
        "  S0: y[N - 2*i - 1] = x[N - 2*i - 1]  for i in 0..(N + 1)//2 - 1");
  CHECK(printed("for (long i = N - 1; i >= 0; i = i - 2 + 1) y[i] = x[i];") ==
        "  loop i in 0..N step -1\n    S0: y[i] = x[i]");
  CHECK(printed("for (int i = 0; i < n; i++)\n{ for (int j = i; j < N; j++) { A[i][j] += x[i] * "
                "x[j]; } }") == "  S0: A[i, j] += x[i] * x[j]  for i in 0..n, j in i..N");
  CHECK(
      printed("int i, j;\nfor (i = 0; i < N; i++) y[i] = 0;\n"
              "for (i = 0; i < N; i++) for (j = 0; j < i; j++) y[i] = x[j];") ==
      "  S0: y[i] = 0  for i in 0..N\n  loop i in 0..N\n    loop j in 0..i\n      S1: y[i] = x[j]");
  CHECK(printed("for (int i = 0; i < N; i++) for (int i = 0; i < 2; i++) y[i] += 1;") ==
        "  S0: y[i_2] += 1  for i in 0..N, i_2 in 0..2");
}

TEST_CASE("conditions") {
  CHECK(printed("for (int i = 0; i < N; i++) if (i >= 1 && i < N - 1) y[i] = 0; else y[i] = 1;") ==
        "  loop i in 0..N\n    S0: y[i] = 0 if i >= 1 and i <= N - 2\n"
        "    S1: y[i] = 1 when not(i64(1) <= i and i64(i) < N - 1)");
}

TEST_CASE("values: C's conversions are written out") {
  CHECK(printed("for (int i = 0; i < N; i++) y[i] = x[i] / N + s[i] * 0.5f + k[i] / 2;") ==
        "  S0: y[i] = x[i] / N + f64(s[i] * 0.5) + f64(k[i] / 2)  for i in 0..N");
  CHECK(printed("for (int i = 0; i < N; i++) k[i] = q[i] + q[0] == 3 ? 1 : 0;") ==
        "  S0: k[i] = select(i32(q[i]) + i32(q[0]) == 3, i32(1), 0)  for i in 0..N");
  CHECK(printed("for (int i = 0; i < N; i++) k[i] = k[i] > q[i] ? k[i] : q[i];") ==
        "  S0: k[i] max= i32(q[i])  for i in 0..N");
  CHECK(printed("for (int i = 0; i < N; i++) k[i] = (k[i] > q[i] ? k[i] : q[i]) + 1;") ==
        "  S0: k[i] = max(k[i], i32(q[i])) + 1  for i in 0..N");
  CHECK(printed("for (int i = 0; i < N; i++) s[i] = (float)(x[i] * 1e-3) + sqrtf(s[i]);") ==
        "  S0: s[i] = f32(x[i] * 0.001) + sqrt(s[i])  for i in 0..N");
  CHECK(printed("const double a = -1.5; for (int i = 0; i < N; i++) y[i] /= a * x[i] + fabs(x[i]) "
                "- fmax(x[i], 2);") ==
        "  S0: y[i] = y[i] / (-1.5 * x[i] + abs(x[i]) - max(x[i], 2))  for i in 0..N");
  CHECK(printed("for (int i = 0; i < N; i++) { double t = x[i]; y[i] = t * t; }") ==
        "  loop i in 0..N\n    S0: t[] = x[i]\n    S1: y[i] = t[] * t[]");
  CHECK(
      printed("for (int i = 0; i < N; i++) if (!(x[i] < 2.0)) y[i]++;") ==
      "  loop i in 0..N\n    S0: condition[] = not(x[i] < 2)\n    S1: y[i] += 1 when condition[]");
  CHECK(printed("for (int i = 0; i < N; i++) y[k[i]] -= SQ(x[i]) - PI;",
                "#define SQ(a) ((a) * (a))\n#define PI 3.25 /* about */\n") ==
        "  S0: y[k[i]] += -(x[i] * x[i] - 3.25)  for i in 0..N");
}

TEST_CASE("PolyBench's own macros") {
  const std::string text =
      "static void kernel_gemm(int "
      "ni, DATA_TYPE alpha, DATA_TYPE POLYBENCH_2D(C, NI, NJ, ni, nj))\n{\n  int i, j;\n"
      "#pragma scop\n  for (i = 0; i < _PB_NI; i++)\n    for (j = 0; j < _PB_NJ; j++)\n"
      "      C[i][j] *= alpha * SCALAR_VAL(0.1) + SQRT_FUN(C[i][j]);\n#pragma endscop\n}\n";
  CHECK(ir::print(frontend::read_c(text, "t.c", DType::F32).at(0)) ==
        "program kernel_gemm(NI, NJ) where NI >= 1 and NJ >= 1\n"
        "  in    alpha: f32[]\n  inout C: f32[NI, NJ]\n"
        "\n  S0: C[i, j] *= alpha[] * 0.1 + sqrt(C[i, j])  for i in 0..NI, j in 0..NJ\n");
}

TEST_CASE("what is not read is reported, with its place") {
  CHECK(refusal("y[0] = x[i];") == "t.c:3:10: 'i' is not declared");
  CHECK(refusal("for (int i = 0; i < N * N; i++) y[0] = 1;") ==
        "t.c:3:23: the bound of the loop is not affine: expected sums of loop variables and sizes "
        "times constants");
  CHECK(refusal("for (int i = 0; i < N; i--) y[i] = 1;") ==
        "t.c:3:19: expected '>' or '>=' as the loop counts down, got '<'");
  CHECK(refusal("for (int i = 0; i < N; i *= 2) y[i] = 1;") ==
        "t.c:3:24: expected a step such as i++, --i or i += 2");
  CHECK(refusal("for (int i = 0; i < N; i = 2 - i) y[i] = 1;") ==
        "t.c:3:24: expected a step such as i++, --i or i += 2");
  CHECK(refusal("while (1) y[0] = 1;") ==
        "t.c:3:1: 'while' is not read: expected for, if or an assignment");
  CHECK(refusal("y[0] = foo(x[0]);")
            .starts_with("t.c:3:8: 'foo' is no function that is read; there are sqrt "));
  CHECK(refusal("y[0] = x[0][1];") == "t.c:3:8: 'x' has 1 dimensions, got 2 subscripts");
  CHECK(refusal("*y = 1;") ==
        "t.c:3:1: pointers are not read: expected array elements such as A[i][j]");
  CHECK(refusal("y[0] = 1\ny[1] = 2;") == "t.c:4:1: expected ';', got 'y'");
  CHECK(refusal("for (int i = 0; i < N; i++) { y[i] = 0;") ==
        "t.c:3:29: the '{' is not closed in the scop");
  CHECK(refusal("}") == "t.c:3:1: a '}' closes what begins before the scop");
  CHECK(refusal("#ifdef A\ny[0] = 1;\n#endif") ==
        "t.c:3:1: '#ifdef A' inside a scop\nt.c:5:1: '#endif' inside a scop");
  CHECK(refusal("for (int i = 0; i < N; i++) y[(i - 3) / 2] = 1;")
            .starts_with("t.c:3:39: '/' of i - 3, which may be"));
  CHECK(refusal("for (int i = 0; i < 3; i++) y[0] = 1;\ny[0] = n; n = 2;") ==
        "t.c:4:11: 'n' is used as a size before it");
  CHECK(refusal("int i; for (i = 0; i < N; i++) y[i] = 1;\ny[0] = i;") ==
        "t.c:4:8: 'i' is used outside of its loop");
  CHECK(refusal("y[0] = 99999999999999999999;") ==
        "t.c:3:8: '99999999999999999999' is no number that is read: expected 12, 1.5 or 1e-3");
  CHECK(
      refusal("for (int i = 0; i < N; i++) y[i] = x[i + 1];").starts_with("t.c:3: statement 'S0'"));
  CHECK(refusal("y[0] = A2;", "#define A2 A3\n#define A2 2\n") ==
        "t.c:5:8: macro 'A2' is defined twice, in different ways");
  CHECK(refusal("y[0] = e[0];", "long double e[8];\n") ==
        "t.c:4:8: 'e' is a long double, which is not read: expected double or float");
  CHECK(refusal("const double long c = 0.5; y[0] = c;") ==
        "t.c:3:19: 'c' is a long double, which is not read: expected double or float\n"
        "t.c:3:35: 'c' is a long double, which is not read: expected double or float");
  CHECK(refusal("y[0] = (long double)x[0];") ==
        "t.c:3:9: 'long double' is not read: expected double or float");
  CHECK(printed("y[0] = x[0];", "long double unused;\n") == "  S0: y[0] = x[0]");
  CHECK(refusal("") == "t.c:2:1: the scop has no statements");
  CHECK(refusal("y[0] = " + std::string(500, '(') + "1" + std::string(500, ')') + ";")
            .find("nested too deeply") != std::string::npos);
  std::string loops, sum = "y[0] = 1";
  for (int i = 0; i < 5000; ++i) loops += "for (int i = 0; i < 2; i++) ";
  for (int i = 0; i < 5000; ++i) sum += " + 1";
  CHECK(refusal(loops + "y[0] = 1;").find("statements are nested too deeply") != std::string::npos);
  CHECK(refusal(sum + ";").find("more than 1000 operations") != std::string::npos);
  CHECK(refusal("y[0] = B;", "#define B A A\n#define A C C\n#define C D D\n#define D A A\n")
            .find("expected") != std::string::npos);
  std::string doubling = "#define M0 1\n";
  for (int i = 1; i < 60; ++i)
    doubling += "#define M" + std::to_string(i) + " M" + std::to_string(i - 1) + "+M" +
                std::to_string(i - 1) + "\n";
  CHECK(refusal("y[0] = M59;", doubling).find("tokens") != std::string::npos);
}

TEST_CASE("damaged C is refused, never followed into a crash") {
  std::mt19937 random(5);
  const auto files = kernels();
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = text_of(c_of(files[random() % files.size()]));
    for (int k = 0; k < 3; ++k) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) text.erase(at, random() % 8);
      if (random() % 3 == 0)
        text[std::min(at, text.size() - 1)] = static_cast<char>(32 + random() % 95);
      if (random() % 3 == 0)
        text.insert(std::min(at, text.size()), text.substr(random() % text.size(), random() % 12));
    }
    try {
      frontend::read_c(text, "damaged.c", DType::F64);
    } catch (const UserError&) {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}
