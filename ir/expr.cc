#include "ir/expr.h"

#include <bit>
#include <cmath>

#include "ir/arithmetic.h"
#include "support/error.h"

namespace polyte::ir {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

Expr node(DType type, int lanes, decltype(ExprNode::op) op) {
  return std::make_shared<const ExprNode>(ExprNode{type, lanes, std::move(op)});
}

// There are no implicit conversions or broadcasts: operands agree in type and in lanes.
void check_same(const Expr& a, const Expr& b, const std::string& what) {
  POLYTE_CHECK(a->type == b->type, what + " of " + name_of(a->type) + " and " + name_of(b->type));
  POLYTE_CHECK(a->lanes == b->lanes, what + " of " + std::to_string(a->lanes) + " and " +
                                         std::to_string(b->lanes) + " lanes");
}

}  // namespace

// The operators that each type supports. Neg and Abs of integers wrap, unsigned ones included; Not
// is bitwise on integers; what falls to `default` are the functions of real numbers.
bool is_defined(UnaryOp op, DType type) {
  switch (op) {
    case UnaryOp::Neg:
    case UnaryOp::Abs:
      return type != DType::Bool;
    case UnaryOp::Not:
      return !is_float(type);
    case UnaryOp::Tf32:
      return type == DType::F32;
    default:
      return is_float(type);
  }
}

// Min, Max and the comparisons fall to `default`: they are defined for every type, Bool included.
// Within checks a subscript, and subscripts are i64.
bool is_defined(BinaryOp op, DType type) {
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul:
    case BinaryOp::Div:
      return type != DType::Bool;
    case BinaryOp::Mod:
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      return is_integer(type);
    case BinaryOp::Pow:
      return is_float(type);
    case BinaryOp::Within:
      return type == DType::I64;
    case BinaryOp::And:
    case BinaryOp::Or:
    case BinaryOp::Xor:
      return !is_float(type);
    default:
      return true;
  }
}

// `a > b` is Lt with the operands exchanged, so two orders are enough.
bool is_comparison(BinaryOp op) {
  return op == BinaryOp::Eq || op == BinaryOp::Ne || op == BinaryOp::Lt || op == BinaryOp::Le;
}

Expr make_float(DType type, double value) {
  POLYTE_CHECK(is_float(type), "a float literal of type " + name_of(type));
  return node(type, 1, Literal{arithmetic::round_to(type, value), 0});
}

Expr make_int(DType type, std::int64_t value) {
  POLYTE_CHECK(!is_float(type), "an integer literal of type " + name_of(type));
  return node(type, 1, Literal{0, arithmetic::wrap_to(type, value)});
}

// To an integer type it is a Cast from f64: it truncates and saturates.
Expr make_literal(DType type, double value) {
  if (is_float(type)) return make_float(type, value);
  return make_int(type, arithmetic::cast(type, DType::F64, arithmetic::of_real(value)).integer);
}

Expr make_index(Affine value, DType type) {
  POLYTE_CHECK(type != DType::Bool, "an index value of type bool");
  // A constant has one form only, so that after a substitution equal() takes `i + 2` with i = 0
  // and `2` for the same; an IndexValue of one lane is therefore never constant.
  if (value.is_constant()) {
    const auto number =
        arithmetic::cast(type, DType::I64, arithmetic::of_integer(value.constant()));
    return is_float(type) ? make_float(type, number.real) : make_int(type, number.integer);
  }
  return node(type, 1, IndexValue{std::move(value), {}});
}

// Of one lane; lowering makes vector accesses from it (Lanes).
Expr make_load(DType type, std::string buffer, std::vector<Index> indices) {
  return node(type, 1, Load{std::move(buffer), std::move(indices), {}, nullptr, {}});
}

Expr make_guarded_load(DType type, std::string buffer, std::vector<Index> indices,
                       std::vector<Constraint> guard, Expr otherwise) {
  if (guard.empty()) return make_load(type, std::move(buffer), std::move(indices));
  POLYTE_CHECK(otherwise && otherwise->type == type,
               "a guarded read of '" + buffer + "' without a value of its type");
  return node(
      type, 1,
      Load{std::move(buffer), std::move(indices), std::move(guard), std::move(otherwise), {}});
}

Expr make_unary(UnaryOp op, Expr a) {
  POLYTE_CHECK(is_defined(op, a->type), to_string(op) + " of " + name_of(a->type));
  return node(a->type, a->lanes, Unary{op, a});
}

Expr make_binary(BinaryOp op, Expr a, Expr b) {
  check_same(a, b, "'" + to_string(op) + "'");
  POLYTE_CHECK(is_defined(op, a->type), "'" + to_string(op) + "' of " + name_of(a->type));
  return node(is_comparison(op) ? DType::Bool : a->type, a->lanes, Binary{op, a, b});
}

