#include "lower/simplify.h"

#include <algorithm>

#include "ir/affine_system.h"
#include "ir/matrix_load.h"
#include "lower/open_threads.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::Expr;
using ir::Stmt;
using ir::Truth;

namespace {

// One walk from the outside in. `facts_` holds what is known where the walk is: ranges of the
// loops around, conditions that were passed, in scopes that end with their statement. Only affine
// parts change; values are computed as before.
class Simplifier {
 public:
  explicit Simplifier(ir::Facts& facts) : facts_(facts) {}

  // Null: nothing is left.
  Stmt statement(const Stmt& s) {
    return std::visit([&](const auto& op) { return simplified(s, op); }, s->op);
  }

 private:
  ir::Facts& facts_;
  bool in_instruction_ = false;  // of a warp
  Affine lane_ = 0;              // this one, beside a multiple of 32

  Stmt simplified(const Stmt& s, const ir::Fence&) { return s; }
  Stmt simplified(const Stmt& s, const ir::Barrier&) { return s; }
  Stmt simplified(const Stmt& s, const ir::CopyGroup&) { return s; }
  Stmt simplified(const Stmt& s, const ir::ProductGroup&) { return s; }

  Stmt simplified(const Stmt& s, const ir::Prefetch& prefetch) {
    ir::Prefetch copy = prefetch;
    return subscripts(copy.indices) ? ir::make_prefetch(std::move(copy)) : s;
  }

  Stmt simplified(const Stmt& s, const ir::Block& block) {
    std::vector<Stmt> body;
    bool changed = false;
    for (const Stmt& child : block.body) {
      Stmt kept = statement(child);
      changed = changed || kept != child;
      if (kept) body.push_back(std::move(kept));
    }
    if (body.empty()) return nullptr;
    return changed ? ir::make_block(std::move(body)) : s;
  }

  // Bounds that another one implies go; a loop that cannot run goes; a loop of one trip is its body
  // with the value put in. Facts about the variable hold inside only (Scope).
  Stmt simplified(const Stmt& s, const ir::For& loop) {
    std::vector<Affine> lower = bounds(loop.lower), upper = bounds(loop.upper);
    lower = facts_.prune_lower(lower);
    upper = facts_.prune_upper(upper);
    if (is_empty(lower, upper)) return nullptr;
    // Loops of a GPU stay: the number of an iteration is that of its block or thread.
    const bool is_one = lower.size() == 1 && upper.size() == 1 && upper[0] - lower[0] == Affine(1);
    if (is_one && !ir::is_of_device(loop.kind))
      return statement(ir::substitute(loop.body, {{loop.var, lower[0]}}));
    // Threads and vectors count on the number of iterations: only serial loops become conditions.
    if (loop.kind == ir::LoopKind::Serial)
      if (const auto only = only_value(lower, upper))
        return statement(run_if_there(loop, lower, upper, *only));
    const ir::Facts::Scope scope(facts_);
    facts_.bind(loop.var, lower, upper);
    const bool is_innermost_of_threads =
        loop.kind == ir::LoopKind::Thread || loop.kind == ir::LoopKind::Lane;
    if (is_innermost_of_threads) lane_ = Affine::symbol(loop.var);
    const Stmt body = statement(loop.body);
    if (!body) return nullptr;
    if (body == loop.body && lower == loop.lower && upper == loop.upper) return s;
    return ir::make_for(
        {loop.var, std::move(lower), std::move(upper), loop.kind, loop.loop, body, loop.uncut});
  }

  // The value of a loop of one trip or none, b in k..k + (i + 1)//16 with i below 16: by the bound
  // without a division, if one has none. The loop then becomes a condition around its body.
  std::optional<Affine> only_value(const std::vector<Affine>& lower,
                                   const std::vector<Affine>& upper) const {
    for (const Affine& low : lower)
      for (const Affine& high : upper) {
        const Affine trips = high - low;
        if (trips.is_constant() || !facts_.proves(1 - trips)) continue;
        return low.has_division() && !high.has_division() ? high - 1 : low;
      }
    return std::nullopt;
  }

  // for b in k..k + (i + 1)//16, at most one trip:   if k < k + (i + 1)//16 { body with b = k }
  static Stmt run_if_there(const ir::For& loop, const std::vector<Affine>& lower,
                           const std::vector<Affine>& upper, const Affine& value) {
    std::vector<Constraint> conditions;
    for (const Affine& low : lower) conditions.push_back({ir::normalised(value - low), false});
    for (const Affine& high : upper)
      conditions.push_back({ir::normalised(high - value - 1), false});
    return ir::make_if(
        {std::move(conditions), nullptr, ir::substitute(loop.body, {{loop.var, value}})});
  }

