// rewrite online A, B from M over L:   A += exp(e - M), B += exp(e - M) * v, M the maximum of e
//   M.init; M.update; A.init; A.update; ..   ->   M.init; A.init; ..;
//     loop L { M.old = M;  M.update;  A.scale: A = select(M.old == -inf, 0, A * exp(M.old - M));
//              A.update;  .. }
// A definition w = exp(e - M) that only these sums read goes into the loop as well, behind
// M.update, and with it one that rounds it, f16(w).
// L is a loop over the reduction that all of them have alike (j, or j.o of the same split). Its
// other reduction loops become iterators, the splits of free loops stay. That iterations of L run
// one after the other is the Program's order now; a later nest decides which loops stand around L.
// A rewrite of the Program: rounding changes, so the contract has to name the loop.
#include <algorithm>

#include "schedule/script/primitives/lift.h"
#include "schedule/script/primitives/rewriting.h"
#include "schedule/state/softmax_sum.h"

namespace polyte::schedule {

namespace {

using ir::Affine;

// A statement that goes into the loop L. Its iterators become L, `free`, and `rest`, the other
// loops over the reduction; `points` gives the old iterators in terms of these.
struct Inside {
  enum class Role { Maximum, Weight, Sum };
  std::string old_name;
  Role role;
  Names free = {}, reduced = {}, rest = {};  // iterators; loops of the reduction but L
  ir::Bindings points = {};
  ScheduledStatement scheduled = {};
};

class OnlineRewrite {
 public:
  OnlineRewrite(const State& state, const Online& directive, const PrimitiveContext& context)
      : before_(state), next_(state), directive_(directive), context_(context) {}

  Applied run() {
    if (auto refusal = find_statements()) return *refusal;
    if (auto refusal = find_range()) return *refusal;
    if (auto refusal = check_group()) return *refusal;
    for (Inside& each : insides_)
      if (auto refusal = reparametrise(each)) return *refusal;
    if (auto refusal = rewrite_program()) return *refusal;
    rewrite_statements();
    if (auto refusal = rewrite_tree()) return *refusal;
    if (auto refusal = settle(next_)) return *refusal;
    if (!context_.prover) return std::move(next_);
    if (auto refusal = context_.prover->check_rewrites(next_)) return *refusal;
    if (auto refusal = check_moved(next_, {}, context_)) return *refusal;
    return std::move(next_);
  }

 private:
  const State& before_;
  State next_;
  const Online& directive_;
  const PrimitiveContext& context_;

  std::string loop_, old_;  // L; the tensor M.old
  // Definitions of exp(e - M).
  std::vector<const ir::Statement*> weights_;
  // M.update, the weights, the sums' updates in the Program's order.
  std::vector<Inside> insides_;
  Names inits_;                       // of the sums, in that order
  Affine begin_, end_;                // of L
  std::size_t first_ = 0, last_ = 0;  // statements of the basis from M.update to the last sum
  std::vector<ir::Statement> group_;

  const ir::Statement& basis_statement(const std::string& name) const {
    return before_.basis->statement(name);
  }
  const Inside* owner_of(const std::string& name) const {
    for (const Inside& each : insides_)
      if (each.old_name == name) return &each;
    return nullptr;
  }

