// Slice, Split and Pad.
#include <algorithm>

#include "frontend/importers/table.h"
#include "support/checked.h"

namespace polyte::frontend {

namespace {

// One dimension of ONNX's Slice: negative positions count from the end, all are clamped to the
// extent. Of extent 5, start -1, end -6 and step -2 give elements 4, 2, 0: {4, -2, 3}.
struct Cut {
  std::int64_t start, step, size;
};

Cut cut_of(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0) throw Invalid{"a step is 0"};
  const bool up = step > 0;
  auto clamped = [&](std::int64_t at) {
    if (at < 0) at = at < -extent ? -1 : at + extent;  // below the first element
    // Upwards the end is exclusive, so positions go from 0 to the extent; downwards from the
    // last element to -1, which as an end means "element 0 included".
    return up ? std::clamp<std::int64_t>(at, 0, extent)
              : std::clamp<std::int64_t>(at, -1, extent - 1);
  };
  const std::int64_t from = clamped(start), to = clamped(end);
  // How far the end is from the start in the direction of the step: 0 or less is no element.
  const std::int64_t distance = up ? to - from : from - to;
  if (distance <= 0) return {0, 1, 0};
  // One element, whatever the step: the negation of the least number would overflow.
  if (!up && step < -extent) return {from, -extent, 1};
  if (up && step > extent) return {from, extent, 1};
  return {from, step, ceil_div(distance, up ? step : -step)};
}

// Axes may come in any order and leave dimensions out; a graph Slice has all of them, in order.
void finish_slice(NodeContext& c, const Dims& starts, const Dims& ends,
                  const std::optional<Dims>& axes, const std::optional<Dims>& steps) {
  const Dims& shape = c.type(c.input(0)).shape;
  if (starts.size() != ends.size() || (axes && axes->size() != starts.size()) ||
      (steps && steps->size() != starts.size())) {
    throw Invalid{"starts, ends, axes and steps are of different length"};
  }
  // Dimensions that no axis names are taken whole.
  graph::SliceAttributes slice{Dims(shape.size(), 0), Dims(shape.size(), 1), shape};
  std::vector<bool> seen(shape.size(), false);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t axis = NodeContext::resolve_axis(
        axes ? (*axes)[i] : static_cast<std::int64_t>(i), c.rank(c.input(0)));
    const auto d = static_cast<std::size_t>(axis);
    if (seen[d]) throw Invalid{"axes " + dims_text(*axes) + " name a dimension twice"};
    seen[d] = true;
    const Cut cut = cut_of(shape[d], starts[i], ends[i], steps ? (*steps)[i] : 1);
    slice.starts[d] = cut.start;
    slice.steps[d] = cut.step;
    slice.sizes[d] = cut.size;
  }
  c.finish(OpKind::Slice, slice, {c.input(0)});
}

// Outputs without a name are parts too, also the last ones: ["a", ""] is two halves. Never 0: the
// inliner refuses a node without outputs.
std::int64_t part_count(const NodeContext& c) { return c.node().output_size(); }

void finish_split(NodeContext& c, const std::optional<Dims>& given) {
  const ValueId x = c.input(0);
  const Dims& shape = c.type(x).shape;
  const auto axis = static_cast<std::size_t>(c.axis("axis", 0, c.rank(x)));
  const std::int64_t count = part_count(c);
  Dims sizes;
  if (given) {
    sizes = *given;
  } else {
    // Equal parts; from opset 18 on the last one may be smaller: 7 by 3 is 3, 3, 1.
    if (shape[axis] % count != 0 && c.opset() < 18)
      throw Invalid{"extent " + std::to_string(shape[axis]) + " does not split into " +
                    std::to_string(count) + " equal parts"};
    const std::int64_t part = ceil_div(shape[axis], count);
    for (std::int64_t i = 0; i < count; ++i)  // the last parts may be smaller
      sizes.push_back(std::clamp<std::int64_t>(shape[axis] - i * part, 0, part));
  }
  std::int64_t total = 0;
  for (std::int64_t size : sizes) {
    if (size < 0) throw Invalid{"split " + dims_text(sizes) + " has a negative part"};
    total = checked_add(total, size);
  }
  if (static_cast<std::int64_t>(sizes.size()) != count || total != shape[axis]) {
    throw Invalid{"split " + dims_text(sizes) + " does not cut extent " +
                  std::to_string(shape[axis]) + " into " + std::to_string(count) + " parts"};
  }
  graph::SliceAttributes slice{Dims(shape.size(), 0), Dims(shape.size(), 1), shape};
  std::int64_t start = 0;
  // A slice per output, since graph nodes have no list of results of different shapes. An output
  // without a name still moves the start of the next one.
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    slice.starts[axis] = start;
    slice.sizes[axis] = sizes[i];
    start += sizes[i];
    if (c.wants_output(i)) c.finish_output(i, OpKind::Slice, slice, {x});
  }
}

