// Powers by constant exponents against those of C, and when they stay what was written.
#include "ir/power.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "ir/interpret.h"
#include "ir/program_text.h"

using namespace polyte;
using namespace polyte::ir;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string program_of(const std::string& type, std::size_t count, const std::string& value) {
  const std::string size = ": " + type + "[" + std::to_string(count) + "]\n";
  return "program test()\n  in x" + size + "  out y" + size + "  y[i] = " + value + "\n";
}

std::string printed(const std::string& value) {
  const std::string text = print(parse_program(program_of("f32", 8, value), "test"));
  const std::size_t begin = text.find(" = ") + 3;
  return text.substr(begin, text.find("  for") - begin);
}

template <class T>
std::vector<T> inputs() {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  using Limits = std::numeric_limits<T>;
  std::vector<T> all = {0,
                        -T{0},
                        1,
                        -1,
                        2,
                        -3,
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::max(),
                        -Limits::max(),
                        Limits::min(),
                        Limits::denorm_min(),
                        -Limits::denorm_min()};
  std::mt19937_64 random(5);
  std::uniform_real_distribution<T> near(-8, 8);
  while (all.size() < 4000)
    all.push_back(random() % 2 == 0 ? near(random) : std::bit_cast<T>(static_cast<Bits>(random())));
  return all;
}

// In units of the last place; where the exact value is below all normal numbers, of those there.
template <class T>
double error_of(T got, long double exact) {
  const T nearest = static_cast<T>(exact);
  if (std::isnan(got) || std::isnan(nearest))
    return std::isnan(got) && std::isnan(nearest) ? 0 : kInfinity;
  if (std::isinf(got) && std::isinf(nearest)) return got == nearest ? 0 : kInfinity;
  const T most = std::numeric_limits<T>::max();
  const T a = std::clamp(got, -most, most), b = std::clamp(nearest, -most, most);
  const T size = std::max(std::abs(b), std::numeric_limits<T>::min());
  const T unit = size - std::nextafter(size, T{0});
  if (got == 0 && nearest == 0 && std::signbit(got) != std::signbit(nearest)) return kInfinity;
  return static_cast<double>(std::abs(static_cast<long double>(a) - b) / unit);
}

template <class T>
void check_powers(const std::string& type, double exponent) {
  const std::vector<T> x = inputs<T>();
  const std::string value = "pow(x[i], " + std::to_string(exponent) + ")";
  CAPTURE(type);
  CAPTURE(value);
  const Program program = parse_program(program_of(type, x.size(), value), "test");
  CHECK(print(program).find("pow") == std::string::npos);
  Contents contents =
      make_contents(program.buffers[0].dtype, {static_cast<std::int64_t>(x.size())});
  for (std::size_t i = 0; i < x.size(); ++i) set_real(contents, static_cast<std::int64_t>(i), x[i]);
  Environment env = {{"x", contents}};
  interpret(program, env, {});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto got = static_cast<T>(get_real(env.at("y"), static_cast<std::int64_t>(i)));
    const long double exact =
        std::pow(static_cast<long double>(x[i]), static_cast<long double>(exponent));
    CAPTURE(x[i]);
    CAPTURE(got);
    const double error = error_of(got, exact);
    if (!(error <= 4)) CHECK(error <= 4);
  }
}

}  // namespace

TEST_CASE("powers by numbers are within 4 ULP, and C's on zeros, infinities and no numbers") {
  for (const double exponent : {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, -1.0, -2.0, 0.25, 0.5, 0.75, 1.25,
                                1.5, 2.25, 2.5, 3.5, -0.25, -0.5, -1.5}) {
    check_powers<float>("f32", exponent);
    check_powers<double>("f64", exponent);
  }
}

TEST_CASE("powers by numbers as they are printed") {
  CHECK(printed("pow(x[i], 1)") == "x[i]");
  CHECK(printed("pow(x[i], 3)") == "x[i] * x[i] * x[i]");
  CHECK(printed("pow(x[i], -1)") == "1 / x[i]");
  CHECK(printed("pow(x[i], 0)") == "1");
}

TEST_CASE("other exponents, and bases that are too large to be written again, stay powers") {
  for (const char* value : {"pow(x[i], 6)", "pow(x[i], -3)", "pow(x[i], 1.7)", "pow(x[i], 5.5)",
                            "pow(2, x[i])", "pow(x[i], x[i])", "pow(f32(2), 3)"})
    CHECK(printed(value) == value);
  std::string nested = "x[i]";
  for (int depth = 0; depth < 20; ++depth) nested = "pow(" + nested + ", 5)";
  const std::string text = printed(nested);
  CHECK(text.find("pow(pow(") != std::string::npos);
  CHECK(text.size() < 4000);
}
