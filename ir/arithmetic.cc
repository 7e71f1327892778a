#include "ir/arithmetic.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "support/error.h"

namespace polyte::ir::arithmetic {
namespace {

// An operation in f32 whose result is then rounded to f16 or bf16 gives, for + - * / and sqrt, what
// one rounding of the exact result would give: double rounding is innocuous where the wide format
// has at least 2p + 2 bits of precision (Figueroa, "When is double rounding innocuous?", 1995). f32
// has 24; f16 needs 2 * 11 + 2 = 24, bf16 2 * 8 + 2 = 18. The same holds of f32 within f64: 53 >=
// 50. It does not hold of fma, which is therefore defined by the two steps: fused in f32, then
// rounded.
bool is_short_float(DType type) { return type == DType::F16 || type == DType::BF16; }

// The result of an operation computed in f64 (F64) or in f32 (all others), as a value of the type.
double finish(DType type, double value) {
  return type == DType::F64 ? value : round_to(type, value);
}
double finish(DType type, float value) {
  return is_short_float(type) ? round_to(type, value) : value;
}

template <class T>
// IEEE 754-2019 minimum and maximum, not std::fmin, which drops a NaN.
T min_or_max(T a, T b, bool want_max) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) == want_max ? b : a;  // -0 is below +0
  return (a < b) == want_max ? b : a;
}

template <class T>
T apply_float(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::Add:
      return a + b;
    case BinaryOp::Sub:
      return a - b;
    case BinaryOp::Mul:
      return a * b;
    case BinaryOp::Div:
      return a / b;
    case BinaryOp::Min:
      return min_or_max(a, b, false);
    case BinaryOp::Max:
      return min_or_max(a, b, true);
    case BinaryOp::Pow:
      // In f64 also for f32: the wide result rounded once is well within 4 ULP.
      return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
    default:
      break;
  }
  POLYTE_CHECK(false, "'" + to_string(op) + "' of a float");
}

bool compare_float(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::Eq:
      return a == b;
    case BinaryOp::Ne:
      return a != b;
    case BinaryOp::Lt:
      return a < b;
    default:
      return a <= b;
  }
}

// INT64_MIN / -1 is undefined in C++ and traps on x86 (#DE). Negation in unsigned arithmetic wraps,
// as expr.h promises. Narrower types come sign-extended, where no quotient overflows 64 bits; their
// MIN / -1 wraps when the result is brought back to the type.
std::int64_t signed_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  return a / b;
}

// u64 is the one type whose value does not fit int64: order, division and right shifts differ
// there only.
template <class T>
std::int64_t ordered_op(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::Min:
      return static_cast<std::int64_t>(b < a ? b : a);
    case BinaryOp::Max:
      return static_cast<std::int64_t>(a < b ? b : a);
    case BinaryOp::Lt:
      return a < b;
    case BinaryOp::Le:
      return a <= b;
    default:
      break;
  }
  POLYTE_CHECK(false, "'" + to_string(op) + "' of integers");
}

std::int64_t within(std::int64_t a, std::int64_t extent) {
  if (a >= 0 && a < extent) return a;
  throw UserError(ExitStatus::InvalidInput, "subscript " + std::to_string(a) +
                                                " is outside a dimension of " +
                                                std::to_string(extent) + " elements");
}

// Everything is computed in 64 bits and wrapped to the width by the caller: addition, subtraction,
// multiplication and left shifts modulo 2^64 agree with those modulo 2^width in the low bits.
// `amount` takes the width as a power of two: `& (width - 1)` is modulo the width.
std::int64_t apply_integer(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a);
  const auto ub = static_cast<std::uint64_t>(b);
  const auto amount = ub & static_cast<std::uint64_t>(8 * size_in_bytes(type) - 1);
  const bool wide = type == DType::U64;
  switch (op) {
    case BinaryOp::Add:
      return static_cast<std::int64_t>(ua + ub);
    case BinaryOp::Sub:
      return static_cast<std::int64_t>(ua - ub);
    case BinaryOp::Mul:
      return static_cast<std::int64_t>(ua * ub);
    case BinaryOp::Div:
      return wide ? static_cast<std::int64_t>(ub == 0 ? 0 : ua / ub) : signed_div(a, b);
    case BinaryOp::Mod:
      if (b == 0) return 0;
      return wide ? static_cast<std::int64_t>(ua % ub) : (b == -1 ? 0 : a % b);
    case BinaryOp::And:
      return a & b;
    case BinaryOp::Or:
      return a | b;
    case BinaryOp::Xor:
      return a ^ b;
    case BinaryOp::Shl:
      return static_cast<std::int64_t>(ua << amount);
    case BinaryOp::Shr:
      return wide ? static_cast<std::int64_t>(ua >> amount) : a >> amount;
    case BinaryOp::Within:
      return within(a, b);
    case BinaryOp::Eq:
      return a == b;
    case BinaryOp::Ne:
      return a != b;
    default:
      return wide ? ordered_op(op, ua, ub) : ordered_op(op, a, b);
  }
}

