#include "lower/unroll_loops.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "lower/names.h"
#include "lower/simplify.h"
#include "support/checked.h"

namespace polyte::lower {

using ir::Affine;
using ir::Bindings;
using ir::Constraint;
using ir::LoopKind;
using ir::Stmt;

// Only the first constant extent counts: a minimum can only make it fewer.
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

// Copies the tree once, top down, with the values of unrolled variables as bindings; each store is
// rewritten once. Unrolling from the inside out would rewrite the inner copies once per loop around
// them.
class Unroller {
 public:
  Unroller(const ir::LoopProgram& program, std::vector<std::string>& notes)
      : notes_(notes), names_(program, true), facts_(facts_of(program)) {}

  // Two walks: which serial loops have to be unrolled, as registers have no address; then the
  // copies.
  Stmt run(const Stmt& s) {
    Subscripts found;
    return copy(with_choosers(s, {}, found), {}, false);
  }

 private:
  using Registers = std::set<std::string>;
  using Subscripts = std::map<std::string, std::vector<Affine>>;  // of each buffer

  std::vector<std::string>& notes_;
  Names names_;
  ir::Facts facts_;
  std::set<std::string> registers_, reported_;
  std::set<std::string> choosers_;                     // loops that only registers want unrolled
  std::map<std::string, std::vector<Affine>> places_;  // subscripts of registers, by variable

  // Unrolls also the loops that choose registers of a buffer around them. `found`: subscripts of
  // these below, in the first iteration of loops that are unrolled there.
  Stmt with_choosers(const Stmt& s, Registers around, Subscripts& found) {
    const auto* alloc = std::get_if<ir::Alloc>(&s->op);
    const bool is_register = alloc && alloc->buffer.memory == ir::Memory::Register;
    if (is_register) around.insert(alloc->buffer.name);
    if (std::holds_alternative<ir::Tensorized>(s->op)) {  // its loops are its own
      collect(s, around, found);
      return s;
    }
    Stmt below = ir::rewrite_children(
        s, [&](const Stmt& child) { return with_choosers(child, around, found); });
    if (is_register) found.erase(alloc->buffer.name);
    if (const auto* loop = std::get_if<ir::For>(&below->op)) return as_chooser(below, *loop, found);
    if (!alloc && !std::holds_alternative<ir::Block>(s->op)) collect(s, around, found);
    return below;
  }

  // A serial loop whose variable is in a subscript of registers is unrolled as well. Its variable
  // is replaced by the first iteration in what is passed outwards, as loops around see only what is
  // left.
  Stmt as_chooser(const Stmt& s, const ir::For& loop, Subscripts& found) {
    bool chooses = false;
    const bool can_be = loop.kind == LoopKind::Serial || loop.kind == LoopKind::Unrolled;
    for (auto& [buffer, subscripts] : found)
      for (Affine& each : subscripts) {
        if (!can_be || !each.uses(loop.var)) continue;
        chooses = true;
        each = ir::substitute(each, {{loop.var, loop.lower[0]}});
      }
    if (!chooses || loop.kind == LoopKind::Unrolled) return s;
    choosers_.insert(loop.var);
    ir::For copy = loop;
    copy.kind = LoopKind::Unrolled;
    return ir::make_for(std::move(copy));
  }

  // Adds the subscripts of registers in a store, a condition or an instruction.
  void collect(const Stmt& s, const Registers& registers, Subscripts& found) {
    if (registers.empty()) return;
    const auto see = [&](const std::string& buffer, const std::vector<ir::Index>& indices) {
      if (!registers.contains(buffer)) return;
      for (const ir::Index& index : indices) {
        if (index.affine.is_constant()) continue;
        found[buffer].push_back(index.affine);
        std::set<std::string> symbols;
        index.affine.collect_symbols(symbols);
        for (const std::string& symbol : symbols) places_[symbol].push_back(index.affine);
      }
    };
    const auto read = [&](const ir::Expr& e) {
      for (const ir::Load* load : ir::loads_of(e)) see(load->buffer, load->indices);
    };
    if (const auto* branch = std::get_if<ir::If>(&s->op)) {
      if (branch->condition) read(branch->condition);
      return;
    }
    ir::for_each_stmt(s, [&](const Stmt& each) {
      if (const auto* store = std::get_if<ir::Store>(&each->op)) see(store->buffer, store->indices);
    });
    ir::for_each_expr(s, read);
  }

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

