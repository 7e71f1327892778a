// pad X: u to 16:   X.in for u in 0..13: X.c[u] = X[o + u]
//              ->   for u in 0..16: X.c[u] = X[o + u] where u < 13 else 0
//
// The copy that fills X.c goes on along u up to a multiple of 16 and writes zeros where there is
// no element (where its reads were guarded: the guard's value). X.c grows where it has no room
// for them. What is written there is nobody's value: a read of the Program that would get it is
// refused, so that it is there for `tail round` alone.
#include "schedule/script/primitives/buffers.h"
#include "support/checked.h"

namespace polyte::schedule {

namespace {

using ir::Affine;
using ir::Constraint;

// Statements that copy elements into the buffer and have a coordinate of this name.
std::vector<std::string> fillers(const State& state, const StagedBuffer& b,
                                 const std::string& coordinate) {
  std::vector<std::string> names;
  for (const ScheduledStatement& s : state.statements) {
    const auto own = s.body.iterators.begin() + s.lifted;
    if (s.kind == StatementKind::Copy && s.body.writes.front().buffer == b.name &&
        std::find(own, s.body.iterators.end(), coordinate) != s.body.iterators.end())
      names.push_back(s.body.name);
  }
  return names;
}

// The constant extent of u in the copy: the least of its upper bounds that are numbers.
std::optional<std::int64_t> extent_of(const ScheduledStatement& copy, const std::string& u) {
  std::optional<std::int64_t> extent;
  for (const Constraint& c : copy.body.domain) {
    const Affine bound = c.expr + Affine::symbol(u);
    if (c.equality || !bound.is_constant()) continue;
    if (!extent || bound.constant() + 1 < *extent) extent = bound.constant() + 1;
  }
  return extent;
}

// The read of the copy, guarded by what its domain has asked of u.
ir::Expr guarded(const ir::Expr& value, std::vector<Constraint> guard) {
  const ir::Load& load = std::get<ir::Load>(value->op);
  guard.insert(guard.end(), load.guard.begin(), load.guard.end());
  const ir::Expr otherwise = load.otherwise ? load.otherwise : ir::make_literal(value->type, 0);
  return ir::make_guarded_load(value->type, load.buffer, load.indices, std::move(guard), otherwise);
}

// Bounds of u move from the domain to the guard; u then runs to `extent`.
void fill_up(ScheduledStatement& copy, const std::string& u, std::int64_t extent) {
  std::vector<Constraint> domain, guard;
  const Constraint first = ir::at_least(Affine::symbol(u), 0);
  for (const Constraint& c : copy.body.domain)
    (c.expr.uses(u) && !(c == first) ? guard : domain).push_back(c);
  domain.push_back(first);
  domain.push_back(ir::less_than(Affine::symbol(u), extent));
  copy.body.domain = std::move(domain);
  copy.body.values = {guarded(copy.body.values.front(), std::move(guard))};
}

// Enlarges the buffer so that each place that the copy writes exists.
void grow(State& state, StagedBuffer& b, const ScheduledStatement& copy) {
  const ir::Ranges ranges = iterator_ranges(state, copy);
  const std::vector<ir::Index>& indices = copy.body.writes.front().indices;
  for (std::size_t d = 0; d < indices.size(); ++d)
    if (const auto last = ir::range_of(indices[d].affine, ranges).max)
      b.shape[d] = std::max(b.shape[d], *last + 1);
}

std::string coordinates_of(const State& state, const StagedBuffer& b) {
  for (const ScheduledStatement& s : state.statements)
    if (s.kind == StatementKind::Copy && s.body.writes.front().buffer == b.name)
      return join_words({s.body.iterators.begin() + s.lifted, s.body.iterators.end()});
  return "";
}

}  // namespace

Applied pad(const State& state, const Pad& directive, const PrimitiveContext& context) {
  const auto buffer = the_buffer(state, directive.tensor);
  if (!buffer) return buffer.error();
  const StagedBuffer& before = state.staged[*buffer];
  const auto multiple = evaluate(directive.multiple, context);
  if (!multiple) return multiple.error();
  if (*multiple < 1)
    return malformed("pad to a multiple of " + std::to_string(*multiple) + ": expected 1 or more");
  const std::vector<std::string> copies = fillers(state, before, directive.dimension);
  if (copies.empty()) {
    const std::string known = coordinates_of(state, before);
    if (known.empty())
      return malformed("no copy fills " + before.name + ": bound_storage makes room in it");
    return malformed("the copy into " + before.name + " has no coordinate " + directive.dimension +
                     " (they are " + known + ")");
  }
  State next = state;
  for (const std::string& name : copies) {
    ScheduledStatement& copy = statement_of(next, name);
    const auto extent = extent_of(copy, directive.dimension);
    if (!extent)
      return conservative(directive.dimension + " of " + name + " has no constant extent");
    const std::int64_t whole = checked_mul((*extent + *multiple - 1) / *multiple, *multiple);
    fill_up(copy, directive.dimension, whole);
    if (!wrong_inverses(next, copy).empty())
      return malformed("the loops of " + name + " count along " + directive.dimension +
                       " as it was: pad comes before they are split or fused");
    grow(next, next.staged[*buffer], copy);
  }
  if (auto refusal = settle(next)) return *refusal;
  if (auto refusal = check_buffer(next, next.staged[*buffer], context)) return *refusal;
  return next;
}

}  // namespace polyte::schedule
