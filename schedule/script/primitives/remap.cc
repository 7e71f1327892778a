// map S, T: w = t.o + i.o for t.o:   t.o > i.o > { S; T }   ->   w > i.o > { S; T }
// Loops are replaced by as many expressions over current loops, in their places; the other rows
// stay. skew, shift, reverse, affine, rename and wavefront are forms of it. A map that is not
// one-to-one is refused; the order of the instances is what has to be proved.
//
// Each owner S solves the equations for the loops that go (inversion.h), here w = t.o + i.o:
//
//   rows      t.o = t//4, i.o = i//8   ->   w = t//4 + i//8, i.o = i//8
//   solved    t.o = w - i.o
//   inverse   t = 4*t.o + t.i          ->   t = 4*(w - i.o) + t.i
#include "schedule/script/primitives/remap.h"

#include <algorithm>
#include <set>

#include "ir/domain.h"
#include "schedule/script/affine_expr.h"
#include "schedule/script/primitives/inversion.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

// Looks for two instances with the same values of all rows, which a one-to-one map does not
// have: a counterexample for the refusal. Sizes that the header leaves open are 4, iterators
// take their first nine values; that nothing is found there proves nothing.
class Sampler {
 public:
  Sampler(const State& state, const ScheduledStatement& s, const std::vector<LoopRow>& rows)
      : s_(s), rows_(rows) {
    for (const std::string& param : state.reference->params) values_[param] = 4;
    for (const ir::Constraint& c : state.reference->context)  // a*N + c == 0 gives N = -c/a
      if (c.equality && c.expr.terms().size() == 1 && !c.expr.terms()[0].atom.div)
        values_[c.expr.terms()[0].atom.symbol] = -c.expr.constant() / c.expr.terms()[0].coefficient;
    for (const ir::Constraint& c : state.reference->context)
      is_possible_ = is_possible_ && ir::holds(c, values_);
    ranges_ = iterator_ranges(state, s);
  }

  // "S(i=0, j=1) and S(i=1, j=0)", empty if none were found.
  std::string collision() {
    if (is_possible_) visit(0);
    return found_;
  }

 private:
  static constexpr int kMostPoints = 20'000;
  const ScheduledStatement& s_;
  const std::vector<LoopRow>& rows_;
  ir::Values values_;
  ir::Ranges ranges_;
  bool is_possible_ = true;
  int points_ = 0;
  std::map<std::vector<std::int64_t>, std::string> seen_;
  std::string found_;

  void visit(std::size_t depth) {
    if (!found_.empty() || points_ > kMostPoints) return;
    if (depth == s_.body.iterators.size()) {
      point();
      return;
    }
    const std::string& iterator = s_.body.iterators[depth];
    const ir::Interval range = ranges_[iterator];
    const std::int64_t first = range.min.value_or(0),
                       last = std::min(range.max.value_or(first + 8), first + 8);
    for (std::int64_t value = first; value <= last; ++value) {
      values_[iterator] = value;
      visit(depth + 1);
    }
  }

  void point() {
    ++points_;
    for (const ir::Constraint& c : s_.body.domain)
      if (!ir::holds(c, values_)) return;
    std::vector<std::int64_t> at;
    for (const LoopRow& row : rows_) at.push_back(ir::evaluate(row.value, values_));
    Instance instance{s_.body.name, {}};
    for (const std::string& iterator : s_.body.iterators)
      instance.iterators.emplace_back(iterator, values_[iterator]);
    const auto [where, is_new] = seen_.emplace(at, to_string(instance));
    if (!is_new) found_ = where->second + " and " + to_string(instance);
  }
};

// One remap on its way into a state.
class Remapping {
 public:
  Remapping(const State& state, const Remap& directive, const PrimitiveContext& context)
      : state_(state), directive_(directive), context_(context), next_(state) {}

  Applied run() {
    if (auto refusal = check_directive()) return *refusal;
    if (auto refusal = find_targets()) return *refusal;
    if (auto refusal = check_loops()) return *refusal;
    for (const std::string& target : targets_)
      if (auto refusal = rewrite(statement_of(next_, target))) return *refusal;
    rename_in_tree();
    if (auto refusal = settle(next_)) return *refusal;
    if (!verify(next_).empty())
      return conservative("the loops " + join_words(directive_.replaced) +
                          " cannot be shown to come back from " + join_words(directive_.loops));
    if (auto refusal = check_moved(next_, below_, context_)) return *refusal;
    if (auto refusal = check_races(next_, below_, context_)) return *refusal;
    return std::move(next_);
  }

