// Build: short words for graphs that an ONNX operator is put together from.
//
//   const Build b(c);
//   c.finish(OpKind::Mul, NoAttributes{}, {b.sub(x, mean), scale});
#pragma once

#include "frontend/importers/context.h"

namespace polyte::frontend {

class Build {
 public:
  explicit Build(NodeContext& c) : c_(c) {}

  ValueId unary(OpKind op, ValueId x) const { return c_.emit(op, graph::NoAttributes{}, {x}); }
  ValueId binary(OpKind op, ValueId a, ValueId b) const {
    return c_.emit(op, graph::NoAttributes{}, {a, b});
  }
  ValueId add(ValueId a, ValueId b) const { return binary(OpKind::Add, a, b); }
  ValueId sub(ValueId a, ValueId b) const { return binary(OpKind::Sub, a, b); }
  ValueId mul(ValueId a, ValueId b) const { return binary(OpKind::Mul, a, b); }
  ValueId div(ValueId a, ValueId b) const { return binary(OpKind::Div, a, b); }
  ValueId less(ValueId a, ValueId b) const { return binary(OpKind::Less, a, b); }
  ValueId equal(ValueId a, ValueId b) const { return binary(OpKind::Equal, a, b); }
  ValueId both(ValueId a, ValueId b) const { return binary(OpKind::And, a, b); }
  ValueId where(ValueId condition, ValueId a, ValueId b) const {
    return c_.emit(OpKind::Where, graph::NoAttributes{}, {condition, a, b});
  }
  ValueId clip(ValueId x, ValueId low, ValueId high) const {
    return c_.emit(OpKind::Clip, graph::NoAttributes{}, {x, low, high});
  }

  ValueId scalar(DType type, double value) const {
    return c_.add_constant(graph::make_scalar(type, value));
  }
  ValueId constant(DType type, Dims shape, const std::vector<double>& elements) const {
    return c_.add_constant(graph::make_tensor({type, std::move(shape)}, elements));
  }
  // The scalar in the type of `like`.
  ValueId number(ValueId like, double value) const { return scalar(c_.type(like).dtype, value); }

  ValueId transpose(ValueId x, Dims perm) const {
    return c_.emit(OpKind::Transpose, graph::TransposeAttributes{std::move(perm)}, {x});
  }
  ValueId expand(ValueId x, Dims shape) const {
    return c_.type(x).shape == shape
               ? x
               : c_.emit(OpKind::Expand, graph::ShapeAttributes{std::move(shape)}, {x});
  }
  ValueId gather(ValueId x, std::int64_t axis, ValueId indices) const {
    return c_.emit(OpKind::Gather, graph::AxisAttributes{axis}, {x, indices});
  }
  ValueId reduce(OpKind op, ValueId x, Dims axes, bool keep_dims) const {
    return c_.emit(op, graph::ReduceAttributes{std::move(axes), keep_dims}, {x});
  }
  // [begin, begin + size) of one dimension.
  ValueId slice(ValueId x, std::int64_t axis, std::int64_t begin, std::int64_t size) const {
    const Dims& shape = c_.type(x).shape;
    graph::SliceAttributes slice{Dims(shape.size(), 0), Dims(shape.size(), 1), shape};
    slice.starts[static_cast<std::size_t>(axis)] = begin;
    slice.sizes[static_cast<std::size_t>(axis)] = size;
    return c_.emit(OpKind::Slice, slice, {x});
  }
  ValueId concat(std::vector<ValueId> parts, std::int64_t axis) const {
    return parts.size() == 1
               ? parts[0]
               : c_.emit(OpKind::Concat, graph::AxisAttributes{axis}, std::move(parts));
  }
  // A list along dimension `axis` of something of `rank` dimensions: shape [1, .., n, .., 1];
  // a scalar stays one.
  ValueId along(ValueId list, std::int64_t axis, std::int64_t rank) const {
    if (graph::element_count(c_.type(list).shape) == 1) return c_.reshape(list, {});
    Dims shape(static_cast<std::size_t>(rank), 1);
    shape[static_cast<std::size_t>(axis)] = graph::element_count(c_.type(list).shape);
    return c_.reshape(list, shape);
  }

 private:
  NodeContext& c_;
};

}  // namespace polyte::frontend
