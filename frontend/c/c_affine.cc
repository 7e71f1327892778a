// The affine part of frontend/c/c_values.h.
#include <algorithm>
#include <charconv>

#include "frontend/c/c_values.h"

namespace polyte::frontend::c {
namespace {

std::optional<std::int64_t> integer_of(std::string text) {
  while (!text.empty() && std::string_view("uUlL").find(text.back()) != std::string_view::npos)
    text.pop_back();
  const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const bool octal = !hex && text.size() > 1 && text[0] == '0';
  std::int64_t value = 0;
  const char* begin = text.data() + (hex ? 2 : 0);
  const auto [at, error] = std::from_chars(begin, text.data() + text.size(), value,
                                           hex     ? 16
                                           : octal ? 8
                                                   : 10);
  if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
  return value;
}

// A cast to these keeps the value of a subscript; one to a narrow or unsigned type may wrap.
bool is_plain_integer(const std::vector<Token>& type) {
  return std::ranges::all_of(type, [](const Token& word) {
    return word.text == "int" || word.text == "long" || word.text == "signed" ||
           word.text == "const";
  });
}

}  // namespace

// What a name is in an affine expression: the value of a loop variable, the number of a constant,
// or a size. A size is an integer that nothing writes or, undeclared, a name without small letters,
// which a header or the command line would define as a macro.
std::optional<ir::Affine> Values::affine_name(const Token& at) {
  if (const auto value = names_.loop_value(at.text)) return value;
  const Variable* found = names_.find(at.text);
  if (names_.was_loop(at.text) && found && !found->written)
    fail(at, "'" + at.text + "' is used outside of its loop");
  if (found && found->literal && is_integer(found->type)) return affine(found->literal);
  if (found && (!found->is_scalar || !is_integer(found->type) || found->written))
    return std::nullopt;
  const bool is_macro = std::ranges::none_of(at.text, [](char c) { return c >= 'a' && c <= 'z'; });
  if (!found && !is_macro) fail(at, "'" + at.text + "' is not declared");
  return ir::Affine::symbol(names_.size(at.text));
}

// C rounds a quotient towards zero, `//` downwards: the same from 0 on, and -1 / 2 is 0, -1 // 2 is
// -1. Sizes are taken to be at least 0.
std::optional<ir::Affine> Values::affine_division(const TreePtr& tree, const ir::Affine& a,
                                                  const ir::Affine& b) {
  if (!b.is_constant() || b.constant() <= 0) return std::nullopt;
  ir::Ranges ranges = ranges_;
  for (const std::string& size : names_.sizes()) ranges[size] = {0, std::nullopt};
  const ir::Interval range = ir::range_of(a, ranges);
  if (!range.min || *range.min < 0) {
    if (a.is_constant())
      return ir::Affine(tree->at.text == "/" ? a.constant() / b.constant()
                                             : a.constant() % b.constant());
    fail(tree->at, "'" + tree->at.text + "' of " + to_string(a) +
                       ", which may be negative: C rounds it towards zero; " +
                       "write floord(a, b)");
  }
  return tree->at.text == "/" ? floor_div(a, b.constant()) : mod(a, b.constant());
}

std::optional<ir::Affine> Values::affine(const TreePtr& tree) {
  switch (tree->kind) {
    case TreeKind::Number:
      if (const auto value = integer_of(tree->at.text)) return ir::Affine(*value);
      return std::nullopt;
    case TreeKind::Name:
      return affine_name(tree->at);
    case TreeKind::Cast:
      return is_plain_integer(tree->type) ? affine(tree->parts[0]) : std::nullopt;
    case TreeKind::Unary:
      if (const auto a = tree->at.text == "-" ? affine(tree->parts[0]) : std::nullopt) return -*a;
      return std::nullopt;
    case TreeKind::Call: {
      const bool floor = tree->at.text == "floord", ceil = tree->at.text == "ceild";
      if ((!floor && !ceil) || tree->parts.size() != 2) return std::nullopt;
      const auto a = affine(tree->parts[0]), b = affine(tree->parts[1]);
      if (!a || !b || !b->is_constant() || b->constant() <= 0) return std::nullopt;
      // floord and ceild are the macros of generated polyhedral code: ceil(a / b) is
      // floor((a + b - 1) / b).
      return floor_div(floor ? *a : *a + (b->constant() - 1), b->constant());
    }
    case TreeKind::Binary: {
      const std::string& sign = tree->at.text;
      if (sign.size() != 1 || std::string_view("+-*/%").find(sign) == std::string_view::npos)
        return std::nullopt;
      const auto a = affine(tree->parts[0]);
      const auto b = a ? affine(tree->parts[1]) : std::nullopt;
      if (!b) return std::nullopt;
      if (sign == "+") return *a + *b;
      if (sign == "-") return *a - *b;
      if (sign != "*") return affine_division(tree, *a, *b);
      if (b->is_constant()) return *a * b->constant();
      return a->is_constant() ? std::optional(*b * a->constant()) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

ir::Affine Values::expect_affine(const TreePtr& tree, const std::string& what) {
  if (const auto value = affine(tree)) return *value;
  fail(tree->at,
       what + " is not affine: expected sums of loop variables and sizes times constants");
}

std::optional<std::vector<ir::Constraint>> Values::constraints(const TreePtr& tree) {
  if (tree->kind != TreeKind::Binary) return std::nullopt;
  const std::string& sign = tree->at.text;
  if (sign == "&&") {
    auto left = constraints(tree->parts[0]);
    const auto right = left ? constraints(tree->parts[1]) : std::nullopt;
    if (!right) return std::nullopt;
    left->insert(left->end(), right->begin(), right->end());
    return left;
  }
  const bool compares = sign == "<" || sign == "<=" || sign == ">" || sign == ">=" || sign == "==";
  const auto a = compares ? affine(tree->parts[0]) : std::nullopt;
  const auto b = a ? affine(tree->parts[1]) : std::nullopt;
  if (!b) return std::nullopt;
  if (sign == "<") return std::vector{less_than(*a, *b)};
  if (sign == "<=") return std::vector{at_least(*b, *a)};
  if (sign == ">") return std::vector{less_than(*b, *a)};
  if (sign == ">=") return std::vector{at_least(*a, *b)};
  return std::vector{equal(*a, *b)};
}

}  // namespace polyte::frontend::c
