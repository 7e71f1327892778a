// Element-wise operators of two operands, with NumPy broadcasting.
#include <limits>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "ir/power.h"
#include "support/error.h"

namespace polyte::graph {

namespace {

using ir::BinaryOp;
using ir::Expr;

enum class Operands { Numbers, Floats, Integers, Bits, Any };

struct Row {
  OpKind kind;
  BinaryOp op;
  Operands operands;
  bool swapped;  // a > b is b < a
  bool to_bool;
};

constexpr Row kRows[] = {
    {OpKind::Add, BinaryOp::Add, Operands::Numbers, false, false},
    {OpKind::Sub, BinaryOp::Sub, Operands::Numbers, false, false},
    {OpKind::Mul, BinaryOp::Mul, Operands::Numbers, false, false},
    {OpKind::Div, BinaryOp::Div, Operands::Numbers, false, false},
    {OpKind::Pow, BinaryOp::Pow, Operands::Floats, false, false},
    {OpKind::Mod, BinaryOp::Mod, Operands::Numbers, false, false},
    {OpKind::Max, BinaryOp::Max, Operands::Numbers, false, false},
    {OpKind::Min, BinaryOp::Min, Operands::Numbers, false, false},
    {OpKind::And, BinaryOp::And, Operands::Bits, false, false},
    {OpKind::Or, BinaryOp::Or, Operands::Bits, false, false},
    {OpKind::Xor, BinaryOp::Xor, Operands::Bits, false, false},
    {OpKind::Equal, BinaryOp::Eq, Operands::Any, false, true},
    {OpKind::Less, BinaryOp::Lt, Operands::Numbers, false, true},
    {OpKind::LessOrEqual, BinaryOp::Le, Operands::Numbers, false, true},
    {OpKind::Greater, BinaryOp::Lt, Operands::Numbers, true, true},
    {OpKind::GreaterOrEqual, BinaryOp::Le, Operands::Numbers, true, true},
    {OpKind::ShiftLeft, BinaryOp::Shl, Operands::Integers, false, false},
    {OpKind::ShiftRight, BinaryOp::Shr, Operands::Integers, false, false},
    // The row is read for the types of its operands; prelu() is what it computes.
    {OpKind::PRelu, BinaryOp::Mul, Operands::Numbers, false, false},
};

const Row& row_of(OpKind kind) {
  for (const Row& row : kRows) {
    if (row.kind == kind) return row;
  }
  POLYTE_CHECK(false, "not a binary operator: " + std::string(to_string(kind)));
  return kRows[0];
}

Complaint check_operands(const Graph& graph, const Node& node, Operands operands) {
  const DType type = input_type(graph, node, 0).dtype;
  const std::string got = "input 0 is " + std::string(polyte::to_string(type));
  switch (operands) {
    case Operands::Any:
      return std::nullopt;
    case Operands::Numbers:
      return expect_number(graph, node, 0);
    case Operands::Floats:
      return expect_float(graph, node, 0);
    case Operands::Integers:
      return is_integer(type) ? Complaint{} : Decline{got + ", expected an integer type"};
    case Operands::Bits:
      return is_float(type) ? Decline{got + ", expected bool or an integer type"} : Complaint{};
  }
  return std::nullopt;
}

// Of floats C's fmod: the sign of a, less than |b|. In f64 the quotient is off by one at most and
// the remainder exact while it is below 2^53; what is off by one gets one |b| more or less.
Expr float_mod(const Expr& a, const Expr& b) {
  const Expr x = ir::make_cast(DType::F64, a), y = ir::make_cast(DType::F64, b),
             zero = ir::make_float(DType::F64, 0);
  const Expr quotient = ir::make_unary(ir::UnaryOp::Trunc, ir::make_binary(BinaryOp::Div, x, y));
  // r = x - quotient * y, in one rounding.
  const Expr r = ir::make_fma(ir::make_unary(ir::UnaryOp::Neg, quotient), y, x);
  const Expr infinity = ir::make_float(DType::F64, std::numeric_limits<double>::infinity());
  const Expr step = ir::make_unary(ir::UnaryOp::Abs, y),
             is_negative = ir::make_binary(BinaryOp::Lt, x, zero);
  // One divisor in the direction of x: added to an r of the other sign, taken off one that is
  // too large.
  const Expr away = ir::make_select(is_negative, ir::make_unary(ir::UnaryOp::Neg, step), step);
  // r and `away` have different signs: the quotient was one too large.
  const Expr wrong_side =
      ir::make_binary(BinaryOp::Lt, ir::make_binary(BinaryOp::Mul, r, away), zero);
  const Expr too_far = ir::make_binary(BinaryOp::Le, step, ir::make_unary(ir::UnaryOp::Abs, r));
  const Expr nearer = ir::make_select(too_far, ir::make_binary(BinaryOp::Sub, r, away), r);
  const Expr rest = ir::make_select(wrong_side, ir::make_binary(BinaryOp::Add, r, away), nearer);
  // fmod(x, infinity) is x; the quotient 0 times infinity would be a NaN.
  return ir::make_cast(a->type,
                       ir::make_select(ir::make_binary(BinaryOp::Eq, step, infinity), x, rest));
}

// Of integers ONNX's: the remainder takes the sign of the divisor.
Expr floor_mod(const Expr& a, const Expr& b) {
  if (is_float(a->type)) return float_mod(a, b);
  // The sign bit of r ^ b is set where the signs differ; then one divisor more takes r across zero.
  Expr r = ir::make_binary(BinaryOp::Mod, a, b);
  if (is_unsigned_integer(a->type)) return r;
  const Expr zero = ir::make_int(a->type, 0);
  const Expr signs_differ =
      ir::make_binary(BinaryOp::Lt, ir::make_binary(BinaryOp::Xor, r, b), zero);
  const Expr fix =
      ir::make_binary(BinaryOp::And, ir::make_binary(BinaryOp::Ne, r, zero), signs_differ);
  return ir::make_select(fix, ir::make_binary(BinaryOp::Add, r, b), r);
}

Expr prelu(const Expr& x, const Expr& slope) {
  const Expr is_negative = ir::make_binary(BinaryOp::Lt, x, ir::make_literal(x->type, 0));
  return ir::make_select(is_negative, ir::make_binary(BinaryOp::Mul, x, slope), x);
}

Expr apply(OpKind kind, const Expr& a, const Expr& b) {
  if (kind == OpKind::Mod) return floor_mod(a, b);
  if (kind == OpKind::PRelu) return prelu(a, b);
  if (kind == OpKind::Pow) return ir::make_power(a, b);
  const Row& row = row_of(kind);
  return row.swapped ? ir::make_binary(row.op, b, a) : ir::make_binary(row.op, a, b);
}

}  // namespace

Types infer_binary(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 2)) return *no;
  const Row& row = row_of(node.op);
  if (auto no = expect_same_types(graph, node)) return *no;
  if (auto no = check_operands(graph, node, row.operands)) return *no;
  const TensorType& a = input_type(graph, node, 0);
  const TensorType& b = input_type(graph, node, 1);
  const auto shape = broadcast(a.shape, b.shape);
  if (!shape)
    return Decline{"shapes " + shape_text(a.shape) + " and " + shape_text(b.shape) +
                   " do not broadcast"};
  if (node.op == OpKind::PRelu && *shape != a.shape) {
    return Decline{"slope has shape " + shape_text(b.shape) + ", expected one that broadcasts to " +
                   shape_text(a.shape)};
  }
  return std::vector{TensorType{row.to_bool ? DType::Bool : a.dtype, *shape}};
}

void expand_binary(Expander& expander, const Node& node) {
  expander.define(node.outputs[0], [&expander, &node](const Subscripts& at) {
    return apply(node.op, expander.read_broadcast(node.inputs[0], at),
                 expander.read_broadcast(node.inputs[1], at));
  });
}

}  // namespace polyte::graph
