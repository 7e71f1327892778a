#include "lower/hoist.h"

#include <algorithm>
#include <set>

#include "lower/lane_rewriter.h"
#include "lower/names.h"
#include "lower/rewrite_exprs.h"
#include "lower/simplify.h"

namespace polyte::lower {

using ir::Affine;
using ir::Expr;
using ir::Stmt;

namespace {

using Guard = std::vector<ir::Constraint>;

struct Hoisted {
  Expr load;
  Guard guard;         // under which it is read
  std::string buffer;  // that holds its value
};

struct GuardedStore {
  const ir::Store* store = nullptr;
  Guard guard = {};
  bool is_steady = true;  // the guard is the same in all iterations
};
using Body = std::vector<GuardedStore>;  // of stores and branches, in order

// The stores of the loop's body with the conditions around each; false if the body holds anything
// else but fences and prefetches.
bool collect_stores(const Stmt& s, const std::string& var, GuardedStore& around, Body& body) {
  if (const auto* store = std::get_if<ir::Store>(&s->op)) {
    around.store = store;
    body.push_back(around);
    return true;
  }
  if (std::holds_alternative<ir::Fence>(s->op) || std::holds_alternative<ir::Prefetch>(s->op))
    return true;
  if (const auto* branch = std::get_if<ir::If>(&s->op)) {
    GuardedStore inner = around;
    inner.is_steady = inner.is_steady && !branch->condition;
    for (const ir::Constraint& c : branch->conditions) {
      inner.guard.push_back(c);
      inner.is_steady = inner.is_steady && !c.expr.uses(var);
    }
    return collect_stores(branch->body, var, inner, body);
  }
  const auto* block = std::get_if<ir::Block>(&s->op);
  return block && std::ranges::all_of(block->body, [&](const Stmt& child) {
           return collect_stores(child, var, around, body);
         });
}

class Hoister {
 public:
  explicit Hoister(const ir::LoopProgram& program)
      : names_(program, true), facts_(facts_of(program)) {
    ir::for_each_stmt(program.body, [&](const Stmt& s) {
      const auto* alloc = std::get_if<ir::Alloc>(&s->op);
      if (alloc && alloc->buffer.memory == ir::Memory::Register)
        registers_.insert(alloc->buffer.name);
    });
  }

  Stmt statement(const Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    if (loop) return visit_loop(s, *loop);
    // One instruction: its loops are not run.
    if (std::holds_alternative<ir::Tensorized>(s->op)) return s;
    const ir::Facts::Scope scope(facts_);
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      for (const ir::Constraint& c : branch->conditions) facts_.assume(c);
    return ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
  }

 private:
  Names names_;
  ir::Facts facts_;
  std::set<std::string> registers_;

  Stmt visit_loop(const Stmt& s, const ir::For& loop) {
    ir::For copy = loop;
    {
      const ir::Facts::Scope scope(facts_);
      facts_.bind(loop.var, loop.lower, loop.upper);
      copy.body = statement(loop.body);
    }
    Stmt same = copy.body == loop.body ? s : ir::make_for(copy);
    if (loop.kind != ir::LoopKind::Serial) return same;
    // One of the two: where the whole body is guarded, the guard goes outside and loads stay.
    if (const auto* branch = std::get_if<ir::If>(&copy.body->op))
      return without_guard(same, copy, *branch);
    return with_loads_before(same, copy);
  }

  // for v { if c { body } }  ->  if c { for v { body } }, for the conditions that do not use v
  static Stmt without_guard(const Stmt& same, const ir::For& loop, const ir::If& branch) {
    ir::If outer{{}, nullptr, nullptr}, inner = branch;
    inner.conditions.clear();
    for (const ir::Constraint& c : branch.conditions)
      (c.expr.uses(loop.var) ? inner : outer).conditions.push_back(c);
    if (outer.conditions.empty()) return same;
    ir::For copy = loop;
    copy.body = ir::make_if(std::move(inner));
    outer.body = ir::make_for(std::move(copy));
    return ir::make_if(std::move(outer));
  }

  // Every upper bound is above every lower one, so the maximum of the lower ones is below the
  // minimum of the upper ones.
  bool runs(const ir::For& loop) const {
    return std::ranges::all_of(loop.upper, [&](const Affine& high) {
      return std::ranges::all_of(loop.lower,
                                 [&](const Affine& low) { return facts_.proves(high - low - 1); });
    });
  }

  // Loop-invariant code motion, loads only. Safe because the loop runs at least once (so the load
  // would have happened), nothing in it stores to that element, and the guards around the load go
  // with it.
  Stmt with_loads_before(const Stmt& same, const ir::For& loop) {
    Body body;
    GuardedStore none;
    if (!runs(loop) || !collect_stores(loop.body, loop.var, none, body)) return same;
    const ir::Facts::Scope scope(facts_);
    facts_.bind(loop.var, loop.lower, loop.upper);
    std::vector<Hoisted> hoisted;
    for (const GuardedStore& each : body)
      if (each.is_steady) collect(each, loop.var, body, hoisted);
    if (hoisted.empty()) return same;
    ir::For copy = loop;
    copy.body = with_values(loop.body, {}, hoisted);
    Stmt result = ir::make_for(std::move(copy));
    for (std::size_t i = hoisted.size(); i-- > 0;)
      result = with_value(hoisted[i], std::move(result));
    return result;
  }

