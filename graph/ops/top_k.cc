// TopK. The first few of them one by one: the value, then the place of the first element that has
// it, both among those that were not taken before.
//   top0 = max[r] x[r];                           place0 = min[r] x[r] == top0 ? r : none
//   top1 = max[r] r == place0 ? lowest : x[r];    place1 = ...
// Many of few elements by counting: the place of an element is the number of those that come before
// it, without branches.
//   rank[i]   = sum[r] x[r] comes before x[i] ? 1 : 0
//   index[j]  = sum[r] rank[r] == j ? r : 0
//   values[j] = x[index[j]]
// Others by a tournament of blocks of about sqrt(n / 2) elements: of each block the first element
// is known, by its value and place; of these the first is taken, k times, and its block is looked
// through again for what comes after it.
//   best[b], place[b] = the first element of block b             n steps in all
//   loop t in 0..k                                               n / B + 2 * B steps each
//     at = the place of the first among best;  values[t], index[t] = x[at], at
//     best[at / B], place[at / B] = the first element of that block after x[at]
// Of equal elements the one at the lower place comes first. NaN is above all numbers.
#include <algorithm>
#include <cmath>

#include "graph/ops/infer.h"
#include "graph/ops/ops.h"

namespace polyte::graph {

namespace {

using ir::Affine;
using ir::BinaryOp;
using ir::Combiner;
using ir::Expr;

// Cycles of a row, most of them in vectors. One by one: for each element of each pass, for each
// that was taken before, and the ends of two reductions; a tournament: for each element, and of
// each step; counting: for each pair. The Program is one for all processors: passes take between
// the (k + 2) / 16 cycles of a Zen 5 and the (k + 11) / 10 of a Zen 3, the others much the same.
constexpr double kOneByOne = 1.0 / 11, kPass = 4.5;
constexpr double kTwoEnds = 40, kFirsts = 1.1, kStep = 7, kPair = 0.7;
constexpr std::int64_t kMostOneByOne = 8;  // of which each has statements of its own

Expr both(const Expr& a, const Expr& b) { return ir::make_binary(BinaryOp::And, a, b); }
Expr either(const Expr& a, const Expr& b) { return ir::make_binary(BinaryOp::Or, a, b); }
Expr negated(const Expr& a) { return ir::make_unary(ir::UnaryOp::Not, a); }
Expr less(const Expr& a, const Expr& b) { return ir::make_binary(BinaryOp::Lt, a, b); }
Expr equals(const Expr& a, const Expr& b) { return ir::make_binary(BinaryOp::Eq, a, b); }
Expr is_nan(const Expr& a) { return ir::make_binary(BinaryOp::Ne, a, a); }

// a above b; NaN is above all numbers.
Expr is_above(const Expr& a, const Expr& b) {
  if (!is_float(a->type)) return less(b, a);
  return either(less(b, a), both(is_nan(a), equals(b, b)));
}

struct Placed {
  Expr value, place;  // of an element on the axis
};

Expr comes_before(const Placed& a, const Placed& b, bool largest) {
  const Expr before = largest ? is_above(a.value, b.value) : is_above(b.value, a.value);
  const Expr after = largest ? is_above(b.value, a.value) : is_above(a.value, b.value);
  return either(before, both(negated(after), less(a.place, b.place)));
}

// As no two elements have the same rank, exactly one term of the sum for index[j] is not zero.
void count_places(Expander& expander, const Node& node) {
  const TopKAttributes attributes = std::get<TopKAttributes>(node.attributes);
  const ValueId x = node.inputs[0];
  const Dims& shape = expander.shape(x);
  const Dims& result_shape = expander.type(node.outputs[0]).shape;
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const ir::Affine r = ir::Affine::symbol("r");
  const Expr one = ir::make_int(DType::I64, 1), zero = ir::make_int(DType::I64, 0);
  auto along = [axis](Subscripts at, const ir::Affine& place) {
    at[axis] = place;
    return at;
  };

  const std::string rank = expander.temporary("rank", DType::I64, shape);
  expander.accumulate(
      rank, ranges_over(shape), {{"r", 0, shape[axis]}}, ir::Combiner::Sum,
      [&](const Subscripts& at) {
        const Expr own = expander.read(x, at), other = expander.read(x, along(at, r));
        const bool largest = attributes.largest;
        const Placed it{own, ir::make_index(at[axis])}, candidate{other, ir::make_index(r)};
        return ir::make_select(comes_before(candidate, it, largest), one, zero);
      });

  const std::string place = expander.temporary("place", DType::I64, result_shape);
  expander.accumulate(place, ranges_over(result_shape), {{"r", 0, shape[axis]}}, ir::Combiner::Sum,
                      [&](const Subscripts& at) {
                        const Expr is_here =
                            ir::make_binary(BinaryOp::Eq, expander.load(rank, along(at, r)),
                                            ir::make_index(at[axis]));
                        return ir::make_select(is_here, ir::make_index(r), zero);
                      });

  expander.define(node.outputs[0], [&expander, x, place, axis](const Subscripts& at) {
    std::vector<ir::Index> from(at.begin(), at.end());
    from[axis] = {ir::Affine(0), expander.load(place, at)};
    return expander.gather(x, from);
  });
  if (node.outputs.size() > 1) {
    expander.define(node.outputs[1],
                    [&expander, place](const Subscripts& at) { return expander.load(place, at); });
  }
}

class Selection {
 public:
  Selection(Expander& expander, const Node& node)
      : expander_(expander),
        node_(node),
        values_(node.outputs[0]),
        indices_(node.outputs.size() > 1 ? node.outputs[1] : kNoValue),
        attributes_(std::get<TopKAttributes>(node.attributes)),
        axis_(static_cast<std::size_t>(attributes_.axis)),
        x_(node.inputs[0]),
        shape_(expander.shape(x_)),
        type_(expander.type(x_).dtype),
        extent_(shape_[axis_]),
        nan_is_last_(is_float(type_) && !attributes_.largest) {
    const Ranges all = ranges_over(shape_);
    for (std::size_t d = 0; d < all.size(); ++d)
      if (is_other(d)) others_.push_back(all[d]);
    choose_blocks();
  }

