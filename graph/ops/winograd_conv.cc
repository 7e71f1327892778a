// WinogradConv: a convolution of window 3 and stride 1 with fewer multiplications (S. Winograd,
// Arithmetic Complexity of Computations, 1980, F(2, 3); A. Lavin and S. Gray, Fast Algorithms for
// Convolutional Neural Networks, CVPR 2016). Along one dimension two outputs y0, y1 of four inputs
// d0..d3 and a window g0..g2 take four multiplications in place of six:
//
//    a    input            weight                   output
//    0    v0 = d0 - d2     u0 = g0
//    1    v1 = d1 - d2     u1 = (g1 - g0 - g2) / 2  y0 = m2 + (m1 + m0)
//    2    v2 = d1 + d2     u2 = (g1 + g0 + g2) / 2  y1 = m2 - (m1 + m3)      ma = va * ua
//    3    v3 = d1 - d3     u3 = g2
//
// Rows 1 and 2 of the papers have changed places, and row 1 its sign on both sides, so that every
// subscript is affine: row a of the inputs is d[(a + 2) / 3] and, with a plus in row 2 alone,
// d[2 + a / 3]; output p is m2 and, with a plus where p is 0, m1 + m[3 * p].
//
// In two dimensions each of the 16 products ma,b is a sum over channels: 16 matrix products of
// tiles by channels replace one of 9 times the inner dimension, 4 multiplications for an output
// instead of 9. The weights are transformed when a model is compiled
// (passes/transform_convolutions.h).
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"
#include "graph/ops/window.h"
#include "support/checked.h"

namespace polyte::graph {

namespace {

constexpr std::int64_t kPoints = 4, kTile = 2;  // rows of the table; outputs of one tile

bool is_transformed(const Window& window, std::size_t d) { return window.kernel[d] == 3; }

std::size_t transformed_dimensions(const Window& window) {
  std::size_t count = 0;
  for (std::size_t d = 0; d < window.kernel.size(); ++d) count += is_transformed(window, d) ? 1 : 0;
  return count;
}

// Shorter floats would lose too much in the sums of the transforms.
Complaint expect_exact_enough(DType type) {
  if (type == DType::F32 || type == DType::F64) return std::nullopt;
  return Decline{"input has type " + std::string(to_string(type)) + ", expected f32 or f64"};
}

Complaint expect_unit_steps(const Window& window) {
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    if (window.kernel[d] != 1 && window.kernel[d] != 3)
      return Decline{"kernel_shape is " + shape_text(window.kernel) + ", expected entries 1 and 3"};
    if (window.strides[d] != 1 || window.dilations[d] != 1)
      return Decline{"strides are " + shape_text(window.strides) + ", dilations " +
                     shape_text(window.dilations) + ", expected ones"};
  }
  return std::nullopt;
}

}  // namespace

Types infer_winograd_conv(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 2, 3)) return *no;
  if (auto no = expect_exact_enough(input_type(graph, node, 0).dtype)) return *no;
  if (auto no = expect_same_types(graph, node)) return *no;
  if (auto no = expect_rank_at_least(graph, node, 0, 4)) return *no;
  const auto& conv = std::get<ConvAttributes>(node.attributes);
  const TensorType& x = input_type(graph, node, 0);
  const std::int64_t block = conv.output_block;
  if (conv.group != 1 || block < 1 || conv.input_block != block || x.shape.back() != block)
    return Decline{"expected one group, and channels of input and output in blocks alike"};
  const Window& window = conv.window;
  if (auto no = expect_window(window, x.shape.size() - 3)) return *no;
  if (auto no = expect_unit_steps(window)) return *no;
  const Dims& w = input_type(graph, node, 1).shape;
  const std::size_t points = transformed_dimensions(window);
  if (w.size() != points + 3) {
    return Decline{"weight has shape " + shape_text(w) + ", expected rank " +
                   std::to_string(points + 3)};
  }
  const std::int64_t blocks = w[points];
  Dims expected(points, kPoints);
  for (const std::int64_t extent : {blocks, checked_mul(x.shape[1], block), block})
    expected.push_back(extent);
  if (auto no = expect_shape(graph, node, 1, expected)) return *no;
  if (has_input(node, 2)) {
    if (auto no = expect_shape(graph, node, 2, {blocks, block})) return *no;
  }
  TensorType result{x.dtype, {x.shape[0], blocks}};
  for (std::size_t d = 0; d < window.kernel.size(); ++d)
    result.shape.push_back(window_extent(x.shape[d + 2], window, d, false));
  result.shape.push_back(block);
  return std::vector{result};
}

