#include "schedule/state/divisions.h"

#include <algorithm>
#include <set>

#include "ir/relations.h"
#include "schedule/state/softmax_sum.h"

namespace polyte::schedule {

namespace {

bool uses_any(const ir::Expr& e, const std::vector<std::string>& iterators) {
  const std::set<std::string> symbols = ir::symbols_of(e);
  return std::ranges::any_of(
      iterators, [&](const std::string& iterator) { return symbols.contains(iterator); });
}

bool has_node(const ir::Expr& e, const std::function<bool(const ir::ExprNode&)>& wanted) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& node) { found = found || wanted(node); });
  return found;
}

bool is_constant(const ir::Expr& e) {
  return !has_node(e, [](const ir::ExprNode& node) {
    return std::holds_alternative<ir::Load>(node.op) ||
           std::holds_alternative<ir::IndexValue>(node.op);
  });
}

bool is_one(const ir::Expr& e) {
  const auto* literal = std::get_if<ir::Literal>(&e->op);
  return literal && is_float(e->type) && literal->real == 1;
}

// A divisor that the statement itself computes changes while it runs on.
bool reads_own_result(const ir::Statement& s, const ir::Expr& e) {
  return has_node(e, [&](const ir::ExprNode& node) {
    const auto* load = std::get_if<ir::Load>(&node.op);
    return load && std::ranges::any_of(
                       s.writes, [&](const ir::Access& w) { return w.buffer == load->buffer; });
  });
}

bool is_division(const ir::Expr& e) {
  const auto* binary = std::get_if<ir::Binary>(&e->op);
  return binary && binary->op == ir::BinaryOp::Div;
}

// Each free iterator is one of the element's subscripts: the element says in which iterations
// it is updated.
bool has_plain_element(const ir::Statement& update) {
  std::set<std::string> named;
  for (const ir::Index& index : update.writes.front().indices) {
    const auto symbol = index.affine.as_symbol();
    if (index.indirect || !symbol || !named.insert(*symbol).second) return false;
  }
  return std::ranges::all_of(update.iterators, [&](const std::string& iterator) {
    return named.contains(iterator) !=
           (std::ranges::find(update.reductions, iterator) != update.reductions.end());
  });
}

// The quotient a / d among the factors of a product, where d is the same for all terms of a
// sum. The term that is left, and d:
//
//   sum_k (x_k * (a_k / d)) = (sum_k (x_k * a_k)) / d
std::optional<CommonDivisor> common_divisor_of(const ir::Expr& e, const ir::Statement& update) {
  const auto* binary = std::get_if<ir::Binary>(&e->op);
  if (!binary) return std::nullopt;
  if (binary->op == ir::BinaryOp::Div && !uses_any(binary->b, update.reductions) &&
      !reads_own_result(update, binary->b))
    return CommonDivisor{binary->a, binary->b};
  if (binary->op != ir::BinaryOp::Mul) return std::nullopt;
  if (auto left = common_divisor_of(binary->a, update))
    return CommonDivisor{ir::make_binary(ir::BinaryOp::Mul, left->term, binary->b), left->divisor};
  if (auto right = common_divisor_of(binary->b, update))
    return CommonDivisor{ir::make_binary(ir::BinaryOp::Mul, binary->a, right->term),
                         right->divisor};
  return std::nullopt;
}

// A sum of floats that nothing interrupts: without a condition, without an ordered region, an
// element per free iteration.
bool is_plain_sum(const ir::Statement& update) {
  return update.combiner == ir::Combiner::Sum && !update.guard && update.writes.size() == 1 &&
         update.region_depth == 0 && is_float(update.values.front()->type) &&
         has_plain_element(update);
}

