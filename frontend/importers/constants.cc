// Operators whose result is known at compile time.
#include <cmath>
#include <cstring>

#include "frontend/importers/table.h"
#include "frontend/onnx_tensor.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::frontend {

namespace {

void finish_real(NodeContext& c, TensorType type, const std::vector<double>& elements) {
  c.finish_constant(graph::make_tensor(std::move(type), elements));
}

Tensor make_int64_scalar(std::int64_t value) {
  Tensor tensor = graph::make_int64s({value});
  tensor.type.shape = {};
  return tensor;
}

}  // namespace

static void import_constant(NodeContext& c) {
  // One attribute of several says the value, each of another type (opset 12 on).
  if (c.has_attribute("value")) return c.finish_constant(*c.tensor("value"));
  if (c.has_attribute("value_float"))
    return finish_real(c, {DType::F32, {}}, {c.real("value_float")});
  if (c.has_attribute("value_int"))
    return c.finish_constant(make_int64_scalar(c.integer("value_int")));
  if (const auto list = c.reals("value_floats")) {
    return finish_real(c, {DType::F32, {static_cast<std::int64_t>(list->size())}}, *list);
  }
  if (const auto list = c.integers("value_ints"))
    return c.finish_constant(graph::make_int64s(*list));
  for (const char* name : {"value_string", "value_strings", "sparse_value"}) {
    if (c.has_attribute(name))
      throw Unsupported{std::string("attribute '") + name + "': " + kSupportedTypes + ", dense"};
  }
  throw Invalid{"attribute 'value' is missing"};
}

static void import_constant_of_shape(NodeContext& c) {
  const Dims shape = c.constant_integers(0, "the shape");
  const auto given = c.tensor("value");
  const Tensor value = given ? *given : graph::make_tensor({DType::F32, {1}}, {0});
  if (graph::element_count(value.type.shape) != 1)
    throw Invalid{"attribute 'value' has type " + to_string(value.type) + ", expected one element"};
  for (std::int64_t extent : shape) {
    if (extent < 0)
      throw Invalid{"the shape is " + dims_text(shape) + ", expected no negative extent"};
  }
  // A scalar that broadcasts, so that no constant of this size is made.
  Tensor scalar = value;
  scalar.type.shape = {};
  c.finish(OpKind::Expand, graph::ShapeAttributes{shape}, {c.add_constant(scalar)});
}