// Two forms of one function, so that exp is only ever taken of a number that is not positive: it
// cannot overflow.
double sigmoid(double x) {
  if (x >= 0) return 1 / (1 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1 + e);
}

// As cvt.rna.tf32.f32 has it (PTX ISA: round to nearest, ties away from zero): the upper 10 of 23
// mantissa bits stay, half of the last of them rounds it up. Sign and magnitude are apart in IEEE
// 754, so adding to the bits adds to the magnitude. A carry out of the mantissa raises the
// exponent, which is the next power of two; beyond the largest number that is infinity. Infinity
// stays itself, as the bits that the addition sets are dropped.
float to_tf32(float x) {
  constexpr std::uint32_t kDropped = 0x1fff, kHalf = 0x1000;
  if (std::isnan(x)) return x;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) + kHalf) & ~kDropped);
}

// std::nearbyint rounds half to even, as the rounding mode is never changed.
double apply_real(UnaryOp op, double a) {
  switch (op) {
    case UnaryOp::Neg:
      return -a;
    case UnaryOp::Abs:
      return std::fabs(a);
    case UnaryOp::Sqrt:
      return std::sqrt(a);
    case UnaryOp::Floor:
      return std::floor(a);
    case UnaryOp::Ceil:
      return std::ceil(a);
    case UnaryOp::Round:
      return std::nearbyint(a);
    case UnaryOp::Trunc:
      return std::trunc(a);
    case UnaryOp::Exp:
      return std::exp(a);
    case UnaryOp::Log:
      return std::log(a);
    case UnaryOp::Tanh:
      return std::tanh(a);
    case UnaryOp::Erf:
      return std::erf(a);
    case UnaryOp::Sigmoid:
      return sigmoid(a);
    case UnaryOp::Sin:
      return std::sin(a);
    case UnaryOp::Cos:
      return std::cos(a);
    case UnaryOp::Tf32:
      return to_tf32(static_cast<float>(a));
    case UnaryOp::Not:
      break;
  }
  POLYTE_CHECK(false, to_string(op) + " of a float");
}

std::int64_t apply_integer(UnaryOp op, DType type, std::int64_t a) {
  switch (op) {
    case UnaryOp::Neg:
      return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
    case UnaryOp::Abs:
      return is_signed_integer(type) && a < 0
                 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a))
                 : a;
    case UnaryOp::Not:
      return ~a;  // of Bool: the lowest bit of it
    default:
      break;
  }
  POLYTE_CHECK(false, to_string(op) + " of an integer");
}

// Truncates towards zero and saturates; NaN gives 0.
template <class T>
std::int64_t saturate(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return 0;
  // Both limits as doubles: the lower is exact, the upper may round up to a power of two, hence >=.
  if (value <= static_cast<double>(Limits::min())) return static_cast<std::int64_t>(Limits::min());
  if (value >= static_cast<double>(Limits::max())) return static_cast<std::int64_t>(Limits::max());
  return static_cast<std::int64_t>(static_cast<T>(value));
}

std::int64_t to_integer(DType to, double value) {
  switch (to) {
    case DType::I8:
      return saturate<std::int8_t>(value);
    case DType::I16:
      return saturate<std::int16_t>(value);
    case DType::I32:
      return saturate<std::int32_t>(value);
    case DType::I64:
      return saturate<std::int64_t>(value);
    case DType::U8:
      return saturate<std::uint8_t>(value);
    case DType::U16:
      return saturate<std::uint16_t>(value);
    case DType::U32:
      return saturate<std::uint32_t>(value);
    case DType::U64:
      return saturate<std::uint64_t>(value);
    default:
      return value != 0;
  }
}

// To f64 at once; to the others by way of f32, so f16 and bf16 are rounded twice. That is the
// definition (expr.h), and what conversions of code generators do.
double to_real(DType to, DType from, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (to == DType::F64)
    return from == DType::U64 ? static_cast<double>(bits) : static_cast<double>(value);
  return finish(to, from == DType::U64 ? static_cast<float>(bits) : static_cast<float>(value));
}

template <class T>
T read(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

template <class T, class V>
void write(std::byte* address, V value) {
  const T narrow = static_cast<T>(value);
  std::memcpy(address, &narrow, sizeof narrow);
}

}  // namespace

