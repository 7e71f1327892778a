// The arithmetic that ir/expr.h promises, type by type.
#include "ir/arithmetic.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace polyte;
using namespace polyte::ir;
using arithmetic::apply;
using arithmetic::of_integer;
using arithmetic::of_real;

namespace {

std::int64_t ints(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
  return apply(op, type, of_integer(a), of_integer(b)).integer;
}
double reals(BinaryOp op, DType type, double a, double b) {
  return apply(op, type, of_real(a), of_real(b)).real;
}
double real(UnaryOp op, DType type, double a) { return apply(op, type, of_real(a)).real; }
std::int64_t to_int(DType to, double a) {
  return arithmetic::cast(to, DType::F64, of_real(a)).integer;
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();

template <class T>
void check_against(DType type) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    const T a = static_cast<T>(random()), b = static_cast<T>(round % 10 == 0 ? 0 : random());
    const auto wrap = [](auto value) { return static_cast<std::int64_t>(static_cast<T>(value)); };
    const auto ia = static_cast<std::int64_t>(+a), ib = static_cast<std::int64_t>(+b);
    const auto ua = static_cast<std::uint64_t>(ia), ub = static_cast<std::uint64_t>(ib);
    REQUIRE(ints(BinaryOp::Add, type, ia, ib) == wrap(ua + ub));
    REQUIRE(ints(BinaryOp::Sub, type, ia, ib) == wrap(ua - ub));
    REQUIRE(ints(BinaryOp::Mul, type, ia, ib) == wrap(ua * ub));
    REQUIRE(ints(BinaryOp::Min, type, ia, ib) == wrap(a < b ? a : b));
    REQUIRE(ints(BinaryOp::Max, type, ia, ib) == wrap(a < b ? b : a));
    REQUIRE(ints(BinaryOp::Lt, type, ia, ib) == (a < b));
    REQUIRE(ints(BinaryOp::Le, type, ia, ib) == (a <= b));
    REQUIRE(ints(BinaryOp::Xor, type, ia, ib) == wrap(ua ^ ub));
    const unsigned amount = static_cast<unsigned>(ub) & (8 * sizeof(T) - 1);
    REQUIRE(ints(BinaryOp::Shl, type, ia, ib) == wrap(ua << amount));
    REQUIRE(ints(BinaryOp::Shr, type, ia, ib) == wrap(a >> amount));
    if (b != 0 && !(std::is_signed_v<T> && b == static_cast<T>(-1))) {
      REQUIRE(ints(BinaryOp::Div, type, ia, ib) == wrap(a / b));
      REQUIRE(ints(BinaryOp::Mod, type, ia, ib) == wrap(a % b));
    }
    REQUIRE(arithmetic::fma(type, of_integer(ia), of_integer(ib), of_integer(5)).integer ==
            wrap(ua * ub + 5));
  }
}

}  // namespace

TEST_CASE("integers wrap in every width") {
  check_against<std::int8_t>(DType::I8);
  check_against<std::int16_t>(DType::I16);
  check_against<std::int32_t>(DType::I32);
  check_against<std::int64_t>(DType::I64);
  check_against<std::uint8_t>(DType::U8);
  check_against<std::uint16_t>(DType::U16);
  check_against<std::uint32_t>(DType::U32);
  check_against<std::uint64_t>(DType::U64);
}

TEST_CASE("division by zero is zero, and the lowest by minus one wraps") {
  for (const DType type : {DType::I8, DType::I32, DType::I64, DType::U8, DType::U64}) {
    CHECK(ints(BinaryOp::Div, type, 7, 0) == 0);
    CHECK(ints(BinaryOp::Mod, type, 7, 0) == 0);
  }
  CHECK(ints(BinaryOp::Div, DType::I64, kMin64, -1) == kMin64);
  CHECK(ints(BinaryOp::Mod, DType::I64, kMin64, -1) == 0);
  CHECK(ints(BinaryOp::Div, DType::I8, -128, -1) == -128);
  CHECK(ints(BinaryOp::Div, DType::I32, -7, 2) == -3);
  CHECK(ints(BinaryOp::Mod, DType::I32, -7, 2) == -1);
  CHECK(apply(UnaryOp::Abs, DType::I8, of_integer(-128)).integer == -128);
  CHECK(apply(UnaryOp::Neg, DType::U8, of_integer(1)).integer == 255);
  CHECK(apply(UnaryOp::Not, DType::Bool, of_integer(1)).integer == 0);
  CHECK(apply(UnaryOp::Not, DType::U8, of_integer(1)).integer == 254);
}

