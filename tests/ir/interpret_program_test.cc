// The interpreter against loops written by hand, and what it refuses.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "ir/interpret.h"
#include "ir/program_text.h"
#include "support/error.h"

using namespace polyte;
using namespace polyte::ir;

namespace {

using Reals = std::vector<double>;

Program example(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream("examples/programs/" + name + ".program").rdbuf();
  return parse_program(text.str(), name + ".program");
}

Contents filled(DType type, std::vector<std::int64_t> shape,
                const std::function<double(std::int64_t)>& value) {
  Contents contents = make_contents(type, std::move(shape));
  const auto count = static_cast<std::int64_t>(contents.bytes.size()) / size_in_bytes(type);
  for (std::int64_t i = 0; i < count; ++i) set_real(contents, i, value(i));
  return contents;
}

// Small integers, different in every place and both signs.
double small(std::int64_t i) { return static_cast<double>((i * 7 + 3) % 11 - 5); }

Reals reals(const Contents& contents) {
  Reals result;
  const auto count =
      static_cast<std::int64_t>(contents.bytes.size()) / size_in_bytes(contents.dtype);
  for (std::int64_t i = 0; i < count; ++i) result.push_back(get_real(contents, i));
  return result;
}

InterpretOptions with(Values sizes) {
  InterpretOptions options;
  options.sizes = std::move(sizes);
  return options;
}

std::string refusal(const Program& p, Environment env, const InterpretOptions& options) {
  try {
    interpret(p, env, options);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no problem";
}

std::size_t at(std::int64_t i, std::int64_t j, std::int64_t columns) {
  return static_cast<std::size_t>(i * columns + j);
}

}  // namespace

TEST_CASE("dense_relu") {
  const std::int64_t m = 5, n = 4, k = 7;
  Environment env{{"x", filled(DType::F32, {m, k}, small)},
                  {"w", filled(DType::F32, {k, n}, [](std::int64_t i) { return small(i * 3); })},
                  {"b", filled(DType::F32, {n}, small)}};
  const Reals x = reals(env["x"]), w = reals(env["w"]), b = reals(env["b"]);
  interpret(example("dense_relu"), env, with({{"M", m}, {"N", n}, {"K", k}}));
  Reals expected;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += x[at(i, l, k)] * w[at(l, j, n)];
      expected.push_back(std::max(sum + b[static_cast<std::size_t>(j)], 0.0));
    }
  CHECK(reals(env["y"]) == expected);
  CHECK(env.count("acc") == 1);
}

TEST_CASE("jacobi_2d") {
  const std::int64_t n = 6, steps = 3;
  Environment env{{"A", filled(DType::F64, {n, n}, small)},
                  {"B", filled(DType::F64, {n, n}, small)}};
  Reals a = reals(env["A"]), b = reals(env["B"]);
  const auto sweep = [&](const Reals& from, Reals& to) {
    for (std::int64_t i = 1; i < n - 1; ++i)
      for (std::int64_t j = 1; j < n - 1; ++j)
        to[at(i, j, n)] = 0.2 * (from[at(i, j, n)] + from[at(i, j - 1, n)] + from[at(i, j + 1, n)] +
                                 from[at(i - 1, j, n)] + from[at(i + 1, j, n)]);
  };
  for (std::int64_t t = 0; t < steps; ++t) {
    sweep(a, b);
    sweep(b, a);
  }
  interpret(example("jacobi_2d"), env, with({{"T", steps}, {"N", n}}));
  CHECK(reals(env["A"]) == a);
  CHECK(reals(env["B"]) == b);
}

TEST_CASE("padded convolution") {
  const std::int64_t h = 4, w = 5;
  Environment env{{"x", filled(DType::F32, {1, 2, h, w}, small)},
                  {"w", filled(DType::F32, {3, 2, 3, 3}, small)}};
  const Reals x = reals(env["x"]), f = reals(env["w"]);
  interpret(example("conv_3x3"), env, with({{"N", 1}, {"C", 2}, {"F", 3}, {"H", h}, {"W", w}}));
  Reals expected;
  for (std::int64_t o = 0; o < 3; ++o)
    for (std::int64_t i = 0; i < h; ++i)
      for (std::int64_t j = 0; j < w; ++j) {
        double sum = 0;
        for (std::int64_t c = 0; c < 2; ++c)
          for (std::int64_t r = -1; r <= 1; ++r)
            for (std::int64_t s = -1; s <= 1; ++s)
              if (i + r >= 0 && i + r < h && j + s >= 0 && j + s < w)
                sum += x[at(c * h + i + r, j + s, w)] *
                       f[static_cast<std::size_t>(((o * 2 + c) * 3 + r + 1) * 3 + s + 1)];
        expected.push_back(sum);
      }
  CHECK(reals(env["y"]) == expected);
}