// From f64 in one step: f64 to f16 by way of f32 would round twice, and 1 + 2^-11 + 2^-40 would
// come out as 1 instead of 1 + 2^-10.
double round_to(DType type, double value) {
  switch (type) {
    case DType::F64:
      return value;
    case DType::F32:
      return static_cast<float>(value);
    case DType::F16:
      return half_to_float(double_to_half(value));
    case DType::BF16:
      return bfloat16_to_float(double_to_bfloat16(value));
    default:
      break;
  }
  POLYTE_CHECK(false, "rounding to an integer type");
}

std::int64_t wrap_to(DType type, std::int64_t value) {
  switch (type) {
    case DType::I8:
      return static_cast<std::int8_t>(value);
    case DType::I16:
      return static_cast<std::int16_t>(value);
    case DType::I32:
      return static_cast<std::int32_t>(value);
    case DType::U8:
      return static_cast<std::uint8_t>(value);
    case DType::U16:
      return static_cast<std::uint16_t>(value);
    case DType::U32:
      return static_cast<std::uint32_t>(value);
    case DType::Bool:
      return value & 1;
    default:
      return value;
  }
}

Scalar apply(UnaryOp op, DType type, Scalar a) {
  if (!is_float(type)) return of_integer(wrap_to(type, apply_integer(op, type, a.integer)));
  const double result = apply_real(op, a.real);
  // In f64 and then once to f32: exact for the exact operations, better than f32 for the others.
  return of_real(
      finish(type, type == DType::F64 ? result : static_cast<double>(static_cast<float>(result))));
}

Scalar apply(BinaryOp op, DType type, Scalar a, Scalar b) {
  if (!is_float(type))
    return of_integer(wrap_to(type, apply_integer(op, type, a.integer, b.integer)));
  if (is_comparison(op)) return of_integer(compare_float(op, a.real, b.real));
  if (type == DType::F64) return of_real(apply_float(op, a.real, b.real));
  return of_real(
      finish(type, apply_float(op, static_cast<float>(a.real), static_cast<float>(b.real))));
}

Scalar fma(DType type, Scalar a, Scalar b, Scalar c) {
  if (type == DType::F64) return of_real(std::fma(a.real, b.real, c.real));
  if (is_float(type)) {
    return of_real(finish(type, std::fma(static_cast<float>(a.real), static_cast<float>(b.real),
                                         static_cast<float>(c.real))));
  }
  const std::uint64_t sum =
      static_cast<std::uint64_t>(a.integer) * static_cast<std::uint64_t>(b.integer) +
      static_cast<std::uint64_t>(c.integer);
  return of_integer(wrap_to(type, static_cast<std::int64_t>(sum)));
}

Scalar cast(DType to, DType from, Scalar a) {
  if (is_float(from))
    return is_float(to) ? of_real(round_to(to, a.real)) : of_integer(to_integer(to, a.real));
  if (is_float(to)) return of_real(to_real(to, from, a.integer));
  return of_integer(to == DType::Bool ? a.integer != 0 : wrap_to(to, a.integer));
}

Scalar load(DType type, const std::byte* address) {
  switch (type) {
    case DType::F64:
      return of_real(read<double>(address));
    case DType::F32:
      return of_real(read<float>(address));
    case DType::F16:
      return of_real(half_to_float(read<std::uint16_t>(address)));
    case DType::BF16:
      return of_real(bfloat16_to_float(read<std::uint16_t>(address)));
    case DType::I8:
      return of_integer(read<std::int8_t>(address));
    case DType::I16:
      return of_integer(read<std::int16_t>(address));
    case DType::I32:
      return of_integer(read<std::int32_t>(address));
    case DType::I64:
    case DType::U64:
      return of_integer(read<std::int64_t>(address));
    case DType::U8:
      return of_integer(read<std::uint8_t>(address));
    case DType::U16:
      return of_integer(read<std::uint16_t>(address));
    case DType::U32:
      return of_integer(read<std::uint32_t>(address));
    case DType::Bool:
      return of_integer(read<std::uint8_t>(address) & 1);
  }
  POLYTE_CHECK(false, "element type out of range");
}

void store(DType type, std::byte* address, Scalar value) {
  switch (type) {
    case DType::F64:
      return write<double>(address, value.real);
    case DType::F32:
      return write<float>(address, value.real);
    case DType::F16:
      return write<std::uint16_t>(address, double_to_half(value.real));
    case DType::BF16:
      return write<std::uint16_t>(address, double_to_bfloat16(value.real));
    case DType::I64:
    case DType::U64:
      return write<std::int64_t>(address, value.integer);
    case DType::I32:
    case DType::U32:
      return write<std::uint32_t>(address, value.integer);
    case DType::I16:
    case DType::U16:
      return write<std::uint16_t>(address, value.integer);
    case DType::I8:
    case DType::U8:
    case DType::Bool:
      return write<std::uint8_t>(address, value.integer);
  }
  POLYTE_CHECK(false, "element type out of range");
}

}  // namespace polyte::ir::arithmetic
