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

struct Hoisted {
  Expr load;
  std::string buffer;  // that holds its value
};

// The stores of a body without loops or guards, in order; false if there is anything else.
bool plain_stores(const Stmt& body, std::vector<const ir::Store*>& stores) {
  if (const auto* store = std::get_if<ir::Store>(&body->op)) {
    stores.push_back(store);
    return true;
  }
  if (std::holds_alternative<ir::Fence>(body->op) || std::holds_alternative<ir::Prefetch>(body->op))
    return true;
  const auto* block = std::get_if<ir::Block>(&body->op);
  return block && std::all_of(block->body.begin(), block->body.end(),
                              [&](const Stmt& child) { return plain_stores(child, stores); });
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

  bool runs(const ir::For& loop) const {
    return std::all_of(loop.upper.begin(), loop.upper.end(), [&](const Affine& high) {
      return std::all_of(loop.lower.begin(), loop.lower.end(),
                         [&](const Affine& low) { return facts_.proves(high - low - 1); });
    });
  }

  // Loop-invariant code motion, loads only. Safe because the loop runs at least once (so the load
  // would have happened), nothing in it stores to that buffer, and no guard stands around the load.
  Stmt with_loads_before(const Stmt& same, const ir::For& loop) {
    std::vector<const ir::Store*> stores;
    if (!runs(loop) || !plain_stores(loop.body, stores)) return same;
    std::vector<Hoisted> hoisted;
    for (const ir::Store* store : stores) collect(store->value, loop.var, stores, hoisted);
    if (hoisted.empty()) return same;
    ir::For copy = loop;
    copy.body = rewrite_exprs(loop.body, [&](const Expr& leaf) { return replaced(leaf, hoisted); });
    Stmt result = ir::make_for(std::move(copy));
    for (std::size_t i = hoisted.size(); i-- > 0;)
      result = with_value(hoisted[i], std::move(result));
    return result;
  }

  void collect(const Expr& e, const std::string& var, const std::vector<const ir::Store*>& stores,
               std::vector<Hoisted>& into) {
    ir::rewrite(e, [&](const Expr& leaf) {
      const auto* load = std::get_if<ir::Load>(&leaf->op);
      if (load && into.size() < kMaxHoistedLoads && is_invariant(leaf, *load, var, stores) &&
          std::none_of(into.begin(), into.end(),
                       [&](const Hoisted& h) { return ir::equal(h.load, leaf); }))
        into.push_back({leaf, names_.fresh(load->buffer + ".h")});
      return leaf;
    });
  }

  bool is_invariant(const Expr& e, const ir::Load& load, const std::string& var,
                    const std::vector<const ir::Store*>& stores) const {
    const auto indirect = [](const ir::Index& index) { return index.indirect != nullptr; };
    return !uses(e, var) && load.guard.empty() && registers_.count(load.buffer) == 0 &&
           std::none_of(load.indices.begin(), load.indices.end(), indirect) &&
           std::none_of(stores.begin(), stores.end(),
                        [&](const ir::Store* s) { return s->buffer == load.buffer; });
  }

  static std::vector<ir::Index> first() { return {ir::Index(Affine(0))}; }

  static Expr replaced(const Expr& leaf, const std::vector<Hoisted>& hoisted) {
    for (const Hoisted& h : hoisted) {
      if (!ir::equal(h.load, leaf)) continue;
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
    return ir::make_alloc({{h.buffer, h.load->type, {h.load->lanes}, ir::Memory::Register},
                           ir::make_block({ir::make_store(std::move(store)), std::move(body)})});
  }
};

}  // namespace

ir::LoopProgram hoist(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  result.body = Hoister(program).statement(program.body);
  return result;
}

}  // namespace polyte::lower