  // The copy below is made as if it were the first one: `rename_bound` gives fresh names to all
  // that it binds afterwards, the buffer included.
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
      if (const auto trips = trips_of(result, bindings, reason))
        return unrolled(result, *trips, bindings, again);
      if (!choosers_.contains(loop.var) && reported_.insert(loop.var).second)
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

  // Which iterations a loop has at most: from one of its lower bounds on, so many.
  struct Trips {
    Affine first;
    std::int64_t count = 0;
  };

  // From the lower bound that gives the least number; for a subscript of registers from what makes
  // it a number, if need be the least value of a bound. nullopt with a reason where the number of
  // iterations is unknown or too large.
  std::optional<Trips> trips_of(const ir::For& loop, const Bindings& bindings,
                                std::string& reason) {
    std::vector<Affine> firsts = loop.lower;
    if (places_.contains(loop.var))
      for (const Affine& lower : loop.lower)
        if (const auto before = facts_.most(-lower)) firsts.emplace_back(-*before);
    std::optional<Trips> trips;
    const auto rank = [&](const Trips& t) {
      return std::tuple(symbols_left(loop.var, t.first, bindings), t.count, t.first.is_constant());
    };
    for (const Affine& first : firsts)
      for (const Affine& upper : loop.upper) {
        const auto most = facts_.most(upper - first);
        if (!most) continue;
        const Trips found{first, std::max<std::int64_t>(*most, 0)};
        if (!trips || rank(found) < rank(*trips)) trips = found;
      }
    if (!trips) {
      reason = "its extent is not constant";
      return std::nullopt;
    }
    const std::int64_t stores = count_unrolled_stores(loop.body);
    if (trips->count > kMaxUnrolledStores / std::max<std::int64_t>(stores, 1)) {
      reason = std::to_string(trips->count) + " copies of " + std::to_string(stores) +
               " stores, expected at most " + std::to_string(kMaxUnrolledStores) + " stores";
      return std::nullopt;
    }
    return trips;
  }

  // Of subscripts of registers with this variable, once it begins there.
  std::size_t symbols_left(const std::string& var, const Affine& first,
                           const Bindings& bindings) const {
    const auto place = places_.find(var);
    if (place == places_.end()) return 0;
    Bindings all = bindings;
    all[var] = first;
    std::size_t count = 0;
    for (const Affine& subscript : place->second) {
      std::set<std::string> symbols;
      ir::substitute(subscript, all).collect_symbols(symbols);
      count += symbols.size();
    }
    return count;
  }

  // `loop` with its bounds already substituted.
  Stmt unrolled(const ir::For& loop, const Trips& trips, const Bindings& bindings, bool again) {
    const bool fenced = reduces_into_registers(loop);
    std::vector<Stmt> copies;
    for (std::int64_t i = 0; i < trips.count; ++i) {
      Bindings inner = bindings;
      const Affine value = inner[loop.var] = trips.first + i;
      if (i > 0 && fenced) copies.push_back(ir::make_fence());
      copies.push_back(
          ir::make_if({guard_of(loop, value), nullptr, copy(loop.body, inner, again || i > 0)}));
    }
    return ir::make_block(std::move(copies));
  }

  // `trips_of` takes one of several bounds; the others may cut iterations off, each of which gets a
  // test.
  static std::vector<Constraint> guard_of(const ir::For& loop, const Affine& value) {
    std::vector<Constraint> guard;
    for (const Affine& lower : loop.lower) guard.push_back(ir::at_least(value, lower));
    for (const Affine& upper : loop.upper) guard.push_back(ir::less_than(value, upper));
    std::erase_if(
        guard, [](const Constraint& c) { return c.expr.is_constant() && c.expr.constant() >= 0; });
    return guard;
  }

  // Some register cell is written by every iteration: no subscript of the store uses the variable.
  bool reduces_into_registers(const ir::For& loop) const {
    bool found = false;
    ir::for_each_stmt(loop.body, [&](const Stmt& s) {
      const auto* store = std::get_if<ir::Store>(&s->op);
      if (!store || !registers_.count(store->buffer)) return;
      found = found || std::ranges::none_of(store->indices, [&](const ir::Index& index) {
                return index.affine.uses(loop.var);
              });
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