// From opset 15 on a slice [start, end) of the shape; both are clamped to it.
static void import_shape(NodeContext& c) {
  const Dims& shape = c.type(c.input(0)).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  auto clamped = [rank](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = clamped(c.integer("start", 0)), end = clamped(c.integer("end", rank));
  c.finish_constant(
      graph::make_int64s(start < end ? Dims(shape.begin() + start, shape.begin() + end) : Dims{}));
}

static void import_size(NodeContext& c) {
  c.finish_constant(make_int64_scalar(graph::element_count(c.type(c.input(0)).shape)));
}

namespace {

// How many integers from `first` by `step` come before `limit`; those of u64 by their bits. As
// unsigned numbers, distances and steps of any two of a type fit.
std::uint64_t count_integers(DType type, std::int64_t first, std::int64_t limit,
                             std::int64_t step) {
  const bool is_u64 = type == DType::U64, up = is_u64 || step > 0;
  const auto from = static_cast<std::uint64_t>(first), to = static_cast<std::uint64_t>(limit),
             by = static_cast<std::uint64_t>(step);
  const bool ahead = is_u64 ? from < to : up ? first < limit : limit < first;
  if (!ahead) return 0;
  return ((up ? to - from : from - to) - 1) / (up ? by : 0 - by) + 1;
}

void check_range(double count) {
  if (count > 1e8)
    throw UserError(ExitStatus::ResourceLimit,
                    "has " + std::to_string(count) + " elements, the limit is 100000000");
}

// Not by way of doubles, which hold integers up to 2^53 only.
void finish_integer_range(NodeContext& c, const Tensor& start, const Tensor& limit,
                          const Tensor& delta) {
  const DType type = start.type.dtype;
  std::int64_t next = element_as_int(start, 0);
  const std::int64_t step = element_as_int(delta, 0);
  if (step == 0) throw Invalid{"delta is 0"};
  const std::uint64_t count = count_integers(type, next, element_as_int(limit, 0), step);
  check_range(static_cast<double>(count));
  Dims elements;
  // The sum behind the last element may wrap.
  for (std::uint64_t i = 0; i < count; ++i) {
    elements.push_back(next);
    next = static_cast<std::int64_t>(static_cast<std::uint64_t>(next) +
                                     static_cast<std::uint64_t>(step));
  }
  c.finish_constant(
      graph::make_integers({type, {static_cast<std::int64_t>(elements.size())}}, elements));
}

}  // namespace

static void import_range(NodeContext& c) {
  const Tensor start = c.constant(0, "start"), limit = c.constant(1, "limit"),
               delta = c.constant(2, "delta");
  const DType type = start.type.dtype;
  for (const Tensor* operand : {&start, &limit, &delta}) {
    if (graph::element_count(operand->type.shape) != 1 || operand->type.dtype != type)
      throw Invalid{"operands are not scalars of one type"};
  }
  if (is_integer(type)) return finish_integer_range(c, start, limit, delta);
  const double first = element_as_real(start, 0), step = element_as_real(delta, 0);
  // ONNX: max(ceil((limit - start) / delta), 0) elements, start + i * delta.
  const double count = std::ceil((element_as_real(limit, 0) - first) / step);
  // A delta of the wrong sign gives a negative count, and no elements.
  if (step == 0 || std::isnan(count)) throw Invalid{"delta is 0"};
  check_range(count);
  std::vector<double> elements;
  for (double i = 0; i < count; ++i) elements.push_back(first + i * step);
  finish_real(c, {type, {static_cast<std::int64_t>(elements.size())}}, elements);
}

static void import_eye_like(NodeContext& c) {
  const TensorType& like = c.type(c.input(0));
  if (like.shape.size() != 2)
    throw Invalid{"input 0 has shape " + dims_text(like.shape) + ", expected a matrix"};
  const std::int64_t k = c.integer("k", 0);
  const std::int64_t to = c.integer("dtype", -1);
  const auto dtype = to == -1 ? like.dtype : dtype_from_onnx(static_cast<int>(to));
  if (!dtype)
    throw Unsupported{"dtype = " + onnx_type_name(static_cast<int>(to)) + ": " + kSupportedTypes};
  if (graph::element_count(like.shape) > (1 << 24))
    throw UserError(ExitStatus::ResourceLimit,
                    "has " + to_string(like) + " elements, the limit is 16777216");
  std::vector<double> elements(static_cast<std::size_t>(graph::element_count(like.shape)), 0);
  for (std::int64_t row = 0; row < like.shape[0]; ++row) {
    // Beyond the matrix there is no diagonal, and row + k could overflow.
    const std::int64_t column = k > like.shape[1] || k < -like.shape[0] ? -1 : row + k;
    if (column >= 0 && column < like.shape[1])
      elements[static_cast<std::size_t>(row * like.shape[1] + column)] = 1;
  }
  finish_real(c, {*dtype, like.shape}, elements);
}

Rows constants_rows() {
  static constexpr Row kRows[] = {
      {"Constant", 1, import_constant, "no strings, no sparse tensors"},
      {"ConstantOfShape", 9, import_constant_of_shape, kConstant},
      {"EyeLike", 9, import_eye_like},
      {"Range", 11, import_range, kConstant},
      {"Shape", 1, import_shape},
      {"Size", 1, import_size},
  };
  return kRows;
}

}  // namespace polyte::frontend
