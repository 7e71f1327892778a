// Operators that move or repeat elements.
#include <algorithm>
#include <numeric>

#include "frontend/importers/table.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::frontend {

namespace {

// ONNX's target shape: 0 copies the input's extent (unless allowzero), one -1 takes what is left.
// [2, 3, 4] by [0, -1] is [2, 12].
Dims resolve_shape(const Dims& from, const Dims& wanted, bool allow_zero) {
  Dims shape = wanted;
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !allow_zero) {
      if (d >= from.size())
        throw Invalid{"shape " + dims_text(wanted) + " copies dimension " + std::to_string(d) +
                      " of " + dims_text(from)};
      shape[d] = from[d];
    }
    if (shape[d] < -1 || (shape[d] == -1 && open))
      throw Invalid{"shape is " + dims_text(wanted) + ", expected extents and at most one -1"};
    if (shape[d] == -1)
      open = d;
    else
      known = checked_mul(known, shape[d]);
  }
  if (!open) return shape;
  const std::int64_t count = graph::element_count(from);
  // With an extent of 0 among the others any number would do for the -1.
  if (known == 0 || count % known != 0)
    throw Invalid{"shape " + dims_text(wanted) + " does not divide " + dims_text(from)};
  shape[*open] = count / known;
  return shape;
}

void finish_reshape(NodeContext& c, Dims shape) {
  c.finish(OpKind::Reshape, graph::ShapeAttributes{std::move(shape)}, {c.input(0)});
}

// Sorted, distinct, non-negative.
Dims resolve_axes(const Dims& axes, std::int64_t rank) {
  Dims result;
  for (std::int64_t axis : axes) result.push_back(NodeContext::resolve_axis(axis, rank));
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end())
    throw Invalid{"axes " + dims_text(axes) + " name a dimension twice"};
  return result;
}

void finish_squeeze(NodeContext& c, const std::optional<Dims>& axes) {
  const Dims& from = c.type(c.input(0)).shape;
  // Dimensions to be dropped.
  Dims gone;
  if (axes) gone = resolve_axes(*axes, c.rank(c.input(0)));
  Dims shape;
  for (std::size_t d = 0; d < from.size(); ++d) {
    const bool named = std::ranges::binary_search(gone, static_cast<std::int64_t>(d));
    if (named && from[d] != 1)
      throw Invalid{"axis " + std::to_string(d) + " has extent " + std::to_string(from[d]) +
                    ", expected 1"};
    // Without axes all dimensions of extent 1 go.
    if (!named && (axes || from[d] != 1)) shape.push_back(from[d]);
  }
  finish_reshape(c, shape);
}

// Axes count in the result: [3, 4] with axes 0, 2 becomes [1, 3, 1, 4].
void finish_unsqueeze(NodeContext& c, const Dims& axes) {
  const Dims& from = c.type(c.input(0)).shape;
  // Of the result.
  const auto rank = static_cast<std::int64_t>(from.size() + axes.size());
  const Dims added = resolve_axes(axes, rank);
  Dims shape;
  auto next = from.begin();
  for (std::int64_t d = 0; d < rank; ++d)
    shape.push_back(std::ranges::binary_search(added, d) ? 1 : *next++);
  finish_reshape(c, shape);
}

Dims required_integers(NodeContext& c, const char* name) {
  auto list = c.integers(name);
  if (!list) throw Invalid{std::string("attribute '") + name + "' is missing"};
  return *list;
}

}  // namespace

static void import_reshape(NodeContext& c) {
  const bool allow_zero = c.flag("allowzero", false);
  finish_reshape(
      c, resolve_shape(c.type(c.input(0)).shape, c.constant_integers(1, "the shape"), allow_zero));
}

static void import_flatten(NodeContext& c) {
  const Dims& from = c.type(c.input(0)).shape;
  const std::int64_t axis = c.integer("axis", 1), rank = c.rank(c.input(0));
  // The position after the last axis counts as well; negative axes count from the input's rank.
  const auto middle = from.begin() + NodeContext::resolve_axis(axis, axis < 0 ? rank : rank + 1);
  finish_reshape(c, {graph::element_count({from.begin(), middle}),
                     graph::element_count({middle, from.end()})});
}

static void import_squeeze_6(NodeContext& c) { finish_squeeze(c, c.integers("axes")); }

static void import_squeeze_13(NodeContext& c) {
  finish_squeeze(c,
                 c.has_input(1) ? std::optional(c.constant_integers(1, "the axes")) : std::nullopt);
}

static void import_unsqueeze_6(NodeContext& c) {
  finish_unsqueeze(c, required_integers(c, "axes"));
}

static void import_unsqueeze_13(NodeContext& c) {
  finish_unsqueeze(c, c.constant_integers(1, "the axes"));
}

static void import_transpose(NodeContext& c) {
  Dims perm(static_cast<std::size_t>(c.rank(c.input(0))));
  // ONNX's default reverses the dimensions.
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (auto given = c.integers("perm")) perm = *given;
  c.finish(OpKind::Transpose, graph::TransposeAttributes{perm}, {c.input(0)});
}

