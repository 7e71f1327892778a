#include "lower/lane_rewriter.h"

#include <algorithm>
#include <numeric>

#include "support/checked.h"
#include "support/error.h"

namespace polyte::lower {

using ir::Affine;
using ir::Expr;
using ir::Stmt;

namespace {

const std::string kLane = "%lane";  // no name of a program has a percent sign

bool uses(const ir::Lanes& lanes, const std::string& var) {
  return (lanes.active && lanes.active->uses(var)) || (lanes.skipped && lanes.skipped->uses(var));
}

bool uses(const ir::Load& load, const std::string& var) {
  const auto guarded = [&](const ir::Constraint& c) { return c.expr.uses(var); };
  const auto indexed = [&](const ir::Index& index) { return index.affine.uses(var); };
  return uses(load.lanes, var) || std::ranges::any_of(load.guard, guarded) ||
         std::ranges::any_of(load.indices, indexed);
}

bool uses(const ir::ExprNode& node, const std::string& var) {
  if (const auto* index = std::get_if<ir::IndexValue>(&node.op)) return index->value.uses(var);
  if (const auto* read = std::get_if<ir::LaneRead>(&node.op)) return read->lane.uses(var);
  const auto* load = std::get_if<ir::Load>(&node.op);
  return load && uses(*load, var);
}

Expr make_node(DType type, int lanes, decltype(ir::ExprNode::op) op) {
  return std::make_shared<const ir::ExprNode>(ir::ExprNode{type, lanes, std::move(op)});
}

}  // namespace

bool uses(const Expr& e, const std::string& var) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& node) { found = found || uses(node, var); });
  return found;
}

Shapes shapes_of(const ir::LoopProgram& program) {
  Shapes shapes;
  for (const ir::Buffer& b : program.buffers) {
    const bool is_constant =
        std::ranges::all_of(b.shape, [](const Affine& e) { return e.is_constant(); });
    if (is_constant) shapes[b.name] = ir::constant_shape(b);
  }
  if (!program.body) return shapes;
  ir::for_each_stmt(program.body, [&](const Stmt& s) {
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op))
      shapes[alloc->buffer.name] = alloc->buffer.shape;
  });
  return shapes;
}

// The widest type decides how many lanes there are: a vector register holds that many of it, and
// narrower types then fill a part of one. What no lane differs in does not count.
DType widest_type(const Stmt& body, const std::string& var) {
  DType widest = DType::Bool;
  const auto see = [&](DType type) {
    if (size_in_bytes(type) > size_in_bytes(widest)) widest = type;
  };
  ir::for_each_stmt(body, [&](const Stmt& s) {
    const auto* store = std::get_if<ir::Store>(&s->op);
    if (!store) return;
    see(store->value->type);
    // An operation counts if it varies from lane to lane: at least one load or index below it does.
    const std::function<bool(const Expr&)> visit = [&](const Expr& e) {
      if (!uses(e, var)) return false;
      see(e->type);
      if (const auto* o = std::get_if<ir::Unary>(&e->op)) visit(o->a);
      if (const auto* o = std::get_if<ir::Binary>(&e->op)) visit(o->a), visit(o->b);
      if (const auto* o = std::get_if<ir::Fma>(&e->op)) visit(o->a), visit(o->b), visit(o->c);
      if (const auto* o = std::get_if<ir::Select>(&e->op))
        visit(o->condition), visit(o->a), visit(o->b);
      if (const auto* o = std::get_if<ir::Cast>(&e->op)) visit(o->a);
      return true;
    };
    visit(store->value);
  });
  return widest;
}

// Every statement below the loop has to have a form for all lanes at once. NoLanes says which has
// none, in words for the report: the loop stays serial.
Stmt LaneRewriter::rewrite(const Stmt& body) {
  if (const auto* s = std::get_if<ir::Store>(&body->op)) return store(*s);
  if (const auto* s = std::get_if<ir::For>(&body->op)) return loop(*s);
  if (const auto* s = std::get_if<ir::If>(&body->op)) return branch(*s);
  if (const auto* s = std::get_if<ir::Alloc>(&body->op))
    throw NoLanes{"buffer '" + s->buffer.name + "' is private to each of its iterations"};
  if (const auto* s = std::get_if<ir::Tensorized>(&body->op))
    throw NoLanes{"'" + s->intrinsic + "', an instruction of its own, is inside it"};
  return ir::rewrite_children(body, [&](const Stmt& child) { return rewrite(child); });
}

// All lanes go through an inner loop together, so that it must run equally often for each.
Stmt LaneRewriter::loop(const ir::For& loop) {
  if (ir::is_threaded(loop.kind))
    throw NoLanes{to_string(loop.kind) + " loop '" + loop.loop + "' is inside it"};
  for (const std::vector<Affine>* bounds : {&loop.lower, &loop.upper})
    for (const Affine& bound : *bounds)
      if (bound.uses(var_))
        throw NoLanes{"the bounds of loop '" + loop.loop + "' differ between its lanes"};
  const ir::Facts::Scope scope(facts_);
  facts_.bind(loop.var, loop.lower, loop.upper);
  ir::For copy = loop;
  copy.body = rewrite(loop.body);
  return ir::make_for(std::move(copy));
}