  // M.update first, then weights, then the sums, all of them checked to be what the rewrite is
  // for. A sum over exp(.. - M) that is not named is refused: M would change under it.
  std::optional<Refusal> find_statements() {
    loop_ = directive_.loop.loop;
    const auto maximum = reduction_of(before_, directive_.from, "rewrite online");
    if (!maximum) return maximum.error();
    if (auto refusal = check_whole(*maximum)) return refusal;
    const ir::Statement& max = basis_statement(*maximum);
    if (max.combiner != ir::Combiner::Max || !is_float(max.values.front()->type) || max.guard)
      return malformed(directive_.from + " is no maximum of floating-point numbers");
    old_ = directive_.from + ".old";
    find_weights();
    add_inside(*maximum, Inside::Role::Maximum);
    for (const ir::Statement* weight : weights_) add_inside(weight->name, Inside::Role::Weight);
    for (const ir::Statement& s : before_.basis->statements) {
      const bool named = has(directive_.sums, s.writes.front().buffer);
      // With weights written out, the sum shows whether its terms have the form exp(e - M) * v.
      const ir::Statement whole = with_weights(s, weights_);
      const auto sum = softmax_sum(whole, directive_.from);
      if (sum && !named)
        return malformed(s.writes.front().buffer + " is a sum over exp(.. - " + directive_.from +
                         ") too: name it, or its terms belong to another maximum");
      if (!sum || !named || !before_.find(s.name)) continue;
      if (!(sum->exponent && matches(max, s, *sum)))
        return malformed(s.name + " takes exp of something else than " + directive_.from +
                         " is the maximum of");
      if (!before_.may_reorder(s))
        return malformed(
            "rewrite online scales partial sums of " + s.writes.front().buffer +
            ", and the contract is " +
            (before_.contract == Contract::Exact ? "exact" : "reassoc of other loops") +
            ": say `reassoc " + join_words(s.reductions) + "`");
      add_inside(s.name, Inside::Role::Sum);
    }
    for (const std::string& sum : directive_.sums) {
      const auto update = reduction_of(before_, sum, "rewrite online");
      if (!update) return update.error();
      if (auto refusal = check_whole(*update)) return refusal;
      const Inside* found = owner_of(*update);
      if (!found || found->role != Inside::Role::Sum)
        return malformed(sum + " is no sum of exp(.. - " + directive_.from + ") or of exp(.. - " +
                         directive_.from + ") * ..");
    }
    for (const Inside& each : insides_) {
      if (basis_statement(each.old_name).region_depth > 0)
        return conservative(each.old_name + " is in an ordered region already");
      if (!row_of(before_.at(each.old_name), loop_))
        return malformed(no_loop_text(before_, each.old_name, loop_));
    }
    return check_weights();
  }

  void add_inside(const std::string& name, Inside::Role role) {
    insides_.push_back({.old_name = name, .role = role});
  }

  // Definitions exp(e - M) that a named sum reads, or that another such definition reads.
  void find_weights() {
    std::vector<const ir::Statement*> all = softmax_weights(*before_.basis, directive_.from);
    std::erase_if(all, [&](const ir::Statement* weight) { return !before_.find(weight->name); });
    for (auto weight = all.rbegin(); weight != all.rend(); ++weight) {
      const auto reads_it = [&](const ScheduledStatement& s) {
        const bool is_own = has(directive_.sums, s.body.writes.front().buffer) ||
                            std::ranges::any_of(weights_, [&](const ir::Statement* other) {
                              return other->name == s.body.name;
                            });
        return is_own && states_a_read(s, (*weight)->writes.front().buffer);
      };
      if (std::ranges::any_of(before_.statements, reads_it))
        weights_.insert(weights_.begin(), *weight);
    }
  }

  // A weight holds what belongs to the maximum so far: only the sums and other weights may see it,
  // in the iteration that computes it.
  std::optional<Refusal> check_weights() const {
    for (const ir::Statement* weight : weights_) {
      const std::string& tensor = weight->writes.front().buffer;
      for (const ScheduledStatement& s : before_.statements) {
        if (!states_a_read(s, tensor)) continue;
        const Inside* reader = owner_of(s.body.name);
        if (!reader || reader->role == Inside::Role::Maximum)
          return malformed(s.body.name + " reads " + tensor +
                           ", which changes with the running maximum: inline it");
        for (const AccessRef& ref : accesses_of(s))
          if (ref.load && ref.access.buffer == tensor && !in_one_iteration(*weight, s, ref.access))
            return malformed(s.body.name + " reads " + tensor + " in another iteration of " +
                             loop_ + " than the one that computes it");
      }
    }
    return std::nullopt;
  }

  bool in_one_iteration(const ir::Statement& weight, const ScheduledStatement& reader,
                        const ir::Access& read) const {
    ir::Bindings point;
    for (std::size_t d = 0; d < read.indices.size(); ++d)
      point[*weight.writes.front().indices[d].affine.as_symbol()] = read.indices[d].affine;
    return ir::substitute(row_of(before_.at(weight.name), loop_)->value, point) ==
           row_of(reader, loop_)->value;
  }

  std::optional<Refusal> check_whole(const std::string& update) const {
    const std::string& reference = before_.at(update).reference;
    if (reference == update) return std::nullopt;
    return conservative(update + " is a part of " + reference + ": rewrite online comes before");
  }

