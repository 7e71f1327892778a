// Element-wise operators of one operand.
#include <array>
#include <cmath>
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

// A literal of the operand's type: Programs have no implicit conversions.
Expr number(const Expr& like, double value) { return ir::make_literal(like->type, value); }
Expr binary(BinaryOp op, const Expr& a, const Expr& b) { return ir::make_binary(op, a, b); }
Expr max(const Expr& a, const Expr& b) { return binary(BinaryOp::Max, a, b); }
Expr min(const Expr& a, const Expr& b) { return binary(BinaryOp::Min, a, b); }

// max(x, 0) + log(1 + exp(-|x|)): log(exp(x) + 1) without its overflow.
Expr softplus(const Expr& x) {
  // exp of a number that is not positive is at most 1.
  const Expr tail = unary(UnaryOp::Exp, unary(UnaryOp::Neg, unary(UnaryOp::Abs, x)));
  return add(max(x, number(x, 0)), unary(UnaryOp::Log, add(number(x, 1), tail)));
}

// x * tanh(log(1 + e)) with e = exp(x) (D. Misra, "Mish: A Self Regularized Non-Monotonic
// Activation Function", 2019): the tanh is n / (n + 2), n = e * (e + 2). Long before 40 it rounds
// to 1, and n is finite there.
Expr mish(const Expr& x) {
  const Expr most = number(x, 40);
  const Expr e = unary(UnaryOp::Exp, choose(is_less(most, x), most, x));
  const Expr n = mul(e, add(e, number(x, 2)));
  return mul(x, binary(BinaryOp::Div, n, add(n, number(x, 2))));
}

// x where x > 0, else factor * (exp(x / scale) - 1)
Expr exponential_unit(const Expr& x, double factor, double scale) {
  const Expr inner = scale == 1 ? x : binary(BinaryOp::Div, x, number(x, scale));
  const Expr below =
      mul(number(x, factor), binary(BinaryOp::Sub, unary(UnaryOp::Exp, inner), number(x, 1)));
  return choose(is_less(number(x, 0), x), x, below);
}

Expr sign(const Expr& x) {
  const Expr zero = number(x, 0);
  Expr positive = choose(is_less(zero, x), number(x, 1), x);  // 0 and NaN stay
  if (is_unsigned_integer(x->type)) return positive;
  return choose(is_less(x, zero), number(x, -1), positive);
}

// With neither sign asked for nothing is infinite.
Expr is_infinite(const Expr& x, const InfAttributes& attributes) {
  const double infinity = std::numeric_limits<double>::infinity();
  Expr result = ir::make_int(DType::Bool, 0);
  if (attributes.positive) result = binary(BinaryOp::Eq, x, number(x, infinity));
  if (!attributes.negative) return result;
  return binary(BinaryOp::Or, result, binary(BinaryOp::Eq, x, number(x, -infinity)));
}

// x - bias where x > lambd, x + bias where x < -lambd, else 0.
Expr shrink(const Expr& x, double lambd, double bias) {
  const Expr above =
      choose(is_less(number(x, lambd), x), binary(BinaryOp::Sub, x, number(x, bias)), number(x, 0));
  return choose(is_less(x, number(x, -lambd)), add(x, number(x, bias)), above);
}

// max(0, min(1, alpha * x + beta))
Expr hard_sigmoid(const Expr& x, double alpha, double beta) {
  return max(number(x, 0), min(number(x, 1), add(mul(number(x, alpha), x), number(x, beta))));
}

Expr activation(OpKind op, const Expr& x, double alpha, double beta) {
  switch (op) {
    case OpKind::LeakyRelu:
      // Not max(x, alpha * x), which is another function where alpha > 1. A NaN is not below 0,
      // and stays.
      return choose(is_less(x, number(x, 0)), mul(number(x, alpha), x), x);
    case OpKind::Elu:
      return exponential_unit(x, alpha, 1);
    case OpKind::Celu:
      return exponential_unit(x, alpha, alpha);
    case OpKind::Selu:
      return mul(number(x, beta), exponential_unit(x, alpha, 1));
    case OpKind::HardSigmoid:
      return hard_sigmoid(x, alpha, beta);
    case OpKind::ThresholdedRelu:
      return choose(is_less(number(x, alpha), x), x, number(x, 0));
    case OpKind::Shrink:
      return shrink(x, alpha, beta);
    default:
      break;
  }
  POLYTE_CHECK(false, "no activation: " + std::string(to_string(op)));
  return nullptr;
}