Expr make_fma(Expr a, Expr b, Expr c) {
  check_same(a, b, "fma");
  check_same(a, c, "fma");
  POLYTE_CHECK(a->type != DType::Bool, "fma of bool");
  return node(a->type, a->lanes, Fma{a, b, c});
}

// The condition is per lane, as the values are.
Expr make_select(Expr condition, Expr a, Expr b) {
  POLYTE_CHECK(condition->type == DType::Bool, "select on " + name_of(condition->type));
  POLYTE_CHECK(condition->lanes == a->lanes, "select with a condition of other lanes");
  check_same(a, b, "select");
  return node(a->type, a->lanes, Select{condition, a, b});
}

// A Cast node always changes the type, so passes need not look for identity casts.
Expr make_cast(DType type, Expr a) { return a->type == type ? a : node(type, a->lanes, Cast{a}); }

Expr make_broadcast(Expr a, int lanes) {
  POLYTE_CHECK(a->lanes == 1 && lanes >= 1, "broadcast of " + std::to_string(a->lanes) + " lanes");
  return lanes == 1 ? a : node(a->type, lanes, Broadcast{a});
}

Expr make_lane_read(Expr load, Affine lane) {
  POLYTE_CHECK(std::holds_alternative<Load>(load->op) && load->lanes == 1,
               "a lane reads what is no register");
  const DType type = load->type;
  return node(type, 1, LaneRead{std::move(load), std::move(lane)});
}

// --- comparison ----------------------------------------------------------------------------------

namespace {

// For parts that may be null: `indirect`, `otherwise`.
bool same_expr(const Expr& a, const Expr& b) { return a == b || (a && b && equal(a, b)); }

// Structural, part by part: a + b and b + a are not equal, and nothing is normalised here but
// affine parts, which always are.
bool same(const Lanes& a, const Lanes& b) {
  return a.count == b.count && a.strides == b.strides && a.active == b.active &&
         a.skipped == b.skipped;
}

bool same(const Index& a, const Index& b) {
  return a.affine == b.affine && same_expr(a.indirect, b.indirect);
}

bool same(const std::vector<Index>& a, const std::vector<Index>& b) {
  return std::ranges::equal(a, b, [](const Index& s, const Index& t) { return same(s, t); });
}

// By bits: -0 is another literal than 0, and a NaN is equal to itself.
bool same(const Literal& a, const Literal& b) {
  return a.integer == b.integer &&
         std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
}
bool same(const IndexValue& a, const IndexValue& b) {
  return a.value == b.value && same(a.lanes, b.lanes);
}
bool same(const Load& a, const Load& b) {
  return a.buffer == b.buffer && same(a.indices, b.indices) && a.guard == b.guard &&
         same_expr(a.otherwise, b.otherwise) && same(a.lanes, b.lanes);
}
bool same(const Unary& a, const Unary& b) { return a.op == b.op && equal(a.a, b.a); }
bool same(const Binary& a, const Binary& b) {
  return a.op == b.op && equal(a.a, b.a) && equal(a.b, b.b);
}
bool same(const Fma& a, const Fma& b) {
  return equal(a.a, b.a) && equal(a.b, b.b) && equal(a.c, b.c);
}
bool same(const Select& a, const Select& b) {
  return equal(a.condition, b.condition) && equal(a.a, b.a) && equal(a.b, b.b);
}
bool same(const Cast& a, const Cast& b) { return equal(a.a, b.a); }
bool same(const Broadcast& a, const Broadcast& b) { return equal(a.a, b.a); }
bool same(const LaneRead& a, const LaneRead& b) {
  return equal(a.load, b.load) && a.lane == b.lane;
}

}  // namespace

// Shared subtrees are one object, so most comparisons end at the first line.
bool equal(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (!a || !b || a->type != b->type || a->lanes != b->lanes || a->op.index() != b->op.index())
    return false;
  return std::visit(
      [&](const auto& op) { return same(op, std::get<std::decay_t<decltype(op)>>(b->op)); }, a->op);
}

// --- walking -------------------------------------------------------------------------------------

