// exp, log, tanh, erf, sigmoid, sin, cos and pow (of f64 libm's): distance from the true value over
// the whole range, equal bits for scalars and vectors, on every x86-64 level.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "tests/codegen/native.h"
#include "tests/sweep.h"

using namespace polyte;
using namespace polyte::codegen::testing;

namespace {

std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

using Reference = std::function<long double(long double)>;

long double exact_sigmoid(long double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

struct Function {
  const char* name;
  Reference exact;
  double most_f32 = 4;  // ULP
};
const Function kFunctions[] = {{"exp", [](long double x) { return std::exp(x); }},
                               {"log", [](long double x) { return std::log(x); }},
                               {"tanh", [](long double x) { return std::tanh(x); }},
                               {"erf", [](long double x) { return std::erf(x); }},
                               {"sigmoid", exact_sigmoid},
                               {"sin", [](long double x) { return std::sin(x); }, 1},
                               {"cos", [](long double x) { return std::cos(x); }, 1}};

// Units in the last place of type T between `got` and the exact value; 0 where both are NaN or
// the same infinity.
template <class T>
double ulps(T got, long double exact) {
  const T nearest = static_cast<T>(exact);
  if (std::isnan(got) || std::isnan(nearest))
    return std::isnan(got) == std::isnan(nearest) ? 0 : HUGE_VAL;
  if (std::isinf(got) || std::isinf(nearest)) return got == nearest ? 0 : HUGE_VAL;
  const T size = std::max(std::abs(nearest), std::numeric_limits<T>::min());
  const T unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) /
                             static_cast<long double>(unit));
}

std::string program_of(const std::string& function, const std::string& type, std::size_t count,
                       int lanes) {
  const std::string at =
      lanes == 1 ? "[i]" : "[" + std::to_string(lanes) + "*i; " + std::to_string(lanes) + " by 1]";
  const std::string size = ": " + type + "[" + std::to_string(count) + "]\n";
  return "loops math\n  in x" + size + "  out y" + size + "\n  for i in 0.." +
         std::to_string(count / static_cast<std::size_t>(lanes)) + "\n    y" + at + " = " +
         function + "(x" + at + ")\n";
}

template <class T>
ir::Contents contents_of(DType type, const std::vector<T>& values) {
  ir::Contents contents = zeros(type, {static_cast<std::int64_t>(values.size())});
  std::memcpy(contents.bytes.data(), values.data(), contents.bytes.size());
  return contents;
}

template <class T>
std::vector<T> run(const std::string& function, const std::vector<T>& inputs, int lanes,
                   const codegen::Target& target) {
  const DType type = sizeof(T) == 4 ? DType::F32 : DType::F64;
  const auto text = program_of(function, std::string(to_string(type)), inputs.size(), lanes);
  ir::Environment buffers = {{"x", contents_of(type, inputs)}};
  run_native(ir::parse_loop_program(text, "test"), buffers, {.target = target});
  std::vector<T> results(inputs.size());
  std::memcpy(results.data(), buffers.at("y").bytes.data(), buffers.at("y").bytes.size());
  return results;
}

template <class T>
void check_accuracy(const Function& function, const std::vector<T>& inputs) {
  std::vector<long double> exact;
  for (const T x : inputs) exact.push_back(function.exact(x));
  for (const codegen::Target& target : runnable_targets()) {
    const auto got = run(function.name, inputs, 16, target);
    const auto scalar = run(function.name, inputs, 1, target);
    double worst = 0;
    T at = 0;
    bool same = true;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double error = ulps(got[i], exact[i]);
      if (error > worst) {
        worst = error;
        at = inputs[i];
      }
      same = same && (bits_of(got[i]) == bits_of(scalar[i]) || std::isnan(got[i]));
    }
    INFO(std::string(function.name) << " in " << 8 * sizeof(T) << " bits on " << target.machine.cpu
                                    << ": " << worst << " ULP at " << at);
    CHECK(worst <= (sizeof(T) == 4 ? function.most_f32 : 4));
    CHECK(same);
  }
}

}  // namespace