  // The sum's exponent is the maximum's value, iterator by iterator, in the same iteration of L.
  bool matches(const ir::Statement& max, const ir::Statement& s, const SoftmaxSum& sum) const {
    ir::Bindings point;
    for (std::size_t d = 0; d < sum.maximum->indices.size(); ++d) {
      const auto symbol = max.writes.front().indices[d].affine.as_symbol();
      if (!symbol || max.writes.front().indices[d].indirect) return false;
      point[*symbol] = sum.maximum->indices[d].affine;
    }
    for (std::size_t i = 0; i < max.reductions.size(); ++i) {
      const bool same_name = has(s.reductions, max.reductions[i]);
      if (!same_name && i >= s.reductions.size()) return false;
      point[max.reductions[i]] = Affine::symbol(same_name ? max.reductions[i] : s.reductions[i]);
    }
    const LoopRow* own = row_of(before_.at(s.name), loop_);
    const LoopRow* of_max = row_of(before_.at(insides_.front().old_name), loop_);
    return ir::equal(ir::substitute(max.values.front(), point), sum.exponent) && own && of_max &&
           ir::substitute(of_max->value, point) == own->value;
  }

  // The region's bounds [begin_, end_): numbers where the intervals have them, else expressions
  // of sizes.
  std::optional<Refusal> find_range() {
    Names all;
    for (const Inside& each : insides_) all.push_back(each.old_name);
    const ir::Ranges ranges = loop_ranges(before_, all);
    const auto range = ranges.find(loop_);
    if (range != ranges.end() && range->second.min && range->second.max) {
      begin_ = *range->second.min;
      end_ = std::max(*range->second.max + 1, *range->second.min);
      return std::nullopt;
    }
    const auto first = value_over(before_, all, loop_, {}, true),
               last = value_over(before_, all, loop_, {}, false);
    if (!first || !last)
      return conservative(loop_ + " has no first and last value that one expression gives");
    begin_ = *first;
    end_ = *last + 1;
    return std::nullopt;
  }

  std::size_t index_of(const std::string& name) const {
    const auto& all = before_.basis->statements;
    return static_cast<std::size_t>(
        std::ranges::find_if(all, [&](const ir::Statement& s) { return s.name == name; }) -
        all.begin());
  }

  // From M.update to the last sum there is nothing else but weights; every sum begins at 0.
  std::optional<Refusal> check_group() {
    first_ = index_of(insides_.front().old_name);
    last_ = first_;
    for (const Inside& each : insides_) {
      if (index_of(each.old_name) < first_)
        return conservative(each.old_name + " stands before " + insides_.front().old_name);
      last_ = std::max(last_, index_of(each.old_name));
    }
    for (std::size_t i = 0; i <= last_; ++i) {
      const ir::Statement& s = before_.basis->statements[i];
      if (owner_of(s.name)) continue;
      const bool is_init = has(directive_.sums, s.writes.front().buffer);
      if (is_init && (s.combiner != ir::Combiner::None || !ir::loads_of(s.values.front()).empty()))
        return conservative(s.name + " is no plain initial value");
      if (i < first_) continue;
      if (!is_init)
        return conservative(s.name + " stands between " + insides_.front().old_name + " and " +
                            before_.basis->statements[last_].name +
                            ": inline it, or write it before or behind them");
      inits_.push_back(s.name);
    }
    return check_new_tensor(before_, old_);
  }