void finish_pad(NodeContext& c, const Dims& pads, ValueId value) {
  static const std::pair<const char*, graph::PadMode> kModes[] = {
      {"constant", graph::PadMode::Constant},
      {"reflect", graph::PadMode::Reflect},
      {"edge", graph::PadMode::Edge},
      {"wrap", graph::PadMode::Wrap}};
  const std::string mode = c.text("mode", "constant");
  const auto found = std::ranges::find_if(kModes, [&](const auto& m) { return m.first == mode; });
  if (found == std::end(kModes))
    throw Invalid{"mode is '" + mode + "', expected constant, reflect, edge or wrap"};
  if (found->second == graph::PadMode::Wrap && c.opset() < 19)
    throw Invalid{"mode wrap came with opset 19"};
  const auto rank = static_cast<std::size_t>(c.rank(c.input(0)));
  if (pads.size() != 2 * rank)
    throw Invalid{"got " + std::to_string(pads.size()) + " pads, expected " +
                  std::to_string(2 * rank)};
  // ONNX lists all begins, then all ends: [b0, b1, .., e0, e1, ..].
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
  graph::PadAttributes pad{{pads.begin(), middle}, {middle, pads.end()}, found->second};
  c.finish(OpKind::Pad, pad, {c.input(0), value});
}

}  // namespace

// The middle of every axis, cut or padded with zeros to the target; what is odd is missing
// at the end.
static void import_center_crop_pad(NodeContext& c) {
  const Dims target = c.constant_integers(1, "the target shape");
  const std::int64_t rank = c.rank(c.input(0));
  Dims axes(static_cast<std::size_t>(rank));
  for (std::int64_t d = 0; d < rank; ++d) axes[static_cast<std::size_t>(d)] = d;
  if (const auto given = c.integers("axes")) {
    axes.clear();
    for (std::int64_t axis : *given) axes.push_back(NodeContext::resolve_axis(axis, rank));
  }
  if (axes.size() != target.size())
    throw Invalid{"got " + std::to_string(target.size()) + " extents for " +
                  std::to_string(axes.size()) + " axes"};
  const Dims shape = c.type(c.input(0)).shape;
  graph::PadAttributes pad{Dims(shape.size(), 0), Dims(shape.size(), 0), graph::PadMode::Constant};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(axes[i]);
    if (target[i] < 0) throw Invalid{"the target shape is " + dims_text(target)};
    // Positive: elements to add; negative: to cut, which is a negative pad.
    const std::int64_t more = checked_sub(target[i], shape[d]);
    // Half of it, rounded towards zero, is cut off or added at the beginning.
    pad.begin[d] = more < 0 ? -(-more / 2) : more / 2;
    pad.end[d] = more - pad.begin[d];
  }
  c.finish(OpKind::Pad, pad, {c.input(0), graph::kNoValue});
}

static void import_slice_6(NodeContext& c) {
  const auto starts = c.integers("starts"), ends = c.integers("ends");
  if (!starts || !ends) throw Invalid{"attributes 'starts' and 'ends' are missing"};
  finish_slice(c, *starts, *ends, c.integers("axes"), {});
}

// From opset 10 on the attributes of before are operands, and steps are new.
static void import_slice_10(NodeContext& c) {
  std::optional<Dims> axes, steps;
  if (c.has_input(3)) axes = c.constant_integers(3, "the axes");
  if (c.has_input(4)) steps = c.constant_integers(4, "the steps");
  finish_slice(c, c.constant_integers(1, "the starts"), c.constant_integers(2, "the ends"), axes,
               steps);
}

static void import_split_6(NodeContext& c) { finish_split(c, c.integers("split")); }

static void import_split_13(NodeContext& c) {
  const std::int64_t outputs = part_count(c);
  const std::int64_t parts = c.opset() < 18 ? outputs : c.integer("num_outputs", outputs);
  if (parts != outputs)
    throw Invalid{"num_outputs is " + std::to_string(parts) + ", the node has " +
                  std::to_string(outputs)};
  finish_split(c,
               c.has_input(1) ? std::optional(c.constant_integers(1, "the split")) : std::nullopt);
}

static void import_pad_6(NodeContext& c) {
  const auto pads = c.integers("pads");
  if (!pads) throw Invalid{"attribute 'pads' is missing"};
  const double value = c.real("value", 0);
  finish_pad(c, *pads, c.add_constant(graph::make_scalar(c.type(c.input(0)).dtype, value)));
}

static void import_pad_11(NodeContext& c) {
  Dims pads = c.constant_integers(1, "the pads");
  if (c.has_input(3)) {  // from opset 18 on: of these dimensions only
    const Dims axes = c.constant_integers(3, "the axes");
    if (pads.size() != 2 * axes.size())
      throw Invalid{"got " + std::to_string(pads.size()) + " pads for " +
                    std::to_string(axes.size()) + " axes"};
    const auto rank = static_cast<std::size_t>(c.rank(c.input(0)));
    // [begins of all dimensions, ends of all dimensions]; those that no axis names are 0.
    Dims all(2 * rank, 0);
    std::vector<bool> seen(rank, false);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto d =
          static_cast<std::size_t>(NodeContext::resolve_axis(axes[i], c.rank(c.input(0))));
      if (seen[d]) throw Invalid{"axes " + dims_text(axes) + " name a dimension twice"};
      seen[d] = true;
      all[d] = pads[i];
      all[d + rank] = pads[i + axes.size()];
    }
    pads = all;
  }
  finish_pad(c, pads, c.optional_input(2));
}

Rows slicing_rows() {
  static constexpr Row kRows[] = {
      {"CenterCropPad", 18, import_center_crop_pad, kConstant},
      {"Pad", 2, import_pad_6},
      {"Pad", 11, import_pad_11, kConstant},
      {"Slice", 1, import_slice_6},
      {"Slice", 10, import_slice_10, kConstant},
      {"Split", 2, import_split_6},
      {"Split", 13, import_split_13, kConstant},
  };
  return kRows;
}

}  // namespace polyte::frontend
