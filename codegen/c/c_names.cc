#include "codegen/c/c_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "codegen/c/c_helpers.h"

namespace polyte::codegen {
namespace {

// Words between blanks.
constexpr std::string_view kKeywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else enum explicit "
    "export extern false float for friend goto if inline int long mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires restrict return short signed sizeof static static_assert "
    "static_cast struct switch template this thread_local throw true try typedef typeid "
    "typename typeof typeof_unqual union unsigned using virtual void volatile while xor "
    "xor_eq ";
// What the headers of the text declare that is short, and what the text itself says.
constexpr std::string_view kDeclared =
    " main malloc free abort abs acos asin atan atan2 ceil cos cosh erf erfc exp exp2 expm1 "
    "fabs floor fma fmax fmin fmod gamma hypot j0 j1 jn ldexp log log10 log1p log2 nan pow "
    "printf rint round sin sinh sqrt tan tanh tgamma trunc y0 y1 yn unix linux exit rand "
    "time nearbyint ";

bool has_word(std::string_view words, const std::string& name) {
  return words.find(" " + name + " ") != std::string_view::npos;
}

bool is_taken(const std::string& name) {
  constexpr std::array<std::string_view, 4> kMacros{"NAN", "INFINITY", "NULL", "INT64_MIN"};
  return has_word(kKeywords, name) || has_word(kDeclared, name) ||
         std::ranges::find(kMacros, name) != kMacros.end() || is_c_helper(name) ||
         name.ends_with("_t") || name.ends_with("_MIN") || name.ends_with("_MAX") ||
         name.starts_with("_") ||
         // sinf as well as sin.
         (name.ends_with("f") && is_taken(name.substr(0, name.size() - 1)));
}

}  // namespace

bool is_c_keyword(const std::string& name) { return has_word(kKeywords, name); }

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
