// Quantised operators, put together from integer arithmetic, Round and the saturating Cast. A real
// r stands as q = saturate(round(r / scale) + zero_point), and is (q - zero_point) * scale again;
// Round is to the nearest, ties to even. A product of two such is one of integers, with one scale
// at the end:
//
//    sum (a - a_zero) * (b - b_zero)   in i32,   times a_scale * b_scale / y_scale
#include "frontend/importers/build.h"
#include "frontend/importers/table.h"
#include "frontend/importers/windows.h"
#include "frontend/onnx_tensor.h"

namespace polyte::frontend {

namespace {

// A scale or zero point beside x: one number, a list along `axis`, or one per block of `block`
// elements along it. Of x [4, 100] in blocks of 32 along axis 1 a scale is [4, 4]: each number is
// repeated 32 times, and what is behind the 100th cut off.
ValueId beside(NodeContext& c, ValueId parameter, ValueId x, std::int64_t axis,
               std::int64_t block) {
  const Build b(c);
  const Dims shape = c.type(x).shape, own = c.type(parameter).shape;
  const auto d = static_cast<std::size_t>(axis);
  if (graph::element_count(own) == 1) return c.reshape(parameter, {});
  if (block == 0) {
    if (own.size() != 1 || d >= shape.size() || own[0] != shape[d]) {
      throw Invalid{"a scale or zero point has shape " + dims_text(own) +
                    ", expected one number or " +
                    (d < shape.size() ? std::to_string(shape[d]) : "none")};
    }
    return b.along(parameter, axis, c.rank(x));
  }
  Dims expected = shape;
  if (d < shape.size()) expected[d] = (shape[d] + block - 1) / block;
  if (own != expected)
    throw Invalid{"a scale or zero point has shape " + dims_text(own) + ", expected " +
                  dims_text(expected)};
  Dims split = own, repeated = own, merged = own;
  split.insert(split.begin() + axis + 1, 1);
  repeated.insert(repeated.begin() + axis + 1, block);
  merged[d] = own[d] * block;
  return b.slice(c.reshape(b.expand(c.reshape(parameter, split), repeated), merged), axis, 0,
                 shape[d]);
}

// The axis does not matter where the scale is one number.
std::int64_t axis_of(NodeContext& c, ValueId x, bool has_many) {
  const std::int64_t axis = c.integer("axis", 1);
  return has_many ? NodeContext::resolve_axis(axis, c.rank(x)) : 0;
}

std::int64_t block_of(NodeContext& c) {
  const std::int64_t block = c.integer("block_size", 0);
  if (block < 0) throw Invalid{"block_size is " + std::to_string(block)};
  return block;
}

DType quantised_type(NodeContext& c, std::size_t zero_point) {
  const std::int64_t asked = c.integer("output_dtype", 0);
  DType type = DType::U8;
  if (c.has_input(zero_point)) {
    type = c.type(c.input(zero_point)).dtype;
  } else if (asked != 0) {
    const auto known = dtype_from_onnx(static_cast<int>(std::clamp<std::int64_t>(asked, 0, 1000)));
    if (!known)
      throw Unsupported{"output_dtype is " + std::to_string(asked) +
                        ": supported are i8 u8 i16 u16 i32"};
    type = *known;
  }
  if (!is_integer(type))
    throw Unsupported{"quantises to " + std::string(to_string(type)) + ": supported are integers"};
  return type;
}

void expect_float(NodeContext& c, ValueId id, const char* role) {
  if (!is_float(c.type(id).dtype))
    throw Invalid{std::string(role) + " is " + std::string(to_string(c.type(id).dtype)) +
                  ", expected a float type"};
}

// x - zero point, in i32.
ValueId centred(NodeContext& c, ValueId x, ValueId zero_point) {
  const ValueId wide = c.cast(x, DType::I32);
  return zero_point == graph::kNoValue ? wide : Build(c).sub(wide, c.cast(zero_point, DType::I32));
}

// cast(round(x) + zero point), saturating; `x` is scaled already.
void finish_quantised(NodeContext& c, ValueId scaled, ValueId zero_point, DType type) {
  const Build b(c);
  ValueId rounded = b.unary(OpKind::Round, scaled);
  if (zero_point != graph::kNoValue)
    rounded = b.add(rounded, c.cast(zero_point, c.type(rounded).dtype));
  c.finish_output(0, OpKind::Cast, graph::CastAttributes{type}, {rounded});
}

}  // namespace

static void import_quantize_linear(NodeContext& c) {
  const ValueId x = c.input(0), scale = c.input(1);
  expect_float(c, scale, "the scale");
  c.ignore("saturate");  // of float8 only
  const std::int64_t block = block_of(c);
  const std::int64_t axis = axis_of(c, x, graph::element_count(c.type(scale).shape) != 1);
  const DType type = quantised_type(c, 2);
  const ValueId real = c.cast(x, c.type(scale).dtype);
  const ValueId zero_point =
      c.has_input(2) ? beside(c, c.input(2), x, axis, block) : graph::kNoValue;
  finish_quantised(c, Build(c).div(real, beside(c, scale, x, axis, block)), zero_point, type);
}

static void import_dequantize_linear(NodeContext& c) {
  const ValueId x = c.input(0), scale = c.input(1);
  expect_float(c, scale, "the scale");
  if (!is_integer(c.type(x).dtype))
    throw Unsupported{"input 0 is " + std::string(to_string(c.type(x).dtype)) +
                      ": supported are integers"};
  const std::int64_t block = block_of(c);
  const std::int64_t axis = axis_of(c, x, graph::element_count(c.type(scale).shape) != 1);
  const ValueId zero_point =
      c.has_input(2) ? beside(c, c.input(2), x, axis, block) : graph::kNoValue;
  const ValueId real = c.cast(centred(c, x, zero_point), c.type(scale).dtype);
  c.finish(OpKind::Mul, graph::NoAttributes{}, {real, beside(c, scale, x, axis, block)});
}

// u8 whose range holds the data and 0:
//
//    scale = (max(x, 0) - min(x, 0)) / 255,   zero_point = round(clip(-min(x, 0) / scale, 0, 255))
static void import_dynamic_quantize_linear(NodeContext& c) {
  const Build b(c);
  const ValueId x = c.input(0);
  Dims all;
  for (std::int64_t d = 0; d < c.rank(x); ++d) all.push_back(d);
  const ValueId zero = b.number(x, 0), most = b.number(x, 255);
  const ValueId high = b.binary(OpKind::Max, b.reduce(OpKind::ReduceMax, x, all, false), zero);
  const ValueId low = b.binary(OpKind::Min, b.reduce(OpKind::ReduceMin, x, all, false), zero);
  const ValueId scale = b.div(b.sub(high, low), most);
  const ValueId zero_point =
      c.cast(b.unary(OpKind::Round, b.clip(b.sub(zero, b.div(low, scale)), zero, most)), DType::U8);
  finish_quantised(c, b.div(x, scale), zero_point, DType::U8);
  if (c.wants_output(1)) c.finish_output(1, scale);
  if (c.wants_output(2)) c.finish_output(2, zero_point);
}

namespace {

// Zero points and scales of the rows of A and of the columns of B.
ValueId beside_rows(NodeContext& c, ValueId parameter, ValueId a) {
  const Dims& own = c.type(parameter).shape;
  // One number, or a tensor that is aligned as it is.
  if (own.size() != 1 || own[0] == 1)
    return graph::element_count(own) == 1 ? c.reshape(parameter, {}) : parameter;
  return Build(c).along(parameter, c.rank(a) - 2, c.rank(a));
}

ValueId zero_point_of_rows(NodeContext& c, std::size_t i, ValueId a) {
  return c.has_input(i) ? beside_rows(c, c.input(i), a) : graph::kNoValue;
}

}  // namespace

static void import_matmul_integer(NodeContext& c) {
  const ValueId a = c.input(0), b = c.input(1);
  const ValueId rows = centred(c, a, zero_point_of_rows(c, 2, a));
  c.finish(OpKind::MatMul, graph::NoAttributes{}, {rows, centred(c, b, c.optional_input(3))});
}

static void import_qlinear_matmul(NodeContext& c) {
  const Build build(c);
  const ValueId a = c.input(0), b = c.input(3);
  const ValueId rows = centred(c, a, beside_rows(c, c.input(2), a));
  const ValueId sum = build.binary(OpKind::MatMul, rows, centred(c, b, c.input(5)));
  const ValueId y_scale = c.input(6);
  expect_float(c, y_scale, "the scale");
  const ValueId scale = build.div(build.mul(beside_rows(c, c.input(1), a), c.input(4)), y_scale);
  finish_quantised(c, build.mul(c.cast(sum, c.type(scale).dtype), scale), c.input(7),
                   c.type(c.input(7)).dtype);
}

// The zero point is subtracted before the padding, so that the zeros of padding are real zeros.
static void import_conv_integer(NodeContext& c) {
  const ValueId x = c.input(0), w = c.input(1);
  const graph::ConvAttributes conv = conv_window(c, x, w);
  const ValueId weight_zero =
      c.has_input(3) ? Build(c).along(c.input(3), 0, c.rank(w)) : graph::kNoValue;
  c.finish(OpKind::Conv, conv,
           {centred(c, x, c.optional_input(2)), centred(c, w, weight_zero), graph::kNoValue});
}

static void import_qlinear_conv(NodeContext& c) {
  const Build b(c);
  const ValueId x = c.input(0), w = c.input(3);
  const graph::ConvAttributes conv = conv_window(c, x, w);
  const std::int64_t rank = c.rank(x);
  const ValueId weight = centred(c, w, b.along(c.input(5), 0, rank));
  const ValueId sum =
      c.emit(OpKind::Conv, conv, {centred(c, x, c.input(2)), weight, c.optional_input(8)});
  expect_float(c, c.input(1), "the scale");
  const ValueId scale = b.div(b.mul(c.reshape(c.input(1), {}), b.along(c.input(4), 1, rank)),
                              c.reshape(c.input(6), {}));
  finish_quantised(c, b.mul(c.cast(sum, c.type(scale).dtype), scale), c.reshape(c.input(7), {}),
                   c.type(c.input(7)).dtype);
}

Rows quantization_rows() {
  static constexpr Row kRows[] = {
      {"ConvInteger", 10, import_conv_integer},
      {"DequantizeLinear", 10, import_dequantize_linear, "from integers of 8, 16 or 32 bits"},
      {"DynamicQuantizeLinear", 11, import_dynamic_quantize_linear},
      {"MatMulInteger", 10, import_matmul_integer},
      {"QLinearConv", 10, import_qlinear_conv},
      {"QLinearMatMul", 10, import_qlinear_matmul},
      {"QuantizeLinear", 10, import_quantize_linear, "to integers of 8, 16 or 32 bits"},
  };
  return kRows;
}

}  // namespace polyte::frontend
