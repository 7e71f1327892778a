// defer_division o as u:
//   o.init: o[i, c] = 0;  o.update: o[i, c] += e[i, j] / t[i] * v[j, c]
//   ->  u.init: u[i, c] = 0;  u.update: u[i, c] += e[i, j] * v[j, c];  o: o[i, c] = u[i, c] / t[i]
//
// Where the quotient has a definition of its own that this sum alone reads, it is that which
// loses the division:
//   p: p[i, j] = f16(e[i, j] / t[i])   ->   p: p[i, j] = f16(e[i, j])
//
// One division per element of the sum in place of one per term. What is left of the terms may be
// a sum that `rewrite online` knows. The sum keeps its loops; the quotient has its own, behind the
// nest of the sum. A rewrite of the Program: terms are rounded otherwise, so the contract has to
// let them change places.
#include <algorithm>

#include "ir/relations.h"
#include "schedule/script/primitives/lift.h"
#include "schedule/script/primitives/rewriting.h"
#include "schedule/state/divisions.h"

namespace polyte::schedule {

namespace {

class Deferral {
 public:
  Deferral(const State& state, const DeferDivision& directive, const PrimitiveContext& context)
      : before_(state), next_(state), directive_(directive), context_(context) {}

  Applied run() {
    if (auto refusal = find_sum()) return *refusal;
    if (auto refusal = rewrite_program()) return *refusal;
    rewrite_statements();
    rewrite_tree();
    if (auto refusal = settle(next_)) return *refusal;
    if (!context_.prover) return std::move(next_);
    if (auto refusal = context_.prover->check_rewrites(next_)) return *refusal;
    Names moved = {sum_init_.name, sum_update_.name, quotient_.name};
    if (!definition_.empty()) moved.push_back(definition_);
    if (auto refusal = check_moved(next_, moved, context_)) return *refusal;
    return std::move(next_);
  }

 private:
  const State& before_;
  State next_;
  const DeferDivision& directive_;
  const PrimitiveContext& context_;

  std::string init_, update_;
  CommonDivisor parts_;     // the terms that are left, and the divisor
  std::string definition_;  // of the quotient, where it has one, and what it becomes
  ir::Expr dividend_;
  ir::Statement sum_init_, sum_update_, quotient_;

  std::optional<Refusal> find_sum() {
    const std::string& tensor = directive_.tensor;
    const auto found = reduction_of(before_, tensor, "defer_division");
    if (!found) return found.error();
    update_ = *found;
    const ScheduledStatement& s = before_.at(update_);
    if (s.reference != update_) return conservative(update_ + " is a part of " + s.reference);
    const ir::Statement& update = before_.basis->statement(update_);
    if (!find_divisor(update))
      return malformed("the terms of an element of " + tensor + " have no divisor in common");
    if (!before_.may_reorder(update))
      return malformed("defer_division rounds the terms of " + tensor +
                       " otherwise, and the contract is " +
                       (before_.contract == Contract::Exact ? "exact" : "reassoc of other loops") +
                       ": say `reassoc " + join_words(update.reductions) + "`");
    if (auto refusal = find_init(update)) return refusal;
    if (before_.find(tensor)) return malformed("a statement is called " + tensor + " already");
    return check_new_tensor(before_, directive_.sum);
  }

  bool find_divisor(const ir::Statement& update) {
    if (const auto parts = common_divisor(update)) {
      parts_ = *parts;
      return true;
    }
    const auto quotient = defined_quotient(*before_.basis, update);
    if (!quotient || !before_.find(quotient->definition->name)) return false;
    parts_ = {update.values.front(), quotient->divisor};
    definition_ = quotient->definition->name;
    dividend_ = quotient->dividend;
    return true;
  }

  // The initial value has to stand directly in front of the update: both become those of the new
  // sum.
  std::optional<Refusal> find_init(const ir::Statement& update) {
    const auto& all = before_.basis->statements;
    const auto at = std::ranges::find(all, update.name, &ir::Statement::name);
    if (at == all.begin() || !ir::starts_reduction(*std::prev(at), *at) ||
        !before_.find(std::prev(at)->name))
      return conservative("no initial value of " + directive_.tensor +
                          " stands directly in front of " + update_);
    init_ = std::prev(at)->name;
    return std::nullopt;
  }

