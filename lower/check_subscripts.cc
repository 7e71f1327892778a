#include "lower/check_subscripts.h"

#include <map>

#include "lower/rewrite_exprs.h"

namespace polyte::lower {
namespace {

using ir::BinaryOp;
using ir::Expr;
using ir::Index;
using ir::Lanes;

// {first, first + stride, first + 2*stride, ..}: a number, a broadcast, or an index per lane.
Expr lane_values(const ir::Affine& first, int lanes, std::int64_t stride) {
  if (lanes == 1) return ir::make_index(first);
  if (stride == 0) return ir::make_broadcast(ir::make_index(first), lanes);
  const ir::IndexValue value{first, {.count = lanes, .strides = {stride}}};
  return std::make_shared<const ir::ExprNode>(ir::ExprNode{DType::I64, lanes, value});
}

Expr to_lanes(Expr e, int lanes) {
  return e->lanes == lanes ? e : ir::make_broadcast(std::move(e), lanes);
}

// The affine part, the indirect part and the step from lane to lane become one value that `within`
// tests; afterwards the affine part and the lane's stride are 0, or they would count twice. Lanes
// that a mask leaves out test subscript 0 instead of their own.
Index checked(const Index& index, std::int64_t stride, const Lanes& access,
              const ir::Affine& extent) {
  const int lanes = stride == 0 ? index.indirect->lanes : access.count;
  const Expr moved = to_lanes(ir::make_cast(DType::I64, index.indirect), lanes);
  Expr place = ir::make_binary(BinaryOp::Add, lane_values(index.affine, lanes, stride), moved);
  const auto only_where_less = [&](const Expr& a, const Expr& b) {
    const Expr touches = ir::make_binary(BinaryOp::Lt, a, b);
    place = ir::make_select(touches, place, to_lanes(ir::make_int(DType::I64, 0), lanes));
  };
  const auto bound = [&](const ir::Affine& value) { return lane_values(value, lanes, 0); };
  const Expr lane = lane_values(0, lanes, 1);  // of a subscript that all lanes share, the first
  if (access.active) only_where_less(lane, bound(*access.active));
  if (access.skipped && lanes > 1) only_where_less(bound(*access.skipped - 1), lane);
  if (access.skipped && lanes == 1) {  // some lane runs
    only_where_less(bound(*access.skipped), bound(access.count));
    if (access.active) only_where_less(bound(*access.skipped), bound(*access.active));
  }
  return {0, ir::make_binary(BinaryOp::Within, place, lane_values(extent, lanes, 0))};
}

class Checker {
 public:
  explicit Checker(const ir::LoopProgram& program) {
    for (const ir::Buffer& buffer : program.buffers) extents_[buffer.name] = buffer.shape;
    ir::for_each_stmt(program.body, [&](const ir::Stmt& s) {
      if (const auto* alloc = std::get_if<ir::Alloc>(&s->op))
        extents_[alloc->buffer.name] = {alloc->buffer.shape.begin(), alloc->buffer.shape.end()};
    });
  }

  ir::Stmt statement(const ir::Stmt& s) const {
    const ir::Stmt below =
        ir::rewrite_children(s, [&](const ir::Stmt& child) { return statement(child); });
    ir::Stmt own = map_own_exprs(below, [&](const Expr& e) {
      return ir::rewrite(e, [&](const Expr& leaf) { return load(leaf); });
    });
    const auto* found = std::get_if<ir::Store>(&own->op);
    if (!found) return own;
    ir::Store store = *found;
    return check(store.buffer, store.indices, store.lanes) ? ir::make_store(std::move(store)) : own;
  }

 private:
  std::map<std::string, std::vector<ir::Affine>> extents_;  // of sizes that may be open

  Expr load(const Expr& e) const {
    const auto* found = std::get_if<ir::Load>(&e->op);
    if (!found) return e;
    ir::Load load = *found;
    if (!check(load.buffer, load.indices, load.lanes)) return e;
    return std::make_shared<const ir::ExprNode>(ir::ExprNode{e->type, e->lanes, std::move(load)});
  }

  // Wraps each subscript that is read at run time; false where there is none.
  bool check(const std::string& buffer, std::vector<Index>& indices, Lanes& lanes) const {
    bool found = false;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (!indices[d].indirect) continue;
      found = true;
      const std::int64_t stride = d < lanes.strides.size() ? lanes.strides[d] : 0;
      indices[d] = checked(indices[d], stride, lanes, extents_.at(buffer)[d]);
      if (d < lanes.strides.size()) lanes.strides[d] = 0;
    }
    return found;
  }
};

}  // namespace

ir::LoopProgram check_subscripts(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  result.body = Checker(program).statement(program.body);
  return result;
}

}  // namespace polyte::lower