// Whether no statement between the two writes what the expression reads. Neither is in an ordered
// region, so the order of the text is that of execution.
bool stays_between(const ir::Program& program, const ir::Expr& e, const ir::Statement& first,
                   const ir::Statement& second) {
  const auto is = [&](const std::string& name) {
    return std::ranges::find(program.statements, name, &ir::Statement::name);
  };
  const auto from = is(first.name), to = is(second.name);
  const std::vector<const ir::Load*> loads = ir::loads_of(e);
  return from < to &&
         std::none_of(
             from + 1, to,
             [&](const ir::Statement& s) {
               return std::ranges::any_of(s.writes, [&](const ir::Access& write) {
                 return std::ranges::find(loads, write.buffer, &ir::Load::buffer) != loads.end();
               });
             });
}

// The factors of a product that are elements of tensors, converted or not.
std::vector<const ir::Load*> factors_of(const ir::Expr& e) {
  if (const auto* load = std::get_if<ir::Load>(&e->op)) return {load};
  if (const auto* cast = std::get_if<ir::Cast>(&e->op)) return factors_of(cast->a);
  const auto* binary = std::get_if<ir::Binary>(&e->op);
  if (!binary || binary->op != ir::BinaryOp::Mul) return {};
  std::vector<const ir::Load*> all = factors_of(binary->a);
  for (const ir::Load* load : factors_of(binary->b)) all.push_back(load);
  return all;
}

// The one definition of a temporary that this update reads once, and nothing else at all.
const ir::Statement* own_definition(const ir::Program& program, const ir::Statement& update,
                                    const ir::Load& read) {
  if (program.buffer(read.buffer).role != ir::Role::Temp || read.otherwise) return nullptr;
  const ir::Statement* definition = nullptr;
  for (const ir::Statement& s : program.statements) {
    // Each statement's reads of the temporary: one in the update, none elsewhere.
    std::ptrdiff_t reads = 0;
    for (const ir::Load* load : ir::reads_of(s)) reads += load->buffer == read.buffer ? 1 : 0;
    if (reads != (s.name == update.name ? 1 : 0)) return nullptr;
    if (std::ranges::none_of(s.writes,
                             [&](const ir::Access& w) { return w.buffer == read.buffer; }))
      continue;
    if (definition || s.combiner != ir::Combiner::None || s.guard || s.region_depth > 0 ||
        s.writes.size() != 1)
      return nullptr;
    definition = &s;
  }
  return definition && has_plain_element(*definition) ? definition : nullptr;
}

// Whether the value is exp(x - M[..]) with M[..] the maximum over all x of its element, and neither
// x nor M is written in between: then it is at most 1, and its undivided form does not overflow a
// shorter type.
bool is_at_most_one(const ir::Program& program, const ir::Expr& e) {
  const auto* load = std::get_if<ir::Load>(&e->op);
  for (const ir::Statement& max : program.statements) {
    if (max.combiner != ir::Combiner::Max || max.guard || max.region_depth > 0 || !load) continue;
    const std::string& maximum = max.writes.front().buffer;
    for (const ir::Statement* weight : softmax_weights(program, maximum)) {
      if (weight->writes.front().buffer != load->buffer) continue;
      const auto* exponential = std::get_if<ir::Unary>(&weight->values.front()->op);
      const auto* difference = exponential ? std::get_if<ir::Binary>(&exponential->a->op) : nullptr;
      if (!difference || difference->op != ir::BinaryOp::Sub ||
          !ir::equal(difference->a, max.values.front()))
        continue;
      const auto* top = std::get_if<ir::Load>(&difference->b->op);
      const bool is_own = top && std::ranges::equal(top->indices, max.writes.front().indices, {},
                                                    &ir::Index::affine, &ir::Index::affine);
      if (is_own && std::ranges::is_permutation(weight->domain, max.domain) &&
          stays_between(program, exponential->a, max, *weight))
        return true;
    }
  }
  return false;
}

}  // namespace

std::vector<ir::Expr> divisions_of(const ir::Statement& s) {
  std::vector<ir::Expr> divisions;
  for (const ir::Expr& value : s.values)
    // The walk of with_reciprocals with a predicate that notes each division and accepts none.
    with_reciprocals(
        value, [&](const ir::Expr& division) { return divisions.push_back(division), false; });
  return divisions;
}