  // The statement over loops in place of its reduced iterators: j of `max += s[j]` becomes j.o
  // (that is L, the region's) and j.i (`rest`), with j = 32 * j.o + j.i wherever it was used. Rows
  // of these loops are then plain, and what bounded them is in the domain.
  std::optional<Refusal> reparametrise(Inside& each) const {
    const ScheduledStatement& s = before_.at(each.old_name);
    for (const std::string& iterator : s.body.iterators) {
      const bool is_reduced = each.role == Inside::Role::Weight
                                  ? row_of(s, loop_)->value.uses(iterator)
                                  : has(s.body.reductions, iterator);
      (is_reduced ? each.reduced : each.free).push_back(iterator);
    }
    Names loops;
    for (const LoopRow& row : s.rows) {
      const bool reduced = uses_any(row.value, each.reduced);
      if (reduced && uses_any(row.value, each.free))
        return conservative(
            row.loop + " counts free and reduced iterators together: rewrite online comes before");
      if (reduced) loops.push_back(row.loop);
    }
    if (!has(loops, loop_))
      return malformed(loop_ + " is a free loop of " + each.old_name +
                       " (its reduction loops are " + join_words(loops) + ")");
    for (const std::string& loop : loops)
      if (loop != loop_) each.rest.push_back(loop);
    for (const std::string& iterator : each.free) each.points[iterator] = Affine::symbol(iterator);
    for (const std::string& iterator : each.reduced) each.points[iterator] = s.inverse.at(iterator);
    ScheduledStatement& now = each.scheduled;
    now = s;
    now.reference = s.body.name;
    now.body.iterators = {loop_};
    now.body.iterators.insert(now.body.iterators.end(), each.free.begin(), each.free.end());
    now.body.iterators.insert(now.body.iterators.end(), each.rest.begin(), each.rest.end());
    now.body.region_depth = 1;
    if (each.role != Inside::Role::Weight) now.body.reductions = each.rest;
    for (ir::Access& write : now.body.writes)
      for (ir::Index& index : write.indices)
        index.affine = ir::substitute(index.affine, each.points);
    for (ir::Constraint& c : now.body.domain) c = ir::substitute(c, each.points);
    for (const ir::Constraint& c : s.loop_domain)
      if (uses_any(c.expr, loops)) now.body.domain.push_back(c);
    std::erase_if(now.loop_domain,
                  [&](const ir::Constraint& c) { return uses_any(c.expr, loops); });
    now.body.domain.push_back(ir::at_least(Affine::symbol(loop_), begin_));
    now.body.domain.push_back(ir::less_than(Affine::symbol(loop_), end_));
    for (ir::Expr& value : now.body.values) value = ir::substitute(value, each.points);
    now.phi.clear();
    for (const std::string& iterator : now.body.iterators)
      now.phi.push_back(Affine::symbol(iterator));
    for (LoopRow& row : now.rows)
      if (has(loops, row.loop)) row.value = Affine::symbol(row.loop);
    for (const std::string& iterator : each.reduced) now.inverse.erase(iterator);
    for (const std::string& loop : loops) now.inverse[loop] = Affine::symbol(loop);
    return std::nullopt;
  }

  // A statement over L and the free iterators of `each`, once per cell of the tensor that `each`
  // may touch in an iteration of L: the form of M.old and of the scales.
  ir::Statement over_cells(const Inside& each, const std::string& name) const {
    ir::Statement s = before_.at(each.old_name).body;
    const ir::Access cell = s.writes.front();
    s.name = name;
    s.iterators = {loop_};
    s.iterators.insert(s.iterators.end(), each.free.begin(), each.free.end());
    s.region_depth = 1;
    s.reductions.clear();
    s.combiner = ir::Combiner::None;
    std::erase_if(s.domain,
                  [&](const ir::Constraint& c) { return uses_any(c.expr, each.reduced); });
    const auto add = [&](const ir::Constraint& c) {
      if (std::ranges::find(s.domain, c) == s.domain.end()) s.domain.push_back(c);
    };
    const std::vector<Affine> shape = before_.shape_of(cell.buffer);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      add(ir::at_least(cell.indices[d].affine, 0));
      add(ir::less_than(cell.indices[d].affine, shape[d]));
    }
    add(ir::at_least(Affine::symbol(loop_), begin_));
    add(ir::less_than(Affine::symbol(loop_), end_));
    return s;
  }

  std::optional<Refusal> rewrite_program() {
    const ir::Statement& max = basis_statement(insides_.front().old_name);
    const DType type = before_.dtype_of(directive_.from);
    for (const std::string& init : inits_) group_.push_back(basis_statement(init));
    ir::Statement old = over_cells(insides_.front(), old_);
    old.writes.front().buffer = old_;
    old.values = {ir::make_load(type, directive_.from, max.writes.front().indices)};
    group_.push_back(old);
    for (const Inside& each : insides_) {
      if (each.role == Inside::Role::Sum) group_.push_back(scale_of(each));
      group_.push_back(each.scheduled.body);
    }
    const ir::Buffer temporary = {old_, ir::Role::Temp, type, before_.shape_of(directive_.from)};
    auto program = replace_by_region(*before_.basis, first_, last_ + 1, group_, inits_.size(),
                                     {loop_, begin_, end_, 1}, {temporary});
    if (!program) return program.error();
    next_.basis = *program;
    Rewrite rewrite{.kind = Rewrite::Kind::Online,
                    .tensor = directive_.from,
                    .other = old_,
                    .loop = loop_,
                    .after = next_.basis};
    for (const Inside& each : insides_) {
      if (each.role == Inside::Role::Sum)
        rewrite.sums.push_back(basis_statement(each.old_name).writes.front().buffer);
      rewrite.points[each.old_name] = each.points;
    }
    next_.rewrites.push_back(std::move(rewrite));
    return std::nullopt;
  }