 private:
  const State& state_;
  const Remap& directive_;
  const PrimitiveContext& context_;
  State next_;
  Names targets_, below_;
  std::set<LoopId> ids_;  // of the replaced loops

  std::optional<Refusal> check_directive() const {
    const Names &loops = directive_.loops, &replaced = directive_.replaced;
    if (loops.size() != replaced.size())
      return malformed("the map makes " + std::to_string(loops.size()) + " loops of " +
                       std::to_string(replaced.size()) + ": expected as many");
    for (std::size_t i = 0; i < loops.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (loops[i] == loops[j]) return malformed(loops[i] + " names two loops of the map");
        if (replaced[i] == replaced[j]) return malformed(replaced[i] + " is replaced twice");
      }
    return std::nullopt;
  }

  // Those that the map is for, by the first loop that it replaces; each has to own the others
  // too. `below_` are all statements in these loops: their order may change.
  std::optional<Refusal> find_targets() {
    for (const std::string& selector :
         directive_.statements.empty() ? Names{""} : directive_.statements) {
      const auto owners = owners_of(state_, {selector, directive_.replaced.front()});
      if (!owners) return owners.error();
      for (const std::string& owner : *owners) {
        if (has(targets_, owner)) return malformed(owner + " is mapped twice");
        targets_.push_back(owner);
      }
    }
    for (const std::string& target : targets_) {
      for (const std::string& loop : directive_.replaced) {
        if (!row_of(state_.at(target), loop)) return malformed(no_loop_text(state_, target, loop));
        if (is_pinned(state_, target, loop))
          return malformed(target + " has no loop " + loop +
                           " of its own: it is placed in an iteration of it");
      }
      for (const Loop* loop : path_to(state_.tree, target))
        if (has(directive_.replaced, loop->name)) ids_.insert(loop->id);
    }
    for (LoopId id : ids_)
      for (const std::string& statement : statements_below(state_.tree, id))
        if (!has(below_, statement)) below_.push_back(statement);
    return std::nullopt;
  }

  bool keeps_names() const { return directive_.loops == directive_.replaced; }
  bool is_rename() const {
    return directive_.replaced.size() == 1 &&
           directive_.values.front().text == directive_.replaced.front();
  }

  // What may not hang on a loop that goes: a stage, a cut, an iterator of a lifted or copied
  // statement. A statement in the loop that is not named would keep the old values under the
  // new name, which is refused unless the names stay (`map S: i = i + 1`: settle then compares
  // how it is counted) or the statement only is placed in one of its iterations.
  std::optional<Refusal> check_loops() const {
    for (const StagedBuffer& buffer : state_.staged)
      if (ids_.count(buffer.scope_loop) > 0)
        return malformed(buffer.of + " is staged at " +
                         find_loop(state_.tree, buffer.scope_loop)->name + ": stage comes after");
    for (const std::string& target : is_rename() ? Names{} : targets_)
      if (auto refusal = check_uncut(state_.at(target), directive_.replaced, "map")) return refusal;
    for (const std::string& statement : below_) {
      const ScheduledStatement& s = state_.at(statement);
      for (int i = 0; i < s.lifted; ++i)
        if (has(directive_.replaced, s.body.iterators[static_cast<std::size_t>(i)]))
          return malformed(statement +
                           (s.kind == StatementKind::Copy ? " is copied" : " is recomputed") +
                           " in every iteration of " +
                           s.body.iterators[static_cast<std::size_t>(i)] + ": map comes before");
      const Leaf& leaf = leaf_of(state_, statement);
      for (const Loop* loop : path_to(state_.tree, statement)) {
        const bool is_replaced = ids_.count(loop->id) > 0;
        if (!is_replaced && has(directive_.loops, loop->name))
          return malformed(statement + " has a loop " + loop->name + " already");
        if (is_replaced && !keeps_names() && !has(targets_, statement) && !is_pinned(leaf, *loop))
          return malformed(loop->name + " is shared with " + statement + ": name it too");
      }
    }
    return std::nullopt;
  }

  // The new loops over the statement's own loops of before; a loop of a `when` has one value
  // and is none of them.
  Result<std::vector<LoopRow>, Refusal> equations(const ScheduledStatement& s) const {
    const Names owned = owned_loops(state_, s.body.name);
    std::vector<LoopRow> result;
    for (std::size_t i = 0; i < directive_.loops.size(); ++i) {
      const auto value = parse_affine(directive_.values[i].text, owned, "loops of " + s.body.name,
                                      context_.environment.values);
      if (!value) return malformed(value.error().reason);
      result.push_back({directive_.loops[i], *value});
    }
    return result;
  }

