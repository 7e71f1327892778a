// Trigonometric and hyperbolic functions that are no operation of the Program, and their inverses,
// as expressions of those that are. They compute in f64: results of f32 and shorter are within 1
// ULP, those of f64 within 16 ULP (tan: where the cosine is not close to 0). Intermediate values
// that an expression would repeat are temporaries.
#include <limits>

#include "graph/ops/arithmetic.h"
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::UnaryOp;

constexpr double kPi = 3.14159265358979323846, kLog2 = 0.69314718055994530942;
constexpr double kTanPi8 = 0.41421356237309504880;  // sqrt(2) - 1

Expr num(double value) { return ir::make_float(DType::F64, value); }
Expr same(const Expr& a, const Expr& b) { return ir::make_binary(BinaryOp::Eq, a, b); }

// Element-wise steps over one shape: `keep` makes a step a temporary, so that its readers do
// not compute it again.
class Steps {
 public:
  Steps(Expander& expander, const Dims& shape)
      : expander_(expander), ranges_(ranges_over(shape)), shape_(shape) {}

  Element keep(const char* name, const Element& value) {
    const std::string buffer = expander_.temporary(name, DType::F64, shape_);
    expander_.assign(buffer, subscripts_of(ranges_), ranges_, value);
    return
        [&expander = expander_, buffer](const Subscripts& at) { return expander.load(buffer, at); };
  }

 private:
  Expander& expander_;
  Ranges ranges_;
  Dims shape_;
};

Element after(const Element& x, Expr (*f)(const Expr&)) {
  return [x, f](const Subscripts& at) { return f(x(at)); };
}

Expr magnitude(const Expr& x) { return unary(UnaryOp::Abs, x); }

// The value of an odd function at x, given the one at |x|; keeps the sign of a zero.
Element with_sign(const Element& x, const Element& of_magnitude) {
  return [x, of_magnitude](const Subscripts& at) {
    const Expr here = x(at), value = of_magnitude(at);
    return choose(same(here, num(0)), here,
                  choose(is_less(here, num(0)), unary(UnaryOp::Neg, value), value));
  };
}

// ---- atan of u in [0, inf]: u > 1 becomes 1 / u, then u > tan(pi / 8) becomes
// (u - 1) / (u + 1), which is pi / 4 away; the alternating series of what is left, |t| <= 0.4143,
// ends below 2^-53.

Expr folded(const Expr& u) { return choose(is_less(num(1), u), div(num(1), u), u); }

Expr reduced(const Expr& f) {
  return choose(is_less(num(kTanPi8), f), div(sub(f, num(1)), add(f, num(1))), f);
}

Expr series(const Expr& t) {
  constexpr int kTerms = 22;
  const Expr square = mul(t, t);
  Expr sum = num(0);
  for (int k = kTerms; k > 0; --k)
    sum = ir::make_fma(sum, square, num((k % 2 == 0 ? 1.0 : -1.0) / (2 * k + 1)));
  return ir::make_fma(mul(sum, square), t, t);
}

Element arctangent(Steps& steps, const Element& argument) {
  const Element u = steps.keep("u", argument);
  const Element f = steps.keep("f", after(u, folded));
  const Element t = steps.keep("t", after(f, reduced));
  const Element s = steps.keep("s", after(t, series));
  return [u, f, s](const Subscripts& at) {
    const Expr first = choose(is_less(num(kTanPi8), f(at)), add(num(kPi / 4), s(at)), s(at));
    return choose(is_less(num(1), u(at)), sub(num(kPi / 2), first), first);
  };
}

// asin x = atan(x / sqrt(1 - x^2)), acos x = 2 atan(sqrt((1 - x) / (1 + x))). The root is that of
// (1 - x) (1 + x): next to 1, 1 - x^2 would lose what x^2 has rounded away.
Expr sine_ratio(const Expr& a) {
  return div(a, unary(UnaryOp::Sqrt, mul(sub(num(1), a), add(num(1), a))));
}
Expr cosine_ratio(const Expr& x) {
  return unary(UnaryOp::Sqrt, div(sub(num(1), x), add(num(1), x)));
}
Expr twice(const Expr& x) { return mul(num(2), x); }
Expr half(const Expr& x) { return mul(num(0.5), x); }

// ---- hyperbolic functions by exp, and their inverses by log

// log(1 + t): the rounding of 1 + t is undone by the quotient t / (u - 1). (D. Goldberg, "What
// every computer scientist should know about floating-point arithmetic", 1991, theorem 4.)
Element log_plus_one(Steps& steps, const Element& argument) {
  const Element t = steps.keep("t", argument);
  const Element u = steps.keep("u", after(t, [](const Expr& e) { return add(num(1), e); }));
  return [t, u](const Subscripts& at) {
    const Expr corrected = div(mul(unary(UnaryOp::Log, u(at)), t(at)), sub(u(at), num(1)));
    const Expr infinity = num(std::numeric_limits<double>::infinity());
    return choose(same(u(at), num(1)), t(at), choose(same(u(at), infinity), u(at), corrected));
  };
}

// exp(a) - 1 for moderate a, in the same way.
Element exp_minus_one(Steps& steps, const Element& a) {
  const Element u = steps.keep("u", after(a, [](const Expr& e) { return unary(UnaryOp::Exp, e); }));
  return [a, u](const Subscripts& at) {
    const Expr corrected = div(mul(sub(u(at), num(1)), a(at)), unary(UnaryOp::Log, u(at)));
    return choose(same(u(at), num(1)), a(at), corrected);
  };
}