std::string why_not_shared(const ir::Statement& s, const ir::Expr& division) {
  const auto& [op, dividend, divisor] = std::get<ir::Binary>(division->op);
  const std::string text = ir::to_string(division);
  if (!is_float(division->type)) return text + " divides integers";
  if (is_one(dividend)) return text + " is a reciprocal already";
  if (is_constant(divisor)) return text + " divides by a constant";
  if (reads_own_result(s, divisor)) return text + " divides by what " + s.name + " computes";
  const bool is_shared =
      std::any_of(s.iterators.begin() + s.region_depth, s.iterators.end(),
                  [&](const std::string& iterator) { return !uses_any(divisor, {iterator}); });
  return is_shared ? "" : text + " has another divisor in every iteration";
}

ir::Expr with_reciprocals(const ir::Expr& e,
                          const std::function<bool(const ir::Expr& division)>& chosen) {
  const auto in = [&](const ir::Expr& operand) { return with_reciprocals(operand, chosen); };
  if (const auto* o = std::get_if<ir::Unary>(&e->op)) return ir::make_unary(o->op, in(o->a));
  if (const auto* o = std::get_if<ir::Binary>(&e->op)) {
    // Asked before its operands are rewritten, about the division as it stands.
    const bool is_chosen = is_division(e) && chosen(e);
    const ir::Expr a = in(o->a), b = in(o->b);
    if (!is_chosen) return ir::make_binary(o->op, a, b);
    const ir::Expr one = ir::make_literal(e->type, 1);
    return ir::make_binary(ir::BinaryOp::Mul, a, ir::make_binary(ir::BinaryOp::Div, one, b));
  }
  if (const auto* o = std::get_if<ir::Fma>(&e->op))
    return ir::make_fma(in(o->a), in(o->b), in(o->c));
  if (const auto* o = std::get_if<ir::Select>(&e->op))
    return ir::make_select(in(o->condition), in(o->a), in(o->b));
  if (const auto* o = std::get_if<ir::Cast>(&e->op)) return ir::make_cast(e->type, in(o->a));
  return e;
}

std::optional<CommonDivisor> common_divisor(const ir::Statement& update) {
  return is_plain_sum(update) ? common_divisor_of(update.values.front(), update) : std::nullopt;
}

std::optional<DefinedQuotient> defined_quotient(const ir::Program& program,
                                                const ir::Statement& update) {
  if (!is_plain_sum(update)) return std::nullopt;
  for (const ir::Load* read : factors_of(update.values.front())) {
    const ir::Statement* definition = own_definition(program, update, *read);
    if (!definition) continue;
    const ir::Expr& value = definition->values.front();
    const auto* cast = std::get_if<ir::Cast>(&value->op);
    const ir::Expr& inner = cast && is_float(value->type) ? cast->a : value;
    const auto* quotient = std::get_if<ir::Binary>(&inner->op);
    if (!quotient || quotient->op != ir::BinaryOp::Div || !is_float(inner->type)) continue;
    if (cast && !is_at_most_one(program, quotient->a)) continue;
    // p's definition at the element that the update reads: its iterators replaced by the
    // subscripts of the read, so that the divisor is one over the update's iterators.
    ir::Bindings point;
    for (std::size_t d = 0; d < read->indices.size(); ++d)
      point[*definition->writes.front().indices[d].affine.as_symbol()] = read->indices[d].affine;
    const ir::Expr divisor = ir::substitute(quotient->b, point);
    const bool is_same = !uses_any(divisor, update.reductions);
    if (is_same && !reads_own_result(update, divisor) &&
        stays_between(program, quotient->b, *definition, update))
      return DefinedQuotient{definition,
                             cast ? ir::make_cast(value->type, quotient->a) : quotient->a, divisor};
  }
  return std::nullopt;
}

}  // namespace polyte::schedule
