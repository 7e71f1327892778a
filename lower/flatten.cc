#include "lower/flatten.h"

#include "lower/rewrite_exprs.h"
#include "support/checked.h"
#include "support/error.h"

namespace polyte::lower {

using ir::Affine;
using ir::Expr;
using ir::Stmt;

namespace {

using Strides = std::vector<std::int64_t>;

Strides strides_of(const std::vector<std::int64_t>& shape) {
  Strides strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = checked_mul(strides[d], shape[d]);
  return strides;
}

// Of an interface buffer, whose outermost extent may be symbolic. Dimensions of one element before it take no step.
Strides strides_of(const ir::Buffer& buffer, std::vector<std::string>& problems) {
  std::vector<std::int64_t> shape;
  for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
    const Affine& extent = buffer.shape[d];
    const auto is_one = [](const Affine& e) { return e == Affine(1); };
    if (!extent.is_constant() && !std::all_of(buffer.shape.begin(), buffer.shape.begin() + static_cast<int>(d), is_one))
      problems.push_back("buffer '" + buffer.name + "': extent " + ir::to_string(extent) +
                         " is symbolic and not the outermost, so that places of elements are products of sizes; " +
                         "expected a number (give the sizes)");
    shape.push_back(extent.is_constant() ? extent.constant() : 0);
  }
  return strides_of(shape);
}

class Flattener {
 public:
  explicit Flattener(const ir::LoopProgram& program) {
    std::vector<std::string> problems;
    for (const ir::Buffer& b : program.buffers) strides_[b.name] = strides_of(b, problems);
    if (!problems.empty()) throw UserError(ExitStatus::Unsupported, problems);
    ir::for_each_stmt(program.body, [&](const Stmt& s) {
      if (const auto* alloc = std::get_if<ir::Alloc>(&s->op))
        strides_[alloc->buffer.name] = strides_of(alloc->buffer.shape);
    });
  }

  Stmt statement(const Stmt& s) {
    const Stmt below = ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
    Stmt own = map_own_exprs(
        below, [&](const Expr& e) { return ir::rewrite(e, [&](const Expr& leaf) { return load(leaf); }); });
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

  static Expr scaled(const Expr& e, std::int64_t stride) {
    Expr wide = ir::make_cast(DType::I64, e);
    if (stride == 1) return wide;
    const Expr factor = ir::make_int(DType::I64, stride);
    return ir::make_binary(ir::BinaryOp::Mul, wide, ir::make_broadcast(factor, e->lanes));
  }

  // x[i0, i1, ..] of extents (e0, e1, ..) is x[i0 * s0 + i1 * s1 + ..] with s_d = e_(d+1) * e_(d+2) *
  // .., in affine part, run-time part and the step from lane to lane alike. Only e0, or the first extent that is not 1,
  // may be a symbol: it is in no stride.
  void linearise(const std::string& buffer, std::vector<ir::Index>& indices, ir::Lanes& lanes) const {
    const Strides& strides = strides_.at(buffer);
    ir::Index linear;
    std::int64_t lane_stride = 0;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      linear.affine = linear.affine + indices[d].affine * strides[d];
      if (d < lanes.strides.size()) lane_stride += lanes.strides[d] * strides[d];
      if (!indices[d].indirect) continue;
      const Expr part = scaled(indices[d].indirect, strides[d]);
      linear.indirect = linear.indirect ? ir::make_binary(ir::BinaryOp::Add, linear.indirect, part) : part;
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
