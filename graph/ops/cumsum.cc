// CumSum: a recurrence along one axis, linear in its length. Backwards, place p of the sum is at
// N - 1 - p.
//   y[0] = x[0]          loop r in 1..N: y[r] = y[r - 1] + x[r]
// Or in blocks of M, which are summed up first, so that each block knows where it starts and
// they run side by side:
//   sum[b] = sum[r] x[M*b + r]
//   start[b] = start[b - 1] + sum[b - 1]
//   y[M*b] = start[b] + x[M*b]          loop r in 1..M: y[M*b + r] = y[M*b + r - 1] + x[M*b + r]
// What does not fill a block continues after the last one.
#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

namespace {

using ir::Affine;
using ir::Expr;

class Scan {
 public:
  Scan(Expander& expander, const Node& node)
      : expander_(expander),
        attributes_(std::get<CumSumAttributes>(node.attributes)),
        axis_(static_cast<std::size_t>(attributes_.axis)),
        x_(node.inputs[0]),
        y_(expander.store(node.outputs[0])),
        shape_(expander.shape(x_)),
        extent_(shape_[axis_]) {
    const Ranges all = ranges_over(shape_);
    for (std::size_t d = 0; d < all.size(); ++d)
      if (is_other(d)) others_.push_back(all[d]);
  }

  // The last chain goes on behind the last whole block; it reads the element before it, which the
  // blocks have written.
  void run() {
    if (attributes_.block == 0) {
      begin(others_, 0, nullptr);
      return chain(others_, 0, 1, extent_);
    }
    const std::int64_t block = attributes_.block, blocks = extent_ / block;
    const std::string start = starts(block, blocks);
    const Affine here = Affine::symbol("b") * block;
    Ranges ranges = others_;
    ranges.push_back({"b", 0, blocks});
    begin(ranges, here, [&](const Subscripts& at) { return expander_.load(start, at); });
    chain(ranges, here, 1, block);
    chain(others_, 0, blocks * block, extent_);
  }

 private:
  Expander& expander_;
  const CumSumAttributes attributes_;
  const std::size_t axis_;
  const ValueId x_;
  const std::string y_;
  const Dims shape_;
  const std::int64_t extent_;
  Ranges others_;  // of the other dimensions that have several elements

  bool is_other(std::size_t dimension) const {
    return dimension != axis_ && shape_[dimension] != 1;
  }

  // Of the tensor: subscripts of the other dimensions, first in `at`, with one of the axis.
  Subscripts along_axis(const Subscripts& at, const Affine& subscript) const {
    Subscripts all;
    auto other = at.begin();
    for (std::size_t d = 0; d < shape_.size(); ++d)
      all.push_back(d == axis_ ? subscript : is_other(d) ? *other++ : Affine(0));
    return all;
  }
  Subscripts at_place(const Subscripts& at, const Affine& place) const {
    return along_axis(at, attributes_.reverse ? Affine(extent_ - 1) - place : place);
  }
  Expr x_at(const Subscripts& at, const Affine& place) const {
    return expander_.read(x_, at_place(at, place));
  }
  static Expr plus(const Expr& a, const Expr& b) {
    return ir::make_binary(ir::BinaryOp::Add, a, b);
  }

  // The first element of a block; `start`: what those before it sum up to, null: there are none.
  void begin(const Ranges& ranges, const Affine& place, const Element& start) {
    expander_.assign(y_, at_place(subscripts_of(ranges), place), ranges, [&](const Subscripts& at) {
      if (attributes_.exclusive)
        return start ? start(at) : ir::make_literal(expander_.type(x_).dtype, 0);
      return start ? plus(start(at), x_at(at, place)) : x_at(at, place);
    });
  }

  // The elements from `first` to `end`, counted from `place`, each from the one before it.
  void chain(const Ranges& ranges, const Affine& place, std::int64_t first, std::int64_t end) {
    if (first >= end) return;
    const Affine here = place + Affine::symbol("r");
    expander_.in_order({"r", first, end}, [&] {
      expander_.assign(y_, at_place(subscripts_of(ranges), here), ranges,
                       [&](const Subscripts& at) {
                         return plus(expander_.load(y_, at_place(at, here - 1)),
                                     x_at(at, attributes_.exclusive ? here - 1 : here));
                       });
    });
  }

  // What stands before each block: a tensor of the other dimensions and the blocks.
  std::string starts(std::int64_t block, std::int64_t blocks) {
    const DType type = expander_.type(x_).dtype;
    const Affine b = Affine::symbol("b");
    Ranges ranges = others_;
    ranges.push_back({"b", 0, blocks - 1});
    const std::string start = temporary("start", blocks), sum = temporary("total", blocks - 1);
    expander_.accumulate(
        sum, ranges, {{"r", 0, block}}, ir::Combiner::Sum, [&](const Subscripts& at) {
          // Where the tensor has the block's last place.
          const Affine last = Affine(extent_) - (b + Affine(1)) * block;
          return expander_.read(
              x_, along_axis(at, (attributes_.reverse ? last : b * block) + Affine::symbol("r")));
        });
    const Subscripts others = subscripts_of(others_);
    expander_.assign(start, with(others, 0), others_,
                     [&](const Subscripts&) { return ir::make_literal(type, 0); });
    expander_.in_order({"b", 1, blocks}, [&] {
      expander_.assign(start, with(others, b), others_, [&](const Subscripts& at) {
        return plus(expander_.load(start, with(at, b - 1)), expander_.load(sum, with(at, b - 1)));
      });
    });
    return start;
  }

  std::string temporary(const std::string& name, std::int64_t blocks) {
    Dims shape;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (is_other(d)) shape.push_back(shape_[d]);
    shape.push_back(blocks);
    return expander_.temporary(name, expander_.type(x_).dtype, shape);
  }

  static Subscripts with(Subscripts at, const Affine& last) {
    at.push_back(last);
    return at;
  }
};

}  // namespace

Types infer_cumsum(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  const TensorType& type = input_type(graph, node, 0);
  const auto& attributes = std::get<CumSumAttributes>(node.attributes);
  if (auto no = expect_axis(attributes.axis, type.shape.size())) return *no;
  const std::int64_t extent = type.shape[static_cast<std::size_t>(attributes.axis)];
  if (attributes.block < 0 || attributes.block > extent / 2)
    return Decline{"block is " + std::to_string(attributes.block) + ", the axis has " +
                   std::to_string(extent) + ", expected at least two blocks"};
  return std::vector{type};
}

void expand_cumsum(Expander& expander, const Node& node) { Scan(expander, node).run(); }

}  // namespace polyte::graph
