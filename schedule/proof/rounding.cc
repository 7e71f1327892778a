#include "schedule/proof/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "ir/intrinsics.h"
#include "schedule/state/contract.h"
#include "schedule/state/digits.h"
#include "schedule/state/divisions.h"

namespace polyte::schedule {

double unit_roundoff(DType type) {
  switch (type) {
    case DType::F64:
      return 0x1p-53;
    case DType::F16:
      return 0x1p-11;
    case DType::BF16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

namespace {

// gamma(n) = n u / (1 - n u), u the unit roundoff of the type: |computed - true| <= gamma(n) * sum
// of |terms| for n roundings on the way of a term (Higham, Accuracy and Stability, 3.1). Not a
// number where n u >= 1.
double gamma(double roundings, DType type) {
  const double product = roundings * unit_roundoff(type);
  return product < 1 ? product / (1 - product) : std::numeric_limits<double>::infinity();
}

std::string number(double value) {
  std::ostringstream text;
  text.precision(2);
  text << value;
  return text.str();
}

// Updates of one cell by this statement of the Program, at most; nullopt where a size is open.
std::optional<double> terms_of(const std::shared_ptr<const ir::Program>& program,
                               const std::string& update) {
  const State plain = reference_state(program);
  const ScheduledStatement& s = plain.at(update);
  double terms = 1;
  for (const std::string& iterator : s.body.reductions) {
    const auto extent = extent_of(plain, {update}, iterator);
    if (!extent) return std::nullopt;
    terms *= static_cast<double>(std::max<std::int64_t>(1, *extent));
  }
  return terms;
}
std::optional<double> terms_of(const State& state, const std::string& update) {
  return terms_of(state.basis, update);
}

// The terms of all updates of its tensor that may change places with it: they are one sum.
std::optional<double> terms_of_class(const State& state, const ir::Statement& update) {
  double all = 0;
  for (const ir::Statement& s : state.basis->statements) {
    const auto found = class_of(state, s);
    const bool is_of_class =
        s.name == update.name || (found && found == class_of(state, update) &&
                                  s.writes.front().buffer == update.writes.front().buffer);
    const auto terms = is_of_class ? terms_of(state, s.name) : 0;
    if (!terms) return std::nullopt;
    all += *terms;
  }
  return all;
}

const ir::Statement* update_of(const State& state, const std::string& tensor) {
  for (const ir::Statement& s : state.basis->statements)
    if (s.combiner != ir::Combiner::None && s.writes.front().buffer == tensor) return &s;
  return nullptr;
}

bool has_one_update(const State& state, const std::string& tensor) {
  return std::ranges::count_if(state.basis->statements, [&](const ir::Statement& s) {
           return s.combiner != ir::Combiner::None && s.writes.front().buffer == tensor;
         }) == 1;
}

std::string bound(const State& state, const ir::Statement& update,
                  const std::optional<double>& roundings) {
  const DType type = state.dtype_of(update.writes.front().buffer);
  const std::string of = update.combiner == ir::Combiner::Product ? "|product|" : "sum of |terms|";
  if (!roundings) return "|error| <= gamma(number of terms) * " + of;
  const double value = gamma(*roundings, type);
  return "|error| <= gamma(" + number(*roundings) + ") * " + of + ", gamma(" + number(*roundings) +
         ") = " + (std::isfinite(value) ? number(value) : "unbounded") + " for " +
         std::string(to_string(type));
}

// rfactor: a term is rounded on the way through its part, then the part on the way through the sum.
std::string factor_note(const State& state, const Rewrite& rewrite) {
  const ir::Statement* part = update_of(state, rewrite.other);
  const ir::Statement* merge = state.basis->find_statement(rewrite.update);
  if (!part || !merge || is_reorderable(*merge)) return "";
  const auto inner = terms_of(state, part->name), outer = terms_of(state, merge->name);
  std::optional<double> both;
  if (inner && outer) both = *inner + *outer;
  const bool is_alone = has_one_update(state, rewrite.tensor);
  return rewrite.tensor + (is_alone ? "" : " by " + rewrite.update) +
         " is added up in parts over " + rewrite.loop + " (" + rewrite.other +
         "): " + bound(state, *merge, both);
}

using Weights = std::vector<const ir::Statement*>;

// The definitions of exponentials in the loop of `rewrite online`.
// The rewrite has moved them into its loop, and knows the points of what it moved.
Weights weights_of(const Rewrite& rewrite) {
  Weights weights;
  for (const ir::Statement& s : rewrite.after->statements)
    if (s.combiner == ir::Combiner::None && rewrite.points.contains(s.name)) weights.push_back(&s);
  return weights;
}

const ir::Statement* read_weight(const ir::ExprNode& node, const Weights& weights) {
  const auto* load = std::get_if<ir::Load>(&node.op);
  for (const ir::Statement* weight : weights)
    if (load && weight->writes.front().buffer == load->buffer) return weight;
  return nullptr;
}

bool takes_exponential(const ir::Expr& e, const Weights& weights) {
  bool found = false;
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    const auto* unary = std::get_if<ir::Unary>(&node.op);
    found = found || (unary && unary->op == ir::UnaryOp::Exp) || read_weight(node, weights);
  });
  return found;
}

// The narrowest type that weights are rounded to, in the expression and in the definitions that
// it reads.
DType narrowest_weight(const ir::Expr& e, const Weights& weights) {
  DType narrowest = e->type;
  const auto take = [&](DType type) {
    if (unit_roundoff(type) > unit_roundoff(narrowest)) narrowest = type;
  };
  ir::for_each_node(e, [&](const ir::ExprNode& node) {
    const auto* cast = std::get_if<ir::Cast>(&node.op);
    if (cast && is_float(node.type) && takes_exponential(cast->a, weights)) take(node.type);
    if (const ir::Statement* weight = read_weight(node, weights))
      take(narrowest_weight(weight->values.front(), weights));
  });
  return narrowest;
}

// Weights of a narrower type are rounded beside another maximum than the last one.
std::string weights_note(const Rewrite& rewrite, const std::string& update) {
  const ir::Expr& value = rewrite.after->statement(update).values.front();
  const DType narrowest = narrowest_weight(value, weights_of(rewrite));
  if (narrowest == value->type) return "";
  return ", and " + number(2 * unit_roundoff(narrowest)) +
         " * sum of |terms| for weights rounded to " + std::string(to_string(narrowest)) +
         " beside another maximum";
}

// A scale multiplies by an exponential of at most 4 units in the last place: 8 roundings, and
// its own.
std::string online_note(const State& state, const Rewrite& rewrite, const std::string& sum) {
  const ir::Statement* update = update_of(state, sum);
  if (!update) return "";
  const ir::Statement& scale = state.basis->statement(sum + ".scale");
  const State plain = reference_state(state.basis);
  const auto scales = extent_of(plain, {scale.name}, rewrite.loop);
  const auto inner = terms_of(state, update->name);
  std::optional<double> all;
  if (scales && inner)
    all = *inner * static_cast<double>(*scales) + 10 * static_cast<double>(*scales);
  return sum + " is scaled to the running maximum " + rewrite.tensor + " at each step of " +
         rewrite.loop + ": " + bound(state, *update, all) + weights_note(rewrite, update->name);
}

// A quotient is rounded once, a product with a reciprocal twice.
std::string reciprocal_note(const ir::Program& before, const Rewrite& rewrite) {
  const ir::Statement& s = before.statement(rewrite.tensor);
  std::string divisors;
  DType type = DType::F64;  // the narrowest
  for (const ir::Expr& division : divisions_of(s)) {
    if (!why_not_shared(s, division).empty()) continue;
    const std::string divisor = ir::to_string(std::get<ir::Binary>(division->op).b);
    divisors += (divisors.empty() ? "" : ", ") + divisor;
    if (unit_roundoff(division->type) > unit_roundoff(type)) type = division->type;
  }
  return s.name + " multiplies by the reciprocal of " + divisors +
         ": |error| <= gamma(2) * |quotient|, gamma(2) = " + number(gamma(2, type)) + " for " +
         std::string(to_string(type)) +
         " (1.5 units in the last place, where a division has 0.5), as long as the reciprocal is a "
         "normal number";
}

// Terms are rounded once less, the sum once more.
std::string deferred_note(const State& state, const Rewrite& rewrite) {
  const ir::Statement& update = rewrite.after->statement(rewrite.other + ".update");
  const ir::Expr& quotient = rewrite.after->statement(rewrite.tensor).values.front();
  auto roundings = terms_of(rewrite.after, update.name);
  if (roundings) *roundings += 1;
  const std::string text =
      rewrite.tensor + " is divided by " + ir::to_string(std::get<ir::Binary>(quotient->op).b) +
      " once, after the sum " + rewrite.other + ": " + bound(state, update, roundings);
  if (rewrite.update.empty()) return text + ", as long as the sum is a normal number";
  const ir::Statement& definition = rewrite.after->statement(rewrite.update);
  const DType type = definition.values.front()->type;
  if (unit_roundoff(type) <= unit_roundoff(update.values.front()->type))
    return text + ", as long as the sum is a normal number";
  return text + ", and " + number(2 * unit_roundoff(type)) + " * sum of |terms| for " +
         definition.writes.front().buffer + " rounded to " + std::string(to_string(type)) +
         " before it is divided, as long as it and the sum are normal numbers";
}

// An instruction that adds several products at once truncates where a float's addition rounds, so
// that each term counts twice (Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor
// cores, 2021; NVIDIA publishes nothing).
std::string instruction_note(const State& state, const TensorizedLoop& tensorized) {
  const ir::Intrinsic* row = ir::find_intrinsic(tensorized.intrinsic);
  if (!row || !row->rounds) return "";
  const std::string statement = statements_below(state.tree, tensorized.loop).front();
  const ir::Statement& update = state.basis->statement(state.at(statement).reference);
  auto roundings = terms_of(state, update.name);
  if (roundings) *roundings *= 2;
  return update.writes.front().buffer + " is added up by " + row->name +
         ", in an order and with roundings of its own: " + bound(state, update, roundings) +
         "; the bits are not a CPU's";
}

}  // namespace

std::vector<std::string> rounding_notes(const State& state, Prover& prover) {
  std::vector<std::string> notes;
  const auto add = [&](const std::string& note) {
    if (!note.empty()) notes.push_back(note);
  };
  for (const Rewrite& rewrite : state.rewrites) {
    if (rewrite.kind == Rewrite::Kind::Factor) add(factor_note(state, rewrite));
    if (rewrite.kind == Rewrite::Kind::Deferred) add(deferred_note(state, rewrite));
    for (const std::string& sum : rewrite.sums) add(online_note(state, rewrite, sum));
  }
  std::set<std::string> said;  // once of a sum that several statements make
  for (const std::string& name : prover.reordered(state)) {
    const ir::Statement& update = state.basis->statement(name);
    const std::string& tensor = update.writes.front().buffer;
    const std::string note = tensor + " is combined in another order: " +
                             bound(state, update, terms_of_class(state, update));
    if (!is_reorderable(update) && said.insert(note).second) add(note);
  }
  for (const TensorizedLoop& tensorized : state.tensorized)
    add(instruction_note(state, tensorized));
  for (const ScheduledStatement& s : state.statements)
    if (s.atomic && !is_reorderable(state.basis->statement(s.reference)))
      add(s.body.writes.front().buffer + " is combined in the order of the threads: " +
          bound(state, state.basis->statement(s.reference), terms_of(state, s.reference)));
  if (relaxes_order(state) && notes.empty())
    add("the contract is wider than needed: every sum keeps its order, exact will do");
  const ir::Program* before = state.reference.get();
  for (const Rewrite& rewrite : state.rewrites) {
    if (rewrite.kind == Rewrite::Kind::Reciprocal) add(reciprocal_note(*before, rewrite));
    before = rewrite.after.get();
  }
  return notes;
}

}  // namespace polyte::schedule
