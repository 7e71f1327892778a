// precompute C.update: a[m, k] = 2 * A[m, k]
//   C[m, n] += 2 * A[m, k] * B[k, n]    ->    a[m, k] = 2 * A[m, k];   C[m, n] += a[m, k] * B[k, n]
//
// The value is computed once for all iterations of the other loops, in a nest of its own in front,
// which later directives tile, place or pack as that of any temporary. A rewrite of the Program
// (ir/precompute.h), the inverse of compute_inline; no bit changes.
#include "ir/precompute.h"

#include <algorithm>

#include "ir/program_text.h"
#include "schedule/script/primitives/rewriting.h"

namespace polyte::schedule {

namespace {

// Puts the definition's nest in front of the nest of the statement that follows it in the Program,
// or else of its reader's.
Tree with_nest(State& state, const ir::Statement& definition, const std::string& reader) {
  const auto& all = state.basis->statements;
  const auto behind = std::next(std::ranges::find(all, definition.name, &ir::Statement::name));
  std::vector<Tree> children = top_level(state.tree);
  const auto holds = [](const std::string& statement) {
    return [statement](const Tree& child) { return contains(child, statement); };
  };
  auto place = std::ranges::find_if(children, holds(behind->name));
  if (place == children.end()) place = std::ranges::find_if(children, holds(reader));
  children.insert(place,
                  loops_around(state, definition.iterators, make_leaf({definition.name, {}, {}})));
  return make_sequence(std::move(children));
}

}  // namespace

Applied precompute(const State& state, const Precompute& directive,
                   const PrimitiveContext& context) {
  const auto named = the_statement(state, directive.statement);
  if (!named) return named.error();
  if (state.at(*named).reference.empty())
    return malformed(*named + " is a copy: it computes nothing");
  const auto statement = unchanged(state, *named, "precompute");
  if (!statement) return statement.error();
  if (auto refusal = check_new_tensor(state, directive.tensor)) return *refusal;
  const auto value =
      ir::parse_value(directive.value, *state.basis, state.basis->statement(*statement));
  if (!value)
    return malformed("'" + directive.value + "' is no value of " + *statement + ": " +
                     value.error().reason);
  const auto program = ir::with_precomputed(
      *state.basis, {*statement, directive.tensor, directive.iterators, *value});
  if (!program)
    return conservative(directive.value + " is not computed before: " + program.error().reason);
  State next = state;
  next.basis = std::make_shared<const ir::Program>(*program);
  const ScheduledStatement definition = scheduled_statement(*next.basis, directive.tensor);
  const auto reader = std::ranges::find(
      next.statements, *statement,
      [](const ScheduledStatement& s) -> const std::string& { return s.body.name; });
  reader->body = ir::reading(reader->body, definition.body, *value);
  next.statements.insert(reader, definition);
  next.tree = with_nest(next, definition.body, *statement);
  next.rewrites.push_back({.kind = Rewrite::Kind::Precompute,
                           .tensor = directive.tensor,
                           .other = definition.body.name,
                           .after = next.basis});
  if (auto refusal = settle(next)) return *refusal;
  if (!context.prover) return next;
  if (auto refusal = context.prover->check_rewrites(next)) return *refusal;
  if (auto refusal = check_moved(next, {definition.body.name, *statement}, context))
    return *refusal;
  return next;
}

}  // namespace polyte::schedule