  // One scale per sum and iteration of L, in front of the sum's update (softmax_scale).
  ir::Statement scale_of(const Inside& each) const {
    const ir::Statement& sum = basis_statement(each.old_name);
    const ir::Statement whole = with_weights(sum, weights_);
    ir::Statement scale = over_cells(each, sum.writes.front().buffer + ".scale");
    scale.values = {softmax_scale(whole, *softmax_sum(whole, directive_.from), old_)};
    return scale;
  }

  // M.old and the scales have the loops of the statement that they stand in front of, without
  // its other loops over the reduction.
  void rewrite_statements() {
    std::vector<ScheduledStatement> inside;
    for (std::size_t i = inits_.size(); i < group_.size(); ++i) {
      const std::string& name = group_[i].name;
      const auto own =
          std::ranges::find_if(insides_, [&](const Inside& each) { return each.old_name == name; });
      if (own != insides_.end()) {
        inside.push_back(own->scheduled);
        continue;
      }
      ScheduledStatement s = scheduled_statement(*next_.basis, name);
      const Inside& of = i == inits_.size() ? insides_.front() : *owner_of(group_[i + 1].name);
      s.rows.clear();
      for (const LoopRow& row : of.scheduled.rows)
        if (!has(of.rest, row.loop)) s.rows.push_back(row);
      for (const std::string& iterator : s.body.iterators)
        s.inverse[iterator] = of.scheduled.inverse.at(iterator);
      s.loop_domain = of.scheduled.loop_domain;
      inside.push_back(std::move(s));
    }
    std::erase_if(next_.statements,
                  [&](const ScheduledStatement& s) { return owner_of(s.body.name) != nullptr; });
    next_.statements.insert(next_.statements.end(), inside.begin(), inside.end());
  }

  // The nests that go are those of the statements inside, each by itself; L stands where the
  // last of them stood, and holds M.old, M.update, .. one after the other:
  //
  //   j.o > j.i > M.update;  j.o > j.i > A.update
  //   ->   j.o > { M.old; j.i > M.update; A.scale; j.i > A.update }
  std::optional<Refusal> rewrite_tree() {
    std::vector<Tree> children, inside;
    std::size_t seen = 0;
    for (std::size_t i = inits_.size(); i < group_.size(); ++i) {
      Names loops;
      for (const LoopRow& row : next_.at(group_[i].name).rows)
        if (row.loop != loop_) loops.push_back(row.loop);
      inside.push_back(loops_around(next_, loops, make_leaf({group_[i].name, {}, {}})));
    }
    for (const Tree& child : top_level(before_.tree)) {
      const std::vector<const Leaf*> leaves = leaves_of(child);
      const bool moves = owner_of(leaves.front()->statement) != nullptr;
      for (const Leaf* leaf : leaves) {
        const bool alone = leaves.size() == 1 && leaf->pins.empty();
        if (owner_of(leaf->statement) && !alone)
          return malformed(leaf->statement +
                           " shares its nest with others: rewrite online comes before the nest");
      }
      if (!moves) {
        children.push_back(child);
        continue;
      }
      // All of them have been taken out: L stands here.
      if (++seen < insides_.size()) continue;
      Loop loop;
      loop.id = next_.fresh_loop();
      loop.name = loop_;
      loop.body = make_sequence(inside);
      children.push_back(make_loop(std::move(loop)));
    }
    next_.tree = make_sequence(std::move(children));
    return std::nullopt;
  }
};

}  // namespace

Applied online(const State& state, const Online& directive, const PrimitiveContext& context) {
  return OnlineRewrite(state, directive, context).run();
}

}  // namespace polyte::schedule
