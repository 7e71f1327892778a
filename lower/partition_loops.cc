#include "lower/partition_loops.h"

#include <algorithm>

#include "lower/cut_conditions.h"
#include "lower/names.h"
#include "lower/open_trips.h"
#include "lower/simplify.h"
#include "lower/unroll_loops.h"

namespace polyte::lower {

using ir::Affine;
using ir::Constraint;
using ir::LoopKind;
using ir::Stmt;

namespace {

// Where the conditions of a loop's body begin or cease to hold: for low <= var < high all
// of those found hold.
struct Cuts {
  std::vector<Affine> low, high;
  bool empty() const { return low.empty() && high.empty(); }
};

// Looks below one loop for conditions that its variable decides.
class CutFinder {
 public:
  CutFinder(const ir::For& loop, ir::Facts& facts) : loop_(loop), facts_(facts) {}

  Cuts find() {
    const ir::Facts::Scope scope(facts_);
    facts_.bind(loop_.var, loop_.lower, loop_.upper);
    const bool is_vector = loop_.kind == LoopKind::Vector;
    for_each_cut_condition(
        loop_.body, is_vector, is_vector ? loop_.var : "", facts_,
        [&](const Affine& e, const std::set<std::string>& inside) { see(e, inside); });
    Cuts cuts;
    for (const Condition& c : conditions_) {
      std::vector<Affine>& side = c.step > 0 ? cuts.low : cuts.high;
      const Affine at = cut_of(c);
      if (std::ranges::find(side, at) == side.end()) side.push_back(at);
    }
    return cuts;
  }

 private:
  // The condition step * v + rest >= 0 of this loop's variable v.
  struct Condition {
    std::int64_t step;
    Affine rest;
  };

  const ir::For& loop_;
  ir::Facts& facts_;
  std::vector<Condition> conditions_;

  // The condition e >= 0. Its least value over the loops inside, a * v + rest, is >= 0 from v =
  // ceil(-rest / a) on for a > 0, and up to v = floor(rest / -a) for a < 0: the cut is there, and
  // on its good side the condition holds for all iterations inside.
  void see(const Affine& e, const std::set<std::string>& inside) {
    if (!e.uses(loop_.var) || facts_.truth({e, false}) != ir::Truth::Unknown) return;
    const auto worst = ir::least_over(e, inside, facts_.ranges());
    if (!worst) return;
    const std::int64_t a = worst->coefficient(loop_.var);
    const Affine rest = *worst - Affine::symbol(loop_.var) * a;
    if (a == 0 || rest.uses(loop_.var)) return;
    const Condition found{a, rest};
    if (is_hopeless(found)) return;
    // Of conditions that differ by a constant the strictest: once their cuts are rounded, their
    // order is not seen any more.
    for (Condition& known : conditions_) {
      const Affine apart = rest - known.rest;
      if (known.step != a || !apart.is_constant()) continue;
      if (apart.constant() < 0) known.rest = rest;
      return;
    }
    conditions_.push_back(found);
  }

  static Affine cut_of(const Condition& c) {
    return c.step > 0 ? -ir::floor_div(c.rest, c.step) : ir::floor_div(c.rest, -c.step) + 1;
  }

  // A cut that leaves nothing in the hot part is none.
  bool is_hopeless(const Condition& c) const {
    const Affine at = cut_of(c);
    return std::ranges::any_of(c.step > 0 ? loop_.upper : loop_.lower, [&](const Affine& end) {
      return facts_.proves(c.step > 0 ? at - end : end - at);
    });
  }
};

// How many stores may be added; never negative.
std::int64_t budget_of(std::int64_t stores, const PartitionOptions& options) {
  return std::min((options.growth - 1) * stores,
                  std::max<std::int64_t>(options.max_stores - stores, 0));
}

class Partitioner {
 public:
  Partitioner(const ir::LoopProgram& program, const PartitionOptions& options)
      : params_(program.params),
        names_(program, true),
        facts_(facts_of(program)),
        budget_(budget_of(count_unrolled_stores(program.body), options)),
        budget_of_branches_(options.max_branch_stores) {}

