// Element types, and the conversions of the two short float formats (round to nearest even, as IEEE
// 754 and the bfloat16 white paper define them; tested on all 2^16 patterns).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace polyte {

enum class DType : std::uint8_t { F64, F32, F16, BF16, I8, I16, I32, I64, U8, U16, U32, U64, Bool };
inline constexpr int kDTypeCount = 13;

std::string_view to_string(DType type);                         // "f32", "bool"
std::optional<DType> dtype_from_string(std::string_view name);  // inverse of to_string
// Ours, and those of NumPy, C, PyTorch and papers: "float32", "double", "half", "fp16".
std::optional<DType> dtype_from_any_name(std::string_view name);
std::string expected_dtype(const std::string& name);  // of a message: "expected one of f64 f32 ..."
inline std::string name_of(DType type) { return std::string(to_string(type)); }
int size_in_bytes(DType type);  // Bool is one byte, 0 or 1
bool is_float(DType type);
bool is_signed_integer(DType type);
bool is_unsigned_integer(DType type);  // U8..U64, not Bool
bool is_integer(DType type);           // signed or unsigned, not Bool

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(float value);
std::uint16_t double_to_half(double value);  // one rounding, not two
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);
std::uint16_t double_to_bfloat16(double value);  // one rounding, not two

}  // namespace polyte