constexpr double kLarge = 20;          // exp(-2 a) is below an ULP of 1
constexpr double kLargeInverse = 1e9;  // a^2 + 1 is a^2

// exp(a) / 2 = e * e / 2 with e = exp(a / 2), which does not overflow before the result does.
Element root_of_exp(Steps& steps, const Element& a) {
  return steps.keep("e", after(a, [](const Expr& x) { return unary(UnaryOp::Exp, half(x)); }));
}
Expr half_square(const Expr& e) { return mul(half(e), e); }

// sinh a = (m + m / (m + 1)) / 2 with m = exp(a) - 1, which keeps all digits near 0. m is taken of
// 0 where a is large, so that the branch that is not chosen stays finite.
Element hyperbolic_sine(Steps& steps, const Element& magnitudes) {
  const Element a = steps.keep("a", magnitudes), e = root_of_exp(steps, a);
  const Element small = steps.keep(
      "b", after(a, [](const Expr& x) { return choose(is_less(x, num(kLarge)), x, num(0)); }));
  const Element m = steps.keep("m", exp_minus_one(steps, small));
  return [a, e, m](const Subscripts& at) {
    const Expr moderate = half(add(m(at), div(m(at), add(m(at), num(1)))));
    return choose(is_less(a(at), num(kLarge)), moderate, half_square(e(at)));
  };
}

Element hyperbolic_cosine(Steps& steps, const Element& magnitudes) {
  const Element e = root_of_exp(steps, magnitudes);
  return after(e, [](const Expr& root) {
    return add(half_square(root), div(num(0.25), half_square(root)));
  });
}

// log(2 x) where x is so large that nothing else counts.
Element unless_large(const Element& x, const Element& otherwise) {
  return [x, otherwise](const Subscripts& at) {
    const Expr large = add(unary(UnaryOp::Log, x(at)), num(kLog2));
    return choose(is_less(num(kLargeInverse), x(at)), large, otherwise(at));
  };
}

// asinh x = log(x + sqrt(x^2 + 1)) = log(1 + x + x^2 / (1 + sqrt(x^2 + 1))).
Element inverse_hyperbolic_sine(Steps& steps, const Element& magnitudes) {
  const Element a = steps.keep("a", magnitudes);
  const Element inner = after(a, [](const Expr& x) {
    const Expr root = unary(UnaryOp::Sqrt, add(mul(x, x), num(1)));
    return add(x, div(mul(x, x), add(num(1), root)));
  });
  return unless_large(a, log_plus_one(steps, inner));
}

// acosh x = log(x + sqrt(x^2 - 1)) = log(1 + t + sqrt(t (x + 1))) with t = x - 1.
Element inverse_hyperbolic_cosine(Steps& steps, const Element& x) {
  const Element inner = after(x, [](const Expr& here) {
    const Expr t = sub(here, num(1));
    return add(t, unary(UnaryOp::Sqrt, mul(t, add(here, num(1)))));
  });
  return unless_large(x, log_plus_one(steps, inner));
}

// atanh a = log((1 + a) / (1 - a)) / 2 = log(1 + 2 a / (1 - a)) / 2.
Element inverse_hyperbolic_tangent(Steps& steps, const Element& a) {
  const Element inner = after(a, [](const Expr& x) { return div(twice(x), sub(num(1), x)); });
  return after(log_plus_one(steps, inner), half);
}

Element value_of(OpKind op, Steps& steps, const Element& x) {
  const Element a = after(x, magnitude);
  switch (op) {
    case OpKind::Tan:
      return after(
          x, [](const Expr& e) { return div(unary(UnaryOp::Sin, e), unary(UnaryOp::Cos, e)); });
    case OpKind::Asin:
      return with_sign(x, arctangent(steps, after(a, sine_ratio)));
    case OpKind::Acos:
      return after(arctangent(steps, after(x, cosine_ratio)), twice);
    case OpKind::Atan:
      return with_sign(x, arctangent(steps, a));
    case OpKind::Sinh:
      return with_sign(x, hyperbolic_sine(steps, a));
    case OpKind::Cosh:
      return hyperbolic_cosine(steps, a);
    case OpKind::Asinh:
      return with_sign(x, inverse_hyperbolic_sine(steps, a));
    case OpKind::Acosh:
      return inverse_hyperbolic_cosine(steps, x);
    case OpKind::Atanh:
      return with_sign(x, inverse_hyperbolic_tangent(steps, a));
    default:
      break;
  }
  POLYTE_CHECK(false, "no trigonometric function: " + std::string(to_string(op)));
  return x;
}

}  // namespace

void expand_trigonometric(Expander& expander, const Node& node) {
  const ValueId x = node.inputs[0];
  const DType type = expander.type(x).dtype;
  Steps steps(expander, expander.shape(x));
  const Element wide = [&expander, x](const Subscripts& at) {
    return ir::make_cast(DType::F64, expander.read(x, at));
  };
  const Element value = value_of(node.op, steps, wide);
  expander.define(node.outputs[0],
                  [value, type](const Subscripts& at) { return ir::make_cast(type, value(at)); });
}

}  // namespace polyte::graph