static void import_concat(NodeContext& c) {
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < c.input_count(); ++i) operands.push_back(c.input(i));
  c.finish(OpKind::Concat, graph::AxisAttributes{c.axis("axis", {}, c.rank(c.input(0)))}, operands);
}

// Broadcasts both ways: the result may be larger than the shape that is asked for.
static void import_expand(NodeContext& c) {
  const Dims& from = c.type(c.input(0)).shape;
  Dims shape = c.constant_integers(1, "the shape");
  // Aligned at the last dimension, as NumPy broadcasts: missing ones in front are 1.
  if (shape.size() < from.size()) shape.insert(shape.begin(), from.size() - shape.size(), 1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::int64_t& extent = shape[shape.size() - 1 - i];
    if (extent == 1) extent = from[from.size() - 1 - i];
  }
  c.finish(OpKind::Expand, graph::ShapeAttributes{shape}, {c.input(0)});
}

static void import_tile(NodeContext& c) {
  c.finish(OpKind::Tile, graph::TileAttributes{c.constant_integers(1, "the repeats")},
           {c.input(0)});
}

namespace {

// Constant indices are checked here, where the model can still be named; others at run time.
void check_indices(NodeContext& c, std::int64_t extent) {
  if (!c.has_input(1) || !c.is_constant(1)) return;
  if (is_float(c.type(c.input(1)).dtype))
    throw Invalid{"input 1 (the indices) is " + to_string(c.type(c.input(1)))};
  for (std::int64_t index : elements_as_int(c.constant(1, "the indices"))) {
    if (index < -extent || index >= extent)
      throw Invalid{"index " + std::to_string(index) + " is out of range for extent " +
                    std::to_string(extent)};
  }
}

}  // namespace

static void import_gather(NodeContext& c) {
  const std::int64_t axis = c.axis("axis", 0, c.rank(c.input(0)));
  check_indices(c, c.type(c.input(0)).shape[static_cast<std::size_t>(axis)]);
  c.finish(OpKind::Gather, graph::AxisAttributes{axis}, {c.input(0), c.input(1)});
}

static void import_gather_elements(NodeContext& c) {
  const std::int64_t axis = c.axis("axis", 0, c.rank(c.input(0)));
  check_indices(c, c.type(c.input(0)).shape[static_cast<std::size_t>(axis)]);
  c.finish(OpKind::GatherElements, graph::AxisAttributes{axis}, {c.input(0), c.input(1)});
}

namespace {

void expect_image(NodeContext& c) {
  if (c.rank(c.input(0)) != 4)
    throw Invalid{"input 0 has shape " + dims_text(c.type(c.input(0)).shape) + ", expected rank 4"};
}

std::int64_t block_size(NodeContext& c) {
  const std::int64_t size = c.integer("blocksize");
  if (size < 1) throw Invalid{"blocksize is " + std::to_string(size) + ", expected at least 1"};
  return size;
}

}  // namespace

// The b * b elements of a block come from as many channels. Output [d, h*b + i, w*b + j] is channel
//
//    DCR:  (i*b + j) * depth + d          CRD:  (d*b + i) * b + j
static void import_depth_to_space(NodeContext& c) {
  expect_image(c);
  const Dims x = c.type(c.input(0)).shape;
  const std::int64_t b = block_size(c);
  const std::string mode = c.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") throw Invalid{"mode is '" + mode + "', expected DCR or CRD"};
  const std::int64_t depth = x[1] / checked_mul(b, b);
  if (depth * b * b != x[1])
    throw Invalid{"blocksize " + std::to_string(b) + " does not divide " + std::to_string(x[1]) +
                  " channels"};
  // A block's channels are split off as dimensions of their own and moved beside the rows and
  // columns:
  // DCR   [n, i, j, d, h, w] -> [n, d, h, i, w, j] -> [n, d, h*b, w*b]
  // CRD   [n, d, i, j, h, w] -> the same
  const bool depth_last = mode == "DCR";
  const Dims split =
      depth_last ? Dims{x[0], b, b, depth, x[2], x[3]} : Dims{x[0], depth, b, b, x[2], x[3]};
  const Dims perm = depth_last ? Dims{0, 3, 4, 1, 5, 2} : Dims{0, 1, 4, 2, 5, 3};
  const ValueId moved =
      c.emit(OpKind::Transpose, graph::TransposeAttributes{perm}, {c.reshape(c.input(0), split)});
  c.finish(OpKind::Reshape, graph::ShapeAttributes{{x[0], depth, x[2] * b, x[3] * b}}, {moved});
}

