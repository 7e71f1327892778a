#include "lower/carry_values.h"

#include <algorithm>
#include <optional>
#include <set>

#include "lower/names.h"
#include "lower/rewrite_exprs.h"
#include "lower/simplify.h"

namespace polyte::lower {
namespace {

using ir::Affine;
using ir::Expr;
using ir::Stmt;

// Some elements of a buffer, one per lane.
struct Place {
  std::string buffer;
  std::vector<Affine> at;  // of lane 0
  ir::Lanes lanes;
};

template <class Access>
std::optional<Place> place_of(const Access& access) {
  if (access.lanes.is_masked()) return std::nullopt;
  Place place{access.buffer, {}, access.lanes};
  for (const ir::Index& index : access.indices) {
    if (index.indirect) return std::nullopt;
    place.at.push_back(index.affine);
  }
  return place;
}

bool same(const Place& a, const Place& b) {
  return a.buffer == b.buffer && a.at == b.at && a.lanes.count == b.lanes.count &&
         a.lanes.strides == b.lanes.strides;
}

// The distance of the last lane from the first.
std::int64_t reach_of(const Place& place, std::size_t dimension) {
  return place.lanes.count == 1 ? 0 : place.lanes.strides[dimension] * (place.lanes.count - 1);
}

// Surely no element in common: in some dimension the intervals of subscripts that the two cover,
// from lane 0 to the last, do not overlap. Their distance has to be a number for that to be known.
bool are_apart(const Place& a, const Place& b) {
  if (a.buffer != b.buffer) return true;
  for (std::size_t d = 0; d < a.at.size(); ++d) {
    const Affine difference = a.at[d] - b.at[d];
    if (!difference.is_constant()) continue;
    const std::int64_t from = difference.constant(), of_a = reach_of(a, d), of_b = reach_of(b, d);
    if (from + std::min<std::int64_t>(of_a, 0) > std::max<std::int64_t>(of_b, 0)) return true;
    if (from + std::max<std::int64_t>(of_a, 0) < std::min<std::int64_t>(of_b, 0)) return true;
  }
  return false;
}

// The place that the same access had one iteration ago.
Place before(const Place& place, const std::string& var) {
  Place moved = place;
  for (Affine& at : moved.at) at = substitute(at, {{var, Affine::symbol(var) - 1}});
  return moved;
}

struct Carried {
  std::size_t store;   // its number in the body
  Place now, earlier;  // what it writes, in this iteration and in the one before
  DType type;
  bool is_read_next;              // by the next iteration
  bool is_stored_behind = false;  // once, after the loop
  std::string value = {};         // the register
};

class Carrier {
 public:
  explicit Carrier(const ir::LoopProgram& program)
      : names_(program, true), facts_(facts_of(program)) {
    ir::for_each_stmt(program.body, [&](const Stmt& s) {
      const auto* alloc = std::get_if<ir::Alloc>(&s->op);
      if (alloc && alloc->buffer.memory == ir::Memory::Register)
        registers_.insert(alloc->buffer.name);
    });
  }

  Stmt statement(const Stmt& s) {
    const auto* loop = std::get_if<ir::For>(&s->op);
    // One instruction: its loops are not run.
    if (std::holds_alternative<ir::Tensorized>(s->op)) return s;
    const ir::Facts::Scope scope(facts_);
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      for (const ir::Constraint& c : branch->conditions) facts_.assume(c);
    if (!loop) return ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
    return visit_loop(s, *loop);
  }

 private:
  Names names_;
  ir::Facts facts_;
  std::set<std::string> registers_;
  std::vector<const ir::Store*> stores_;  // of the body at hand, in order

  // A loop of nothing but stores is innermost; in any other the search goes on inside.
  Stmt visit_loop(const Stmt& s, const ir::For& loop) {
    stores_.clear();
    if (loop.kind == ir::LoopKind::Serial && loop.lower.size() == 1 && collect(loop.body)) {
      const std::vector<Carried> carried = carried_in(loop);
      return carried.empty() ? s : with_values(loop, carried);
    }
    const ir::Facts::Scope scope(facts_);
    facts_.bind(loop.var, loop.lower, loop.upper);
    return ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
  }

