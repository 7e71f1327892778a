#include "codegen/c/c_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "codegen/c/c_helpers.h"

namespace polyte::codegen {
namespace {

// What C++ has beside the words below, and C since 2011.
constexpr std::array<std::string_view, 41> kOfCpp{"alignas",
                                                  "alignof",
                                                  "and",
                                                  "and_eq",
                                                  "bitand",
                                                  "bitor",
                                                  "catch",
                                                  "compl",
                                                  "concept",
                                                  "consteval",
                                                  "constexpr",
                                                  "constinit",
                                                  "const_cast",
                                                  "co_await",
                                                  "co_return",
                                                  "co_yield",
                                                  "decltype",
                                                  "dynamic_cast",
                                                  "explicit",
                                                  "export",
                                                  "friend",
                                                  "mutable",
                                                  "namespace",
                                                  "noexcept",
                                                  "not",
                                                  "not_eq",
                                                  "nullptr",
                                                  "or",
                                                  "or_eq",
                                                  "protected",
                                                  "reinterpret_cast",
                                                  "requires",
                                                  "static_assert",
                                                  "static_cast",
                                                  "thread_local",
                                                  "typeid",
                                                  "typename",
                                                  "typeof",
                                                  "typeof_unqual",
                                                  "xor",
                                                  "xor_eq"};

// Keywords of C and C++, what the headers of the text declare that is short, and what the text
// itself says.
bool is_taken(const std::string& name) {
  constexpr std::array<std::string_view, 105> kWords{
      "auto",     "break",   "case",   "char",     "const",    "continue", "default",  "do",
      "double",   "else",    "enum",   "extern",   "float",    "for",      "goto",     "if",
      "inline",   "int",     "long",   "register", "restrict", "return",   "short",    "signed",
      "sizeof",   "static",  "struct", "switch",   "typedef",  "union",    "unsigned", "void",
      "volatile", "while",   "asm",    "bool",     "class",    "delete",   "false",    "new",
      "operator", "private", "public", "template", "this",     "throw",    "true",     "try",
      "using",    "virtual", "main",   "malloc",   "free",     "abort",    "abs",      "acos",
      "asin",     "atan",    "atan2",  "ceil",     "cos",      "cosh",     "erf",      "erfc",
      "exp",      "exp2",    "expm1",  "fabs",     "floor",    "fma",      "fmax",     "fmin",
      "fmod",     "gamma",   "hypot",  "j0",       "j1",       "jn",       "ldexp",    "log",
      "log10",    "log1p",   "log2",   "nan",      "pow",      "printf",   "rint",     "round",
      "sin",      "sinh",    "sqrt",   "tan",      "tanh",     "tgamma",   "trunc",    "y0",
      "y1",       "yn",      "unix",   "linux",    "exit",     "rand",     "time",     "nearbyint"};
  constexpr std::array<std::string_view, 4> kMacros{"NAN", "INFINITY", "NULL", "INT64_MIN"};
  return std::ranges::find(kWords, name) != kWords.end() ||
         std::ranges::find(kOfCpp, name) != std::end(kOfCpp) ||
         std::ranges::find(kMacros, name) != kMacros.end() || is_c_helper(name) ||
         name.ends_with("_t") || name.ends_with("_MIN") || name.ends_with("_MAX") ||
         name.starts_with("_") ||
         // sinf as well as sin.
         (name.ends_with("f") && is_taken(name.substr(0, name.size() - 1)));
}

}  // namespace

std::string CNames::identifier(const std::string& name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) text = "v" + text;
  // Each name of the program has one identifier, and no two share one: a.b and a_b both become a_b
  // at first.
  while (is_taken(text) || used_.count(text) > 0) text += '_';
  used_.insert(text);
  return text;
}

std::string CNames::of(const std::string& name) {
  const auto at = given_.find(name);
  return at != given_.end() ? at->second : given_[name] = identifier(name);
}

std::string CNames::function(const std::string& name) { return identifier(name); }

}  // namespace polyte::codegen