// Element (i, j) of a block of channel d goes to channel (i*b + j) * channels + d.
static void import_space_to_depth(NodeContext& c) {
  expect_image(c);
  const Dims x = c.type(c.input(0)).shape;
  const std::int64_t b = block_size(c);
  if (x[2] % b != 0 || x[3] % b != 0)
    throw Invalid{"blocksize " + std::to_string(b) + " does not divide " + dims_text(x)};
  // [n, c, h, i, w, j] -> [n, i, j, c, h, w] -> [n, i*j*c, h, w]
  const ValueId split = c.reshape(c.input(0), {x[0], x[1], x[2] / b, b, x[3] / b, b});
  const ValueId moved =
      c.emit(OpKind::Transpose, graph::TransposeAttributes{{0, 3, 5, 1, 2, 4}}, {split});
  c.finish(OpKind::Reshape,
           graph::ShapeAttributes{{x[0], checked_mul(x[1], checked_mul(b, b)), x[2] / b, x[3] / b}},
           {moved});
}

static void import_trilu(NodeContext& c) {
  const bool upper = c.flag("upper", true);
  std::int64_t k = 0;
  if (c.has_input(1)) {
    const Dims given = c.constant_integers(1, "k");
    if (given.size() != 1) throw Invalid{"k is not a scalar"};
    k = given[0];
  }
  c.finish(OpKind::Trilu, graph::TriluAttributes{k, upper}, {c.input(0)});
}

// where(index == position, on, off), the positions lying along a new axis; negative indices count
// from the end, others out of range are off.
static void import_one_hot(NodeContext& c) {
  // The depth may be a float: ONNX allows any numeric type there.
  const Dims depths = elements_as_int([&] {
    Tensor depth = c.constant(1, "the depth");
    if (!is_float(depth.type.dtype)) return depth;
    return graph::make_tensor({DType::I64, depth.type.shape}, elements_as_real(depth));
  }());
  if (depths.size() != 1 || depths[0] < 1)
    throw Invalid{"the depth is " + dims_text(depths) + ", expected one positive number"};
  const std::int64_t depth = depths[0];
  const ValueId indices = c.cast(c.input(0), DType::I64), values = c.input(2);
  if (c.type(values).shape != Dims{2})
    throw Invalid{"input 2 has shape " + dims_text(c.type(values).shape) + ", expected [2]"};
  const std::int64_t rank = c.rank(indices) + 1;
  const auto axis = c.axis("axis", -1, rank);
  // The new axis is put in at `axis`: positions [depth, 1, ..] broadcast against indices [.., 1,
  // ..].
  Dims positions_shape(static_cast<std::size_t>(rank - axis), 1),
      index_shape = c.type(indices).shape;
  positions_shape[0] = depth;
  index_shape.insert(index_shape.begin() + axis, 1);
  if (depth > (1 << 24))
    throw UserError(ExitStatus::ResourceLimit,
                    "the depth is " + std::to_string(depth) + ", the limit is 16777216");
  Dims counting(static_cast<std::size_t>(depth));
  std::iota(counting.begin(), counting.end(), 0);
  const ValueId positions =
      c.reshape(c.add_constant(graph::make_int64s(counting)), positions_shape);
  const ValueId spread = c.reshape(indices, index_shape);
  const graph::NoAttributes none;
  const ValueId zero = c.add_constant(graph::make_scalar(DType::I64, 0));
  const ValueId extent = c.add_constant(graph::make_scalar(DType::I64, static_cast<double>(depth)));
  const ValueId is_negative = c.emit(OpKind::Less, none, {spread, zero});
  const ValueId from_start = c.emit(
      OpKind::Where, none, {is_negative, c.emit(OpKind::Add, none, {spread, extent}), spread});
  const ValueId hit = c.emit(OpKind::Equal, none, {from_start, positions});
  // `values` is [off, on].
  auto part = [&](std::int64_t at) {
    return c.reshape(c.emit(OpKind::Slice, graph::SliceAttributes{{at}, {1}, {1}}, {values}), {});
  };
  const ValueId off = part(0);
  c.finish(OpKind::Where, none, {hit, part(1), off});
}

Rows movement_rows() {
  static constexpr Row kRows[] = {
      {"Concat", 4, import_concat},
      {"DepthToSpace", 1, import_depth_to_space},
      {"Expand", 8, import_expand, kConstant},
      {"Flatten", 1, import_flatten},
      {"Gather", 1, import_gather},
      {"GatherElements", 11, import_gather_elements},
      {"OneHot", 9, import_one_hot, kConstant},
      {"Reshape", 5, import_reshape, kConstant},
      {"SpaceToDepth", 1, import_space_to_depth},
      {"Squeeze", 1, import_squeeze_6},
      {"Squeeze", 13, import_squeeze_13, kConstant},
      {"Tile", 6, import_tile, kConstant},
      {"Transpose", 1, import_transpose},
      {"Trilu", 14, import_trilu, "k is a constant"},
      {"Unsqueeze", 1, import_unsqueeze_6},
      {"Unsqueeze", 13, import_unsqueeze_13, kConstant},
  };
  return kRows;
}

}  // namespace polyte::frontend