  // False where there is anything but stores.
  bool collect(const Stmt& body) {
    if (const auto* store = std::get_if<ir::Store>(&body->op)) {
      stores_.push_back(store);
      return !store->atomic && !store->async;
    }
    if (std::holds_alternative<ir::Fence>(body->op) ||
        std::holds_alternative<ir::Prefetch>(body->op))
      return true;
    const auto* block = std::get_if<ir::Block>(&body->op);
    return block &&
           std::ranges::all_of(block->body, [&](const Stmt& child) { return collect(child); });
  }

  // A store is carried where the next iteration reads its element (`is_read_next`), or a later
  // statement of the same iteration does, in a buffer of which something is carried anyway.
  std::vector<Carried> carried_in(const ir::For& loop) {
    std::vector<Carried> all;
    std::set<std::string> carries;  // buffers
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      const auto now =
          registers_.contains(stores_[i]->buffer) ? std::nullopt : place_of(*stores_[i]);
      if (!now) continue;
      Carried value{i, *now, before(*now, loop.var), stores_[i]->value->type, false};
      // An update is known by its load (trace_check.h): that of a sum, whose iterations all update
      // one element, is of the register then, that of any other has to stay.
      const bool is_sum = same(value.now, value.earlier);
      if (!stays(value) || (!is_sum && reads(value.now, i, i + 1))) continue;
      value.is_stored_behind = is_sum && only_reads(value.now);
      value.is_read_next = reads(value.earlier, 0, i + 1);
      if (value.is_read_next) carries.insert(now->buffer);
      if (value.is_read_next || reads(value.now, i + 1, stores_.size()))
        all.push_back(std::move(value));
    }
    std::erase_if(all, [&](const Carried& value) { return !carries.contains(value.now.buffer); });
    if (std::ranges::count_if(all, &Carried::is_read_next) > kMaxCarriedValues) all.clear();
    for (Carried& value : all) value.value = names_.fresh(value.now.buffer + ".v");
    return all;
  }

  // Whether no other store of the body reaches the element that is written now, or the one that was
  // written in the iteration before, so that both keep their values until they are read.
  bool stays(const Carried& value) const {
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      if (i == value.store || stores_[i]->buffer != value.now.buffer) continue;
      const auto other = place_of(*stores_[i]);
      if (!other || !are_apart(*other, value.now) || !are_apart(*other, value.earlier))
        return false;
    }
    return true;
  }

  // Whether stores from `first` to `end` read the place.
  bool reads(const Place& place, std::size_t first, std::size_t end) const {
    for (std::size_t i = first; i < end; ++i)
      for (const ir::Load* load : ir::loads_of(stores_[i]->value))
        if (is_at(*load, place)) return true;
    return false;
  }

  // Whether all that is read of the buffer, subscripts of stores included, is this place, or surely
  // another one.
  bool only_reads(const Place& place) const {
    const auto is_known = [&](const ir::Load* load) {
      if (load->buffer != place.buffer || is_at(*load, place)) return true;
      const auto other = place_of(*load);
      return other && are_apart(*other, place);
    };
    return std::ranges::all_of(stores_, [&](const ir::Store* store) {
      return std::ranges::all_of(ir::loads_of(store->value), is_known) &&
             std::ranges::all_of(store->indices, [&](const ir::Index& index) {
               return !index.indirect ||
                      std::ranges::all_of(ir::loads_of(index.indirect), is_known);
             });
    });
  }

  static bool is_at(const ir::Load& load, const Place& place) {
    const auto read = load.guard.empty() ? place_of(load) : std::nullopt;
    return read && same(*read, place);
  }

