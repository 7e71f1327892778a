// Element-wise operators.
#include <cmath>
#include <limits>

#include "frontend/importers/build.h"
#include "frontend/importers/table.h"
#include "frontend/onnx_tensor.h"
#include "support/error.h"

namespace polyte::frontend {

namespace {

struct Activation {
  std::string_view op, alpha, beta;  // names of the attributes; empty: none
  double default_alpha, default_beta;
};

constexpr Activation kActivations[] = {
    {"LeakyRelu", "alpha", "", 0.01, 0},
    {"Elu", "alpha", "", 1, 0},
    {"Celu", "alpha", "", 1, 0},
    {"Selu", "alpha", "gamma", 1.67326319217681884765625, 1.05070102214813232421875},
    {"HardSigmoid", "alpha", "beta", 0.2, 0.5},
    {"ThresholdedRelu", "alpha", "", 1, 0},
    {"Shrink", "lambd", "bias", 0.5, 0},
};

// Opset 6: broadcasting is asked for, and `axis` says where the shape of the second operand begins.
// [2, 3, 4, 5] and [3, 4] with axis 1: the second one becomes [3, 4, 1], which NumPy's rule aligns
// so.
ValueId aligned_6(NodeContext& c, ValueId a, ValueId b) {
  const bool broadcast = c.flag("broadcast", false);
  const bool has_axis = c.has_attribute("axis");
  const Dims &to = c.type(a).shape, &from = c.type(b).shape;
  if (!broadcast) {
    c.ignore("axis");
    if (to != from)
      throw Invalid{"shapes " + dims_text(to) + " and " + dims_text(from) +
                    " differ, and broadcast is 0"};
    return b;
  }
  if (!has_axis) return b;
  const std::int64_t axis = c.axis("axis", {}, c.rank(a));
  if (axis + c.rank(b) > c.rank(a)) {
    throw Invalid{"axis is " + std::to_string(axis) + ", too large for " + dims_text(from) +
                  " within " + dims_text(to)};
  }
  Dims shape = from;
  shape.resize(to.size() - static_cast<std::size_t>(axis), 1);
  return c.reshape(b, shape);
}

void expect_result_shape(NodeContext& c, ValueId a, ValueId b) {
  if (c.rank(b) > c.rank(a))
    throw Invalid{"the second operand " + dims_text(c.type(b).shape) + " does not broadcast to " +
                  dims_text(c.type(a).shape)};
}

void expect_bool(NodeContext& c) {
  const DType type = c.type(c.input(0)).dtype;
  if (type != DType::Bool)
    throw Invalid{"input 0 is " + std::string(to_string(type)) + ", expected bool"};
}

std::string type_list() { return kSupportedTypes; }

DType cast_target(std::int64_t to) {
  const bool fits = to >= 0 && to < 1000;
  const auto type = fits ? dtype_from_onnx(static_cast<int>(to)) : std::nullopt;
  if (!type)
    throw Unsupported{"to = " + (fits ? onnx_type_name(static_cast<int>(to)) : std::to_string(to)) +
                      ": " + type_list()};
  return *type;
}

}  // namespace

static void import_unary(NodeContext& c) {
  c.finish(kind_of(c), graph::NoAttributes{}, {c.input(0)});
}

static void import_identity(NodeContext& c) {
  c.finish(OpKind::Identity, graph::NoAttributes{}, {c.input(0)});
}

static void import_activation(NodeContext& c) {
  for (const Activation& row : kActivations) {
    if (row.op != c.node().op_type()) continue;
    graph::ActivationAttributes attributes{c.real(std::string(row.alpha), row.default_alpha),
                                           row.default_beta};
    if (!row.beta.empty()) attributes.beta = c.real(std::string(row.beta), row.default_beta);
    return c.finish(kind_of(c), attributes, {c.input(0)});
  }
  POLYTE_CHECK(false, "no activation: " + c.node().op_type());
}

static void import_is_inf(NodeContext& c) {
  c.finish(OpKind::IsInf,
           graph::InfAttributes{c.flag("detect_negative", true), c.flag("detect_positive", true)},
           {c.input(0)});
}

static void import_cast(NodeContext& c) {
  c.ignore("saturate");  // of float8 only
  c.finish(OpKind::Cast, graph::CastAttributes{cast_target(c.integer("to"))}, {c.input(0)});
}

static void import_cast_like(NodeContext& c) {
  c.ignore("saturate");
  c.finish(OpKind::Cast, graph::CastAttributes{c.type(c.input(1)).dtype}, {c.input(0)});
}

static void import_binary_6(NodeContext& c) {
  const ValueId a = c.input(0);
  const ValueId b = aligned_6(c, a, c.input(1));
  expect_result_shape(c, a, b);
  c.finish(kind_of(c), graph::NoAttributes{}, {a, b});
}

static void import_binary(NodeContext& c) {
  c.finish(kind_of(c), graph::NoAttributes{}, {c.input(0), c.input(1)});
}

// Before opset 7 the slope is one number, or one per channel.
static void import_prelu_6(NodeContext& c) {
  const ValueId x = c.input(0);
  ValueId slope = c.input(1);
  if (c.rank(x) > 2 && c.rank(slope) == 1) {
    Dims shape(static_cast<std::size_t>(c.rank(x)) - 1, 1);
    shape[0] = c.type(slope).shape[0];
    slope = c.reshape(slope, shape);
  }
  c.finish(OpKind::PRelu, graph::NoAttributes{}, {x, slope});
}

namespace {

// By squaring, modulo 2^64: the product of base^(2^b) over the lowest six bits b of the exponent.
// An even base has no bits left after 64 factors; an odd one but 1 and -1 has overflowed long
// before. 0 for negative exponents, unless the base is 1 or -1.
void finish_integer_power(NodeContext& c, ValueId base, ValueId exponent) {
  constexpr int kBits = 6;
  const Build b(c);
  const DType type = c.type(base).dtype;
  const ValueId e = c.cast(exponent, DType::I64), one = b.scalar(type, 1),
                least = b.scalar(DType::I64, 1);
  ValueId result = one, square = base;
  for (int bit = 0; bit < kBits; ++bit) {
    const ValueId shifted = b.binary(OpKind::ShiftRight, e, b.scalar(DType::I64, bit));
    const ValueId is_set = b.equal(b.both(shifted, least), least);
    result = b.mul(result, b.where(is_set, square, one));
    square = b.mul(square, square);
  }
  const ValueId is_even = b.equal(b.both(base, one), b.scalar(type, 0));
  ValueId vanishes = b.both(is_even, b.less(b.scalar(DType::I64, (1 << kBits) - 1), e));
  if (!is_unsigned_integer(type)) {
    // 1 and -1 are their own inverses; the lowest bit of a negative exponent still tells odd from
    // even.
    const ValueId is_unit =
        b.binary(OpKind::Or, b.equal(base, one), b.equal(base, b.scalar(type, -1)));
    const ValueId is_inverse =
        b.both(b.less(e, b.scalar(DType::I64, 0)), b.unary(OpKind::Not, is_unit));
    vanishes = b.binary(OpKind::Or, vanishes, is_inverse);
  }
  c.finish_output(0, b.where(vanishes, b.scalar(type, 0), result));
}

}  // namespace

// The exponent may have a type of its own; the result has the base's. Integers of up to 32 bits,
// and those raised to real exponents, are raised in f64 and rounded, which is exact below 2^53.
static void import_pow(NodeContext& c) {
  const ValueId base = c.input(0), exponent = c.input(1);
  const DType type = c.type(base).dtype;
  if (is_float(type))
    return c.finish(OpKind::Pow, graph::NoAttributes{}, {base, c.cast(exponent, type)});
  if (size_in_bytes(type) > 4 && is_integer(c.type(exponent).dtype))
    return finish_integer_power(c, base, exponent);
  const ValueId power = c.emit(OpKind::Pow, graph::NoAttributes{},
                               {c.cast(base, DType::F64), c.cast(exponent, DType::F64)});
  const ValueId whole = c.emit(OpKind::Round, graph::NoAttributes{}, {power});
  c.finish(OpKind::Cast, graph::CastAttributes{type}, {whole});
}

namespace {

// Since opset 28: a - floor(a / b) * b of floats, from C's remainder, with zeros of
// the divisor's sign.
void finish_float_floor_mod(NodeContext& c, ValueId a, ValueId b) {
  const Build build(c);
  const ValueId zero = build.number(a, 0), r = build.binary(OpKind::Mod, a, b);
  const ValueId is_below = build.less(b, zero);
  const ValueId signs_differ = build.binary(OpKind::Xor, build.less(r, zero), is_below);
  const ValueId signed_zero = build.where(is_below, build.number(a, -0.0), zero);
  c.finish_output(0, build.where(build.equal(r, zero), signed_zero,
                                 build.where(signs_differ, build.add(r, b), r)));
}

constexpr std::int64_t kSignedShifts = 28, kFloatFloorMod = 28;  // opsets

}  // namespace

static void import_mod(NodeContext& c) {
  const DType type = c.type(c.input(0)).dtype;
  const bool fmod = c.flag("fmod", false);
  const ValueId a = c.input(0), b = c.input(1);
  if (is_float(type) && !fmod) {
    if (c.opset() >= kFloatFloorMod) return finish_float_floor_mod(c, a, b);
    throw Invalid{"operands are " + std::string(to_string(type)) +
                  ", expected integers with fmod = 0"};
  }
  if (is_float(type) || !fmod) return import_binary(c);
  // C's remainder is a - (a / b) * b, division truncating.
  const ValueId quotient = c.emit(OpKind::Div, graph::NoAttributes{}, {a, b});
  c.finish(OpKind::Sub, graph::NoAttributes{},
           {a, c.emit(OpKind::Mul, graph::NoAttributes{}, {quotient, b})});
}

// Amounts below zero or beyond the width leave what the sign fills in: -1 right of a negative
// number, else 0.
static void import_bit_shift(NodeContext& c) {
  const std::string direction = c.text("direction");
  if (direction != "LEFT" && direction != "RIGHT")
    throw Invalid{"direction is '" + direction + "', expected LEFT or RIGHT"};
  const Build build(c);
  const ValueId x = c.input(0), amount = c.input(1);
  const DType type = c.type(x).dtype;
  const bool is_unsigned = is_unsigned_integer(type);
  if (!is_unsigned && (c.opset() < kSignedShifts || !is_integer(type)))
    throw Invalid{"input 0 is " + std::string(to_string(type)) + ", expected an unsigned type" +
                  (c.opset() < kSignedShifts ? "" : " or a signed integer")};
  // The largest shift that is defined: the width less one.
  const double last = 8.0 * static_cast<double>(size_in_bytes(type)) - 1;
  ValueId is_beyond = build.less(build.number(amount, last), amount);
  if (!is_unsigned)
    is_beyond = build.binary(OpKind::Or, is_beyond, build.less(amount, build.number(amount, 0)));
  const bool fills = !is_unsigned && direction == "RIGHT";
  const ValueId within =
      fills ? build.where(is_beyond, build.number(amount, last), amount) : amount;
  const ValueId shifted =
      build.binary(direction == "LEFT" ? OpKind::ShiftLeft : OpKind::ShiftRight, x, within);
  c.finish_output(0, fills ? shifted : build.where(is_beyond, build.number(x, 0), shifted));
}

// BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot: the graph's And, Or, Xor and Not of integers.
static void import_bitwise(NodeContext& c) {
  const DType type = c.type(c.input(0)).dtype;
  if (!is_integer(type))
    throw Invalid{"input 0 is " + std::string(to_string(type)) + ", expected an integer type"};
  const std::string& op = c.node().op_type();
  if (op == "BitwiseNot") return c.finish(OpKind::Not, graph::NoAttributes{}, {c.input(0)});
  const OpKind kind = op == "BitwiseAnd"  ? OpKind::And
                      : op == "BitwiseOr" ? OpKind::Or
                                          : OpKind::Xor;
  c.finish(kind, graph::NoAttributes{}, {c.input(0), c.input(1)});
}

// And, Or, Xor, Not: of truth values only.
static void import_logical_6(NodeContext& c) {
  expect_bool(c);
  import_binary_6(c);
}
static void import_logical(NodeContext& c) {
  expect_bool(c);
  if (c.node().op_type() == "Not") return import_unary(c);
  import_binary(c);
}

// x / 2 * (1 + erf(x / sqrt(2))), or its approximation by tanh.
static void import_gelu(NodeContext& c) {
  const Build b(c);
  const ValueId x = c.input(0);
  const std::string how = c.text("approximate", "none");
  if (how != "none" && how != "tanh")
    throw Invalid{"approximate is '" + how + "', expected none or tanh"};
  const ValueId halved = b.mul(x, b.number(x, 0.5)), one = b.number(x, 1);
  if (how == "none") {
    const ValueId bell = b.unary(OpKind::Erf, b.mul(x, b.number(x, 0.70710678118654752440)));
    return c.finish(OpKind::Mul, graph::NoAttributes{}, {halved, b.add(bell, one)});
  }
  const ValueId cube = b.mul(b.mul(x, x), b.mul(x, b.number(x, 0.044715)));
  const ValueId inner = b.mul(b.number(x, 0.79788456080286535588), b.add(x, cube));
  c.finish(OpKind::Mul, graph::NoAttributes{}, {halved, b.add(b.unary(OpKind::Tanh, inner), one)});
}

// Max, Min, Sum and Mean of any number of operands.
static void import_variadic(NodeContext& c) {
  const std::string& op = c.node().op_type();
  const OpKind kind = op == "Max" ? OpKind::Max : op == "Min" ? OpKind::Min : OpKind::Add;
  const std::size_t count = c.input_count();
  ValueId result = c.input(0);
  // A chain from the left: ((x0 + x1) + x2) + .. in this order.
  const bool is_mean = op == "Mean" && count > 1;
  for (std::size_t i = 1; i + 1 < count; ++i)
    result = c.emit(kind, graph::NoAttributes{}, {result, c.input(i)});
  if (count == 1) return c.finish(OpKind::Identity, graph::NoAttributes{}, {result});
  if (!is_mean) return c.finish(kind, graph::NoAttributes{}, {result, c.input(count - 1)});
  result = c.emit(kind, graph::NoAttributes{}, {result, c.input(count - 1)});
  const ValueId divisor =
      c.add_constant(graph::make_scalar(c.type(result).dtype, static_cast<double>(count)));
  c.finish(OpKind::Div, graph::NoAttributes{}, {result, divisor});
}

static void import_where(NodeContext& c) {
  c.finish(OpKind::Where, graph::NoAttributes{}, {c.input(0), c.input(1), c.input(2)});
}

static void import_clip_6(NodeContext& c) {
  const ValueId x = c.input(0);
  const DType type = c.type(x).dtype;
  constexpr double kMost = std::numeric_limits<float>::max();
  // A bound that is not given is left out, so that nothing is compared with it.
  const bool has_low = c.has_attribute("min"), has_high = c.has_attribute("max");
  const ValueId low =
      has_low ? c.add_constant(graph::make_scalar(type, c.real("min", -kMost))) : graph::kNoValue;
  const ValueId high =
      has_high ? c.add_constant(graph::make_scalar(type, c.real("max", kMost))) : graph::kNoValue;
  c.finish(OpKind::Clip, graph::NoAttributes{}, {x, low, high});
}

static void import_clip_11(NodeContext& c) {
  c.finish(OpKind::Clip, graph::NoAttributes{},
           {c.input(0), c.optional_input(1), c.optional_input(2)});
}

namespace {

// Inference keeps every element: the mask is all ones.
void finish_dropout(NodeContext& c, bool bool_mask) {
  const ValueId x = c.input(0);
  if (c.wants_output(1)) {
    const TensorType type{bool_mask ? DType::Bool : c.type(x).dtype, c.type(x).shape};
    const ValueId one = c.add_constant(graph::make_scalar(type.dtype, 1));
    c.finish_output(1, c.emit(OpKind::Expand, graph::ShapeAttributes{type.shape}, {one}));
  }
  c.finish_output(0, x);
}

}  // namespace

static void import_dropout_6(NodeContext& c) {
  if (c.opset() < 7 && !c.flag("is_test", false))
    throw Unsupported{"is_test is 0: supported is inference"};
  c.ignore("ratio");
  finish_dropout(c, c.opset() >= 10);
}

static void import_dropout_12(NodeContext& c) {
  static const std::vector<double> kNothing = {0};
  c.ignore("seed");
  c.ignore_input(1);  // the ratio is without effect
  if (c.has_input(2)) {
    const Tensor training = c.constant(2, "training_mode");
    if (graph::element_count(training.type.shape) != 1)
      throw Invalid{"training_mode is not a scalar"};
    // Training draws a random mask, unless it keeps everything.
    const bool keeps_all = c.has_input(1) && c.is_constant(1) &&
                           elements_as_real(c.constant(1, "the ratio")) == kNothing;
    if (elements_as_real(training)[0] != 0 && !keeps_all)
      throw Unsupported{"training_mode is 1 and the ratio is not 0: supported is inference"};
  }
  finish_dropout(c, true);
}

namespace {

constexpr Row kElementwiseRows[] = {
    {"Abs", 6, import_unary},
    {"Acos", 7, import_unary},
    {"Acosh", 9, import_unary},
    {"Add", 6, import_binary_6},
    {"Add", 7, import_binary},
    {"And", 1, import_logical_6},
    {"And", 7, import_logical},
    {"Asin", 7, import_unary},
    {"Asinh", 9, import_unary},
    {"Atan", 7, import_unary},
    {"Atanh", 9, import_unary},
    {"BitShift", 11, import_bit_shift},
    {"BitwiseAnd", 18, import_bitwise},
    {"BitwiseNot", 18, import_bitwise},
    {"BitwiseOr", 18, import_bitwise},
    {"BitwiseXor", 18, import_bitwise},
    {"Cast", 6, import_cast, "no strings"},
    {"CastLike", 15, import_cast_like, "no strings"},
    {"Ceil", 6, import_unary},
    {"Celu", 12, import_activation},
    {"Clip", 6, import_clip_6},
    {"Clip", 11, import_clip_11},
    {"Cos", 7, import_unary},
    {"Cosh", 9, import_unary},
    {"Div", 6, import_binary_6},
    {"Div", 7, import_binary},
    {"Dropout", 6, import_dropout_6, kInference},
    {"Dropout", 12, import_dropout_12, "inference, or training with ratio 0"},
    {"Elu", 6, import_activation},
    {"Equal", 1, import_binary_6},
    {"Equal", 7, import_binary},
    {"Erf", 9, import_unary},
    {"Exp", 6, import_unary},
    {"Floor", 6, import_unary},
    {"Gelu", 20, import_gelu},
    {"GlobalAveragePool", 1, import_unary},
    {"GlobalMaxPool", 1, import_unary},
    {"Greater", 1, import_binary_6},
    {"Greater", 7, import_binary},
    {"GreaterOrEqual", 12, import_binary},
    {"HardSigmoid", 6, import_activation},
    {"HardSwish", 14, import_unary},
    {"Identity", 1, import_identity},
    {"IsInf", 10, import_is_inf},
    {"IsNaN", 9, import_unary},
    {"LeakyRelu", 6, import_activation},
    {"Less", 1, import_binary_6},
    {"Less", 7, import_binary},
    {"LessOrEqual", 12, import_binary},
    {"Log", 6, import_unary},
    {"Max", 6, import_variadic},
    {"Mean", 6, import_variadic},
    {"Min", 6, import_variadic},
    {"Mish", 18, import_unary},
    {"Mod", 10, import_mod, "of floats: quotients below 2^53"},
    {"Mul", 6, import_binary_6},
    {"Mul", 7, import_binary},
    {"Neg", 6, import_unary},
    {"Not", 1, import_logical},
    {"Or", 1, import_logical_6},
    {"Or", 7, import_logical},
    {"PRelu", 6, import_prelu_6},
    {"PRelu", 7, import_binary},
    {"Pow", 1, import_binary_6},
    {"Pow", 7, import_binary},
    {"Pow", 12, import_pow},
    {"Reciprocal", 6, import_unary},
    {"Relu", 6, import_unary},
    {"Round", 11, import_unary},
    {"Selu", 6, import_activation},
    {"Shrink", 9, import_activation},
    {"Sigmoid", 6, import_unary},
    {"Sign", 9, import_unary},
    {"Sin", 7, import_unary},
    {"Sinh", 9, import_unary},
    {"Softplus", 1, import_unary},
    {"Softsign", 1, import_unary},
    {"Sqrt", 6, import_unary},
    {"Sub", 6, import_binary_6},
    {"Sub", 7, import_binary},
    {"Sum", 6, import_variadic},
    {"Tan", 7, import_unary},
    {"Tanh", 6, import_unary},
    {"ThresholdedRelu", 10, import_activation},
    {"Where", 9, import_where},
    {"Xor", 1, import_logical_6},
    {"Xor", 7, import_logical},
};

}  // namespace

Rows elementwise_rows() { return kElementwiseRows; }

}  // namespace polyte::frontend
