#include "schedule/cost/row_divisions.h"

#include <algorithm>

#include "schedule/state/divisions.h"

namespace polyte::schedule {
namespace {

constexpr int kMostSteps = 4;  // definitions looked through
constexpr double kLeastAdded = 1e-30, kMostAdded = 1e30;

const ir::Statement* writer_of(const ir::Program& program, const std::string& buffer,
                               ir::Combiner combiner) {
  const ir::Statement* found = nullptr;
  for (const ir::Statement& s : program.statements) {
    const bool writes =
        std::ranges::any_of(s.writes, [&](const ir::Access& w) { return w.buffer == buffer; });
    if (!writes || s.combiner != combiner) continue;
    if (found || s.guard || s.region_depth > 0 || s.writes.size() != 1) return nullptr;
    found = &s;
  }
  return found;
}

// The value that a load of a tensor defined once stands for; else itself.
ir::Expr looked_through(const ir::Program& program, const ir::Expr& e) {
  const auto* load = std::get_if<ir::Load>(&e->op);
  if (!load || load->otherwise) return e;
  const ir::Statement* definition = writer_of(program, load->buffer, ir::Combiner::None);
  return definition ? definition->values.front() : e;
}

const ir::Load* plain_load(const ir::Expr& e) {
  const auto* load = std::get_if<ir::Load>(&e->op);
  return load && !load->otherwise ? load : nullptr;
}

// Whether the buffer is sum exp(x - top) with the maximum of x as top: one of its terms is exp(0),
// so that it is between 1 and the number of terms.
bool is_softmax_total(const ir::Program& program, const std::string& buffer) {
  const ir::Statement* sum = writer_of(program, buffer, ir::Combiner::Sum);
  if (!sum) return false;
  const ir::Expr term = looked_through(program, sum->values.front());
  const auto* exponential = std::get_if<ir::Unary>(&term->op);
  if (!exponential || exponential->op != ir::UnaryOp::Exp) return false;
  const ir::Expr exponent = looked_through(program, exponential->a);
  const auto* difference = std::get_if<ir::Binary>(&exponent->op);
  if (!difference || difference->op != ir::BinaryOp::Sub) return false;
  const ir::Load *x = plain_load(difference->a), *top = plain_load(difference->b);
  const ir::Statement* maximum =
      x && top ? writer_of(program, top->buffer, ir::Combiner::Max) : nullptr;
  const ir::Load* of = maximum ? plain_load(maximum->values.front()) : nullptr;
  return of && of->buffer == x->buffer && maximum->reductions.size() == sum->reductions.size();
}

bool is_small_addend(const ir::Expr& e) {
  const auto* literal = std::get_if<ir::Literal>(&e->op);
  return literal && literal->real >= kLeastAdded && literal->real <= kMostAdded;
}

// Whether the value is never negative, and neither so small nor so large, unless it is 0, that its
// reciprocal is not a normal number. Looks through definitions, `steps` of them.
bool is_tame(const ir::Program& program, const ir::Expr& e, int steps) {
  if (steps == 0) return false;
  if (const auto* root = std::get_if<ir::Unary>(&e->op)) return root->op == ir::UnaryOp::Sqrt;
  if (const auto* pair = std::get_if<ir::Binary>(&e->op)) {
    const bool joins = pair->op == ir::BinaryOp::Add || pair->op == ir::BinaryOp::Max;
    return joins && ((is_small_addend(pair->a) && is_tame(program, pair->b, steps - 1)) ||
                     (is_small_addend(pair->b) && is_tame(program, pair->a, steps - 1)));
  }
  const ir::Load* load = plain_load(e);
  if (!load) return false;
  if (is_softmax_total(program, load->buffer)) return true;
  const ir::Expr value = looked_through(program, e);
  return value != e && is_tame(program, value, steps - 1);
}

bool changes_along(const ir::Expr& e, const std::string& iterator) {
  return std::ranges::any_of(ir::loads_of(e), [&](const ir::Load* load) {
    return std::ranges::any_of(load->indices,
                               [&](const ir::Index& i) { return i.affine.uses(iterator); });
  });
}

}  // namespace

bool may_take_reciprocals(const ir::Program& program, const ir::Statement& statement,
                          const std::string& lane) {
  if (statement.combiner != ir::Combiner::None) return false;
  int found = 0;
  for (const ir::Expr& division : divisions_of(statement)) {
    if (!why_not_shared(statement, division).empty()) continue;
    const ir::Expr& divisor = std::get<ir::Binary>(division->op).b;
    const bool is_wide = division->type == DType::F32 || division->type == DType::F64;
    if (!is_wide || changes_along(divisor, lane) || !is_tame(program, divisor, kMostSteps))
      return false;
    ++found;
  }
  return found > 0;
}

}  // namespace polyte::schedule
