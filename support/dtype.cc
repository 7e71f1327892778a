#include "support/dtype.h"

#include <array>
#include <bit>
#include <utility>

#include "support/error.h"
#include "support/nearest_word.h"

namespace polyte {
namespace {

struct TypeFacts {
  std::string_view name;
  int bytes;
};

// In the order of the enumerators.
constexpr std::array<TypeFacts, kDTypeCount> kTypes{{{"f64", 8},
                                                     {"f32", 4},
                                                     {"f16", 2},
                                                     {"bf16", 2},
                                                     {"i8", 1},
                                                     {"i16", 2},
                                                     {"i32", 4},
                                                     {"i64", 8},
                                                     {"u8", 1},
                                                     {"u16", 2},
                                                     {"u32", 4},
                                                     {"u64", 8},
                                                     {"bool", 1}}};

const TypeFacts& facts(DType type) {
  const auto index = static_cast<std::size_t>(type);
  POLYTE_CHECK(index < kTypes.size(), "element type out of range");
  return kTypes[index];
}

// A short binary float: sign, kExponent bits with the usual bias, kFraction bits.
template <int kExponent, int kFraction>
struct ShortFloat {
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr int kMinExponent = 1 - kBias;
  static constexpr std::uint16_t kInfinity = ((1 << kExponent) - 1) << kFraction;
  static constexpr int kDropped = 52 - kFraction;  // fraction bits of a double that do not fit

  static std::uint16_t from_double(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 63) << 15);
    const int field = static_cast<int>((bits >> 52) & 0x7ff);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    if (field == 0x7ff) return static_cast<std::uint16_t>(sign | special(fraction));
    if (field == 0) return sign;  // below 2^-1022: far under half of the smallest value
    const int exponent = field - 1023;
    if (exponent > kBias) return sign | kInfinity;
    return static_cast<std::uint16_t>(sign |
                                      magnitude(exponent, fraction | (std::uint64_t{1} << 52)));
  }

  static float to_float(std::uint16_t bits) {
    const std::uint32_t sign = std::uint32_t{bits} >> 15 << 31;
    const std::uint32_t field = (bits & 0x7fffU) >> kFraction;
    const std::uint32_t fraction = bits & ((1U << kFraction) - 1);
    // Infinities and NaNs keep their payload; normal numbers get the other bias; subnormal ones
    // are a whole multiple of the smallest, which a float holds exactly.
    if (field == (1U << kExponent) - 1)
      return make(sign | 0x7f800000U | fraction << (23 - kFraction));
    if (field != 0) return make(sign | (field + 127 - kBias) << 23 | fraction << (23 - kFraction));
    const double magnitude = static_cast<double>(fraction) * std::bit_cast<double>(kSmallest);
    return static_cast<float>(sign != 0 ? -magnitude : magnitude);
  }

 private:
  // The smallest subnormal, 2^(kMinExponent - kFraction), as the bits of a double.
  static constexpr std::uint64_t kSmallest =
      static_cast<std::uint64_t>(kMinExponent - kFraction + 1023) << 52;

  static float make(std::uint32_t bits) { return std::bit_cast<float>(bits); }

  static std::uint16_t special(std::uint64_t fraction) {
    if (fraction == 0) return kInfinity;
    const auto payload = static_cast<std::uint16_t>(fraction >> kDropped);
    return static_cast<std::uint16_t>(kInfinity | payload | (1 << (kFraction - 1)));  // quiet
  }

  // One rounding of the 53-bit significand to nearest even; a carry runs into the exponent,
  // as it should.
  static std::uint64_t magnitude(int exponent, std::uint64_t significand) {
    // A subnormal result: the significand moves right until the exponent is the least one.
    const int below = exponent < kMinExponent ? kMinExponent - exponent : 0;
    const int shift = kDropped + below;
    // Below half of the smallest value, which rounds to zero.
    if (shift >= 54) return 0;
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    const std::uint64_t rest = significand & (2 * half - 1);
    std::uint64_t kept = significand >> shift;
    if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
    return (static_cast<std::uint64_t>(exponent + below - kMinExponent) << kFraction) + kept;
  }
};

using Half = ShortFloat<5, 10>;
using BFloat16 = ShortFloat<8, 7>;

}  // namespace

std::string_view to_string(DType type) { return facts(type).name; }

// First ours, then NumPy's, whose words are ours in full: float32, int8, bfloat16.
std::optional<DType> dtype_from_any_name(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
      {"bfloat", "bf"}, {"float", "f"}, {"uint", "u"}, {"int", "i"}};
  constexpr std::pair<std::string_view, DType> kOthers[] = {
      {"double", DType::F64},  {"single", DType::F32},  {"float", DType::F32}, {"half", DType::F16},
      {"fp64", DType::F64},    {"fp32", DType::F32},    {"fp16", DType::F16},  {"byte", DType::U8},
      {"int", DType::I32},     {"long", DType::I64},    {"short", DType::I16}, {"char", DType::I8},
      {"bfloat", DType::BF16}, {"boolean", DType::Bool}};
  if (const auto type = dtype_from_string(name)) return type;
  for (const auto& [longer, shorter] : kPrefixes)
    if (name.starts_with(longer))
      if (const auto type =
              dtype_from_string(std::string(shorter) + std::string(name.substr(longer.size()))))
        return type;
  for (const auto& [other, type] : kOthers)
    if (name == other) return type;
  return std::nullopt;
}

std::string expected_dtype(const std::string& name) {
  return "expected one of f64 f32 f16 bf16 i8..i64 u8..u64 bool" +
         did_you_mean(name, {"f64", "f32", "f16", "bf16", "float64", "float32", "float16",
                             "bfloat16", "int32", "int64", "uint8", "bool"});
}

std::optional<DType> dtype_from_string(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int size_in_bytes(DType type) { return facts(type).bytes; }
bool is_float(DType type) { return type <= DType::BF16; }
bool is_signed_integer(DType type) { return type >= DType::I8 && type <= DType::I64; }
bool is_unsigned_integer(DType type) { return type >= DType::U8 && type <= DType::U64; }
bool is_integer(DType type) { return is_signed_integer(type) || is_unsigned_integer(type); }

float half_to_float(std::uint16_t bits) { return Half::to_float(bits); }
std::uint16_t float_to_half(float value) { return Half::from_double(value); }
std::uint16_t double_to_half(double value) { return Half::from_double(value); }
float bfloat16_to_float(std::uint16_t bits) { return BFloat16::to_float(bits); }
std::uint16_t float_to_bfloat16(float value) { return BFloat16::from_double(value); }
std::uint16_t double_to_bfloat16(double value) { return BFloat16::from_double(value); }

}  // namespace polyte