// Operators that are one operation of the Program.
std::optional<UnaryOp> direct(OpKind op) {
  switch (op) {
    case OpKind::Abs:
      return UnaryOp::Abs;
    case OpKind::Neg:
      return UnaryOp::Neg;
    case OpKind::Exp:
      return UnaryOp::Exp;
    case OpKind::Log:
      return UnaryOp::Log;
    case OpKind::Sqrt:
      return UnaryOp::Sqrt;
    case OpKind::Floor:
      return UnaryOp::Floor;
    case OpKind::Ceil:
      return UnaryOp::Ceil;
    case OpKind::Round:
      return UnaryOp::Round;
    case OpKind::Sin:
      return UnaryOp::Sin;
    case OpKind::Cos:
      return UnaryOp::Cos;
    case OpKind::Tanh:
      return UnaryOp::Tanh;
    case OpKind::Sigmoid:
      return UnaryOp::Sigmoid;
    case OpKind::Erf:
      return UnaryOp::Erf;
    case OpKind::Not:
      return UnaryOp::Not;
    default:
      return std::nullopt;
  }
}

// Some of these name x several times. OpTraits (op.cc) says which, so that nothing costly is
// inlined there.
Expr applied(OpKind kind, const Attributes& attributes, const Expr& x) {
  if (const auto op = direct(kind)) return unary(*op, x);
  switch (kind) {
    case OpKind::Identity:
      return x;
    case OpKind::Sign:
      return sign(x);
    case OpKind::Reciprocal:
      return binary(BinaryOp::Div, number(x, 1), x);
    case OpKind::IsNaN:
      // A NaN alone differs from itself.
      return binary(BinaryOp::Ne, x, x);
    case OpKind::IsInf:
      return is_infinite(x, std::get<InfAttributes>(attributes));
    case OpKind::Relu:
      return max(x, number(x, 0));
    case OpKind::HardSwish:
      // The constants of ONNX HardSwish: x * max(0, min(1, x / 6 + 0.5)).
      return mul(x, hard_sigmoid(x, 1.0 / 6, 0.5));
    case OpKind::Softplus:
      return softplus(x);
    case OpKind::Softsign:
      return binary(BinaryOp::Div, x, add(number(x, 1), unary(UnaryOp::Abs, x)));
    case OpKind::Mish:
      return mish(x);
    case OpKind::Cast:
      return ir::make_cast(std::get<CastAttributes>(attributes).to, x);
    default:
      break;
  }
  const auto& [alpha, beta] = std::get<ActivationAttributes>(attributes);
  return activation(kind, x, alpha, beta);
}

// Operators of several roundings: a short float is widened, so that one rounding remains.
bool has_steps(OpKind op) {
  switch (op) {
    case OpKind::HardSwish:
    case OpKind::Softplus:
    case OpKind::Softsign:
    case OpKind::Mish:
    case OpKind::Elu:
    case OpKind::Celu:
    case OpKind::Selu:
    case OpKind::HardSigmoid:
      return true;
    default:
      return false;
  }
}

// The others are of floats alone, as in ONNX.
bool takes_any_number(OpKind op) {
  return op == OpKind::Abs || op == OpKind::Neg || op == OpKind::Sign || op == OpKind::Relu ||
         op == OpKind::Shrink;
}

}  // namespace

Expr activated(const GateActivation& by, const Expr& x) {
  return applied(by.op, ActivationAttributes{by.alpha, by.beta}, x);
}

Types infer_unary(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  TensorType type = input_type(graph, node, 0);
  // Identity, Cast and Not come first: they take types that the check of numbers below would
  // refuse.
  if (node.op == OpKind::Identity) return std::vector{type};
  if (node.op == OpKind::Cast)
    return std::vector{TensorType{std::get<CastAttributes>(node.attributes).to, type.shape}};
  if (node.op == OpKind::Not) {
    if (is_float(type.dtype))
      return Decline{"input 0 is " + std::string(to_string(type.dtype)) +
                     ", expected bool or an integer type"};
    return std::vector{type};
  }
  const Complaint no =
      takes_any_number(node.op) ? expect_number(graph, node, 0) : expect_float(graph, node, 0);
  if (no) return *no;
  if (node.op == OpKind::Neg && is_unsigned_integer(type.dtype))
    return Decline{"input 0 is unsigned, expected a signed type"};
  if (node.op == OpKind::IsNaN || node.op == OpKind::IsInf) type.dtype = DType::Bool;
  return std::vector{type};
}

void expand_unary(Expander& expander, const Node& node) {
  const ValueId x = node.inputs[0];
  const DType type = expander.type(x).dtype,
              wide = has_steps(node.op) ? accumulator_of(type) : type;
  expander.define(node.outputs[0], [&expander, &node, x, type, wide](const Subscripts& at) {
    const auto apply = [&node](const Expr& e) { return applied(node.op, node.attributes, e); };
    if (wide == type) return apply(expander.read(x, at));
    return ir::make_cast(type, apply(ir::make_cast(wide, expander.read(x, at))));
  });
}

}  // namespace polyte::graph