Stmt LaneRewriter::branch(const ir::If& branch) {
  const ir::Facts::Scope scope(facts_);
  for (const ir::Constraint& c : branch.conditions) {
    if (c.expr.uses(var_))
      throw NoLanes{"condition " + ir::to_string(c) + " differs between its lanes"};
    facts_.assume(c);
  }
  if (branch.condition && uses(branch.condition, var_))
    throw NoLanes{"a condition on data differs between its lanes"};
  ir::If copy = branch;
  copy.body = rewrite(branch.body);
  return ir::make_if(std::move(copy));
}

Stmt LaneRewriter::store(const ir::Store& s) {
  if (s.lanes.count > 1) throw NoLanes{"another vector loop is inside it"};
  if (s.atomic) throw NoLanes{"'" + s.buffer + "' is updated atomically, element by element"};
  std::vector<Stmt> all;
  for (const Piece& piece : pieces_) all.push_back(store(s, piece));
  return ir::make_block(std::move(all));
}

// Strides of several dimensions may cancel, one row down and a row's length back: where the shape
// is known, the distance in memory counts.
bool LaneRewriter::is_still(const ir::Store& s) const {
  const std::vector<std::int64_t>& strides = s.lanes.strides;
  if (std::ranges::all_of(strides, [](std::int64_t stride) { return stride == 0; })) return true;
  const auto shape = shapes_.find(s.buffer);
  if (shape == shapes_.end() || shape->second.size() != strides.size()) return false;
  std::int64_t position = 0;
  for (std::size_t d = 0; d < strides.size(); ++d)
    position = position * shape->second[d] + strides[d];
  return position == 0;
}

// A piece of one lane is a plain store; its mask becomes a condition around it.
Stmt LaneRewriter::store(const ir::Store& s, const Piece& piece) {
  ir::Store copy = s;
  for (const ir::Index& index : s.indices)
    if (index.indirect && uses(index.indirect, var_))
      throw NoLanes{"it scatters into '" + s.buffer + "'"};
  copy.lanes = access(copy.indices, piece);
  if (piece.lanes != 1 && is_still(copy))
    throw NoLanes{"all lanes would write the same element of '" + s.buffer + "'"};
  copy.value = expr(s.value, piece);
  copy.origin = origin(s.origin, piece);
  if (piece.lanes > 1) return ir::make_store(std::move(copy));
  copy.lanes = {};
  Stmt scalar = ir::make_store(std::move(copy));
  std::vector<ir::Constraint> runs;
  if (piece.active) runs.push_back(ir::at_least(*piece.active, 1));
  if (piece.skipped) runs.push_back(ir::less_than(*piece.skipped, 1));
  return runs.empty() ? scalar : ir::make_if({std::move(runs), nullptr, scalar});
}

// Which instance of the statement each lane is, for the interpreter and the second judge: lane 0
// and the step from lane to lane, or, where that is uneven (after a `map` with divisions), an
// expression over the lane's number.
ir::Origin LaneRewriter::origin(const ir::Origin& of, const Piece& piece) {
  ir::Origin result{of.statement, {}, {}};
  bool is_even = true;
  for (const Affine& value : of.instance) {
    const auto at_lane = even_along_lanes(value, piece);
    is_even = is_even && at_lane.has_value();
    result.instance.push_back(at_lane ? at_lane->first
                                      : ir::substitute(value, {{var_, piece.base}}));
    result.strides.push_back(at_lane ? at_lane->second : 0);
  }
  if (!is_even || piece.lanes == 1) result.strides.clear();
  if (!is_even && piece.lanes > 1) {
    const Affine at_lane = piece.base + Affine::symbol(ir::kLaneNumber);
    for (std::size_t i = 0; i < of.instance.size(); ++i)
      result.instance[i] = ir::substitute(of.instance[i], {{var_, at_lane}});
  }
  return result;
}

// Puts base + lane in for the variable and simplifies with 0 <= lane < lanes known: where base is a
// multiple of 8 and there are 8 lanes, (base + lane)//8 is base//8 in every lane. A value is even
// if it is then linear in the lane, with no division that has the lane.
std::optional<std::pair<Affine, std::int64_t>> LaneRewriter::even_along_lanes(const Affine& value,
                                                                              const Piece& piece) {
  if (!value.uses(var_)) return std::pair<Affine, std::int64_t>{value, 0};
  const ir::Facts::Scope scope(facts_);
  facts_.bind(kLane, {0}, {piece.lanes});
  const Affine at_lane =
      facts_.simplify(ir::substitute(value, {{var_, piece.base + Affine::symbol(kLane)}}));
  const std::int64_t stride = at_lane.coefficient(kLane);
  const Affine first = at_lane - Affine::symbol(kLane) * stride;
  if (first.uses(kLane)) return std::nullopt;
  return std::pair<Affine, std::int64_t>{first, stride};
}

