// Pad. Constant: a guarded read. Reflect, edge and wrap: every padded dimension cuts its output
// into a leading border, the middle and a trailing border, which the input covers by different
// affine subscripts: one statement per combination, all writing disjoint boxes.
#include <algorithm>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "support/checked.h"

namespace polyte::graph {

namespace {

// Output [begin, begin + size) of one dimension reads input subscript offset + slope * i, i from 0.
// Of a b c d, reflected with 2 before and 1 after:
//
//     c b | a b c d | c       {0, 2, 2, -1}  {2, 4, 0, 1}  {6, 1, 2, -1}
struct Piece {
  std::int64_t begin, size, offset, slope;
};

constexpr std::int64_t kMostCopies = 64;  // of the input that wrapping puts along a dimension

// Copies of the input, one after the other, the first and the last cut.
std::vector<Piece> wrapped_pieces(std::int64_t extent, std::int64_t before, std::int64_t after) {
  std::vector<Piece> pieces;
  const std::int64_t size = before + extent + after;
  for (std::int64_t at = 0; at < size;) {
    const std::int64_t offset = ((at - before) % extent + extent) % extent;
    pieces.push_back({at, std::min(extent - offset, size - at), offset, 1});
    at += pieces.back().size;
  }
  return pieces;
}

std::vector<Piece> pieces_of(std::int64_t extent, std::int64_t before, std::int64_t after,
                             PadMode mode) {
  if (mode == PadMode::Wrap) return wrapped_pieces(extent, before, after);
  std::vector<Piece> pieces;
  if (before > 0)
    pieces.push_back(mode == PadMode::Edge ? Piece{0, before, 0, 0} : Piece{0, before, before, -1});
  // Negative pads crop: the middle is what they leave.
  const std::int64_t first = before < 0 ? -before : 0;
  const std::int64_t last = extent + (after < 0 ? after : 0);
  if (last > first) pieces.push_back({before > 0 ? before : 0, last - first, first, 1});
  if (after > 0) {
    const std::int64_t at = before + extent;
    pieces.push_back(mode == PadMode::Edge ? Piece{at, after, extent - 1, 0}
                                           : Piece{at, after, extent - 2, -1});
  }
  return pieces;
}

void add_piece(Expander& expander, const Node& node, const std::string& result,
               const std::vector<Piece>& box) {
  Dims extents;
  for (const Piece& piece : box) extents.push_back(piece.size);
  const Ranges ranges = ranges_over(extents);
  Subscripts to = subscripts_of(ranges);
  for (std::size_t d = 0; d < box.size(); ++d) to[d] = to[d] + ir::Affine(box[d].begin);
  expander.assign(result, to, ranges, [&](const Subscripts& at) {
    Subscripts from;
    for (std::size_t d = 0; d < box.size(); ++d)
      from.push_back(at[d] * box[d].slope + ir::Affine(box[d].offset));
    return expander.read(node.inputs[0], from);
  });
}

void expand_bordered(Expander& expander, const Node& node, const PadAttributes& pad) {
  const std::string result = expander.store(node.outputs[0]);
  const Dims& shape = expander.shape(node.inputs[0]);
  std::vector<std::vector<Piece>> boxes = {{}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::vector<Piece>> longer;
    for (const auto& box : boxes) {
      for (const Piece& piece : pieces_of(shape[d], pad.begin[d], pad.end[d], pad.mode)) {
        longer.push_back(box);
        longer.back().push_back(piece);
      }
    }
    boxes = std::move(longer);
  }
  for (const auto& box : boxes) add_piece(expander, node, result, box);
}

}  // namespace

Types infer_pad(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 2)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  const PadAttributes& pad = std::get<PadAttributes>(node.attributes);
  TensorType type = input_type(graph, node, 0);
  if (pad.begin.size() != type.shape.size() || pad.end.size() != type.shape.size()) {
    return Decline{"got " + std::to_string(pad.begin.size()) + " pads, expected " +
                   std::to_string(type.shape.size())};
  }
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    const std::int64_t extent = type.shape[d];
    // A reflection does not repeat the border, so it has extent - 1 elements; wrapping may go round
    // often, and each round is a piece.
    const std::int64_t most = std::max(pad.begin[d], pad.end[d]);
    if ((pad.mode == PadMode::Reflect && most >= extent && most > 0) ||
        (pad.mode == PadMode::Edge && most > 0 && extent == 0) ||
        (pad.mode == PadMode::Wrap && most > 0 && most / kMostCopies >= extent)) {
      return Decline{"padding " + std::to_string(most) + " of dimension " + std::to_string(d) +
                     " needs more than its extent " + std::to_string(extent)};
    }
    type.shape[d] = checked_add(checked_add(extent, pad.begin[d]), pad.end[d]);
    if (type.shape[d] < 0)
      return Decline{"padding crops dimension " + std::to_string(d) + " below zero"};
  }
  return std::vector{type};
}

void expand_pad(Expander& expander, const Node& node) {
  const PadAttributes pad = std::get<PadAttributes>(node.attributes);
  if (pad.mode != PadMode::Constant) return expand_bordered(expander, node, pad);
  expander.define(node.outputs[0], [&expander, &node, pad](const Subscripts& at) {
    const DType type = expander.type(node.outputs[0]).dtype;
    const ir::Expr value =
        has_input(node, 1) ? expander.read_scalar(node.inputs[1]) : ir::make_literal(type, 0);
    Subscripts from;
    for (std::size_t d = 0; d < at.size(); ++d) from.push_back(at[d] - ir::Affine(pad.begin[d]));
    return expander.read_padded(node.inputs[0], from, value);
  });
}

}  // namespace polyte::graph