  void run() {
    const auto n = static_cast<double>(extent_), k = static_cast<double>(attributes_.k);
    const double one_by_one = kOneByOne * n * k * (k + kPass) + kTwoEnds * k;
    const double tournament = kFirsts * n + kStep * k * static_cast<double>(blocks_ + 2 * block_);
    const double counting = kPair * n * (n + k);
    if (attributes_.k <= kMostOneByOne && one_by_one < std::min(tournament, counting))
      take_one_by_one();
    else if (tournament < counting)
      hold_tournament();
    else
      count_places(expander_, node_);
  }

 private:
  void hold_tournament() {
    if (blocks_ * block_ != extent_) make_copy();
    best_ = temporary("best", type_, blocks_);
    place_ = temporary("place", place_type_, blocks_);
    at_ = of_row("at", place_type_);
    taken_ = of_row("taken", type_);
    find_firsts();
    const std::string values = expander_.store(values_);
    const std::string indices = indices_ == kNoValue ? "" : expander_.store(indices_);
    expander_.in_order({"m", 0, attributes_.k}, [&] {
      take_first();
      const Subscripts others = subscripts_of(others_),
                       to = along_axis(others, Affine::symbol("m"));
      expander_.assign(values, to, others_, [&](const Subscripts& at) { return only(taken_, at); });
      if (!indices.empty())
        expander_.assign(indices, to, others_, [&](const Subscripts& at) {
          return ir::make_cast(DType::I64, only(at_, at));
        });
      renew_block();
    });
  }

