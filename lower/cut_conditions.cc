#include "lower/cut_conditions.h"

#include <algorithm>

#include "support/checked.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::Stmt;

namespace {

using See = std::function<void(const Affine&, const std::set<std::string>&)>;

class Finder {
 public:
  Finder(ir::Facts& facts, const std::string& vector, const See& see) : facts_(facts), see_(see) {
    if (!vector.empty()) vectors_.insert(vector);
  }

  // `expanded`: inside an Unrolled or Vector loop, where a test costs most.
  void visit(const Stmt& s, bool expanded) {
    const ir::Facts::Scope scope(facts_);
    if (const auto* loop = std::get_if<ir::For>(&s->op)) return visit_loop(*loop, expanded);
    if (const auto* branch = std::get_if<ir::If>(&s->op)) {
      for (const Constraint& c : branch->conditions) {
        if (expanded && !c.equality) see_(c.expr, inside_);
        facts_.assume(c);
      }
    }
    if (const auto* store = std::get_if<ir::Store>(&s->op); store && expanded) {
      see_guards(store->value);
      see_divisions(store->indices);
      for (const ir::Load* load : ir::loads_of(store->value)) see_divisions(load->indices);
    }
    ir::rewrite_children(s, [&](const Stmt& child) {
      visit(child, expanded);
      return child;
    });
  }

 private:
  ir::Facts& facts_;
  const See& see_;
  std::set<std::string> inside_, vectors_;

  void visit_loop(const ir::For& loop, bool expanded) {
    if (ir::is_expanded(loop.kind) && !loop.uncut) see_bounds(loop);
    facts_.bind(loop.var, loop.lower, loop.upper);
    inside_.insert(loop.var);
    if (loop.kind == ir::LoopKind::Vector) vectors_.insert(loop.var);
    visit(loop.body, expanded || ir::is_expanded(loop.kind));
    inside_.erase(loop.var);
    vectors_.erase(loop.var);
  }

  // A loop with several bounds has a constant extent where one upper bound at a constant distance
  // from a lower one is the least of all: other - bound >= 0. Likewise a constant lower bound has
  // to be the largest: constant - other >= 0.
  void see_bounds(const ir::For& loop) {
    for (const Affine& low : loop.lower)
      for (const Affine& bound : loop.upper)
        if ((bound - low).is_constant())
          for (const Affine& other : loop.upper)
            if (other != bound) see_(other - bound, inside_);
    for (const Affine& constant : loop.lower)
      if (constant.is_constant())
        for (const Affine& other : loop.lower)
          if (other != constant) see_(constant - other, inside_);
  }

  // A quotient that takes only two values over the loop changes from one to the other at numerator
  // = last * d. A vector before or behind that has one value of it in all lanes; these are the two
  // conditions. Where neither holds, the vector lies across.
  void see_divisions(const std::vector<ir::Index>& indices) {
    for (const ir::Index& index : indices)
      for (const ir::Term& term : index.affine.terms()) {
        if (!term.atom.div) continue;
        const auto& [numerator, denominator] = *term.atom.div;
        const auto uses = [&](const std::string& var) { return numerator.uses(var); };
        if (std::ranges::none_of(vectors_, uses)) continue;
        const ir::Interval range = facts_.range(numerator);
        if (!range.min || !range.max) continue;
        const std::int64_t last = polyte::floor_div(*range.max, denominator);
        if (last - polyte::floor_div(*range.min, denominator) != 1) continue;
        see_(numerator - last * denominator, inside_);
        see_(Affine(last * denominator - 1) - numerator, inside_);
      }
  }

  // Only those that cut something short: an equality holds in a single place, and no copy is
  // worth that.
  void see_guards(const ir::Expr& value) {
    for (const ir::Load* load : ir::loads_of(value))
      for (const Constraint& c : load->guard)
        if (!c.equality) see_(c.expr, inside_);
  }
};

}  // namespace

void for_each_cut_condition(const Stmt& s, bool expanded, const std::string& vector,
                            ir::Facts& facts, const See& see) {
  Finder(facts, vector, see).visit(s, expanded);
}

}  // namespace polyte::lower