  Stmt statement(const Stmt& s) {
    if (const auto* loop = std::get_if<ir::For>(&s->op)) return visit_loop(s, *loop);
    const ir::Facts::Scope scope(facts_);
    if (const auto* branch = std::get_if<ir::If>(&s->op))
      for (const Constraint& c : branch->conditions) facts_.assume(c);
    return ir::rewrite_children(s, [&](const Stmt& child) { return statement(child); });
  }

 private:
  struct Part {
    std::vector<Affine> lower, upper;
    Stmt body;
  };

  const std::vector<std::string>& params_;
  Names names_;
  ir::Facts facts_;
  std::int64_t budget_, budget_of_branches_;

  // Outermost first: a cut of the outer loop makes conditions below it known in the hot part, so
  // that most inner loops need none of their own.
  Stmt visit_loop(const Stmt& s, const ir::For& loop) {
    if (loop.kind != LoopKind::Unrolled) {
      const Cuts cuts = cuts_of(loop);
      const std::int64_t copies = !cuts.low.empty() + !cuts.high.empty(),
                         cost = copies * count_unrolled_stores(loop.body);
      if (copies > 0 && cost <= budget_) {
        budget_ -= cost;
        return divided(loop, cuts);
      }
    }
    const ir::Facts::Scope scope(facts_);
    facts_.bind(loop.var, loop.lower, loop.upper);
    Stmt body = statement(loop.body);
    return body == loop.body ? s : with_bounds(loop, {loop.lower, loop.upper, std::move(body)});
  }

  // One cut a side: the one that most conditions agree on, as far as their order is known.
  Cuts cuts_of(const ir::For& loop) {
    Cuts cuts = CutFinder(loop, facts_).find();
    cuts.low = facts_.prune_lower(cuts.low);
    cuts.high = facts_.prune_upper(cuts.high);
    cuts.low.resize(std::min<std::size_t>(cuts.low.size(), 1));
    cuts.high.resize(std::min<std::size_t>(cuts.high.size(), 1));
    return cuts;
  }

  static Stmt with_bounds(const ir::For& loop, Part part) {
    return ir::make_for({loop.var, std::move(part.lower), std::move(part.upper), loop.kind,
                         loop.loop, part.body, loop.uncut});
  }

  // head: before low;  hot: from low to high;  tail: from both on.
  Stmt divided(const ir::For& loop, const Cuts& cuts) {
    Part hot{loop.lower, loop.upper, nullptr}, head = hot, tail = hot;
    for (const Affine& at : cuts.low) {
      head.upper.push_back(at);
      hot.lower.push_back(at);
      tail.lower.push_back(at);
    }
    for (const Affine& at : cuts.high) {
      hot.upper.push_back(at);
      tail.lower.push_back(at);
    }
    hot.body = copy_of(loop, hot);  // first: the growth is for the hot part
    if (!hot.body && !cuts.low.empty() && !cuts.high.empty() && loop.kind != LoopKind::Parallel)
      return halves(loop, head, tail);
    if (!cuts.low.empty()) head.body = copy_of(loop, head);
    if (!cuts.high.empty()) tail.body = copy_of(loop, tail);
    std::vector<Part> order;
    for (const Part& part : {head, hot, tail})
      if (part.body) order.push_back(part);
    return loop.kind == LoopKind::Parallel ? chosen_inside(loop, order) : side_by_side(loop, order);
  }

  // Conditions that never hold together, as those before and behind a division's change: each half
  // has its own.
  Stmt halves(const ir::For& loop, Part head, Part tail) {
    std::vector<Stmt> loops;
    for (Part* part : {&head, &tail}) {
      if (!has_iterations(*part)) continue;
      part->body = loop.body;
      const Stmt half = statement(with_bounds(loop, *part));
      loops.push_back(loops.empty() ? half : renamed(half));
    }
    return ir::make_block(std::move(loops));
  }