  Expander& expander_;
  const Node& node_;
  const ValueId values_, indices_;
  const TopKAttributes attributes_;
  const std::size_t axis_;
  const ValueId x_;
  const Dims shape_;
  const DType type_;
  const std::int64_t extent_;
  const bool nan_is_last_;
  std::int64_t block_ = 1, blocks_ = 1;
  // Of what place_ and its like hold. With B = behind(), the first place that is in no block:
  //   0 .. B        the place of a number, or of a NaN where NaN comes first
  //   B .. 2 * B    B + the place of a NaN that comes after all numbers
  //   2 * B         none
  // The minimum of these finds the number before the NaN, and the NaN before nothing.
  DType place_type_ = DType::I32;
  Ranges others_;     // of the other dimensions that have several elements
  std::string copy_;  // of x, blocks filled up with what comes last; empty: x has whole blocks
  std::string best_, place_, at_, taken_;

  // Around the size that makes a step, n / B + 2 * B, least: B = sqrt(n / 2). One that divides the
  // axis where there is one.
  void choose_blocks() {
    const auto wanted = static_cast<std::int64_t>(std::sqrt(static_cast<double>(extent_) / 2)) + 1;
    block_ = wanted;
    for (std::int64_t size = 2 * wanted; size >= wanted / 2 + 1; --size)
      if (extent_ % size == 0 &&
          (extent_ % block_ != 0 || std::abs(size - wanted) < std::abs(block_ - wanted)))
        block_ = size;
    blocks_ = (extent_ + block_ - 1) / block_;
    // 2 * behind() has to fit.
    if (behind() > std::int64_t{1} << 29) place_type_ = DType::I64;
  }
  std::int64_t behind() const { return blocks_ * block_; }

  bool is_other(std::size_t dimension) const {
    return dimension != axis_ && shape_[dimension] != 1;
  }

  template <class Subscript>
  std::vector<Subscript> along_axis(const std::vector<Affine>& at,
                                    const Subscript& subscript) const {
    std::vector<Subscript> all;
    auto other = at.begin();
    for (std::size_t d = 0; d < shape_.size(); ++d)
      all.push_back(d == axis_    ? subscript
                    : is_other(d) ? Subscript(*other++)
                                  : Subscript(Affine(0)));
    return all;
  }
  static Subscripts with(Subscripts at, const Affine& last) {
    at.push_back(last);
    return at;
  }
  // One element for each of the other dimensions', or `last` of them.
  std::string of_row(const std::string& name, DType type) {
    Dims extents;
    for (const ir::Range& range : others_) extents.push_back(range.end.constant());
    return expander_.temporary(name, type, extents);
  }
  std::string temporary(const std::string& name, DType type, std::int64_t last) {
    Dims extents;
    for (const ir::Range& range : others_) extents.push_back(range.end.constant());
    extents.push_back(last);
    return expander_.temporary(name, type, extents);
  }

  // Subscripts of `at` belong to the other dimensions; those of a reduction or a block follow them.
  Subscripts other_of(const Subscripts& at) const {
    return {at.begin(), at.begin() + std::ssize(others_)};
  }
  Expr only(const std::string& buffer, const Subscripts& at) const {
    return expander_.load(buffer, other_of(at));
  }
  Expr number(std::int64_t value) const { return ir::make_int(place_type_, value); }
  Expr place_of(const Affine& place) const { return ir::make_index(place, place_type_); }
  Expr sum(const Expr& a, const Expr& b) const { return ir::make_binary(BinaryOp::Add, a, b); }

  Expr x_at(const Subscripts& at, const Affine& place) const {
    if (copy_.empty()) return expander_.read(x_, along_axis(other_of(at), place));
    return expander_.load(copy_, with(other_of(at), place));
  }
  // `from` is known at run time.
  Expr x_behind(const Subscripts& at, const Expr& from, const Affine& place) const {
    const ir::Index subscript{place, ir::make_cast(DType::I64, from)};
    if (copy_.empty()) return expander_.gather(x_, along_axis(other_of(at), subscript));
    const Subscripts other = other_of(at);
    std::vector<ir::Index> all(other.begin(), other.end());
    all.push_back(subscript);
    return expander_.load_at(copy_, all);
  }