TEST_CASE("casts saturate, truncate and wrap") {
  CHECK(to_int(DType::I8, 300) == 127);
  CHECK(to_int(DType::I8, -300) == -128);
  CHECK(to_int(DType::I8, -1.9) == -1);
  CHECK(to_int(DType::U8, -1.0) == 0);
  CHECK(to_int(DType::I32, 1e20) == 2147483647);
  CHECK(to_int(DType::I64, 1e20) == kMax64);
  CHECK(to_int(DType::I64, -1e20) == kMin64);
  CHECK(to_int(DType::U64, 1e20) == -1);
  CHECK(to_int(DType::U64, 9223372036854775808.0) == kMin64);
  CHECK(to_int(DType::I16, kNan) == 0);
  CHECK(to_int(DType::I32, kNan) == 0);
  CHECK(to_int(DType::I64, kNan) == 0);
  CHECK(to_int(DType::U32, kInf) == 4294967295);
  CHECK(to_int(DType::Bool, 0.5) == 1);
  CHECK(to_int(DType::Bool, 0.0) == 0);
  CHECK(arithmetic::cast(DType::I8, DType::I32, of_integer(200)).integer == -56);
  CHECK(arithmetic::cast(DType::Bool, DType::I32, of_integer(256)).integer == 1);
  CHECK(arithmetic::cast(DType::F64, DType::U64, of_integer(-1)).real == 18446744073709551616.0);
  CHECK(arithmetic::cast(DType::F32, DType::I64, of_integer(16777217)).real == 16777216.0);
}

TEST_CASE("short floats round to nearest even, each operation once") {
  CHECK(arithmetic::round_to(DType::F16, 2049.0) == 2048.0);
  CHECK(arithmetic::round_to(DType::F16, 2051.0) == 2052.0);
  CHECK(arithmetic::round_to(DType::F16, 65520.0) == kInf);
  CHECK(arithmetic::round_to(DType::BF16, 257.0) == 256.0);
  CHECK(reals(BinaryOp::Add, DType::F16, 2048, 1) == 2048);
  CHECK(reals(BinaryOp::Mul, DType::BF16, 1.0078125, 1.0078125) == 1.015625);
  CHECK(reals(BinaryOp::Div, DType::F16, 1, 3) == 0.333251953125);
  CHECK(reals(BinaryOp::Add, DType::F32, 16777216, 1) == 16777216);
  CHECK(reals(BinaryOp::Add, DType::F64, 16777216, 1) == 16777217);
  // Rounded once from f64, not over f32: 1 + 2^-11 + 2^-40 is above the middle of two halves.
  CHECK(arithmetic::cast(DType::F16, DType::F64, of_real(1 + 0x1p-11 + 0x1p-40)).real ==
        1 + 0x1p-10);
}

TEST_CASE("fma rounds once") {
  const double a = 1 + 0x1p-12, c = -(1 + 0x1p-11);
  CHECK(arithmetic::fma(DType::F32, of_real(a), of_real(a), of_real(c)).real == 0x1p-24);
  CHECK(reals(BinaryOp::Add, DType::F32, reals(BinaryOp::Mul, DType::F32, a, a), c) == 0);
  const double b = 1 + 0x1p-27, d = -(1 + 0x1p-26);
  CHECK(arithmetic::fma(DType::F64, of_real(b), of_real(b), of_real(d)).real == 0x1p-54);
}

