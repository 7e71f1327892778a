#include "codegen/c/c_helpers.h"

#include <vector>

#include "support/error.h"

namespace polyte::codegen {
namespace {

struct Definition {
  std::string name, text;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// @ is the function's name, @T the type and @U one that is unsigned and at least 32 bits wide;
// @MASK is the width less one. `>>` of a negative number is implementation-defined in C99 (6.5.7);
// gcc and clang shift arithmetically. The saturating cast compares with both limits as doubles: the
// lower is exact, the upper may be rounded up to a power of two, hence `>=`.
void add_integer(std::vector<Definition>& all, DType type) {
  const std::string suffix(to_string(type)), t = c_type(type);
  const std::string u = size_in_bytes(type) == 8 ? "uint64_t" : "uint32_t";
  const bool is_signed = is_signed_integer(type);
  const auto add = [&](const std::string& name, std::string body) {
    body = replaced(replaced(body, "@T", t), "@U", u);
    body = replaced(body, "@MASK", std::to_string(8 * size_in_bytes(type) - 1));
    all.push_back(
        {name + "_" + suffix, "static inline " + replaced(body, "@", name + "_" + suffix)});
  };
  add("min", "@T @(@T a, @T b) { return b < a ? b : a; }");
  add("max", "@T @(@T a, @T b) { return a < b ? b : a; }");
  add("shl", "@T @(@T a, @T b) { return (@T)((@U)a << (b & @MASK)); }");
  add("shr", "@T @(@T a, @T b) { return (@T)(a >> (b & @MASK)); }");
  if (is_signed) {
    add("abs", "@T @(@T a) { return a < 0 ? (@T)(0 - (@U)a) : a; }");
    add("div", "@T @(@T a, @T b) { return b == 0 ? 0 : b == -1 ? (@T)(0 - (@U)a) : (@T)(a / b); }");
    add("mod", "@T @(@T a, @T b) { return b == 0 || b == -1 ? 0 : (@T)(a % b); }");
  } else {
    add("abs", "@T @(@T a) { return a; }");
    add("div", "@T @(@T a, @T b) { return b == 0 ? 0 : (@T)(a / b); }");
    add("mod", "@T @(@T a, @T b) { return b == 0 ? 0 : (@T)(a % b); }");
  }
  std::string low = "0", high = "UINT" + std::to_string(8 * size_in_bytes(type)) + "_MAX";
  if (is_signed) high = high.substr(1), low = replaced(high, "MAX", "MIN");
  add("to", "@T @(double x) {\n  if (x != x) return 0;\n  if (x <= (double)" + low + ") return " +
                low + ";\n  return x >= (double)" + high + " ? " + high + " : (@T)x;\n}");
}

// Not fmin and fmax: these give the other operand where one is NaN, and may give either zero.
void add_float(std::vector<Definition>& all, const std::string& suffix, const std::string& type) {
  for (const bool max : {false, true}) {
    const std::string name = (max ? "max_" : "min_") + suffix;
    all.push_back(
        {name, "static inline " + type + " " + name + "(" + type + " a, " + type +
                   " b) {  // NaN of NaN, -0 below 0\n  if (a != a || b != b) return NAN;\n" +
                   "  if (a == b) return signbit(a) " + (max ? "? b : a" : "? a : b") + ";\n" +
                   "  return a < b ? " + (max ? "b : a" : "a : b") + ";\n}"});
  }
}

const std::vector<Definition>& definitions() {
  static const std::vector<Definition> all = [] {
    std::vector<Definition> result;
    for (const DType type : {DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16,
                             DType::U32, DType::U64})
      add_integer(result, type);
    add_float(result, "f32", "float");
    add_float(result, "f64", "double");
    // C's `/` truncates toward zero; subscripts are divided downward. For a < 0, floor(a / b) =
    // -ceil(-a / b) = -((b - 1 - a) / b).
    result.push_back({"floor_div",
                      "static inline int64_t floor_div(int64_t a, int64_t b) {  // b > 0\n"
                      "  return a >= 0 ? a / b : -((b - 1 - a) / b);\n}"});
    result.push_back({"floor_mod",
                      "static inline int64_t floor_mod(int64_t a, int64_t b) {  // b > 0\n"
                      "  return a % b < 0 ? a % b + b : a % b;\n}"});
    // Two forms, so that the argument of exp is never positive: exp(-x) of a large negative x would
    // overflow to infinity.
    result.push_back({"sigmoid",
                      "static inline double sigmoid(double x) {\n"
                      "  return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));\n}"});
    result.push_back(
        // tf32 keeps 10 bits of the fraction, 13 fewer than f32: half of the last kept bit (0x1000)
        // is added to the magnitude, and the 13 bits are cleared.
        {"to_tf32",
         "static inline float to_tf32(float x) {\n  union { float f; uint32_t u; } v = {x};\n"
         "  if (x != x) return x;\n  v.u = (v.u + 0x1000u) & ~0x1fffu;\n  return v.f;\n}"});
    result.push_back({"within",
                      "static inline int64_t within(int64_t a, int64_t extent) {  // a subscript "
                      "read at run time\n  if (a < 0 || a >= extent) abort();\n  return a;\n}"});
    result.push_back(
        {"allocate",
         "static inline void* allocate(size_t bytes) {\n  void* memory = malloc(bytes);\n"
         "  if (!memory) abort();\n  return memory;\n}"});
    return result;
  }();
  return all;
}

}  // namespace

std::string c_type(DType type) {
  if (type == DType::F64) return "double";
  if (type == DType::F32) return "float";
  if (type == DType::Bool) return "uint8_t";
  const std::string bits = std::to_string(8 * size_in_bytes(type)) + "_t";
  return (is_signed_integer(type) ? "int" : "uint") + bits;
}

bool is_c_helper(const std::string& name) {
  for (const Definition& d : definitions())
    if (d.name == name) return true;
  return false;
}

const std::string& CHelpers::use(const std::string& name) {
  POLYTE_CHECK(is_c_helper(name), "no helper '" + name + "'");
  return *used_.insert(name).first;
}

std::string CHelpers::declarations() const {
  std::string text;
  for (const Definition& d : definitions())
    if (used_.count(d.name) > 0) text += d.text.substr(0, d.text.find(") {") + 1) + ";\n";
  return text;
}

std::string CHelpers::text() const {
  std::string text;
  for (const Definition& d : definitions())
    if (used_.count(d.name) > 0) text += d.text + "\n";
  return text;
}

}  // namespace polyte::codegen
