// Reductions and what normalises along an axis.
#include <algorithm>
#include <numeric>

#include "frontend/importers/table.h"

namespace polyte::frontend {

namespace {

// No axes, or an empty list of them, are all axes.
void finish_reduce(NodeContext& c, const std::optional<Dims>& axes) {
  const std::int64_t rank = c.rank(c.input(0));
  graph::ReduceAttributes reduce{{}, c.flag("keepdims", true)};
  if (axes && !axes->empty()) {
    for (std::int64_t axis : *axes) reduce.axes.push_back(NodeContext::resolve_axis(axis, rank));
    std::ranges::sort(reduce.axes);
    if (std::ranges::adjacent_find(reduce.axes) != reduce.axes.end()) {
      throw Invalid{"axes " + dims_text(*axes) + " name a dimension twice"};
    }
  } else {
    reduce.axes.resize(static_cast<std::size_t>(rank));
    std::iota(reduce.axes.begin(), reduce.axes.end(), 0);
  }
  if (c.type(c.input(0)).dtype == DType::Bool && c.opset() >= 20) {  // of truth values: any and all
    // ReduceMax of 0 and 1 is any, ReduceMin is all.
    const ValueId result = c.emit(kind_of(c), reduce, {c.cast(c.input(0), DType::U8)});
    return c.finish_output(0, OpKind::Cast, graph::CastAttributes{DType::Bool}, {result});
  }
  c.finish(kind_of(c), reduce, {c.input(0)});
}

}  // namespace

static void import_reduce(NodeContext& c) { finish_reduce(c, c.integers("axes")); }

// Axes as an input: ReduceSum from opset 13, the others from 18.
static void import_reduce_by_input(NodeContext& c) {
  const bool noop = c.flag("noop_with_empty_axes", false);
  std::optional<Dims> axes;
  if (c.has_input(1)) axes = c.constant_integers(1, "the axes");
  // A reduction over no axes: each element by itself.
  if (noop && (!axes || axes->empty())) {
    c.ignore("keepdims");
    return c.finish(kind_of(c), graph::ReduceAttributes{{}, true}, {c.input(0)});
  }
  finish_reduce(c, axes);
}

static void import_arg(NodeContext& c) {
  const std::int64_t axis = c.axis("axis", 0, c.rank(c.input(0)));
  c.finish(kind_of(c),
           graph::ArgAttributes{axis, c.flag("keepdims", true), c.flag("select_last_index", false)},
           {c.input(0)});
}

static void import_cumsum(NodeContext& c) {
  const Dims axis = c.constant_integers(1, "the axis");
  if (axis.size() != 1) throw Invalid{"the axis is not a scalar"};
  const graph::CumSumAttributes sum{NodeContext::resolve_axis(axis[0], c.rank(c.input(0))),
                                    c.flag("exclusive", false), c.flag("reverse", false)};
  c.finish(OpKind::CumSum, sum, {c.input(0)});
}

// Before opset 13 the tensor is seen as a matrix: all dimensions from the axis on are one.
static void import_softmax_6(NodeContext& c) {
  const std::int64_t rank = c.rank(c.input(0));
  c.finish(kind_of(c), graph::SoftmaxAttributes{c.axis("axis", 1, rank), rank}, {c.input(0)});
}

static void import_softmax_13(NodeContext& c) {
  const std::int64_t axis = c.axis("axis", -1, c.rank(c.input(0)));
  c.finish(kind_of(c), graph::SoftmaxAttributes{axis, axis + 1}, {c.input(0)});
}

Rows reductions_rows() {
  static constexpr Row kRows[] = {
      {"ArgMax", 1, import_arg},
      {"ArgMin", 1, import_arg},
      {"CumSum", 11, import_cumsum, "the axis is a constant"},
      {"Hardmax", 1, import_softmax_6},
      {"Hardmax", 13, import_softmax_13},
      {"LogSoftmax", 1, import_softmax_6},
      {"LogSoftmax", 13, import_softmax_13},
      {"ReduceL1", 1, import_reduce},
      {"ReduceL1", 18, import_reduce_by_input, kConstant},
      {"ReduceL2", 1, import_reduce},
      {"ReduceL2", 18, import_reduce_by_input, kConstant},
      {"ReduceLogSum", 1, import_reduce},
      {"ReduceLogSum", 18, import_reduce_by_input, kConstant},
      {"ReduceLogSumExp", 1, import_reduce},
      {"ReduceLogSumExp", 18, import_reduce_by_input, kConstant},
      {"ReduceMax", 1, import_reduce},
      {"ReduceMax", 18, import_reduce_by_input, kConstant},
      {"ReduceMean", 1, import_reduce},
      {"ReduceMean", 18, import_reduce_by_input, kConstant},
      {"ReduceMin", 1, import_reduce},
      {"ReduceMin", 18, import_reduce_by_input, kConstant},
      {"ReduceProd", 1, import_reduce},
      {"ReduceProd", 18, import_reduce_by_input, kConstant},
      {"ReduceSum", 1, import_reduce},
      {"ReduceSum", 13, import_reduce_by_input, kConstant},
      {"ReduceSumSquare", 1, import_reduce},
      {"ReduceSumSquare", 18, import_reduce_by_input, kConstant},
      {"Softmax", 1, import_softmax_6},
      {"Softmax", 13, import_softmax_13},
  };
  return kRows;
}

}  // namespace polyte::frontend
