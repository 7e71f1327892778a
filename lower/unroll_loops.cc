#include "lower/unroll_loops.h"

#include <algorithm>
#include <set>

#include "lower/names.h"
#include "lower/simplify.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::LoopKind;
using ir::Stmt;

namespace {

std::int64_t count_stores(const Stmt& s) {
  std::int64_t count = 0;
  ir::for_each_stmt(s, [&](const Stmt& at) { count += std::holds_alternative<ir::Store>(at->op); });
  return count;
}

class Unroller {
 public:
  Unroller(const ir::LoopProgram& program, std::vector<std::string>& notes)
      : notes_(notes), names_(program, true), facts_(facts_of(program)) {}

  Stmt statement(const Stmt& s) {
    if (const auto* loop = std::get_if<ir::For>(&s->op)) return visit_loop(s, *loop);
    if (const auto* alloc = std::get_if<ir::Alloc>(&s->op))
      if (alloc->buffer.memory == ir::Memory::Register) registers_.insert(alloc->buffer.name);
    return ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
  }

 private:
  std::vector<std::string>& notes_;
  Names names_;
  Facts facts_;
  std::set<std::string> registers_;

  Stmt visit_loop(const Stmt& s, const ir::For& loop) {
    ir::For copy = loop;
    const Facts::Scope scope(facts_);
    facts_.bind(loop.var, loop.lower, loop.upper);
    copy.body = statement(loop.body);
    if (loop.kind != LoopKind::Unrolled) return copy.body == loop.body ? s : ir::make_for(std::move(copy));
    std::string reason;
    if (const auto trips = trips_of(copy, reason)) return unrolled(copy, *trips);
    notes_.push_back("loop '" + loop.loop + "' is not unrolled: " + reason);
    copy.kind = LoopKind::Serial;
    return ir::make_for(std::move(copy));
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
    const std::int64_t stores = count_stores(loop.body);
    if (*trips > kMaxUnrolledStores / std::max<std::int64_t>(stores, 1)) {
      reason = std::to_string(*trips) + " copies of " + std::to_string(stores) + " stores, expected at most " +
               std::to_string(kMaxUnrolledStores) + " stores";
      return std::nullopt;
    }
    return *trips < 0 ? 0 : *trips;
  }

  Stmt unrolled(const ir::For& loop, std::int64_t trips) {
    const bool fenced = reduces_into_registers(loop);
    std::vector<Stmt> copies;
    for (std::int64_t i = 0; i < trips; ++i) {
      const Affine value = loop.lower[0] + i;
      Stmt body = ir::substitute(loop.body, {{loop.var, value}});
      if (i > 0) {
        body = ir::rename_bound(body, [&](const std::string& name) { return fresh(name); });
        if (fenced) copies.push_back(ir::make_fence());
      }
      copies.push_back(ir::make_if({guard_of(loop, value), nullptr, std::move(body)}));
    }
    return ir::make_block(std::move(copies));
  }

  std::string fresh(const std::string& name) {
    std::string result = names_.fresh(name);
    if (registers_.count(name)) registers_.insert(result);
    return result;
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
      found = found || std::none_of(store->indices.begin(), store->indices.end(),
                                    [&](const ir::Index& index) { return index.affine.uses(loop.var); });
    });
    return found;
  }
};

}  // namespace

ir::LoopProgram unroll_loops(const ir::LoopProgram& program, std::vector<std::string>& notes) {
  ir::LoopProgram result = program;
  result.body = Unroller(program, notes).statement(program.body);
  return result;
}

}  // namespace polyte::lower