TEST_CASE("min and max carry NaN and order the zeros") {
  for (const DType type : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
    CHECK(std::isnan(reals(BinaryOp::Min, type, kNan, 1)));
    CHECK(std::isnan(reals(BinaryOp::Max, type, 1, kNan)));
    CHECK(std::signbit(reals(BinaryOp::Min, type, 0.0, -0.0)));
    CHECK(std::signbit(reals(BinaryOp::Min, type, -0.0, 0.0)));
    CHECK(!std::signbit(reals(BinaryOp::Max, type, 0.0, -0.0)));
    CHECK(!std::signbit(reals(BinaryOp::Max, type, -0.0, 0.0)));
    CHECK(reals(BinaryOp::Max, type, 1, 2) == 2);
    CHECK(apply(BinaryOp::Lt, type, of_real(kNan), of_real(1)).integer == 0);
    CHECK(apply(BinaryOp::Ne, type, of_real(kNan), of_real(kNan)).integer == 1);
    CHECK(apply(BinaryOp::Eq, type, of_real(0.0), of_real(-0.0)).integer == 1);
  }
}

TEST_CASE("functions") {
  CHECK(real(UnaryOp::Round, DType::F32, 2.5) == 2);
  CHECK(real(UnaryOp::Round, DType::F32, 3.5) == 4);
  CHECK(real(UnaryOp::Trunc, DType::F64, -2.7) == -2);
  CHECK(real(UnaryOp::Floor, DType::F64, -2.2) == -3);
  CHECK(real(UnaryOp::Ceil, DType::F64, 2.2) == 3);
  CHECK(real(UnaryOp::Sqrt, DType::F32, 2) == std::sqrt(2.0F));
  CHECK(real(UnaryOp::Sigmoid, DType::F64, -800) == 0);
  CHECK(real(UnaryOp::Sigmoid, DType::F64, 800) == 1);
  CHECK(real(UnaryOp::Sigmoid, DType::F32, 0) == 0.5);
  CHECK(real(UnaryOp::Exp, DType::F32, 1) == static_cast<float>(std::exp(1.0)));
  CHECK(real(UnaryOp::Exp, DType::F16, 20) == kInf);
  CHECK(reals(BinaryOp::Pow, DType::F64, 2, 10) == 1024);
}

TEST_CASE("tf32 keeps 11 significant bits, ties away from zero") {
  CHECK(real(UnaryOp::Tf32, DType::F32, 3) == 3);
  CHECK(real(UnaryOp::Tf32, DType::F32, 0x1.001p0) == 1);
  CHECK(real(UnaryOp::Tf32, DType::F32, 0x1.006p0) == 0x1.008p0);
  CHECK(real(UnaryOp::Tf32, DType::F32, -0x1.002p0) == -0x1.004p0);
  CHECK(real(UnaryOp::Tf32, DType::F32, 0x1.001ffep0) == 1);
  CHECK(real(UnaryOp::Tf32, DType::F32, 0x1.fffffep0) == 2);
  CHECK(real(UnaryOp::Tf32, DType::F32, 3.4028235e38F) == kInf);
  CHECK(real(UnaryOp::Tf32, DType::F32, -kInf) == -kInf);
  CHECK(std::isnan(real(UnaryOp::Tf32, DType::F32, kNan)));
  CHECK(real(UnaryOp::Tf32, DType::F32, 0x1p-136) == 0x1p-136);
  CHECK(real(UnaryOp::Tf32, DType::F32, 0x1p-138) == 0);
  CHECK_FALSE(ir::is_defined(UnaryOp::Tf32, DType::F64));
  CHECK_FALSE(ir::is_defined(UnaryOp::Tf32, DType::BF16));
}

TEST_CASE("memory holds every type") {
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto type = static_cast<DType>(t);
    std::byte cell[8] = {};
    const auto one = arithmetic::cast(type, DType::I64, of_integer(1));
    arithmetic::store(type, cell, one);
    CHECK(arithmetic::cast(DType::I64, type, arithmetic::load(type, cell)).integer == 1);
    if (is_signed_integer(type) || is_float(type)) {
      arithmetic::store(type, cell, arithmetic::cast(type, DType::I64, of_integer(-3)));
      CHECK(arithmetic::cast(DType::I64, type, arithmetic::load(type, cell)).integer == -3);
    }
  }
}
