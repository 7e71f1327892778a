#include "ir/power.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>

namespace polyte::ir {
namespace {

// Those whose roundings come to 4 ULP at most: each operation adds one, a product has those of both
// factors, a root half of them.
constexpr double kExponents[] = {-2,   -1.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1,
                                 1.25, 1.5,  2,  2.25, 2.5,   3, 3.5,  4,   5};
constexpr int kMostNodes = 256;  // of the result

Expr times(const Expr& a, const Expr& b) { return make_binary(BinaryOp::Mul, a, b); }

// By squaring; `exponent` above 0.
Expr whole_power(const Expr& base, int exponent) {
  if (exponent == 1) return base;
  const Expr root = whole_power(base, exponent / 2), square = times(root, root);
  return exponent % 2 == 0 ? square : times(square, base);
}

// The base of a power that is not whole: -0 counts as +0, and the lowest infinity as the highest;
// other negative numbers have no square root.
Expr base_of_roots(const Expr& base) {
  const double infinity = std::numeric_limits<double>::infinity();
  const DType type = base->type;
  return make_select(make_binary(BinaryOp::Eq, base, make_float(type, -infinity)),
                     make_float(type, infinity),
                     make_binary(BinaryOp::Add, base, make_float(type, 0)));
}

Expr inverse(const Expr& e) { return make_binary(BinaryOp::Div, make_float(e->type, 1), e); }

// What is inverted first is not yet out of range: x^2 may be where x^-2 is not, and 1 / x where
// x^-0.5 is not.
Expr power_of(const Expr& base, int quarters) {
  const int whole = std::abs(quarters) / 4, rest = std::abs(quarters) % 4;
  const bool is_inverse = quarters < 0;
  const Expr factor = is_inverse && whole > 0 ? inverse(base) : base;
  if (rest == 0) return whole_power(factor, whole);
  const Expr root = make_unary(UnaryOp::Sqrt, base);
  Expr part = rest == 2 ? root : make_unary(UnaryOp::Sqrt, root);
  if (rest == 3) part = times(root, part);
  if (is_inverse) part = inverse(part);
  return whole == 0 ? part : times(whole_power(factor, whole), part);
}

// The exponent in quarters, where the power is worth its operations.
std::optional<int> quarters_of(const Expr& exponent) {
  const auto* number = std::get_if<Literal>(&exponent->op);
  if (!number || exponent->lanes != 1) return std::nullopt;
  if (std::ranges::find(kExponents, number->real) == std::end(kExponents)) return std::nullopt;
  return static_cast<int>(4 * number->real);
}

int size_of(const Expr& e) {
  int count = 0;
  for_each_node(e, [&](const ExprNode&) { ++count; });
  return count;
}

}  // namespace

Expr make_power(Expr base, Expr exponent) {
  const std::optional<int> quarters = quarters_of(exponent);
  if (!quarters || std::holds_alternative<Literal>(base->op) || size_of(base) > kMostNodes)
    return make_binary(BinaryOp::Pow, std::move(base), std::move(exponent));
  if (*quarters == 0) return make_float(base->type, 1);
  Expr power = power_of(*quarters % 4 == 0 ? base : base_of_roots(base), *quarters);
  if (size_of(power) > kMostNodes)
    return make_binary(BinaryOp::Pow, std::move(base), std::move(exponent));
  return power;
}

}  // namespace polyte::ir