  // Rows are over iterators, so old rows are put into the equations; inverse and loop_domain
  // are over loops, so the solution is put into them. What the equations imply of the new loops
  // by themselves (w = 2*i is even) joins loop_domain. `counted` and `mapped` remember this map
  // for comparisons of shared loops (settle.cc).
  std::optional<Refusal> rewrite(ScheduledStatement& s) {
    const auto made = equations(s);
    if (!made) return made.error();
    const auto inversion = invert(*made, directive_.replaced, loop_ranges(state_, s));
    const ir::Bindings before = row_bindings(s);
    std::vector<LoopRow> rows = s.rows;
    for (LoopRow& row : rows) {
      const auto at = std::ranges::find(directive_.replaced, row.loop);
      if (at == directive_.replaced.end()) continue;
      const LoopRow& equation = (*made)[static_cast<std::size_t>(at - directive_.replaced.begin())];
      row.loop = equation.loop;
      row.value = ir::substitute(equation.value, before);
    }
    if (!inversion) return not_one_to_one(state_, s, rows);
    // Cuts of the loops within, and of a renamed loop: what another map makes is not cut.
    for (LoopRow& row : rows)
      for (Affine& cut : row.cuts) cut = ir::substitute(cut, inversion->values);
    s.rows = std::move(rows);
    for (auto& [iterator, value] : s.inverse) value = ir::substitute(value, inversion->values);
    for (ir::Constraint& c : s.loop_domain) c = ir::substitute(c, inversion->values);
    s.loop_domain.insert(s.loop_domain.end(), inversion->implied.begin(), inversion->implied.end());
    s.counted = s.inverse;
    s.mapped = row_bindings(s);
    for (const std::string& loop : directive_.replaced)
      if (!has(directive_.loops, loop))
        s.lost.push_back({loop, "became " + join_words(directive_.loops)});
    return std::nullopt;
  }

  std::string new_name(const std::string& loop) const {
    const auto at = std::ranges::find(directive_.replaced, loop);
    return at == directive_.replaced.end()
               ? loop
               : directive_.loops[static_cast<std::size_t>(at - directive_.replaced.begin())];
  }

  void rename_in_tree() {
    next_.tree = map_loops(next_.tree, [&](const Loop& loop) {
      Loop rebuilt = loop;
      if (ids_.count(loop.id) > 0) rebuilt.name = new_name(loop.name);
      return rebuilt;
    });
    // Statements placed in an iteration of a replaced loop only follow its name; settle gives them
    // the new value.
    for (const std::string& statement : below_) {
      if (has(targets_, statement)) continue;
      std::map<std::string, std::string> names;
      for (const std::string& loop : directive_.replaced)
        if (is_pinned(state_, statement, loop)) names[loop] = new_name(loop);
      rename_loops(statement_of(next_, statement), names);
    }
  }
};

}  // namespace

Refusal not_one_to_one(const State& state, const ScheduledStatement& s,
                       const std::vector<LoopRow>& rows) {
  if (const std::string two = Sampler(state, s, rows).collision(); !two.empty())
    return malformed("the map of " + s.body.name + " is not one-to-one: " + two +
                     " would be one iteration");
  return conservative("the map of " + s.body.name + " cannot be shown to be one-to-one");
}

// Where none owns the loop, the_loop says why, in words for a name that does not exist or is
// gone.
Result<std::vector<std::string>, Refusal> owners_of(const State& state, const LoopName& loop) {
  Names candidates, owners;
  if (loop.statement.empty()) {
    for (const Leaf* leaf : leaves_of(state.tree)) candidates.push_back(leaf->statement);
  } else {
    candidates = select_statements(state, loop.statement);
    if (candidates.empty()) return the_statement(state, loop.statement).error();
  }
  for (const std::string& statement : candidates)
    if (row_of(state.at(statement), loop.loop) && !is_pinned(state, statement, loop.loop))
      owners.push_back(statement);
  if (!owners.empty()) return owners;
  const auto found = the_loop(state, loop);
  if (!found) return found.error();
  return malformed("no statement has a loop " + loop.loop + " of its own");
}

Applied remap_one(const State& state, const LoopName& loop, const std::string& value,
                  const std::string& name, const PrimitiveContext& context) {
  Remap remap;
  if (!loop.statement.empty()) remap.statements = {loop.statement};
  remap.loops = {name.empty() ? loop.loop : name};
  remap.values = {{value}};
  remap.replaced = {loop.loop};
  return schedule::remap(state, remap, context);
}

Applied remap(const State& state, const Remap& directive, const PrimitiveContext& context) {
  return Remapping(state, directive, context).run();
}

}  // namespace polyte::schedule