  void collect(const GuardedStore& reader, const std::string& var, const Body& body,
               std::vector<Hoisted>& into) {
    ir::rewrite(reader.store->value, [&](const Expr& leaf) {
      const auto* load = std::get_if<ir::Load>(&leaf->op);
      if (!load || into.size() >= kMaxHoistedLoads || !can_move(leaf, *load, var)) return leaf;
      const bool is_there = std::ranges::any_of(into, [&](const Hoisted& h) {
        return ir::equal(h.load, leaf) && is_within(reader.guard, h.guard);
      });
      if (!is_there && is_untouched(*load, reader.guard, body))
        into.push_back({leaf, reader.guard, names_.fresh(load->buffer + ".h")});
      return leaf;
    });
  }

  static bool is_within(const Guard& inner, const Guard& outer) {
    return std::ranges::all_of(
        outer, [&](const ir::Constraint& c) { return std::ranges::find(inner, c) != inner.end(); });
  }

  bool can_move(const Expr& e, const ir::Load& load, const std::string& var) const {
    const auto indirect = [](const ir::Index& index) { return index.indirect != nullptr; };
    return !uses(e, var) && load.guard.empty() && registers_.count(load.buffer) == 0 &&
           std::ranges::none_of(load.indices, indirect);
  }

  // Whether no store of the body, in any iteration, reaches an element that the load reads.
  bool is_untouched(const ir::Load& load, const Guard& guard, const Body& body) {
    const auto is_same = [&](const GuardedStore& s) { return s.store->buffer == load.buffer; };
    if (std::ranges::count_if(body, is_same) > kMostStoresApart) return false;
    return std::ranges::all_of(body, [&](const GuardedStore& s) {
      if (!is_same(s)) return true;
      const ir::Facts::Scope scope(facts_);
      // What both run under, as known facts: of A[k + 1, k] read and A[i, j] stored with i >= 48
      // and k <= 39 the subscripts 40 and 48 are apart.
      facts_.assume(guard);
      if (s.guard != guard) facts_.assume(s.guard);
      return are_apart({&load.indices, &load.lanes}, {&s.store->indices, &s.store->lanes});
    });
  }

  // Subscripts and lanes of an access.
  struct Access {
    const std::vector<ir::Index>* indices;
    const ir::Lanes* lanes;
  };

  bool are_apart(const Access& a, const Access& b) const {
    for (std::size_t d = 0; d < a.indices->size(); ++d)
      if (ends_before(a, b, d) || ends_before(b, a, d)) return true;
    return false;
  }

  // All lanes of `a` are before the first of `b`, in this dimension: last lane of a < first lane of
  // b, or first_b - first_a - (lanes - 1) * stride - 1 >= 0, with the lanes that are active where a
  // mask has fewer.
  bool ends_before(const Access& a, const Access& b, std::size_t d) const {
    const ir::Index &last = (*a.indices)[d], &first = (*b.indices)[d];
    if (last.indirect || first.indirect) return false;
    const std::int64_t stride = stride_of(a, d);
    if (stride < 0 || stride_of(b, d) < 0) return false;
    const auto is_before = [&](const Affine& lanes) {
      return facts_.proves(first.affine - last.affine - (lanes - 1) * stride - 1);
    };
    return is_before(a.lanes->count) ||
           (stride > 0 && a.lanes->active && is_before(*a.lanes->active));
  }

  static std::int64_t stride_of(const Access& access, std::size_t d) {
    return access.lanes->count == 1 ? 0 : access.lanes->strides[d];
  }

  static std::vector<ir::Index> first() { return {ir::Index(Affine(0))}; }

  static Stmt with_values(const Stmt& s, const Guard& guard, const std::vector<Hoisted>& hoisted) {
    Guard inner = guard;
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      inner.insert(inner.end(), branch->conditions.begin(), branch->conditions.end());
    if (std::holds_alternative<ir::Store>(s->op))
      return rewrite_exprs(s, [&](const Expr& leaf) { return replaced(leaf, guard, hoisted); });
    return ir::rewrite_children(
        s, [&](const Stmt& child) { return with_values(child, inner, hoisted); });
  }

  static Expr replaced(const Expr& leaf, const Guard& guard, const std::vector<Hoisted>& hoisted) {
    for (const Hoisted& h : hoisted) {
      if (!ir::equal(h.load, leaf) || !is_within(guard, h.guard)) continue;
      ir::Load value{h.buffer, first(), {}, nullptr, {}};
      if (leaf->lanes > 1) value.lanes = {leaf->lanes, {1}, std::nullopt};
      return std::make_shared<const ir::ExprNode>(
          ir::ExprNode{leaf->type, leaf->lanes, std::move(value)});
    }
    return leaf;
  }

  static Stmt with_value(const Hoisted& h, Stmt body) {
    ir::Store store{h.buffer, first(), h.load, {}, {}};
    if (h.load->lanes > 1) store.lanes = {h.load->lanes, {1}, std::nullopt};
    Stmt read = ir::make_store(std::move(store));
    if (!h.guard.empty()) read = ir::make_if({h.guard, nullptr, std::move(read)});
    return ir::make_alloc({{h.buffer, h.load->type, {h.load->lanes}, ir::Memory::Register},
                           ir::make_block({std::move(read), std::move(body)})});
  }
};

}  // namespace

ir::LoopProgram hoist(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  result.body = Hoister(program).statement(program.body);
  return result;
}

}  // namespace polyte::lower
