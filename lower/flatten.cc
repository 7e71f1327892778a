#include "lower/flatten.h"

#include "lower/rewrite_exprs.h"
#include "support/checked.h"

namespace polyte::lower {

using ir::Affine;
using ir::Expr;
using ir::Stmt;

namespace {

// From an element to its neighbour along one dimension: factor * size * .., the sizes those that
// are known at run time.
struct Stride {
  std::int64_t factor = 1;
  std::vector<Affine> open = {};
};
using Strides = std::vector<Stride>;

// From the last dimension outwards: s_(d-1) = s_d * e_d, the numbers among the extents in `factor`,
// the sizes in `open`. The first extent is in no stride.
Strides strides_of(const std::vector<Affine>& shape) {
  Strides strides(shape.size());
  for (std::size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = strides[d];
    if (shape[d].is_constant())
      strides[d - 1].factor = checked_mul(strides[d].factor, shape[d].constant());
    else
      strides[d - 1].open.push_back(shape[d]);
  }
  return strides;
}

class Flattener {
 public:
  explicit Flattener(const ir::LoopProgram& program) {
    for (const ir::Buffer& b : program.buffers) strides_[b.name] = strides_of(b.shape);
    ir::for_each_stmt(program.body, [&](const Stmt& s) {
      if (const auto* alloc = std::get_if<ir::Alloc>(&s->op))
        strides_[alloc->buffer.name] =
            strides_of({alloc->buffer.shape.begin(), alloc->buffer.shape.end()});
    });
  }

  Stmt statement(const Stmt& s) {
    const Stmt below = ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
    Stmt own = map_own_exprs(below, [&](const Expr& e) {
      return ir::rewrite(e, [&](const Expr& leaf) { return load(leaf); });
    });
    if (const auto* prefetch = std::get_if<ir::Prefetch>(&own->op)) {
      ir::Prefetch copy = *prefetch;
      ir::Lanes none;
      linearise(copy.buffer, copy.indices, none);
      return ir::make_prefetch(std::move(copy));
    }
    const auto* store = std::get_if<ir::Store>(&own->op);
    if (!store) return own;
    ir::Store copy = *store;
    linearise(copy.buffer, copy.indices, copy.lanes);
    return ir::make_store(std::move(copy));
  }

 private:
  std::map<std::string, Strides> strides_;

  Expr load(const Expr& e) {
    const auto* found = std::get_if<ir::Load>(&e->op);
    if (!found) return e;
    ir::Load copy = *found;
    linearise(copy.buffer, copy.indices, copy.lanes);
    return std::make_shared<const ir::ExprNode>(ir::ExprNode{e->type, e->lanes, std::move(copy)});
  }

  static Expr times(const Expr& e, const Expr& factor) {
    return ir::make_binary(ir::BinaryOp::Mul, e, ir::make_broadcast(factor, e->lanes));
  }

  // In 64 bits throughout: a product with a size may exceed the 32 of a subscript that is read.
  static Expr scaled(const Expr& e, const Stride& stride) {
    Expr product = ir::make_cast(DType::I64, e);
    if (stride.factor != 1) product = times(product, ir::make_int(DType::I64, stride.factor));
    for (const Affine& size : stride.open) product = times(product, ir::make_index(size));
    return product;
  }

  static void add(Expr& sum, const Expr& part) {
    sum = sum ? ir::make_binary(ir::BinaryOp::Add, widened(sum, part), widened(part, sum)) : part;
  }

  static Expr widened(const Expr& e, const Expr& as) {
    return e->lanes < as->lanes ? ir::make_broadcast(e, as->lanes) : e;
  }

  // A subscript as a value, for a stride that is no constant: how it varies over the lanes has to
  // be part of it, as `Lanes` has constant strides only.
  static Expr value_of(const Affine& subscript, int lanes, std::int64_t lane_stride) {
    if (lane_stride == 0) return ir::make_index(subscript);
    return std::make_shared<const ir::ExprNode>(
        ir::ExprNode{DType::I64, lanes, ir::IndexValue{subscript, {lanes, {lane_stride}, {}, {}}}});
  }

  // x[i0, i1, ..] of extents (e0, e1, ..) is x[i0 * s0 + i1 * s1 + ..] with
  // s_d = e_(d+1) * e_(d+2) * .., in affine part, run-time part and the step from lane to lane
  // alike. Products with a size that is open are run-time parts.
  void linearise(const std::string& buffer, std::vector<ir::Index>& indices,
                 ir::Lanes& lanes) const {
    const Strides& strides = strides_.at(buffer);
    ir::Index linear;
    std::int64_t lane_stride = 0;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const ir::Index& index = indices[d];
      const std::int64_t step = d < lanes.strides.size() ? lanes.strides[d] : 0;
      if (strides[d].open.empty()) {
        linear.affine = linear.affine + index.affine * strides[d].factor;
        lane_stride += step * strides[d].factor;
      } else if (index.affine != Affine(0) || step != 0) {
        add(linear.indirect, scaled(value_of(index.affine, lanes.count, step), strides[d]));
      }
      if (index.indirect) add(linear.indirect, scaled(index.indirect, strides[d]));
    }
    indices = {std::move(linear)};
    if (lanes.count > 1 || !lanes.strides.empty()) lanes.strides = {lane_stride};
  }
};

}  // namespace

ir::LoopProgram flatten(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  result.body = Flattener(program).statement(program.body);
  return result;
}

}  // namespace polyte::lower
