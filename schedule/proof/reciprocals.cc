// Reciprocals, proved on their own: the Program after `reciprocal S` is the one before, but
// for values of S in which a * (1 / b) stands for a / b, b being the same in all iterations of
// one of S's iterators.
#include <algorithm>

#include "schedule/proof/rewrites.h"
#include "schedule/state/divisions.h"

namespace polyte::schedule {

namespace {

// True where `now` is `then` with such products in place of divisions.
bool match(const ir::Expr& now, const ir::Expr& then, const ir::Statement& s) {
  const auto operands = [&](const ir::Expr& a, const ir::Expr& b) { return match(a, b, s); };
  if (ir::equal(now, then) || same_operation(now, then, operands)) return true;
  const auto* quotient = std::get_if<ir::Binary>(&then->op);
  const auto* product = std::get_if<ir::Binary>(&now->op);
  if (!quotient || !product || quotient->op != ir::BinaryOp::Div ||
      product->op != ir::BinaryOp::Mul)
    return false;
  if (!why_not_shared(s, then).empty()) return false;
  const auto* factor = std::get_if<ir::Binary>(&product->b->op);
  return factor && factor->op == ir::BinaryOp::Div &&
         ir::equal(factor->a, ir::make_literal(then->type, 1)) &&
         match(product->a, quotient->a, s) && match(factor->b, quotient->b, s);
}

bool same_but_values(const ir::Statement& now, ir::Statement then) {
  then.values = now.values;
  return ir::equal(now, then);
}

}  // namespace

std::optional<Refusal> check_reciprocals(const ir::Program& before, const Rewrite& rewrite) {
  const std::string& name = rewrite.tensor;
  const auto fault = [&](const std::string& text) {
    return rewrite_fault("the Program with reciprocals in " + name +
                         " is not the Program: " + text);
  };
  const auto then = std::ranges::find(before.statements, name, &ir::Statement::name);
  if (then == before.statements.end()) return fault("it has no such statement");
  const auto at = static_cast<std::size_t>(then - before.statements.begin());
  if (const auto other = replaced_group(before, *rewrite.after, {at, at + 1}, {}))
    return fault(*other);
  if (before.statements.size() != rewrite.after->statements.size())
    return fault("it has other statements");
  const ir::Statement& now = rewrite.after->statements[at];
  if (!same_but_values(now, *then)) return fault(name + " has changed in more than its values");
  for (std::size_t i = 0; i < now.values.size(); ++i)
    if (!match(now.values[i], then->values[i], *then))
      return fault(name + " computes something else");
  return std::nullopt;
}

}  // namespace polyte::schedule