  // Whether the part may have an iteration; keeps only those bounds that others do not imply.
  bool has_iterations(Part& part) const {
    part.lower = facts_.prune_lower(part.lower);
    part.upper = facts_.prune_upper(part.upper);
    for (const Affine& low : part.lower)
      for (const Affine& high : part.upper)
        if (facts_.proves(low - high)) return false;
    return true;
  }

  // The body where the part's bounds hold: simplified, then divided further. Null: nothing
  // runs there.
  Stmt copy_of(const ir::For& loop, Part& part) {
    if (!has_iterations(part)) return nullptr;
    const ir::Facts::Scope scope(facts_);
    const bool once = runs_once(part);
    if (!once) facts_.bind(loop.var, part.lower, part.upper);
    const Stmt body = once ? ir::substitute(loop.body, {{loop.var, part.lower[0]}}) : loop.body;
    const Stmt simple = simplify(body, facts_);
    return simple ? statement(by_trips(simple)) : nullptr;
  }

  // Whether the part has one iteration or none, by the sizes: its variable is then the lower bound.
  bool runs_once(const Part& part) const {
    if (part.lower.size() != 1 || part.upper.size() != 1) return false;
    const Affine trips = part.upper[0] - part.lower[0];
    return !trips.is_constant() && facts_.proves(1 - trips);
  }

  // An Unrolled loop whose number of trips sizes decide becomes one branch for each possible
  // number, which is known inside.
  Stmt by_trips(const Stmt& s) {
    const std::optional<OpenTrips> trips = open_trips(s, facts_, params_);
    if (!trips) return s;
    std::vector<Stmt> branches;
    std::int64_t stores = 0;
    // The branch of 0 trips keeps what stands beside the loop.
    for (std::int64_t count = trips->least; count <= trips->most; ++count) {
      const Constraint known = ir::equal(trips->count, count);
      const ir::Facts::Scope scope(facts_);
      facts_.assume(known);
      const Stmt body = simplify(with_trips(s, trips->count, count), facts_);
      if (!body) continue;
      stores += count_unrolled_stores(body);
      branches.push_back(ir::make_if({{known}, nullptr, branches.empty() ? body : renamed(body)}));
    }
    if (stores > budget_of_branches_) return s;
    budget_of_branches_ -= stores;
    return ir::make_block(std::move(branches));
  }

  Stmt renamed(const Stmt& s) {
    return ir::rename_bound(s, [&](const std::string& name) { return names_.fresh(name); });
  }

  Stmt side_by_side(const ir::For& loop, const std::vector<Part>& parts) {
    std::vector<Stmt> loops;
    for (const Part& part : parts) {
      Stmt copy = with_bounds(loop, part);
      loops.push_back(loops.empty() ? copy : renamed(copy));
    }
    return ir::make_block(std::move(loops));
  }

  // One loop over everything; each part stands under what its bounds add.
  Stmt chosen_inside(const ir::For& loop, const std::vector<Part>& parts) {
    const ir::Facts::Scope scope(facts_);
    facts_.bind(loop.var, loop.lower, loop.upper);
    const Affine var = Affine::symbol(loop.var);
    std::vector<Stmt> branches;
    for (const Part& part : parts) {
      std::vector<Constraint> conditions;
      for (const Affine& low : part.lower) conditions.push_back(ir::at_least(var, low));
      for (const Affine& high : part.upper) conditions.push_back(ir::less_than(var, high));
      std::erase_if(conditions,
                    [&](const Constraint& c) { return facts_.truth(c) == ir::Truth::True; });
      const Stmt body = branches.empty() ? part.body : renamed(part.body);
      branches.push_back(ir::make_if({std::move(conditions), nullptr, body}));
    }
    return with_bounds(loop, {loop.lower, loop.upper, ir::make_block(std::move(branches))});
  }
};

}  // namespace

ir::LoopProgram partition_loops(const ir::LoopProgram& program, const PartitionOptions& options) {
  ir::LoopProgram result = program;
  result.body = Partitioner(program, options).statement(program.body);
  return result;
}

}  // namespace polyte::lower