TEST_CASE("cholesky rebuilds its matrix") {
  const std::int64_t n = 5;
  Reals l(25, 0), a(25, 0);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j)
      l[at(i, j, n)] = i == j ? static_cast<double>(i + 1) : small(i * n + j);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t k = 0; k < n; ++k) a[at(i, j, n)] += l[at(i, k, n)] * l[at(j, k, n)];
  Environment env{{"A", filled(DType::F64, {n, n},
                               [&](std::int64_t i) { return a[static_cast<std::size_t>(i)]; })}};
  interpret(example("cholesky"), env, with({{"N", n}}));
  const Reals found = reals(env["A"]);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) CHECK(found[at(i, j, n)] == l[at(i, j, n)]);
}

TEST_CASE("scans, downwards too") {
  Environment env{{"x", filled(DType::F32, {6}, small)}};
  const Reals x = reals(env["x"]);
  interpret(example("scan"), env, with({{"N", 6}}));
  Reals y = x, z = x;
  for (std::size_t i = 1; i < 6; ++i) y[i] += y[i - 1];
  for (std::size_t i = 5; i-- > 0;) z[i] = std::max(z[i + 1], z[i]);
  CHECK(reals(env["y"]) == y);
  CHECK(reals(env["z"]) == z);
}

TEST_CASE("histogram, gather, argmax, quantised product") {
  Environment bins{{"bin", filled(DType::I32, {7},
                                  [](std::int64_t i) { return static_cast<double>(i * i % 3); })}};
  interpret(example("histogram"), bins, with({{"N", 7}, {"B", 4}}));
  CHECK(reals(bins["h"]) == Reals{3, 4, 0, 0});

  Environment rows{{"table", filled(DType::F32, {3, 2}, small)},
                   {"id", filled(DType::I64, {4},
                                 [](std::int64_t i) { return static_cast<double>(2 - i % 3); })}};
  const Reals table = reals(rows["table"]);
  interpret(example("gather"), rows, with({{"N", 4}, {"V", 3}, {"D", 2}}));
  CHECK(reals(rows["y"]) ==
        Reals{table[4], table[5], table[2], table[3], table[0], table[1], table[4], table[5]});

  Environment tie{{"x", filled(DType::F32, {2, 4}, [](std::int64_t i) {
                     return i < 4 ? -1.0 : static_cast<double>(i % 3);
                   })}};
  interpret(example("arg_max"), tie, with({{"M", 2}, {"N", 4}}));
  CHECK(reals(tie["v"]) == Reals{-1, 2});
  CHECK(reals(tie["p"]) == Reals{0, 1});

  Environment q{
      {"a", filled(DType::U8, {1, 2}, [](std::int64_t) { return 200; })},
      {"b", filled(DType::I8, {2, 2}, [](std::int64_t i) { return i % 2 == 0 ? 100.0 : -1.0; })},
      {"scale", filled(DType::F32, {2}, [](std::int64_t) { return 0.00390625; })}};
  interpret(example("quantized_gemm"), q, with({{"M", 1}, {"N", 2}, {"K", 2}}));
  CHECK(reals(q["c"]) == Reals{156, 0});
}

TEST_CASE("an empty reduction is the identity, empty domains do nothing") {
  const Program p = parse_program(R"(program p(N, K)
  in  x: f32[N, K]
  out s: f32[N]
  out t: f32[N]
  out i: i8[N]
  s[n] = sum[k] x[n, k]
  t[n] = max[k in 0..n] x[n, 0]
  i[n] = min[k in 0..n] i8(k)
)",
                                  "t");
  Environment env{{"x", make_contents(DType::F32, {2, 0})}};
  CHECK(refusal(p, env, with({{"N", 0}, {"K", 0}})) ==
        "buffer 'x' is f32[2, 0], expected f32[0, 0]");
  env["x"] = make_contents(DType::F32, {2, 1});
  interpret(p, env, with({{"N", 2}, {"K", 1}}));
  CHECK(reals(env["s"]) == Reals{0, 0});
  CHECK(reals(env["t"]) == Reals{-INFINITY, 0});
  CHECK(reals(env["i"]) == Reals{127, 0});
}

TEST_CASE("run-time guards, fma and updates in place") {
  const Program p = parse_program(R"(program p(N)
  in    x: f32[N]
  inout y: f32[N]
  y[i] = -1 when x[i] < 0
  U: y[i] *= x[i] for i in 0..N if i % 2 == 0
)",
                                  "t");
  Environment env{
      {"x", filled(DType::F32, {4}, [](std::int64_t i) { return static_cast<double>(i - 1); })},
      {"y", filled(DType::F32, {4}, [](std::int64_t) { return 10; })}};
  interpret(p, env, with({{"N", 4}}));
  CHECK(reals(env["y"]) == Reals{1, 10, 10, 10});
  // A sum of products is fused: (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24, not 0.
  const Program dot =
      parse_program("program d()\n  in x: f32[1]\n  inout s: f32[]\n  s[] += x[i] * x[i]", "t");
  Environment fused{{"x", filled(DType::F32, {1}, [](std::int64_t) { return 1 + 0x1p-12; })},
                    {"s", filled(DType::F32, {}, [](std::int64_t) { return -(1 + 0x1p-11); })}};
  interpret(dot, fused, {});
  CHECK(reals(fused["s"]) == Reals{0x1p-24});
}