  bool is_empty(const std::vector<Affine>& lower, const std::vector<Affine>& upper) const {
    return std::ranges::any_of(lower, [&](const Affine& low) {
      return std::ranges::any_of(upper,
                                 [&](const Affine& high) { return facts_.proves(low - high); });
    });
  }

  std::vector<Affine> bounds(const std::vector<Affine>& values) const {
    std::vector<Affine> result;
    for (const Affine& value : values) {
      Affine simple = facts_.simplify(value);
      if (std::ranges::find(result, simple) == result.end()) result.push_back(std::move(simple));
    }
    return result;
  }

  // Each condition is a fact for the ones after it and for the body. Not inside an instruction of a
  // warp: there the condition cuts the tile short, while the subscripts below run over all of it.
  Stmt simplified(const Stmt& s, const ir::If& branch) {
    const ir::Facts::Scope scope(facts_);
    std::vector<Constraint> conditions;
    for (const Constraint& c : branch.conditions) {
      const Constraint simple{facts_.simplify(c.expr), c.equality};
      const Truth truth = facts_.truth(simple);
      if (truth == Truth::False) return nullptr;
      if (truth == Truth::True) continue;
      if (!in_instruction_) facts_.assume(simple);
      conditions.push_back(simple);
    }
    Expr condition = branch.condition ? expression(branch.condition) : nullptr;
    if (const auto known = literal_bool(condition)) {
      if (!*known) return nullptr;
      condition = nullptr;
    }
    const Stmt body = statement(branch.body);
    if (!body) return nullptr;
    if (body == branch.body && conditions == branch.conditions && condition == branch.condition)
      return s;
    return ir::make_if({std::move(conditions), std::move(condition), body});
  }

  Stmt simplified(const Stmt& s, const ir::Alloc& alloc) {
    const Stmt body = statement(alloc.body);
    if (!body) return nullptr;
    return body == alloc.body ? s : ir::make_alloc({alloc.buffer, body});
  }

  Stmt simplified(const Stmt& s, const ir::Tensorized& tensorized) {
    // A condition that cuts an instruction's tile short must not simplify its subscripts, which are
    // those of the whole tile.
    in_instruction_ = ir::is_of_warp(tensorized);
    const Stmt body = statement(tensorized.body);
    in_instruction_ = false;
    if (!body) return nullptr;
    return body == tensorized.body ? s : ir::make_tensorized({tensorized.intrinsic, body});
  }

  Stmt simplified(const Stmt& s, const ir::Store& store) {
    ir::Store copy = store;
    bool changed = subscripts(copy.indices);
    copy.value = expression(store.value);
    changed = changed || copy.value != store.value;
    changed = lanes(copy.lanes) || changed;
    for (Affine& value : copy.origin.instance) value = facts_.simplify(value);
    changed = changed || copy.origin.instance != store.origin.instance;
    // A copy that has become a constant, such as the zero of a border, is a plain store.
    copy.async = copy.async && std::holds_alternative<ir::Load>(copy.value->op);
    return changed ? ir::make_store(std::move(copy)) : s;
  }

  // --- parts of statements; true where something changed

  bool subscripts(std::vector<ir::Index>& indices) {
    bool changed = false;
    for (ir::Index& index : indices) {
      Affine simple = facts_.simplify(index.affine);
      const Expr indirect = index.indirect ? expression(index.indirect) : nullptr;
      changed = changed || simple != index.affine || indirect != index.indirect;
      index = {std::move(simple), indirect};
    }
    return changed;
  }

  // A mask that excludes no lane goes: active is then at least the number of lanes, skipped at most
  // 0.
  bool lanes(ir::Lanes& lanes) const {
    bool changed = false;
    const auto simplify = [&](std::optional<Affine>& bound, const auto& says_nothing) {
      if (!bound) return;
      std::optional<Affine> simple = facts_.simplify(*bound);
      if (says_nothing(*simple)) simple = std::nullopt;
      changed = changed || simple != bound;
      bound = std::move(simple);
    };
    simplify(lanes.active, [&](const Affine& count) { return facts_.proves(count - lanes.count); });
    simplify(lanes.skipped, [&](const Affine& count) { return facts_.proves(Affine(0) - count); });
    return changed;
  }

  // --- expressions

  static std::optional<bool> literal_bool(const Expr& e) {
    const auto* literal = e ? std::get_if<ir::Literal>(&e->op) : nullptr;
    if (!literal || e->type != DType::Bool) return std::nullopt;
    return literal->integer != 0;
  }