std::pair<Affine, std::int64_t> LaneRewriter::along_lanes(const Affine& value, const Piece& piece) {
  if (auto even = even_along_lanes(value, piece)) return *even;
  throw NoLanes{"subscript " + ir::to_string(value) + " does not advance evenly with it"};
}

ir::Lanes LaneRewriter::access(std::vector<ir::Index>& indices, const Piece& piece) {
  ir::Lanes lanes{piece.lanes, {}, piece.active, piece.skipped};
  for (ir::Index& index : indices) {
    const auto [first, stride] = along_lanes(index.affine, piece);
    index.affine = first;
    lanes.strides.push_back(stride);
  }
  return lanes;
}

// One condition for all lanes. With first >= 0 at lane 0 and a step per lane, let all but the
// constant be multiples of `unit`: u * q + c >= 0 is q >= -floor(c / u). If floor(c / u) is the
// same for the first and the last lane, it is for all between, and the condition is the same in
// every lane: of 8*q + 7 - lane >= 0 and 8 lanes it is q >= 0. Without variables the sign of the
// constant has to be the same, for which any unit above its magnitude serves.
ir::Constraint LaneRewriter::guard(const ir::Constraint& c, const Piece& piece) {
  if (!c.expr.uses(var_)) return c;
  const NoLanes differs{"the guard " + ir::to_string(c) + " of a read differs between its lanes"};
  const auto even = c.equality ? std::nullopt : even_along_lanes(c.expr, piece);
  if (!even) throw NoLanes{differs};
  const auto& [first, stride] = *even;
  std::int64_t unit = 0;
  for (const ir::Term& term : first.terms()) unit = std::gcd(unit, term.coefficient);
  const std::int64_t last = first.constant() + stride * (piece.lanes - 1);
  // Only a constant is left, so that its sign is the condition.
  if (unit == 0)
    unit = std::max<std::int64_t>(1, std::max(std::abs(first.constant()), std::abs(last)) + 1);
  if (floor_div(first.constant(), unit) != floor_div(last, unit)) throw NoLanes{differs};
  return {first - first.constant() + floor_div(last, unit) * unit, false};
}

Expr LaneRewriter::load(const Expr& e, const ir::Load& load, const Piece& piece) {
  ir::Load copy = load;
  for (ir::Constraint& c : copy.guard) c = guard(c, piece);
  copy.lanes = access(copy.indices, piece);
  for (ir::Index& index : copy.indices)
    if (index.indirect && lower::uses(index.indirect, var_))
      index.indirect = expr(index.indirect, piece);
  if (load.otherwise) copy.otherwise = expr(load.otherwise, piece);
  if (piece.lanes == 1) copy.lanes = {};
  return make_node(e->type, piece.lanes, std::move(copy));
}

// What no lane differs in stays scalar and is broadcast once, as far up in the expression as
// possible.
Expr LaneRewriter::expr(const Expr& e, const Piece& piece) {
  if (!lower::uses(e, var_)) return ir::make_broadcast(e, piece.lanes);
  const auto below = [&](const Expr& child) { return expr(child, piece); };
  if (const auto* o = std::get_if<ir::Load>(&e->op)) return load(e, *o, piece);
  if (std::holds_alternative<ir::LaneRead>(e->op))
    throw NoLanes{"each of its iterations reads from another lane"};
  if (const auto* o = std::get_if<ir::Unary>(&e->op)) return ir::make_unary(o->op, below(o->a));
  if (const auto* o = std::get_if<ir::Binary>(&e->op))
    return ir::make_binary(o->op, below(o->a), below(o->b));
  if (const auto* o = std::get_if<ir::Fma>(&e->op))
    return ir::make_fma(below(o->a), below(o->b), below(o->c));
  if (const auto* o = std::get_if<ir::Select>(&e->op))
    return ir::make_select(below(o->condition), below(o->a), below(o->b));
  if (const auto* o = std::get_if<ir::Cast>(&e->op)) return ir::make_cast(e->type, below(o->a));
  const auto* index = std::get_if<ir::IndexValue>(&e->op);
  POLYTE_CHECK(index, "an expression that varies with '" + var_ + "' but has no part that does");
  const auto [first, stride] = along_lanes(index->value, piece);
  if (piece.lanes == 1) return ir::make_index(first, e->type);
  return make_node(e->type, piece.lanes,
                   ir::IndexValue{first, {piece.lanes, {stride}, std::nullopt}});
}

}  // namespace polyte::lower
