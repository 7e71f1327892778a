#include "ir/loop_affine_parser.h"

#include <cctype>

namespace polyte::ir::loop_text {
namespace {

// The grammar is above parse_affine().
Affine parse_factor(Cursor& c) {
  if (c.accept("(")) {
    c.enter();
    Affine inner = parse_affine(c);
    c.leave();
    c.expect(")");
    return inner;
  }
  if (std::isdigit(static_cast<unsigned char>(c.peek()))) return c.integer();
  return Affine::symbol(c.name());
}

Affine parse_product(Cursor& c) {
  Affine value = parse_factor(c);
  while (true) {
    if (c.accept("//")) {
      value = floor_div(value, c.integer());
    } else if (c.accept("%")) {
      value = mod(value, c.integer());
    } else if (c.accept("*")) {
      const Affine factor = parse_factor(c);
      if (!value.is_constant() && !factor.is_constant()) fail("a product of two variables");
      value = value.is_constant() ? factor * value.constant() : value * factor.constant();
    } else {
      return value;
    }
  }
}

}  // namespace

// AFFINE is ['-'] PRODUCT {('+' | '-') PRODUCT}, PRODUCT is FACTOR {'*' FACTOR | '//' n | '%' n}. A
// leading minus takes the whole product: -i//2 is -(i//2), as the printer has it.
Affine parse_affine(Cursor& c) {
  Affine value = c.accept("-") ? -parse_product(c) : parse_product(c);
  while (true) {
    const std::size_t before = c.position();
    if (c.accept("+")) {
      if (c.peek() == '{') {  // the indirect part of a subscript
        c.go_to(before);
        return value;
      }
      value = value + parse_product(c);
    } else if (c.accept("-")) {
      value = value - parse_product(c);
    } else {
      return value;
    }
  }
}

Constraint parse_constraint(Cursor& c) {
  const Affine left = parse_affine(c);
  if (c.accept("==")) return equal(left, parse_affine(c));
  if (c.accept(">=")) return at_least(left, parse_affine(c));
  if (c.accept("<=")) return at_least(parse_affine(c), left);
  if (c.accept(">")) return less_than(parse_affine(c), left);
  c.expect("<");
  return less_than(left, parse_affine(c));
}

std::vector<Affine> parse_affine_list(Cursor& c, std::string_view close) {
  std::vector<Affine> values;
  if (c.accept(close)) return values;
  do {
    values.push_back(parse_affine(c));
  } while (c.accept(","));
  c.expect(close);
  return values;
}

// A list, max(a, b) of lower and min(a, b) of upper bounds; or a single one, in brackets where it
// is more than a number or a name, since `..` follows.
std::vector<Affine> parse_bound(Cursor& c, std::string_view function) {
  const std::size_t before = c.position();
  if (c.accept_word(function) && c.accept("(")) return parse_affine_list(c, ")");
  c.go_to(before);
  if (c.accept("-")) return {-parse_factor(c)};
  return {parse_factor(c)};
}

}  // namespace polyte::ir::loop_text