  // Children first; a Load's subscripts and guard, an IndexValue's value; then choices that
  // are known.
  Expr expression(const Expr& e) {
    const Expr leaves = ir::rewrite(e, [&](const Expr& leaf) { return simple_leaf(leaf); });
    return has_known_select(leaves) ? choose(leaves) : leaves;
  }

  Expr simple_leaf(const Expr& e) {
    if (const auto* index = std::get_if<ir::IndexValue>(&e->op)) return simple_index(e, *index);
    if (const auto* load = std::get_if<ir::Load>(&e->op)) return simple_load(e, *load);
    if (const auto* read = std::get_if<ir::LaneRead>(&e->op)) return simple_lane_read(e, *read);
    return e;
  }

  // A register of another lane that is this lane's own is no exchange. Numbers of threads are
  // compared, of which multiples of 32 are other warps.
  Expr simple_lane_read(const Expr& e, const ir::LaneRead& read) const {
    const Affine lane = facts_.simplify(read.lane);
    if (is_one_lane(lane, lane_)) return read.load;
    return lane == read.lane ? e : ir::make_lane_read(read.load, lane);
  }

  Expr simple_index(const Expr& e, const ir::IndexValue& index) const {
    const Affine value = facts_.simplify(index.value);
    if (value == index.value) return e;
    if (e->lanes == 1) return ir::make_index(value, e->type);
    return std::make_shared<const ir::ExprNode>(
        ir::ExprNode{e->type, e->lanes, ir::IndexValue{value, index.lanes}});
  }

  Expr simple_load(const Expr& e, const ir::Load& load) {
    ir::Load copy = load;
    bool changed = lanes(copy.lanes);
    copy.guard.clear();
    for (const Constraint& c : load.guard) {
      const Constraint simple{facts_.simplify(c.expr), c.equality};
      const Truth truth = facts_.truth(simple);
      if (truth == Truth::False) return load.otherwise;
      changed = changed || truth == Truth::True || simple != c;
      if (truth == Truth::Unknown) copy.guard.push_back(simple);
    }
    if (copy.guard.empty()) copy.otherwise = nullptr;
    for (ir::Index& index : copy.indices) {
      Affine simple = facts_.simplify(index.affine);
      changed = changed || simple != index.affine;
      index.affine = std::move(simple);
    }
    if (!changed) return e;
    return std::make_shared<const ir::ExprNode>(ir::ExprNode{e->type, e->lanes, std::move(copy)});
  }

  static bool has_known_select(const Expr& e) {
    bool found = false;
    ir::for_each_node(e, [&](const ir::ExprNode& node) {
      const auto* select = std::get_if<ir::Select>(&node.op);
      found = found || (select && literal_bool(select->condition));
    });
    return found;
  }

  // Selections on literals below arithmetic. Loads keep theirs: subscripts hold none in practice.
  Expr choose(const Expr& e) {
    if (const auto* o = std::get_if<ir::Select>(&e->op)) {
      if (const auto known = literal_bool(o->condition)) return choose(*known ? o->a : o->b);
      return ir::make_select(choose(o->condition), choose(o->a), choose(o->b));
    }
    if (const auto* o = std::get_if<ir::Unary>(&e->op)) return ir::make_unary(o->op, choose(o->a));
    if (const auto* o = std::get_if<ir::Binary>(&e->op))
      return ir::make_binary(o->op, choose(o->a), choose(o->b));
    if (const auto* o = std::get_if<ir::Fma>(&e->op))
      return ir::make_fma(choose(o->a), choose(o->b), choose(o->c));
    if (const auto* o = std::get_if<ir::Cast>(&e->op)) return ir::make_cast(e->type, choose(o->a));
    if (const auto* o = std::get_if<ir::Broadcast>(&e->op))
      return ir::make_broadcast(choose(o->a), e->lanes);
    return e;
  }
};

}  // namespace

Stmt simplify(const Stmt& s, ir::Facts& facts) { return Simplifier(facts).statement(s); }

ir::Facts facts_of(const ir::LoopProgram& program) {
  ir::Facts facts;
  for (const std::string& p : program.params) facts.assume({Affine::symbol(p), false});
  for (const ir::Buffer& b : program.buffers)
    for (const Affine& extent : b.shape) facts.assume({extent, false});
  return facts;
}

ir::LoopProgram simplify(const ir::LoopProgram& program) {
  ir::Facts facts = facts_of(program);
  const Stmt body = simplify(program.body, facts);
  ir::LoopProgram result = program;
  result.body = body ? body : ir::make_block({});
  return result;
}

}  // namespace polyte::lower