namespace {

// -1 in all rows but one.
ir::Expr sign(DType type, const ir::Affine& row, std::int64_t plus) {
  return ir::make_select(
      ir::make_binary(ir::BinaryOp::Eq, ir::make_index(row), ir::make_int(DType::I64, plus)),
      ir::make_literal(type, 1), ir::make_literal(type, -1));
}

ir::Expr add(ir::Expr a, ir::Expr b) {
  return ir::make_binary(ir::BinaryOp::Add, std::move(a), std::move(b));
}

ir::Expr mul(ir::Expr a, ir::Expr b) {
  return ir::make_binary(ir::BinaryOp::Mul, std::move(a), std::move(b));
}

// The statements of one convolution: inputs of all tiles transformed, their products with the
// weights summed over channels, and the outputs.
//   v[n, a.., bi, tile.., ci], m[n, a.., bo, tile.., co], y[n, bo, at.., co]
class Winograd {
 public:
  Winograd(Expander& expander, const Node& node)
      : expander_(expander),
        node_(node),
        window_(std::get<ConvAttributes>(node.attributes).window),
        block_(std::get<ConvAttributes>(node.attributes).output_block),
        input_blocks_(expander.shape(node.inputs[0])[1]),
        output_blocks_(expander.shape(node.outputs[0])[1]),
        type_(expander.type(node.inputs[0]).dtype),
        points_(transformed_dimensions(window_)) {}

  void expand() {
    const Ranges inputs = tile_ranges("bi", input_blocks_, "ci"),
                 outputs = tile_ranges("bo", output_blocks_, "co");
    const std::string v = expander_.temporary("v", type_, extents_of(inputs)),
                      m = expander_.temporary("m", type_, extents_of(outputs));
    expander_.assign(v, subscripts_of(inputs), inputs,
                     [&](const Subscripts& at) { return transformed_input(at, 0, {}); });
    expander_.accumulate(
        m, outputs, {{"bi", 0, input_blocks_}, {"ci", 0, block_}}, ir::Combiner::Sum,
        [&](const Subscripts& at) { return mul(expander_.load(v, from_v(at)), weight(at)); });
    define_output(m);
  }

 private:
  Expander& expander_;
  const Node& node_;
  const Window window_;
  std::int64_t block_, input_blocks_, output_blocks_;
  DType type_;
  std::size_t points_;

  std::int64_t extent(std::size_t d) const { return expander_.shape(node_.outputs[0])[d + 2]; }
  std::size_t spatial() const { return window_.kernel.size(); }

  Ranges tile_ranges(const std::string& blocks, std::int64_t count,
                     const std::string& channel) const {
    Dims tiles = {expander_.shape(node_.outputs[0])[0], count};
    for (std::size_t d = 0; d < spatial(); ++d)
      tiles.push_back(is_transformed(window_, d) ? ceil_div(extent(d), kTile) : extent(d));
    Ranges ranges = output_ranges(tiles, blocks);
    // The batch stays outermost: it may be open.
    for (std::size_t p = points_; p > 0; --p)
      ranges.insert(ranges.begin() + 1, {"i" + std::to_string(p - 1), 0, kPoints});
    ranges.push_back({channel, 0, block_});
    return ranges;
  }

  static Dims extents_of(const Ranges& ranges) {
    Dims extents;
    for (const ir::Range& range : ranges) extents.push_back(range.end.constant());
    return extents;
  }