  void make_copy() {
    copy_ = temporary("copy", type_, behind());
    const Affine r = Affine::symbol("r");
    const Expr last = nan_is_last_ ? ir::make_float(type_, std::nan("")) : worst();
    for (const auto& [first, end] :
         {std::pair{std::int64_t{0}, extent_}, std::pair{extent_, behind()}}) {
      Ranges ranges = others_;
      ranges.push_back({"r", first, end});
      expander_.assign(copy_, subscripts_of(ranges), ranges,
                       [&, is_pad = first > 0](const Subscripts& at) {
                         return is_pad ? last : expander_.read(x_, along_axis(other_of(at), r));
                       });
    }
  }

  Combiner first_value() const { return attributes_.largest ? Combiner::Max : Combiner::Min; }
  Expr worst() const { return ir::identity_of(first_value(), type_); }

  // What an element gives to the maximum or minimum that finds the first value.
  Expr as_number(const Expr& value) const {
    return nan_is_last_ ? ir::make_select(is_nan(value), worst(), value) : value;
  }
  // ... and to the minimum that finds the place of this value.
  Expr place_if_first(const Expr& value, const Expr& first, const Expr& place) const {
    const Expr none = nan_is_last_ ? ir::make_select(is_nan(value), sum(place, number(behind())),
                                                     number(2 * behind()))
                                   : number(2 * behind());
    return ir::make_select(is_same(value, first), place, none);
  }
  Expr is_same(const Expr& a, const Expr& b) const {
    return is_float(type_) && attributes_.largest ? either(equals(a, b), both(is_nan(a), is_nan(b)))
                                                  : equals(a, b);
  }

  void take_one_by_one() {
    block_ = extent_, blocks_ = 1;
    const std::string values = expander_.store(values_);
    const std::string indices = indices_ == kNoValue ? "" : expander_.store(indices_);
    std::vector<std::string> taken;
    for (std::int64_t m = 0; m < attributes_.k; ++m) {
      taken.push_back(place_of_next(taken));
      const auto place = [&](const Subscripts& at) { return only(taken.back(), at); };
      const Subscripts to = along_axis(subscripts_of(others_), Affine(m));
      expander_.assign(values, to, others_,
                       [&](const Subscripts& at) { return x_behind(at, place(at), 0); });
      if (!indices.empty())
        expander_.assign(indices, to, others_, [&](const Subscripts& at) {
          return ir::make_cast(DType::I64, place(at));
        });
    }
  }

  // The buffer of the first place that is none of these.
  std::string place_of_next(const std::vector<std::string>& taken) {
    const Affine r = Affine::symbol("r");
    const Ranges inside = {{"r", 0, extent_}};
    const auto unless_taken = [&](const Subscripts& at, const Expr& then, const Expr& otherwise) {
      Expr is_taken;
      for (const std::string& place : taken) {
        const Expr is_this = equals(place_of(r), only(place, at));
        is_taken = is_taken ? either(is_taken, is_this) : is_this;
      }
      return is_taken ? ir::make_select(is_taken, otherwise, then) : then;
    };
    const std::string top = of_row("top", type_);
    std::string first = of_row("first", place_type_);
    expander_.accumulate(top, others_, inside, first_value(), [&](const Subscripts& at) {
      return unless_taken(at, as_number(x_at(at, r)), worst());
    });
    expander_.accumulate(first, others_, inside, Combiner::Min, [&](const Subscripts& at) {
      return unless_taken(at, place_if_first(x_at(at, r), only(top, at), place_of(r)),
                          number(2 * behind()));
    });
    if (!nan_is_last_) return first;
    std::string place = of_row("at", place_type_);
    expander_.assign(place, subscripts_of(others_), others_, [&](const Subscripts& at) {
      return ir::make_binary(BinaryOp::Mod, only(first, at), number(behind()));
    });
    return place;
  }

  void find_firsts() {
    Ranges ranges = others_;
    ranges.push_back({"b", 0, blocks_});
    const Ranges inside = {{"r", 0, block_}};
    const Affine place = Affine::symbol("b") * block_ + Affine::symbol("r");
    expander_.accumulate(best_, ranges, inside, first_value(),
                         [&](const Subscripts& at) { return as_number(x_at(at, place)); });
    expander_.accumulate(place_, ranges, inside, Combiner::Min, [&](const Subscripts& at) {
      return place_if_first(x_at(at, place),
                            expander_.load(best_, with(other_of(at), Affine::symbol("b"))),
                            place_of(place));
    });
  }

