#include "schedule/state/softmax_sum.h"

#include <algorithm>
#include <limits>
#include <set>

namespace polyte::schedule {

namespace {

// The value inside conversions between floats.
const ir::Expr& rounded(const ir::Expr& e) {
  const auto* cast = std::get_if<ir::Cast>(&e->op);
  return cast && is_float(e->type) && is_float(cast->a->type) ? rounded(cast->a) : e;
}

// exp(e - M[..]) itself, which may be rounded to another type.
std::optional<SoftmaxSum> weight(const ir::Expr& value, const std::string& maximum) {
  const auto* exponential = std::get_if<ir::Unary>(&rounded(value)->op);
  if (!exponential || exponential->op != ir::UnaryOp::Exp) return std::nullopt;
  const auto* difference = std::get_if<ir::Binary>(&exponential->a->op);
  if (!difference || difference->op != ir::BinaryOp::Sub) return std::nullopt;
  const auto* load = std::get_if<ir::Load>(&difference->b->op);
  if (!load || load->buffer != maximum || load->otherwise) return std::nullopt;
  const bool affine = std::ranges::none_of(
      load->indices, [](const ir::Index& index) { return index.indirect != nullptr; });
  if (!affine) return std::nullopt;
  return SoftmaxSum{load, difference->a};
}

// Whether each dimension of the cell has an iterator for itself, and the place in M is over these
// alone: all terms of a cell have one maximum.
bool has_own_maximum(const ir::Access& cell, const ir::Load& maximum) {
  std::set<std::string> iterators, used;
  for (const ir::Index& index : cell.indices) {
    const auto symbol = index.affine.as_symbol();
    if (index.indirect || !symbol || !iterators.insert(*symbol).second) return false;
  }
  for (const ir::Index& index : maximum.indices) index.affine.collect_symbols(used);
  return std::ranges::includes(iterators, used);
}

// The iterators in the order of the dimensions; empty where the definition does not write
// each element once.
std::vector<std::string> own_iterators(const ir::Statement& definition) {
  std::vector<std::string> iterators;
  for (const ir::Index& index : definition.writes.front().indices) {
    const auto symbol = index.affine.as_symbol();
    if (index.indirect || !symbol || std::ranges::find(iterators, *symbol) != iterators.end())
      return {};
    iterators.push_back(*symbol);
  }
  return iterators.size() == definition.iterators.size() ? iterators : std::vector<std::string>();
}

bool reads(const ir::Expr& e, const std::string& buffer) {
  const std::vector<const ir::Load*> loads = ir::loads_of(e);
  return std::ranges::any_of(loads, [&](const ir::Load* load) { return load->buffer == buffer; });
}

}  // namespace

std::vector<const ir::Statement*> softmax_weights(const ir::Program& program,
                                                  const std::string& maximum) {
  std::vector<const ir::Statement*> weights;
  for (const ir::Statement& s : program.statements) {
    const bool is_plain =
        s.combiner == ir::Combiner::None && !s.guard && s.region_depth == 0 && s.writes.size() == 1;
    if (!is_plain || own_iterators(s).empty()) continue;
    const std::string& tensor = s.writes.front().buffer;
    const auto writes = [&](const ir::Statement& other) {
      return std::ranges::any_of(other.writes,
                                 [&](const ir::Access& write) { return write.buffer == tensor; });
    };
    // Weights may be defined by weights: those found so far are written out first.
    const ir::Statement whole = with_weights(s, weights);
    const auto sum = weight(whole.values.front(), maximum);
    if (sum && !reads(sum->exponent, maximum) && !reads(sum->exponent, tensor) &&
        program.buffer(tensor).role == ir::Role::Temp &&
        std::ranges::count_if(program.statements, writes) == 1)
      weights.push_back(&s);
  }
  return weights;
}

namespace {

// The value with each plain read w[a, b] of the weight replaced by its definition at (a, b).
ir::Expr with_weight(const ir::Expr& value, const ir::Statement& weight) {
  const auto definition = [&](const ir::Expr& leaf) -> ir::Expr {
    const auto* load = std::get_if<ir::Load>(&leaf->op);
    if (!load || load->otherwise || load->buffer != weight.writes.front().buffer ||
        std::ranges::any_of(load->indices, [](const ir::Index& i) { return !!i.indirect; }))
      return leaf;
    const std::vector<std::string> iterators = own_iterators(weight);
    ir::Bindings point;
    for (std::size_t d = 0; d < iterators.size(); ++d)
      point[iterators[d]] = load->indices[d].affine;
    return ir::substitute(weight.values.front(), point);
  };
  return ir::rewrite(value, definition);
}

}  // namespace

// From the last weight to the first: a definition that is put in may read weights before it.
ir::Statement with_weights(const ir::Statement& update,
                           const std::vector<const ir::Statement*>& weights) {
  ir::Statement result = update;
  for (ir::Expr& value : result.values)
    for (auto weight = weights.rbegin(); weight != weights.rend(); ++weight)
      value = with_weight(value, **weight);
  return result;
}

std::optional<SoftmaxSum> softmax_sum(const ir::Statement& update, const std::string& maximum) {
  if (update.combiner != ir::Combiner::Sum || update.guard || update.writes.size() != 1)
    return std::nullopt;
  const ir::Expr& value = update.values.front();
  const auto accepted = [&](const std::optional<SoftmaxSum>& sum) {
    return sum && sum->exponent->type == value->type && !reads(sum->exponent, maximum) &&
           has_own_maximum(update.writes.front(), *sum->maximum);
  };
  if (auto alone = weight(value, maximum); accepted(alone)) return alone;
  // exp(e - M) * v, or v * exp(e - M); v must not change along with M.
  const auto* product = std::get_if<ir::Binary>(&value->op);
  if (!product || product->op != ir::BinaryOp::Mul) return std::nullopt;
  for (const auto& [left, right] :
       {std::pair{product->a, product->b}, std::pair{product->b, product->a}})
    if (auto found = weight(left, maximum))
      if (!reads(right, maximum) && accepted(found)) return found;
  return std::nullopt;
}

// A sum of exp(x - M) so far, for a maximum that has grown from `old` to `now`:
//
//   sum <- sum * exp(old - now)     since exp(x - now) = exp(x - old) * exp(old - now)
//
// Before the first term old is -inf and the sum is 0, which the select keeps: -inf - (-inf) would
// be NaN.
ir::Expr softmax_scale(const ir::Statement& update, const SoftmaxSum& sum, const std::string& old) {
  const DType type = update.values.front()->type;
  const ir::Access& cell = update.writes.front();
  const ir::Expr before = ir::make_load(type, old, sum.maximum->indices);
  const ir::Expr now = ir::make_load(type, sum.maximum->buffer, sum.maximum->indices);
  const ir::Expr lowest = ir::make_float(type, -std::numeric_limits<double>::infinity());
  const ir::Expr factor =
      ir::make_unary(ir::UnaryOp::Exp, ir::make_binary(ir::BinaryOp::Sub, before, now));
  return ir::make_select(
      ir::make_binary(ir::BinaryOp::Eq, before, lowest), ir::make_float(type, 0),
      ir::make_binary(ir::BinaryOp::Mul, ir::make_load(type, cell.buffer, cell.indices), factor));
}

}  // namespace polyte::schedule