// A million inputs a function, four where time does not count.
TEST_CASE("f32 functions are within 4 ULP on every 4003rd bit pattern, or every 1009th") {
  std::vector<float> inputs;
  for (std::uint64_t bits = 0; bits <= 0xffffffff; bits += test::takes_all() ? 1009 : 4003) {
    inputs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  inputs.resize(inputs.size() / 16 * 16);
  // Neighbours go one way together, or (below zero) some lanes of a vector another: small and
  // large angles of sin.
  std::mt19937 random(3);
  std::shuffle(inputs.begin() + static_cast<std::ptrdiff_t>(inputs.size() / 2), inputs.end(),
               random);
  for (const Function& function : kFunctions) check_accuracy(function, inputs);
}

TEST_CASE("f64 functions are within 4 ULP on random bit patterns and where they vary") {
  std::mt19937_64 random(7);
  std::vector<double> inputs = {0.0,      -0.0,    HUGE_VAL, -HUGE_VAL, std::nan(""), 709.78,
                                709.79,   -745.13, -745.14,  -708.4,    5e-324,       1,
                                2.2e-308, 1.7e308, 5.92,     6};
  for (int i = 0; i < 100000; ++i) inputs.push_back(std::bit_cast<double>(random()));
  for (const double scale : {1e-3, 1.0, 7.0, 40.0, 750.0}) {
    std::uniform_real_distribution<double> values(-scale, scale);
    for (int i = 0; i < 20000; ++i) inputs.push_back(values(random));
  }
  for (const Function& function : kFunctions) check_accuracy(function, inputs);
}

TEST_CASE("functions of short floats are those of f32, rounded") {
  for (const char* type : {"f16", "bf16"}) {
    std::string text = std::string("loops short\n  in x: ") + type + "[65536]\n  out y: " + type +
                       "[65536]\n  out z: f32[65536]\n";
    text += "\n  for i in 0..4096\n    y[16*i; 16 by 1] = exp(x[16*i; 16 by 1])\n";
    text += "    z[16*i; 16 by 1] = exp(cast_f32(x[16*i; 16 by 1]))\n";
    const DType dtype = *dtype_from_string(type);
    std::vector<std::uint16_t> inputs(65536);
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<std::uint16_t>(i);
    ir::Environment buffers = {{"x", contents_of(dtype, inputs)}};
    run_native(ir::parse_loop_program(text, "test"), buffers);
    int wrong = 0;
    for (std::int64_t i = 0; i < 65536; ++i) {
      const double short_value = value_at(buffers.at("y"), i), wide = value_at(buffers.at("z"), i);
      const double rounded = dtype == DType::F16 ? half_to_float(double_to_half(wide))
                                                 : bfloat16_to_float(double_to_bfloat16(wide));
      wrong += !(short_value == rounded || (std::isnan(short_value) && std::isnan(wide)));
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("f32 pow is within 1 ULP, and C's on zeros, ones, infinities and no numbers") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {
      0,        -0.0F,     1,      -1,      0.5F,        -0.5F,       2,       -2,
      3,        -3,        1e-3F,  1e30F,   7e6F,        16777216,    8388607, -8388607,
      infinity, -infinity, 1e-40F, -1e-40F, 0.99999994F, -1.0000001F, 127.5F,  std::nanf("")};
  std::vector<float> base, exponent;
  for (const float a : special)
    for (const float b : special) {
      base.push_back(a);
      exponent.push_back(b);
    }
  std::mt19937 random(11);
  std::uniform_real_distribution<float> bases(0, 8), exponents(-60, 60);
  while (base.size() < 40000) {
    base.push_back(random() % 2 == 0 ? bases(random)
                                     : std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    exponent.push_back(random() % 8 == 0 ? static_cast<float>(static_cast<int>(random() % 31) - 15)
                                         : exponents(random));
  }
  const std::string size = ": f32[40000]\n";
  for (const codegen::Target& target : runnable_targets()) {
    ir::Environment buffers = {{"a", contents_of(DType::F32, base)},
                               {"b", contents_of(DType::F32, exponent)}};
    const std::string text =
        "loops power\n  in a" + size + "  in b" + size + "  out y" + size + "  out s" + size +
        "\n  for i in 0..2500\n    y[16*i; 16 by 1] = pow(a[16*i; 16 by 1], b[16*i; 16 by 1])\n" +
        "  for i in 0..40000\n    s[i] = pow(a[i], b[i])\n";
    run_native(ir::parse_loop_program(text, "test"), buffers, {.target = target});
    CHECK(buffers.at("y").bytes == buffers.at("s").bytes);
    double worst = 0;
    for (std::size_t i = 0; i < base.size(); ++i) {
      const auto got = static_cast<float>(value_at(buffers.at("y"), static_cast<std::int64_t>(i)));
      const double error = ulps(
          got, std::pow(static_cast<long double>(base[i]), static_cast<long double>(exponent[i])));
      INFO(base[i] << " to the power of " << exponent[i] << ": " << got);
      if (error > 1) CHECK(error <= 1);
      if (got == 0) CHECK(std::signbit(got) == std::signbit(std::pow(base[i], exponent[i])));
      worst = std::max(worst, error);
    }
    CHECK(worst <= 1);
  }
}

TEST_CASE("pow of f64 goes to libm, lane by lane") {
  const ir::Environment inputs = {{"a", filled(DType::F64, {64}, 41)},
                                  {"b", filled(DType::F64, {64}, 42)}};
  CHECK(against_interpreter(
            "loops power\n  in a: f64[64]\n  in b: f64[64]\n  out y: f64[64]\n\n  for i in 0..8\n"
            "    y[8*i; 8 by 1] = pow(a[8*i; 8 by 1], b[8*i; 8 by 1])\n",
            inputs) == "");
}