  // at_ and taken_: of what comes first among the firsts of the blocks.
  void take_first() {
    const std::string top = of_row("top", type_), first = of_row("first", place_type_);
    const auto of_block = [&](const std::string& buffer, const Subscripts& at) {
      return expander_.load(buffer, with(other_of(at), Affine::symbol("b")));
    };
    const Ranges blocks = {{"b", 0, blocks_}};
    expander_.accumulate(top, others_, blocks, first_value(),
                         [&](const Subscripts& at) { return of_block(best_, at); });
    expander_.accumulate(first, others_, blocks, Combiner::Min, [&](const Subscripts& at) {
      return ir::make_select(is_same(of_block(best_, at), only(top, at)), of_block(place_, at),
                             number(2 * behind()));
    });
    const Subscripts others = subscripts_of(others_);
    expander_.assign(at_, others, others_, [&](const Subscripts& at) {
      return nan_is_last_ ? ir::make_binary(BinaryOp::Mod, only(first, at), number(behind()))
                          : only(first, at);
    });
    expander_.assign(taken_, others, others_,
                     [&](const Subscripts& at) { return x_behind(at, only(at_, at), 0); });
  }

  // The block of what was taken gives its next, of those that come after it.
  void renew_block() {
    const std::string next = of_row("next", type_), first = of_row("next_place", place_type_);
    const Affine r = Affine::symbol("r");
    const auto block = [&](const Subscripts& at) {
      return ir::make_binary(BinaryOp::Div, only(at_, at), number(block_));
    };
    const auto element = [&](const Subscripts& at) {
      const Expr begin = ir::make_binary(BinaryOp::Mul, block(at), number(block_));
      return Placed{x_behind(at, begin, r), sum(begin, place_of(r))};
    };
    const auto if_left = [&](const Subscripts& at, const Placed& e, const Expr& then,
                             const Expr& otherwise) {
      return ir::make_select(
          comes_before({only(taken_, at), only(at_, at)}, e, attributes_.largest), then, otherwise);
    };
    const Ranges inside = {{"r", 0, block_}};
    expander_.accumulate(next, others_, inside, first_value(), [&](const Subscripts& at) {
      const Placed e = element(at);
      return if_left(at, e, as_number(e.value), worst());
    });
    expander_.accumulate(first, others_, inside, Combiner::Min, [&](const Subscripts& at) {
      const Placed e = element(at);
      return if_left(at, e, place_if_first(e.value, only(next, at), e.place), number(2 * behind()));
    });
    for (const auto& [buffer, value] : {std::pair{best_, next}, std::pair{place_, first}})
      expander_.scatter(
          buffer, others_,
          [&](const Subscripts& at) {
            std::vector<ir::Index> to(at.begin(), at.end());
            to.push_back({Affine(0), ir::make_cast(DType::I64, block(at))});
            return to;
          },
          [&, from = value](const Subscripts& at) { return only(from, at); });
  }
};

}  // namespace

Types infer_top_k(const Graph& graph, const Node& node) {
  if (auto no = expect_inputs(node, 1, 1)) return *no;
  if (auto no = expect_number(graph, node, 0)) return *no;
  TensorType type = input_type(graph, node, 0);
  const auto& [axis, k, largest] = std::get<TopKAttributes>(node.attributes);
  if (auto no = expect_axis(axis, type.shape.size())) return *no;
  std::int64_t& extent = type.shape[static_cast<std::size_t>(axis)];
  if (k < 0 || k > extent)
    return Decline{"k is " + std::to_string(k) + ", the axis has " + std::to_string(extent)};
  extent = k;
  return std::vector{type, TensorType{DType::I64, type.shape}};
}

void expand_top_k(Expander& expander, const Node& node) { Selection(expander, node).run(); }

}  // namespace polyte::graph