TEST_CASE("what is refused, in exact words") {
  const Program p = parse_program(R"(program p(N)
  in   x: f32[N]
  in   id: i64[N]
  out  y: f32[N]
  temp t: f32[N]
  t[i] = x[i]  for i in 0..N-1
  y[i] = x[id[i]] + t[i]
)",
                                  "t");
  const Contents x = filled(DType::F32, {3}, small);
  const auto ids = [](double last) {
    return filled(DType::I64, {3},
                  [=](std::int64_t i) { return i == 2 ? last : static_cast<double>(i); });
  };
  const InterpretOptions sizes = with({{"N", 3}});
  CHECK(refusal(p, {{"x", x}, {"id", ids(2)}}, sizes) ==
        "statement 'y' at (i=2) reads t[2], which nothing has written");
  CHECK(refusal(p, {{"x", x}, {"id", ids(7)}}, sizes) ==
        "statement 'y' at (i=2) reads x[7], outside its shape [3]");
  CHECK(refusal(p, {{"x", x}, {"id", ids(-1)}}, sizes) ==
        "statement 'y' at (i=2) reads x[-1], outside its shape [3]");
  CHECK(refusal(p, {{"id", x}}, sizes) ==
        "buffer 'x' is not given\nbuffer 'id' is f32[3], expected i64[3]");
  CHECK(refusal(p, {}, {}) == "program 'p': size N is not given");
  InterpretOptions limited = sizes;
  limited.max_steps = 3;
  CHECK(refusal(p, {{"x", x}, {"id", ids(2)}}, limited) == "program 'p' takes more than 3 steps");
  // Seen by the verifier only where it is sure; the interpreter sees the rest.
  const Program scatter =
      parse_program("program s(N)\n  out y: f32[N]\n  y[i * 2 % 5] = 1 for i in 0..N", "t");
  CHECK(refusal(scatter, {}, with({{"N", 3}})) ==
        "statement 'y' at (i=2) writes y[4], outside its shape [3]");
}

TEST_CASE("decision 3: a rim that nobody writes is a read of nothing") {
  const Program p = parse_program(R"(program jacobi(T, N)
  inout A: f64[N, N]
  temp  B: f64[N, N]
  loop t in 0..T
    B[i, j] = 0.2 * (A[i, j] + A[i, j-1] + A[i, j+1] + A[i-1, j] + A[i+1, j])
        for i in 1..N-1, j in 1..N-1
    A[i, j] = 0.2 * (B[i, j] + B[i, j-1] + B[i, j+1] + B[i-1, j] + B[i+1, j])
        for i in 1..N-1, j in 1..N-1
)",
                                  "t");
  Environment env{{"A", filled(DType::F64, {4, 4}, small)}};
  CHECK(refusal(p, env, with({{"T", 1}, {"N", 4}})) ==
        "statement 'A' at (t=0, i=1, j=1) reads B[1, 0], which nothing has written");
}

TEST_CASE("events are the instances in reference order") {
  const Program p = parse_program(
      "program p()\n  in x: f32[2, 2]\n  out y: f32[2]\n  y[i] = sum[k] x[i, k] * x[i, k]", "t");
  Environment env{
      {"x", filled(DType::F32, {2, 2}, [](std::int64_t i) { return static_cast<double>(i + 1); })}};
  std::string trace;
  InterpretOptions options;
  options.on_event = [&](const Event& e) {
    trace += *e.statement + "(";
    for (const std::int64_t i : e.instance) trace += std::to_string(i);
    trace += ")";
    for (const Event::Cell& c : e.cells) {
      trace += (c.write ? " >" : " <") + c.buffer;
      for (const std::int64_t i : c.index) trace += std::to_string(i);
      trace += "=" + std::to_string(static_cast<int>(c.value));
    }
    trace += "\n";
  };
  interpret(p, env, options);
  CHECK(trace ==
        "y.init(0) >y0=0\ny.init(1) >y1=0\n"
        "y.update(00) <x00=1 <x00=1 <y0=0 >y0=1\ny.update(01) <x01=2 <x01=2 <y0=1 >y0=5\n"
        "y.update(10) <x10=3 <x10=3 <y1=0 >y1=9\ny.update(11) <x11=4 <x11=4 <y1=9 >y1=25\n");
}

TEST_CASE("every element type computes") {
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto type = static_cast<DType>(t);
    const std::string name(to_string(type));
    const std::string value =
        type == DType::Bool ? "select(x[i], not(x[i]), x[i])" : "x[i] * 3 + 1";
    const Program p = parse_program(
        "program p()\n  in x: " + name + "[3]\n  out y: " + name + "[3]\n  y[i] = " + value, "t");
    Environment env{
        {"x", filled(type, {3}, [](std::int64_t i) { return static_cast<double>(i); })}};
    interpret(p, env, {});
    CHECK(reals(env["y"]) == (type == DType::Bool ? Reals{0, 0, 0} : Reals{1, 4, 7}));
  }
}
