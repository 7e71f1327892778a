#include "lower/unroll_loops.h"

#include <algorithm>
#include <set>

#include "lower/names.h"
#include "lower/simplify.h"
#include "support/checked.h"

namespace polyte::lower {

using ir::Affine;
using ir::Bindings;
using ir::Constraint;
using ir::LoopKind;
using ir::Stmt;

std::int64_t count_unrolled_stores(const Stmt& s) {
  if (std::holds_alternative<ir::Store>(s->op)) return 1;
  std::int64_t count = 0;
  ir::rewrite_children(s, [&](const Stmt& child) {
    count += count_unrolled_stores(child);
    return child;
  });
  const auto* loop = std::get_if<ir::For>(&s->op);
  if (!loop || loop->kind != LoopKind::Unrolled) return count;
  for (const Affine& upper : loop->upper) {
    const Affine extent = upper - loop->lower[0];
    if (extent.is_constant())
      return checked_mul(count, std::max<std::int64_t>(extent.constant(), 0));
  }
  return count;
}

namespace {

// Copies the tree once, top down, with the values of unrolled variables as bindings; each store
// is rewritten once.
class Unroller {
 public:
  Unroller(const ir::LoopProgram& program, std::vector<std::string>& notes)
      : notes_(notes), names_(program, true), facts_(facts_of(program)) {}

  Stmt run(const Stmt& s) { return copy(s, {}, false); }

 private:
  std::vector<std::string>& notes_;
  Names names_;
  ir::Facts facts_;
  std::set<std::string> registers_, reported_;

  // `again`: not the first copy, so that what it binds needs fresh names.
  Stmt copy(const Stmt& s, const Bindings& bindings, bool again) {
    if (const auto* loop = std::get_if<ir::For>(&s->op)) return copy_loop(*loop, bindings, again);
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op))
      return copy_alloc(*alloc, bindings, again);
    if (const auto* branch = std::get_if<ir::If>(&s->op)) {
      ir::If result = *branch;
      for (Constraint& c : result.conditions) c = ir::substitute(c, bindings);
      if (result.condition) result.condition = ir::substitute(result.condition, bindings);
      result.body = copy(branch->body, bindings, again);
      return ir::make_if(std::move(result));
    }
    if (std::holds_alternative<ir::Store>(s->op) || std::holds_alternative<ir::Prefetch>(s->op))
      return ir::substitute(s, bindings);
    return ir::rewrite_children(s, [&](const Stmt& child) { return copy(child, bindings, again); });
  }

  Stmt copy_alloc(const ir::Alloc& alloc, const Bindings& bindings, bool again) {
    if (alloc.buffer.memory == ir::Memory::Register) registers_.insert(alloc.buffer.name);
    Stmt result = ir::make_alloc({alloc.buffer, copy(alloc.body, bindings, false)});
    if (!again) return result;
    return ir::rename_bound(result, [&](const std::string& name) { return names_.fresh(name); });
  }

  Stmt copy_loop(const ir::For& loop, const Bindings& bindings, bool again) {
    const ir::Facts::Scope scope(facts_);
    ir::For result = loop;
    for (Affine& bound : result.lower) bound = ir::substitute(bound, bindings);
    for (Affine& bound : result.upper) bound = ir::substitute(bound, bindings);
    if (loop.kind == LoopKind::Unrolled) {
      std::string reason;
      if (const auto trips = trips_of(result, reason))
        return unrolled(result, *trips, bindings, again);
      if (reported_.insert(loop.var).second)
        notes_.push_back("loop '" + loop.loop + "' is not unrolled: " + reason);
      result.kind = LoopKind::Serial;
      result.uncut = false;
    }
    Bindings inner = bindings;
    if (again) {
      result.var = names_.fresh(loop.var);
      inner[loop.var] = Affine::symbol(result.var);
    }
    facts_.bind(result.var, result.lower, result.upper);
    result.body = copy(loop.body, inner, again);
    return ir::make_for(std::move(result));
  }

  // How many iterations there are at most; nullopt with a reason where that is unknown or too many.
  std::optional<std::int64_t> trips_of(const ir::For& loop, std::string& reason) {
    std::optional<std::int64_t> trips;
    for (const Affine& upper : loop.upper) {
      const auto most = facts_.range(upper - loop.lower[0]).max;
      if (most && (!trips || *most < *trips)) trips = most;
    }
    if (loop.lower.size() > 1) trips = std::nullopt;
    if (!trips) {
      reason = "its extent is not constant";
      return std::nullopt;
    }
    const std::int64_t stores = count_unrolled_stores(loop.body);
    if (*trips > kMaxUnrolledStores / std::max<std::int64_t>(stores, 1)) {
      reason = std::to_string(*trips) + " copies of " + std::to_string(stores) +
               " stores, expected at most " + std::to_string(kMaxUnrolledStores) + " stores";
      return std::nullopt;
    }
    return std::max<std::int64_t>(*trips, 0);
  }

  // `loop` with its bounds already substituted.
  Stmt unrolled(const ir::For& loop, std::int64_t trips, const Bindings& bindings, bool again) {
    const bool fenced = reduces_into_registers(loop);
    std::vector<Stmt> copies;
    for (std::int64_t i = 0; i < trips; ++i) {
      Bindings inner = bindings;
      const Affine value = inner[loop.var] = loop.lower[0] + i;
      if (i > 0 && fenced) copies.push_back(ir::make_fence());
      copies.push_back(
          ir::make_if({guard_of(loop, value), nullptr, copy(loop.body, inner, again || i > 0)}));
    }
    return ir::make_block(std::move(copies));
  }

  static std::vector<Constraint> guard_of(const ir::For& loop, const Affine& value) {
    std::vector<Constraint> guard;
    for (const Affine& upper : loop.upper) {
      const Constraint c = ir::less_than(value, upper);
      if (!(c.expr.is_constant() && c.expr.constant() >= 0)) guard.push_back(c);
    }
    return guard;
  }

  // Some register cell is written by every iteration.
  bool reduces_into_registers(const ir::For& loop) const {
    bool found = false;
    ir::for_each_stmt(loop.body, [&](const Stmt& s) {
      const auto* store = std::get_if<ir::Store>(&s->op);
      if (!store || !registers_.count(store->buffer)) return;
      found = found ||
              std::none_of(store->indices.begin(), store->indices.end(),
                           [&](const ir::Index& index) { return index.affine.uses(loop.var); });
    });
    return found;
  }
};

}  // namespace

ir::LoopProgram unroll_loops(const ir::LoopProgram& program, std::vector<std::string>& notes) {
  ir::LoopProgram result = program;
  result.body = Unroller(program, notes).run(program.body);
  return result;
}

}  // namespace polyte::lower