  // The load in front of the loop reads what the first iteration would have read. A loop that may
  // run no iteration gets a condition around all of it: the element need not exist then.
  Stmt with_values(const ir::For& loop, const std::vector<Carried>& carried) {
    ir::For copy = loop;
    std::size_t next = 0;
    copy.body = body_of(loop.body, carried, next);
    std::vector<Stmt> all;
    for (const Carried& value : carried)
      if (value.is_read_next) all.push_back(first_value(value, loop));
    all.push_back(ir::make_for(std::move(copy)));
    for (const Carried& value : carried)
      if (value.is_stored_behind) all.push_back(stored(value, *stores_[value.store]));
    Stmt result = ir::make_block(std::move(all));
    for (const Carried& value : carried)
      result = ir::make_alloc(
          {{value.value, value.type, {value.now.lanes.count}, ir::Memory::Register}, result});
    return runs(loop) ? result : ir::make_if({conditions_of(loop), nullptr, result});
  }

  static std::vector<ir::Constraint> conditions_of(const ir::For& loop) {
    std::vector<ir::Constraint> conditions;
    for (const Affine& high : loop.upper)
      conditions.push_back(ir::less_than(loop.lower.front(), high));
    return conditions;
  }

  bool runs(const ir::For& loop) const {
    return std::ranges::all_of(conditions_of(loop), [&](const ir::Constraint& c) {
      return facts_.truth(c) == ir::Truth::True;
    });
  }

  Stmt body_of(const Stmt& body, const std::vector<Carried>& carried, std::size_t& next) {
    const auto* store = std::get_if<ir::Store>(&body->op);
    if (!store)
      return ir::rewrite_children(body,
                                  [&](const Stmt& child) { return body_of(child, carried, next); });
    const std::size_t here = next++;
    Stmt read = rewrite_exprs(body, [&](const Expr& leaf) { return taken(leaf, here, carried); });
    const auto own = std::ranges::find(carried, here, &Carried::store);
    if (own == carried.end()) return read;
    ir::Store kept = std::get<ir::Store>(read->op);
    const Stmt out = stored(*own, kept);
    kept.buffer = own->value;
    kept.indices = {ir::Index(Affine(0))};
    kept.lanes = lanes_of(*own);
    kept.nontemporal = false;
    if (own->is_stored_behind) return ir::make_store(std::move(kept));
    return ir::make_block({ir::make_store(std::move(kept)), out});
  }

  // The register to where the store of the loop goes.
  static Stmt stored(const Carried& value, ir::Store out) {
    out.value = value_of(value);
    out.origin = {};
    return ir::make_store(std::move(out));
  }

  // The register has the value of the iteration before up to the store, and that of this one behind
  // it. So a read of `earlier` is replaced up to the store (which may read it itself), and one of
  // `now` after it.
  static Expr taken(const Expr& leaf, std::size_t here, const std::vector<Carried>& carried) {
    const auto* load = std::get_if<ir::Load>(&leaf->op);
    if (!load) return leaf;
    for (const Carried& value : carried) {
      const bool is_later = here > value.store;
      if ((is_later || value.is_read_next) && is_at(*load, is_later ? value.now : value.earlier))
        return value_of(value);
    }
    return leaf;
  }

  static Stmt first_value(const Carried& value, const ir::For& loop) {
    ir::Load load;
    load.buffer = value.now.buffer;
    load.lanes = value.now.lanes;
    for (const Affine& at : value.earlier.at)
      load.indices.emplace_back(substitute(at, {{loop.var, loop.lower.front()}}));
    const Expr first = node_of(value, std::move(load));
    return ir::make_store({value.value, {ir::Index(Affine(0))}, first, lanes_of(value), {}});
  }

  static Expr value_of(const Carried& value) {
    return node_of(value, {value.value, {ir::Index(Affine(0))}, {}, nullptr, lanes_of(value)});
  }

  static Expr node_of(const Carried& value, ir::Load load) {
    return std::make_shared<const ir::ExprNode>(
        ir::ExprNode{value.type, value.now.lanes.count, std::move(load)});
  }

  static ir::Lanes lanes_of(const Carried& value) {
    if (value.now.lanes.count == 1) return {};
    return {value.now.lanes.count, {1}, std::nullopt};
  }
};

}  // namespace

ir::LoopProgram carry_values(const ir::LoopProgram& program) {
  ir::LoopProgram result = program;
  result.body = Carrier(program).statement(program.body);
  return result;
}

}  // namespace polyte::lower