  void make_statements() {
    const ir::Statement& update = before_.basis->statement(update_);
    const ir::Access& cell = update.writes.front();
    sum_init_ = before_.basis->statement(init_);
    sum_update_ = update;
    sum_init_.name = directive_.sum + ".init";
    sum_update_.name = directive_.sum + ".update";
    for (ir::Statement* s : {&sum_init_, &sum_update_}) s->writes.front().buffer = directive_.sum;
    sum_update_.values = {parts_.term};
    quotient_ = before_.basis->statement(init_);
    quotient_.name = directive_.tensor;
    // The divisor at the element that is divided: the update's subscripts, which are iterators, are
    // replaced by those of the initial value.
    ir::Bindings point;
    for (std::size_t d = 0; d < cell.indices.size(); ++d)
      point[*cell.indices[d].affine.as_symbol()] = quotient_.writes.front().indices[d].affine;
    const DType type = before_.dtype_of(directive_.tensor);
    quotient_.values = {ir::make_binary(
        ir::BinaryOp::Div, ir::make_load(type, directive_.sum, quotient_.writes.front().indices),
        ir::substitute(parts_.divisor, point))};
  }

  std::optional<Refusal> rewrite_program() {
    make_statements();
    ir::Program renamed = *before_.basis;
    *std::ranges::find(renamed.statements, init_, &ir::Statement::name) = sum_init_;
    if (!definition_.empty())
      std::ranges::find(renamed.statements, definition_, &ir::Statement::name)->values = {
          dividend_};
    const ir::Buffer sum = {directive_.sum, ir::Role::Temp, before_.dtype_of(directive_.tensor),
                            before_.shape_of(directive_.tensor)};
    auto program = replace_statement(renamed, update_, {sum_update_, quotient_}, {sum});
    if (!program) return program.error();
    next_.basis = *program;
    if (const auto own = next_.reassociated.find(directive_.tensor);
        own != next_.reassociated.end())
      next_.reassociated[directive_.sum] = own->second;
    next_.rewrites.push_back({.kind = Rewrite::Kind::Deferred,
                              .tensor = directive_.tensor,
                              .other = directive_.sum,
                              .after = next_.basis,
                              .update = definition_});
    return std::nullopt;
  }

  void rewrite_statements() {
    for (const auto& [old, now] :
         {std::pair{init_, &sum_init_}, std::pair{update_, &sum_update_}}) {
      ScheduledStatement& s = statement_of(next_, old);
      s.reference = s.body.name = now->name;
      s.body.writes = now->writes;
      s.body.values = now->values;
    }
    if (!definition_.empty()) statement_of(next_, definition_).body.values = {dividend_};
    const auto at = std::ranges::find(next_.statements, sum_update_.name,
                                      [](const ScheduledStatement& s) { return s.body.name; });
    next_.statements.insert(std::next(at), scheduled_statement(*next_.basis, quotient_.name));
  }

  // The sum keeps its nests under new names; the quotient's nest stands directly behind that of
  // the update.
  void rewrite_tree() {
    next_.tree = map_leaves(next_.tree, [&](const Leaf& leaf) {
      Leaf renamed = leaf;
      if (leaf.statement == init_) renamed.statement = sum_init_.name;
      if (leaf.statement == update_) renamed.statement = sum_update_.name;
      return renamed;
    });
    std::vector<Tree> children;
    for (const Tree& child : top_level(next_.tree)) {
      children.push_back(child);
      if (contains(child, sum_update_.name))
        children.push_back(
            loops_around(next_, quotient_.iterators, make_leaf({quotient_.name, {}, {}})));
    }
    next_.tree = make_sequence(std::move(children));
  }
};

}  // namespace

Applied defer_division(const State& state, const DeferDivision& directive,
                       const PrimitiveContext& context) {
  return Deferral(state, directive, context).run();
}

}  // namespace polyte::schedule
