// reciprocal y:   y[i, j] = e[i, j] / total[i]   ->   y[i, j] = e[i, j] * (1 / total[i])
//
// One division for all j, once the code generator has taken it out of the loop. The product is
// rounded once more than the quotient, so the directive is its own permission, as `reassociate` is.
// No access and no order changes: what is proved is the step from one Program to the other.
#include <algorithm>

#include "schedule/script/primitives/rewriting.h"
#include "schedule/state/divisions.h"

namespace polyte::schedule {

namespace {

bool same_values(const ir::Statement& a, const ir::Statement& b) {
  return std::ranges::equal(a.values, b.values,
                            [](const ir::Expr& x, const ir::Expr& y) { return ir::equal(x, y); });
}

// Refuses a statement in which no division shares its divisor with other iterations.
std::optional<Refusal> check_divisions(const ir::Statement& s) {
  Names reasons;
  for (const ir::Expr& division : divisions_of(s)) {
    const std::string reason = why_not_shared(s, division);
    if (reason.empty()) return std::nullopt;
    if (!has(reasons, reason)) reasons.push_back(reason);
  }
  if (reasons.empty()) return malformed(s.name + " divides nothing");
  return malformed("no reciprocal serves " + s.name + " twice: " + join_words(reasons));
}

}  // namespace

Applied reciprocal(const State& state, const Reciprocal& directive,
                   const PrimitiveContext& context) {
  const auto name = the_statement(state, directive.statement);
  if (!name) return name.error();
  const ScheduledStatement& s = state.at(*name);
  const std::string& reference = s.reference;
  if (reference.empty()) return malformed(*name + " moves elements: it divides nothing");
  ir::Statement body = state.basis->statement(reference);
  // Where the statement's loop is cut, all parts of it are rewritten.
  for (const ScheduledStatement& part : state.statements)
    if (part.reference == reference && !same_values(body, part.body))
      return malformed(part.body.name +
                       (part.lifted > 0 ? " is recomputed at a loop" : " reads staged storage") +
                       " already: reciprocal comes before");
  if (auto refusal = check_divisions(body)) return *refusal;
  for (ir::Expr& value : body.values)
    value = with_reciprocals(value, [&](const ir::Expr& division) {
      return why_not_shared(state.basis->statement(reference), division).empty();
    });
  State next = state;
  auto program = replace_statement(*state.basis, reference, {body}, {});
  if (!program) return program.error();
  next.basis = *program;
  next.rewrites.push_back(
      {.kind = Rewrite::Kind::Reciprocal, .tensor = reference, .after = next.basis});
  for (ScheduledStatement& part : next.statements)
    if (part.reference == reference) part.body.values = body.values;
  if (!context.prover) return next;
  if (auto refusal = context.prover->check_rewrites(next)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