namespace {

template <class F>
void for_each_child(const ExprNode& e, const F& f) {
  std::visit(Overloaded{[](const Literal&) {}, [](const IndexValue&) {},
                        [&](const Load& o) {
                          for (const Index& index : o.indices)
                            if (index.indirect) f(index.indirect);
                          if (o.otherwise) f(o.otherwise);
                        },
                        [&](const Unary& o) { f(o.a); },
                        [&](const Binary& o) {
                          f(o.a);
                          f(o.b);
                        },
                        [&](const Fma& o) {
                          f(o.a);
                          f(o.b);
                          f(o.c);
                        },
                        [&](const Select& o) {
                          f(o.condition);
                          f(o.a);
                          f(o.b);
                        },
                        [&](const Cast& o) { f(o.a); }, [&](const Broadcast& o) { f(o.a); },
                        [&](const LaneRead& o) { f(o.load); }},
             e.op);
}

// The same node with every child replaced by f(child); e itself where none changes.
template <class F>
Expr map_children(const Expr& e, const F& f) {
  ExprNode copy = *e;
  bool changed = false;
  const auto map = [&](Expr& child) {
    if (!child) return;
    Expr mapped = f(child);
    changed = changed || mapped != child;
    child = std::move(mapped);
  };
  std::visit(Overloaded{[](Literal&) {}, [](IndexValue&) {},
                        [&](Load& o) {
                          for (Index& index : o.indices) map(index.indirect);
                          map(o.otherwise);
                        },
                        [&](Unary& o) { map(o.a); },
                        [&](Binary& o) {
                          map(o.a);
                          map(o.b);
                        },
                        [&](Fma& o) {
                          map(o.a);
                          map(o.b);
                          map(o.c);
                        },
                        [&](Select& o) {
                          map(o.condition);
                          map(o.a);
                          map(o.b);
                        },
                        [&](Cast& o) { map(o.a); }, [&](Broadcast& o) { map(o.a); },
                        [&](LaneRead& o) { map(o.load); }},
             copy.op);
  return changed ? std::make_shared<const ExprNode>(std::move(copy)) : e;
}

// Strides are plain numbers, with no symbols to replace.
Lanes substitute(const Lanes& lanes, const Bindings& bindings) {
  Lanes result = lanes;
  for (std::optional<Affine>* bound : {&result.active, &result.skipped})
    if (*bound) *bound = ir::substitute(**bound, bindings);
  return result;
}

// Called by rewrite(), bottom-up: the children of a Load or LaneRead are substituted already.
Expr substitute_leaf(const Expr& e, const Bindings& bindings) {
  if (const auto* value = std::get_if<IndexValue>(&e->op)) {
    const Affine affine = ir::substitute(value->value, bindings);
    // Of several lanes it stays an IndexValue even if the value of lane 0 is now a constant:
    // lane l has l * stride more.
    if (e->lanes == 1) return affine == value->value ? e : make_index(affine, e->type);
    return node(e->type, e->lanes, IndexValue{affine, substitute(value->lanes, bindings)});
  }
  if (const auto* read = std::get_if<LaneRead>(&e->op))
    return make_lane_read(read->load, ir::substitute(read->lane, bindings));
  Load load = std::get<Load>(e->op);
  for (Index& index : load.indices) index.affine = ir::substitute(index.affine, bindings);
  for (Constraint& c : load.guard) c = ir::substitute(c, bindings);
  load.lanes = substitute(load.lanes, bindings);
  return node(e->type, e->lanes, std::move(load));
}

}  // namespace

// A node that is shared is rewritten once per use: the result has as many copies as the tree has
// places, unless nothing changes below.
Expr rewrite(const Expr& e, const std::function<Expr(const Expr&)>& leaf) {
  Expr mapped = map_children(e, [&](const Expr& child) { return rewrite(child, leaf); });
  const bool is_leaf = std::holds_alternative<Load>(mapped->op) ||
                       std::holds_alternative<IndexValue>(mapped->op) ||
                       std::holds_alternative<LaneRead>(mapped->op);
  return is_leaf ? leaf(mapped) : mapped;
}

// What `whole` gives is not searched again, so a replacement may contain what it replaces.
Expr replace(const Expr& e, const std::function<Expr(const Expr&)>& whole) {
  if (Expr found = whole(e)) return found;
  return map_children(e, [&](const Expr& child) { return replace(child, whole); });
}

Expr substitute(const Expr& e, const Bindings& bindings) {
  return rewrite(e, [&](const Expr& leaf) { return substitute_leaf(leaf, bindings); });
}

void for_each_node(const Expr& e, const std::function<void(const ExprNode&)>& visit) {
  visit(*e);
  for_each_child(*e, [&](const Expr& child) { for_each_node(child, visit); });
}

// The lane of a LaneRead and the bounds of a mask are not included.
std::set<std::string> symbols_of(const Expr& e) {
  std::set<std::string> symbols;
  for_each_node(e, [&](const ExprNode& n) {
    if (const auto* value = std::get_if<IndexValue>(&n.op)) value->value.collect_symbols(symbols);
    const auto* load = std::get_if<Load>(&n.op);
    if (!load) return;
    for (const Index& index : load->indices) index.affine.collect_symbols(symbols);
    for (const Constraint& c : load->guard) c.expr.collect_symbols(symbols);
  });
  return symbols;
}

// The pointers live as long as `e`, and lead into it.
std::vector<const Load*> loads_of(const Expr& e) {
  std::vector<const Load*> loads;
  for_each_node(e, [&](const ExprNode& n) {
    if (const auto* load = std::get_if<Load>(&n.op)) loads.push_back(load);
  });
  return loads;
}

}  // namespace polyte::ir