  // Dimensions from d on of the transformed input at `at`, subscripts of v; `from` has those of x
  // so far.
  ir::Expr transformed_input(const Subscripts& at, std::size_t d, Subscripts from) const {
    if (d == spatial()) {
      Subscripts x = {at[0], at[points_ + 1]};
      x.insert(x.end(), from.begin(), from.end());
      x.push_back(at.back());
      return expander_.read_padded(node_.inputs[0], x, ir::make_literal(type_, 0));
    }
    const ir::Affine& tile = at[points_ + 2 + d];
    const std::int64_t pad = window_.pads_begin[d];
    const auto with = [&](const ir::Affine& subscript) {
      Subscripts more = from;
      more.push_back(subscript);
      return transformed_input(at, d + 1, std::move(more));
    };
    if (!is_transformed(window_, d)) return with(tile - pad);
    const ir::Affine& row = at[point_of(d)];
    return add(with(tile * kTile + ir::floor_div(row + 2, 3) - pad),
               mul(sign(type_, row, 2), with(tile * kTile + 2 + ir::floor_div(row, 3) - pad)));
  }

  // Where the row of dimension d stands among the subscripts of v and m.
  std::size_t point_of(std::size_t d) const {
    std::size_t point = 1;
    for (std::size_t before = 0; before < d; ++before)
      point += is_transformed(window_, before) ? 1 : 0;
    return point;
  }

  Subscripts from_v(Subscripts at) const {
    at[points_ + 1] = ir::Affine::symbol("bi");
    at.back() = ir::Affine::symbol("ci");
    return at;
  }

  ir::Expr weight(const Subscripts& at) const {
    Subscripts from(at.begin() + 1, at.begin() + 2 + static_cast<std::ptrdiff_t>(points_));
    from.push_back(ir::Affine::symbol("bi") * block_ + ir::Affine::symbol("ci"));
    from.push_back(at.back());
    return expander_.read(node_.inputs[1], from);
  }

  void define_output(const std::string& m) {
    Dims shape = expander_.shape(node_.outputs[0]);
    shape.pop_back();
    Ranges ranges = output_ranges(shape, "bo");
    ranges.push_back({"co", 0, block_});
    const ValueId bias = has_input(node_, 2) ? node_.inputs[2] : kNoValue;
    // Called when a reader asks for it, after this object is gone.
    expander_.define(node_.outputs[0], ranges,
                     [winograd = *this, m,
                      post = bias_added(expander_, bias, type_, true)](const Subscripts& at) {
                       const ir::Expr sum = winograd.output(m, at, 0, {});
                       return post ? post(sum, at) : sum;
                     });
  }

  // Dimensions from d on of the output at `at`; `rows` and `tiles` of those before are known.
  struct Place {
    Subscripts rows, tiles;
  };
  ir::Expr output(const std::string& m, const Subscripts& at, std::size_t d,
                  const Place& place) const {
    if (d == spatial()) {
      Subscripts from = {at[0]};
      from.insert(from.end(), place.rows.begin(), place.rows.end());
      from.push_back(at[1]);
      from.insert(from.end(), place.tiles.begin(), place.tiles.end());
      from.push_back(at.back());
      return expander_.load(m, from);
    }
    const ir::Affine& position = at[d + 2];
    if (!is_transformed(window_, d)) {
      Place next = place;
      next.tiles.push_back(position);
      return output(m, at, d + 1, next);
    }
    const ir::Affine parity = ir::mod(position, kTile);
    const auto in_row = [&](const ir::Affine& row) {
      Place next = place;
      next.rows.push_back(row);
      next.tiles.push_back(ir::floor_div(position, kTile));
      return output(m, at, d + 1, next);
    };
    return add(in_row(2), mul(sign(type_, parity, 0), add(in_row(1), in_row(parity * 3))));
  }
};

}  // namespace

void expand_winograd_conv(Expander& expander, const Node& node) {
  Winograd(expander, node).expand();
}

}  // namespace polyte::graph
